"""Pictures in a bucket become shards in the same bucket. Measured by bench/pack_objects.py; prints JSON, see
repeating.py.

    python pack_objects.py mds|threads BUCKET PREFIX OUT REPEATS

mds: MosaicML's MDSWriter, with objects that boto3 fetches one after the other, as its guide shows.
threads: a script of 16 threads that fetch with boto3, and a tf.io.TFRecordWriter whose file is uploaded at
the end.
"""

import concurrent.futures
import os
import pathlib
import sys
import tempfile

import boto3
import repeating

THREADS = 16


def keys_below(s3, bucket: str, prefix: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def pack_mds(s3, bucket: str, keys: list[str], out: str) -> None:
    from streaming import MDSWriter

    os.environ["S3_ENDPOINT_URL"] = os.environ["AWS_ENDPOINT_URL_S3"]
    with MDSWriter(out=f"s3://{bucket}/{out}", columns={"image": "bytes", "label": "str"}) as writer:
        for key in keys:
            image = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
            writer.write({"image": image, "label": key.split("/")[-2]})


def pack_threads(s3, bucket: str, keys: list[str], out: str) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    def fetch(key: str) -> bytes:
        return s3.get_object(Bucket=bucket, Key=key)["Body"].read()

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        file = pathlib.Path(folder, "train.tfrecord")
        with tf.io.TFRecordWriter(str(file)) as writer:
            for key, image in zip(keys, pool.map(fetch, keys), strict=True):
                features = {
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                    "label": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[key.split("/")[-2].encode()])
                    ),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())
        s3.upload_file(str(file), bucket, f"{out}/train.tfrecord")


def main() -> None:
    what, bucket, prefix, out, repeats = *sys.argv[1:5], int(sys.argv[5])
    s3 = boto3.client("s3", config=boto3.session.Config(max_pool_connections=THREADS))
    turn = 0

    def pack() -> int:
        nonlocal turn
        turn += 1
        keys = keys_below(s3, bucket, prefix)
        (pack_mds if what == "mds" else pack_threads)(s3, bucket, keys, f"{out}-{turn}")
        return len(keys)

    repeating.repeat(pack, repeats)


if __name__ == "__main__":
    main()
