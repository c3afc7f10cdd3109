"""Preparation as the well-known tutorial writes it: a tar archive of reviews becomes GZIP TFRecord shards of
500, one text after the other. Measured by bench/prepare_text.py; prints a JSON line for each repeat.

    python prepare_text.py ARCHIVE VECTORS OUT REPEATS

VECTORS is an .npz of `ids` and `vectors`: the encoder's answers. With them, features cost this program only a
look-up. `embedding_cpu_s` is the time of a cheap embedding of its own, which is computed for each text and
discarded: unigrams hashed with zlib.crc32, counted and normalised with NumPy.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tarfile
import time
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

SHARD_RECORDS = 500
DIMENSION = 512
WORD = re.compile(rb"[A-Za-z']+")


def embed(text: bytes) -> np.ndarray:
    hashes = [zlib.crc32(word) & (DIMENSION - 1) for word in WORD.findall(text.lower())]
    counts = np.bincount(hashes, minlength=DIMENSION).astype(np.float32)
    return counts / (np.linalg.norm(counts) + 1e-6)


def read_reviews(archive: str):
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = member.name.split("/")
            if len(parts) == 4 and parts[1] in ("train", "test") and parts[2] in ("pos", "neg"):
                yield member.name, parts[1], parts[2], tar.extractfile(member).read()


def make_example(name: str, label: str, text: bytes, vector: np.ndarray) -> tf.train.Example:
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "sentence": tf.train.Feature(float_list=tf.train.FloatList(value=vector)),
                "label": tf.train.Feature(
                    int64_list=tf.train.Int64List(value=[1, 0] if label == "pos" else [0, 1])
                ),
                "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[text])),
                "id": tf.train.Feature(bytes_list=tf.train.BytesList(value=[name.encode()])),
            }
        )
    )


def prepare(archive: str, vectors: dict[str, np.ndarray], out: pathlib.Path) -> tuple[int, float]:
    """Shards written, and the CPU seconds that `embed` took."""
    writer, records, shard, current, embedding_s = None, 0, 0, None, 0.0
    for name, split, label, text in read_reviews(archive):
        if writer is None or records == SHARD_RECORDS or split != current:
            if writer:
                writer.close()
            options = tf.io.TFRecordOptions(compression_type="GZIP")
            writer = tf.io.TFRecordWriter(str(out / f"{split}-{shard:05d}.tfrecord.gz"), options)
            shard, records, current = shard + 1, 0, split
        start = time.process_time()
        embed(text)
        embedding_s += time.process_time() - start
        writer.write(make_example(name, label, text, vectors[name]).SerializeToString())
        records += 1
    writer.close()
    return shard, embedding_s


def main() -> None:
    archive, vectors_file, out, repeats = sys.argv[1:]
    loaded = np.load(vectors_file)
    vectors = dict(zip(loaded["ids"].tolist(), loaded["vectors"], strict=True))
    for _ in range(int(repeats)):
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        cpu, wall = time.process_time(), time.monotonic()
        shards, embedding_s = prepare(archive, vectors, pathlib.Path(out))
        done = {
            "cpu_s": time.process_time() - cpu,
            "wall_s": time.monotonic() - wall,
            "embedding_cpu_s": embedding_s,
            "shards": shards,
        }
        done["bytes"] = sum(file.stat().st_size for file in pathlib.Path(out).iterdir())
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
