"""How fast do 200,000 JPEGs of 15 kB in MinIO become shards in MinIO, on the same machine, and how many
requests does an object take? The competitors are MosaicML's MDSWriter with objects from boto3, and a script
of 16 threads with boto3 and a TFRecordWriter, on fewer objects. Figures are per second of wall time, with
server and client on the same two cores; each program is a separate process, and they take turns.

    ./dev bench pack_objects --json bench/results/<date>/pack_objects.json

`headrace prepare` is measured from start to exit; the libraries from after their imports.
"""

import functools
import pathlib
import re
import shutil
import tempfile

import measuring
from measuring import object_store, peers, photos, preparing

OBJECTS, PEER_OBJECTS = 200_000, 5_000
DIFFERENT = 2_000
SIDES = (245, 185)  # gives about 15 kB
QUALITY = 90
INNER_REPEATS = 1
MDS, THREADS = "MDSWriter", "16 threads"
LEAST = {MDS: 10}
REQUESTS = re.compile(r"^headrace_store_requests_total (\d+)$", re.MULTILINE)


def write_small() -> list[pathlib.Path]:
    """DIFFERENT distinct pictures; made once."""
    from PIL import Image

    target = measuring.DATA / f"small-{DIFFERENT}"
    if not target.exists():
        parts = target.with_suffix(".making")
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir(parents=True)
        for number, file in enumerate(sorted(photos.folder(DIFFERENT).glob("*/*.jpg"))):
            with Image.open(file) as image:
                image.resize(SIDES).save(parts / f"{number:06}.jpg", quality=QUALITY)
        parts.rename(target)
    return sorted(target.iterdir())


def upload(count: int, prefix: str) -> None:
    """<label>/<number>.jpg below the prefix."""
    small = write_small()
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        for label in photos.LABELS:
            pathlib.Path(folder, label).mkdir()
        for number in range(count):
            label = list(photos.LABELS)[number % len(photos.LABELS)]
            pathlib.Path(folder, label, f"{number:06}.jpg").hardlink_to(small[number % len(small)])
        url = f"s3://{object_store.BUCKET}/{prefix}"
        measuring.run([measuring.headrace(), "cp", "--recursive", folder, url, "--quiet"], measuring.cores())


def ours(objects: int, url: str, metrics: pathlib.Path) -> dict:
    command = [measuring.headrace(), "prepare", f"{url}/all", f"{url}/ours", "--overwrite", "--quiet"]
    done = measuring.run([*command, "--compression", "none", "--metrics", metrics], measuring.cores())
    requests = int(REQUESTS.search(metrics.read_text())[1])
    return {"records": objects, "cpu_s": [done.cpu_s], "wall_s": [done.wall_s], "requests": requests}


def measure(objects: int, repeats: int) -> tuple[dict, dict]:
    with object_store.minio(), tempfile.TemporaryDirectory() as folder:
        for count, prefix in ((objects, "all"), (min(objects, PEER_OBJECTS), "few")):
            upload(count, prefix)
        url, metrics = f"s3://{object_store.BUCKET}", pathlib.Path(folder, "metrics")

        def library(run, what: str) -> dict | str:
            arguments = (what, object_store.BUCKET, "few/", what, INNER_REPEATS)
            return run("pack_objects", *arguments, on=measuring.cores())

        with_torch = functools.partial(peers.run_own, environment="torch")
        programs = {
            "headrace": lambda: ours(objects, url, metrics),
            MDS: lambda: library(with_torch, "mds"),
            THREADS: lambda: library(peers.run_project, "threads"),
        }
        return measuring.take_turns(programs, repeats)


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    arguments = parser.parse_args()
    peers.install("torch")
    raw, failed = measure(arguments.objects, arguments.repeats)
    rates = preparing.rates(raw, "wall_s")
    summary, compared = preparing.compare(rates, "objects of 15 kB to shards", "objects/s", LEAST)
    requests = measuring.median(answer["requests"] / arguments.objects for answer in raw["headrace"])
    summary["objects of 15 kB to shards: requests an object (must be <= 1.05)"] = requests
    summary |= {f"{name}: objects per second": rate for name, rate in rates.items()}
    costs = preparing.rates(raw, "cpu_s")
    summary |= {f"{name}: client's CPU-µs per object": 1e6 / rate for name, rate in costs.items()}
    measuring.report(arguments.json, summary, raw, compared, **peers.account(failed, "torch"))


if __name__ == "__main__":
    main()
