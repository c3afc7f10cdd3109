"""How fast does TensorFlow read TFRecord shards by s3:// paths? Compares TFRecordDataset on MinIO on the same
machine with TensorFlow's own reads of the same files on the local disk: from the page cache, and from the
disk. Records have 114,660 bytes. Figures are per second of wall time, with server and client on the same two
cores; the programs take turns.

    ./dev bench read_paths --json bench/results/<date>/read_paths.json
"""

import subprocess

import load_batches
import measuring
from measuring import object_store, peers

FOLDER = "images"
INNER_REPEATS = 3
READERS = {"one file at a time": 1, "as many as tf.data takes": 0}


def measure(repeats: int) -> dict:
    folder = load_batches.write_images()
    bucket = f"s3://{object_store.BUCKET}"
    with object_store.minio():
        copy = [measuring.headrace(), "cp", "-r", f"file://{folder}", f"{bucket}/{FOLDER}"]
        subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)
        places = {"s3": (f"{bucket}/{FOLDER}",), "memory": (folder,), "disk": (folder, "cold")}
        programs = {
            f"{place}, {how}": lambda path=path, cold=cold, readers=readers: peers.run_project(
                "read_paths", path, readers, INNER_REPEATS, *cold, on=measuring.cores()
            )
            for how, readers in READERS.items()
            for place, (path, *cold) in places.items()
        }
        answers, failed = measuring.take_turns(programs, repeats)
        assert not failed, failed
        return answers


def summarise(answers: dict) -> tuple[dict, dict]:
    (records,) = {answer["records"] for of_name in answers.values() for answer in of_name}
    amount = records * load_batches.IMAGE_BYTES / 1e9
    rates, costs = measuring.wall_rates(answers, amount), measuring.costs(answers, amount)
    summary, compared = {}, {}
    for how in READERS:
        for place, what in (("disk", "(must be >= 0.8)"), ("memory", "")):
            key = f"TFRecordDataset on s3://, {how}, over the local {place} {what}".strip()
            summary[key] = rates[f"s3, {how}"] / rates[f"{place}, {how}"]
            compared[key] = f"local: {rates[f'{place}, {how}']:.3g} GB/s; s3: {rates[f's3, {how}']:.3g}"
    summary |= {f"{name}: GB per second": rate for name, rate in rates.items()}
    summary |= {f"{name}: CPU-s per GB": cost for name, cost in costs.items()}
    return summary, compared


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    answers = measure(arguments.repeats)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
