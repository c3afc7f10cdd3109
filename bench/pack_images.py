"""How fast do 20,000 JPEGs of 40 kB become shards without re-encoding? The competitors are `tar cf`,
webdataset's ShardWriter, Ray Data's write_tfrecords and litdata's optimize. Figures are per second of wall
time until everything is on disk, from the page cache; each program is a separate process on two cores, and
they take turns.

    ./dev bench pack_images --json bench/results/<date>/pack_images.json

`headrace prepare` and tar are measured from start to exit; the Python libraries from after their imports
(Ray: after its start), and on fewer pictures.
"""

import pathlib
import tempfile

import measuring
from measuring import peers, photos, preparing

IMAGES, PEER_IMAGES = 20_000, 4_000
INNER_REPEATS = 1
LEAST = {"tar": 0.8, "webdataset": 10, "Ray Data": 20, "litdata": 5}


def measure(images: int, repeats: int) -> tuple[dict, dict]:
    source, few = photos.folder(images), photos.folder(min(images, PEER_IMAGES))
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        out = pathlib.Path(folder)

        def library(program: str, environment: str, *arguments) -> dict | str:
            every = (*arguments, few, out / environment, INNER_REPEATS)
            return peers.run_own(program, *every, on=measuring.cores(), environment=environment)

        programs = {
            "headrace": lambda: preparing.prepare(
                source, out / "ours", images, "--compression", "none", "--trust-images"
            ),
            "tar": lambda: preparing.time_command(
                ["tar", "cf", out / "images.tar", source], out / "images.tar", images
            ),
            "webdataset": lambda: library("pack_webdataset", ""),
            "Ray Data": lambda: library("write_ray", "ray", "images"),
            "litdata": lambda: library("pack_litdata", "torch"),
        }
        return measuring.take_turns(programs, repeats)


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--images", type=int, default=IMAGES)
    arguments = parser.parse_args()
    raw, failed = measure(arguments.images, arguments.repeats)
    rates = preparing.rates(raw, "wall_s")
    summary, compared = preparing.compare(rates, "JPEGs as they are, to shards", "images/s", LEAST)
    summary |= {f"{name}: images per second": rate for name, rate in rates.items()}
    costs = preparing.rates(raw, "cpu_s")
    summary |= {f"{name}: images per CPU-second": costs[name] for name in costs if name != "Ray Data"}
    measuring.report(arguments.json, summary, raw, compared, **peers.account(failed, "", "ray", "torch"))


if __name__ == "__main__":
    main()
