"""How fast do TFRecord shards in MinIO become shuffled batches in Python, compared with the rate at which the
same client only reads as many bytes? Records have 114,660 bytes, as in MLPerf Storage's ResNet-50; the epochs
are those of one loader. Figures are per second of wall time, with server and client on the same two cores;
the programs take turns.

    ./dev bench load_from_store --json bench/results/<date>/load_from_store.json
"""

import subprocess

import load_batches
import measuring
from measuring import object_store, peers

SIZE = 1 << 30
KEY = "large"
FOLDER = "images"
INNER_REPEATS = 3


def measure(program, repeats: int) -> dict:
    folder = load_batches.write_images()
    bucket = f"s3://{object_store.BUCKET}"
    with object_store.minio():
        measuring.run([program, "write", f"{bucket}/{KEY}", SIZE, 1], measuring.cores())
        copy = [measuring.headrace(), "cp", "-r", f"file://{folder}", f"{bucket}/{FOLDER}"]
        subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)
        read = [program, "read", f"{bucket}/{KEY}", SIZE, INNER_REPEATS]
        load = ("load_headrace", "images", f"{bucket}/{FOLDER}", 0, INNER_REPEATS, "going")
        programs = {
            "store": lambda: measuring.run_json(read, measuring.cores()),
            "loader": lambda: peers.run_project(*load, on=measuring.cores()),
        }
        answers, failed = measuring.take_turns(programs, repeats)
        assert not failed, failed
        return answers


def summarise(answers: dict) -> tuple[dict, dict]:
    records = answers["loader"][0]["records"]
    store = measuring.wall_rates({"store": answers["store"]}, SIZE / 1e9)["store"]
    loader = measuring.wall_rates({"loader": answers["loader"]}, records * load_batches.IMAGE_BYTES / 1e9)
    key = "TFRecord from MinIO to batches, over the store's own GET rate (must be >= 0.9)"
    compared = {key: f"store {store:.3g} GB/s; loader {loader['loader']:.3g}"}
    return {key: loader["loader"] / store}, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    answers = measure(measuring.build("headrace_bench_store_client"), arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
