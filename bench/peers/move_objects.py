"""Moves objects of an S3 store with a library that people use, each as its documentation shows:

    python move_objects.py read      LIBRARY BUCKET KEY BYTES REPEATS
    python move_objects.py write     LIBRARY BUCKET KEY BYTES REPEATS
    python move_objects.py read_many LIBRARY BUCKET PREFIX COUNT REPEATS   objects of 4 KiB

Endpoint and keys come from the variables AWS_*. The memory to read into is reused if the library supports
that.
"""

import asyncio
import concurrent.futures
import os
import sys
from collections.abc import Callable

from repeating import repeat

MANY_AT_ONCE = {"boto3": 16, "obstore": 64}
PART_BYTES = 8 << 20
SMALL_BYTES = 4096
ENDPOINT = os.environ["AWS_ENDPOINT_URL_S3"]
REGION = os.environ["AWS_REGION"]


def boto3_client():
    import boto3
    from botocore.config import Config

    style = {"addressing_style": "path"}
    return boto3.client("s3", config=Config(max_pool_connections=MANY_AT_ONCE["boto3"], s3=style))


def obstore_store(bucket: str):
    from obstore.store import S3Store

    return S3Store(bucket, endpoint=ENDPOINT, region=REGION, client_options={"allow_http": True})


def pyarrow_store():
    from pyarrow import fs

    scheme, _, host = ENDPOINT.partition("://")
    return fs.S3FileSystem(endpoint_override=host, scheme=scheme, region=REGION)


# ---- one large object: each returns a function that reads it once and returns its number of bytes


def boto3_read(bucket: str, key: str, size: int) -> Callable[[], int]:
    s3, target = boto3_client(), memoryview(bytearray(size))

    def work() -> int:
        body, at = s3.get_object(Bucket=bucket, Key=key)["Body"], 0
        while count := body.readinto(target[at:]):
            at += count
        return at

    return work


def boto3_whole(bucket: str, key: str, size: int) -> Callable[[], int]:
    s3 = boto3_client()
    return lambda: len(s3.get_object(Bucket=bucket, Key=key)["Body"].read())


def obstore_ranges(bucket: str, key: str, size: int) -> Callable[[], int]:
    import obstore

    store, chunk = obstore_store(bucket), 2 * PART_BYTES
    starts = range(0, size, chunk)
    ends = [min(start + chunk, size) for start in starts]
    return lambda: sum(len(part) for part in obstore.get_ranges(store, key, starts=list(starts), ends=ends))


def obstore_whole(bucket: str, key: str, size: int) -> Callable[[], int]:
    import obstore

    store = obstore_store(bucket)
    return lambda: len(obstore.get(store, key).bytes())


def tensorstore_whole(bucket: str, key: str, size: int) -> Callable[[], int]:
    import tensorstore

    where = {"driver": "s3", "bucket": bucket, "endpoint": ENDPOINT, "aws_region": REGION}
    store = tensorstore.KvStore.open(where).result()
    return lambda: len(store.read(key).result().value)


def pyarrow_read(bucket: str, key: str, size: int) -> Callable[[], int]:
    store, target = pyarrow_store(), bytearray(size)

    def work() -> int:
        with store.open_input_file(f"{bucket}/{key}") as file:
            return file.readinto(target)

    return work


def s3fs_whole(bucket: str, key: str, size: int) -> Callable[[], int]:
    import s3fs

    store = s3fs.S3FileSystem(endpoint_url=ENDPOINT)
    return lambda: len(store.cat_file(f"{bucket}/{key}"))


def s3torchconnector_whole(bucket: str, key: str, size: int) -> Callable[[], int]:
    from s3torchconnectorclient._mountpoint_s3_client import MountpointS3Client

    options = {"endpoint": ENDPOINT, "force_path_style": True, "throughput_target_gbps": 100.0}
    store = MountpointS3Client(REGION, part_size=PART_BYTES, user_agent_prefix="bench", **options)
    return lambda: sum(len(part) for part in store.get_object(bucket, key))


