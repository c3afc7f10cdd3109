"""Datasets of `headrace prepare`, as TensorFlow and Python read them."""

import csv
import gzip
import io
import json
import pathlib


def examples(folder: pathlib.Path, split: str) -> list[dict]:
    """The records of a split in the shards of all versions, as TensorFlow reads them: feature → list of
    values.
    """
    import tensorflow as tf

    out = []
    for shard in sorted(folder.glob(f"{split}-*.tfrecord*")):
        compression = "GZIP" if shard.name.endswith(".gz") else ""
        for record in tf.data.TFRecordDataset(str(shard), compression_type=compression):
            features = tf.train.Example.FromString(record.numpy()).features.feature
            out.append(
                {
                    name: list(getattr(value, value.WhichOneof("kind")).value)
                    for name, value in features.items()
                }
            )
    return out


def report(folder: pathlib.Path) -> list[dict]:
    lines = []
    for part in sorted(folder.glob("_headrace/report/*.jsonl.gz")):
        lines += [json.loads(line) for line in gzip.decompress(part.read_bytes()).splitlines()]
    return lines


def png(color: tuple[int, int, int], size: tuple[int, int] = (8, 6)) -> bytes:
    import PIL.Image

    out = io.BytesIO()
    PIL.Image.new("RGB", size, color).save(out, "png")
    return out.getvalue()


def write_tables(folder: pathlib.Path, files: int, rows: int, bad_each: int = 0) -> None:
    """A table in many files, each a slice; every `bad_each`-th, if not 0, has a row that is rejected."""
    for number in range(files):
        with (folder / f"part-{number:03}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", "split", "label", "text"])
            for row in range(rows):
                split = "TRAIN" if row % 4 else "TEST"
                table.writerow([f"{number}-{row}", split, ["cat", "dog"][row % 2], f"text {row} " * 10])
            if bad_each and number % bad_each == 0:
                table.writerow([f"{number}-bad", "TRAIN"])