def awscrt_read(bucket: str, key: str, size: int) -> Callable[[], int]:
    from awscrt import auth, http, io, s3

    bootstrap = io.ClientBootstrap.get_or_create_static_default()
    keys = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    provider = auth.AwsCredentialsProvider.new_static(*keys)
    client = s3.S3Client(
        bootstrap=bootstrap,
        region=REGION,
        signing_config=s3.create_default_s3_signing_config(region=REGION, credential_provider=provider),
        tls_mode=s3.S3RequestTlsMode.DISABLED,
        part_size=PART_BYTES,
        throughput_target_gbps=100,
    )
    target = memoryview(bytearray(size))

    def work() -> int:
        received = 0

        def on_body(chunk: bytes, offset: int, **_) -> None:
            nonlocal received
            target[offset : offset + len(chunk)] = chunk
            received += len(chunk)

        headers = http.HttpHeaders([("Host", ENDPOINT.partition("://")[2])])
        request = http.HttpRequest("GET", f"/{bucket}/{key}", headers)
        client.make_request(
            type=s3.S3RequestType.GET_OBJECT, request=request, on_body=on_body
        ).finished_future.result()
        return received

    return work


# ---- writing one large object


def boto3_write(bucket: str, key: str, size: int) -> Callable[[], int]:
    import io

    s3, data = boto3_client(), os.urandom(size)

    def work() -> int:
        s3.upload_fileobj(io.BytesIO(data), bucket, key)
        return size

    return work


def obstore_write(bucket: str, key: str, size: int) -> Callable[[], int]:
    import obstore

    store, data = obstore_store(bucket), os.urandom(size)

    def work() -> int:
        obstore.put(store, key, data, use_multipart=True, chunk_size=PART_BYTES, max_concurrency=8)
        return size

    return work


def pyarrow_write(bucket: str, key: str, size: int) -> Callable[[], int]:
    store, data = pyarrow_store(), os.urandom(size)

    def work() -> int:
        with store.open_output_stream(f"{bucket}/{key}") as file:
            file.write(data)
        return size

    return work


def s3fs_write(bucket: str, key: str, size: int) -> Callable[[], int]:
    import s3fs

    store, data = s3fs.S3FileSystem(endpoint_url=ENDPOINT), os.urandom(size)

    def work() -> int:
        store.pipe_file(f"{bucket}/{key}", data)
        return size

    return work


# ---- many small objects


def headrace_many(bucket: str, prefix: str, count: int) -> Callable[[], int]:
    import headrace as hr

    store = hr.store(f"s3://{bucket}")
    ranges = [(f"{prefix}{number:05}", 0, SMALL_BYTES) for number in range(count)]
    return lambda: sum(map(len, store.read_many(ranges)))


def boto3_many(bucket: str, prefix: str, count: int) -> Callable[[], int]:
    s3 = boto3_client()

    def read(number: int) -> int:
        return len(s3.get_object(Bucket=bucket, Key=f"{prefix}{number:05}")["Body"].read())

    def work() -> int:
        with concurrent.futures.ThreadPoolExecutor(MANY_AT_ONCE["boto3"]) as pool:
            return sum(pool.map(read, range(count)))

    return work


def obstore_many(bucket: str, prefix: str, count: int) -> Callable[[], int]:
    store = obstore_store(bucket)

    async def read_all() -> int:
        places = asyncio.Semaphore(MANY_AT_ONCE["obstore"])

        async def read(number: int) -> int:
            async with places:
                answer = await store.get_async(f"{prefix}{number:05}")
                return len(await answer.bytes_async())

        return sum(await asyncio.gather(*(read(number) for number in range(count))))

    return lambda: asyncio.run(read_all())


LIBRARIES = {
    ("read", "boto3"): boto3_whole,
    ("read", "boto3, readinto"): boto3_read,
    ("read", "obstore"): obstore_whole,
    ("read", "obstore, get_ranges"): obstore_ranges,
    ("read", "tensorstore"): tensorstore_whole,
    ("read", "pyarrow, readinto"): pyarrow_read,
    ("read", "s3fs"): s3fs_whole,
    ("read", "s3torchconnector"): s3torchconnector_whole,
    ("read", "awscrt"): awscrt_read,
    ("write", "boto3"): boto3_write,
    ("write", "obstore"): obstore_write,
    ("write", "pyarrow"): pyarrow_write,
    ("write", "s3fs"): s3fs_write,
    ("read_many", "headrace"): headrace_many,
    ("read_many", "boto3"): boto3_many,
    ("read_many", "obstore"): obstore_many,
}


def main() -> None:
    what, library, bucket, key, number, repeats = sys.argv[1:]
    repeat(LIBRARIES[what, library](bucket, key, int(number)), int(repeats))


if __name__ == "__main__":
    main()
