"""Encryption by the server, and secrets that stay secret."""

import base64
import functools
import gzip
import hashlib
import pathlib
import random
import re
import sys
import urllib.parse
import uuid

import boto3
import botocore.config
import pytest

CUSTOMER_KEY = base64.b64encode(hashlib.sha256(b"canary").digest()).decode()
OUR_KEY = {"HEADRACE_S3_SSE": "customer", "HEADRACE_S3_SSE_CUSTOMER_KEY": CUSTOMER_KEY}
LARGE_BYTES = 17 << 20  # of three parts


@pytest.fixture
def bucket(server_over_tls):
    """boto3's view of it."""
    return boto3.resource(
        "s3",
        endpoint_url=server_over_tls["AWS_ENDPOINT_URL_S3"],
        aws_access_key_id=server_over_tls["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=server_over_tls["AWS_SECRET_ACCESS_KEY"],
        verify=server_over_tls["AWS_CA_BUNDLE"],
        config=botocore.config.Config(s3={"addressing_style": "path"}),
    ).Bucket("headrace-test")


@pytest.fixture
def prefix() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def files(tmp_path) -> dict[str, pathlib.Path]:
    """A small file, and one that goes in parts."""
    out = {}
    for name, size in {"small": 1_000, "large": LARGE_BYTES}.items():
        out[name] = tmp_path / name
        out[name].write_bytes(random.Random(size).randbytes(size))
    return out


def copy_there_and_back(headrace, url: str, files, tmp_path, environment) -> None:
    for name, path in files.items():
        headrace("cp", path, f"{url}/{name}", env=environment)
        headrace("cp", f"{url}/{name}", f"{url}/{name}-copy", env=environment)
        headrace("cp", f"{url}/{name}-copy", tmp_path / "back", env=environment)
        assert (tmp_path / "back").read_bytes() == path.read_bytes()
        (tmp_path / "back").unlink()


@pytest.mark.parametrize(("mode", "shown"), [("AES256", "AES256"), ("aws:kms", "aws:kms")])
def test_the_server_encrypts_with_its_own_keys(
    headrace, server_over_tls, bucket, prefix, files, tmp_path, mode, shown
):
    environment = server_over_tls | {"HEADRACE_S3_SSE": mode}
    copy_there_and_back(headrace, f"s3://headrace-test/{prefix}", files, tmp_path, environment)
    objects = list(bucket.objects.filter(Prefix=prefix))
    assert len(objects) == 4
    assert {item.Object().server_side_encryption for item in objects} == {shown}


def test_the_server_encrypts_with_a_key_of_ours(headrace, server_over_tls, bucket, prefix, files, tmp_path):
    url = f"s3://headrace-test/{prefix}"
    environment = server_over_tls | {
        "HEADRACE_S3_SSE": "customer",
        "HEADRACE_S3_SSE_CUSTOMER_KEY": CUSTOMER_KEY,
    }
    copy_there_and_back(headrace, url, files, tmp_path, environment)
    stored = bucket.Object(f"{prefix}/small").get(
        SSECustomerAlgorithm="AES256", SSECustomerKey=base64.b64decode(CUSTOMER_KEY)
    )
    assert stored["Body"].read() == files["small"].read_bytes()
    without = headrace("cat", f"{url}/small", env=server_over_tls, check=False)
    assert without.returncode == 1
    other = {"HEADRACE_S3_SSE_CUSTOMER_KEY": base64.b64encode(bytes(32)).decode()}
    assert headrace("cat", f"{url}/small", env=environment | other, check=False).returncode == 1
    refused = headrace("presign", f"{url}/small", env=environment, check=False)
    assert "HEADRACE_S3_SSE" in refused.stderr


def test_the_doctor_is_content_with_a_key_of_ours(headrace, server_over_tls, prefix):
    environment = server_over_tls | {
        "HEADRACE_S3_SSE": "customer",
        "HEADRACE_S3_SSE_CUSTOMER_KEY": CUSTOMER_KEY,
    }
    done = headrace("doctor", f"s3://headrace-test/{prefix}", "--size", "20MiB", env=environment)
    assert "SSE-C" in done.stdout


def temporary_keys(server_over_tls) -> dict[str, str]:
    sts = boto3.client(
        "sts",
        region_name="us-east-1",
        endpoint_url=server_over_tls["AWS_ENDPOINT_URL_S3"],
        aws_access_key_id=server_over_tls["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=server_over_tls["AWS_SECRET_ACCESS_KEY"],
        verify=server_over_tls["AWS_CA_BUNDLE"],
    )
    keys = sts.assume_role(RoleArn="arn:aws:iam::1:role/x", RoleSessionName="test")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }


@pytest.fixture
def secret_environment(server_over_tls, tmp_path) -> tuple[dict[str, str], dict[str, bytes]]:
    """An environment that works and is full of secrets, and the secrets by name."""
    keys = temporary_keys(server_over_tls)
    environment = server_over_tls | keys
    environment |= OUR_KEY
    environment |= {"HTTP_PROXY": "http://user:canary-proxy@127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    for name in ["TMPDIR", "XDG_CACHE_HOME", "HOME"]:
        environment[name] = str(tmp_path / name)
        (tmp_path / name).mkdir()
    secrets = {
        "secret key": keys["AWS_SECRET_ACCESS_KEY"],
        "token": keys["AWS_SESSION_TOKEN"],
        "end of the token": keys["AWS_SESSION_TOKEN"][-40:],
        "customer's key": CUSTOMER_KEY,
        "proxy password": "canary-proxy",
        "any other": "canary",
    }
    in_bytes = {name: text.encode() for name, text in secrets.items()}
    in_urls = {f"{name} in a URL": urllib.parse.quote(text, "").encode() for name, text in secrets.items()}
    return environment, in_bytes | in_urls | {"customer's key itself": base64.b64decode(CUSTOMER_KEY)}


def expect_no_secret(secrets: dict[str, bytes], where: str, content: bytes) -> None:
    for name, secret in secrets.items():
        assert secret not in content, f"{name} in {where}"


def expect_none_printed(headrace, secrets: dict[str, bytes], environment, commands: list[list]) -> None:
    for command in commands:
        done = headrace(*command, env=environment, text=False, encoding=None)
        expect_no_secret(secrets, f"the output of {command[0]}", done.stdout + done.stderr)


def expect_none_left(secrets: dict[str, bytes], bucket, prefix: str, folder: pathlib.Path) -> list[str]:
    """Searches what commands made below the prefix, the records of runs, which lie in the bucket itself, and
    all files of the folder. The keys of the objects."""
    objects = [item for begin in (prefix, "_headrace/") for item in bucket.objects.filter(Prefix=begin)]
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": base64.b64decode(CUSTOMER_KEY)}
    contents = {item.key: item.get(**key)["Body"].read() for item in objects}
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name, content in [*contents.items(), *files.items()]:
        is_compressed = content.startswith(b"\x1f\x8b")
        expect_no_secret(
            secrets, name, name.encode() + (gzip.decompress(content) if is_compressed else content)
        )
    return list(contents)


@pytest.fixture
def raw(tmp_path) -> pathlib.Path:
    """An archive of reviews."""
    import reviews

    names = [f"{split}/{label}" for split in ("train", "test") for label in ("pos", "neg")]
    texts = [(f"{name}/{i}_8.txt", f"review {i} of {name}".encode()) for name in names for i in range(20)]
    reviews.write_archive(tmp_path / "reviews.tar.gz", texts)
    return tmp_path / "reviews.tar.gz"


def test_no_secret_is_in_what_commands_print_write_and_record(
    headrace, bucket, prefix, raw, tmp_path, secret_environment
):
    environment, secrets = secret_environment
    url = f"s3://headrace-test/{prefix}"
    commands = [
        ["cp", raw, f"{url}/reviews.tar.gz"],
        ["prepare", f"{url}/reviews.tar.gz", f"{url}/data", "--encoder", "hash:64"],
        ["ls", url],
        ["ls", "--json", "-r", url],
        ["stat", f"{url}/data"],
        ["cat", f"{url}/data/_headrace/manifest-00000002"],
        ["inspect", f"{url}/data"],
        ["verify", f"{url}/data"],
        ["runs", "ls", url],
        ["lineage", f"{url}/data"],
        ["doctor", url, "--size", "1MiB"],
        ["doctor", "--json", url, "--size", "1MiB"],
        ["rm", "--yes", f"{url}/reviews.tar.gz"],
    ]
    expect_none_printed(headrace, secrets, environment, commands)
    keys = expect_none_left(secrets, bucket, prefix, tmp_path)
    assert any("_headrace/runs/" in key for key in keys)


@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
@pytest.mark.exhaustive
def test_no_secret_is_in_what_a_model_leaves_behind(
    headrace, bucket, prefix, raw, tmp_path, secret_environment, loop
):
    environment, secrets = secret_environment
    environment |= {"HEADRACE_PYTHON": sys.executable, "TF_CPP_MIN_LOG_LEVEL": "0"}
    url = f"s3://headrace-test/{prefix}"
    data, run, tracked = f"{url}/data", f"{url}/run", ["--track", url]
    without_key = environment | {"HEADRACE_S3_SSE": "", "HEADRACE_S3_SSE_CUSTOMER_KEY": ""}
    presigned = headrace("presign", "-q", f"{data}/object", env=without_key).stdout
    secrets["a signature"] = re.search("X-Amz-Signature=([0-9a-f]{64})", presigned)[1].encode()
    secrets["how requests are signed"] = b"AWS4-HMAC"
    steps = ["--epochs", "2", "--batch-size", "8", "--log-every", "1", "--loop", loop]
    commands = [
        ["prepare", raw, data, "--encoder", "hash:64", "--shard-records", "10", *tracked],
        ["train", data, run, *steps, "--cache", tmp_path / "kept", *tracked],
        ["evaluate", run, "--data", data, *tracked],
        ["predict", run, "--data", data, "--to", f"{url}/answers", *tracked],
        ["inspect", run],
        ["verify", run],
        ["lineage", run, "--json"],
        ["runs", "ls", "--json", url],
    ]
    expect_none_printed(headrace, secrets, environment, commands)
    failed = ["train", data, f"{url}/failed", "--split", "none", *tracked]
    done = headrace(*failed, env=environment, check=False, text=False, encoding=None)
    assert done.returncode == 1
    expect_no_secret(secrets, "what a failed run prints", done.stdout + done.stderr)

    keys = expect_none_left(secrets, bucket, prefix, tmp_path)
    for kind in ("data", "run/model", "run/events", "run/checkpoints", "run/export", "run/evaluations"):
        assert any(key.startswith(f"{prefix}/{kind}/") for key in keys), kind
    records = [key for key in keys if key.startswith(f"{prefix}/_headrace/runs/v2/")]
    assert sum(key.endswith(("/start", "/end")) for key in records) == 2 * 5


WRONG = {
    "secret": {"AWS_SECRET_ACCESS_KEY": "canary-secret"},
    "token": {"AWS_SESSION_TOKEN": "canary-token"},
    "token of control characters": {"AWS_SESSION_TOKEN": "canary\r\ntoken"},
    "no key id": {"AWS_ACCESS_KEY_ID": ""},
    "endpoint": {"AWS_ENDPOINT_URL_S3": "https://user:canary@127.0.0.1"},
    "refused": {"AWS_ENDPOINT_URL_S3": "https://127.0.0.1:9"},
    "certificate": {"AWS_CA_BUNDLE": ""},
    "proxy": {
        "HTTPS_PROXY": "http://user:canary-proxy@127.0.0.1:9",
        "AWS_ENDPOINT_URL_S3": "https://192.0.2.1",
    },
    "proxy, no URL": {"HTTPS_PROXY": "socks5://user:canary-proxy@[127.0.0.1"},
    "customer's key": {"HEADRACE_S3_SSE_CUSTOMER_KEY": base64.b64encode(b"canary").decode()},
    "customer's key, no base64": {"HEADRACE_S3_SSE_CUSTOMER_KEY": "canary-" * 7},
    "customer's key in the clear": {"AWS_ENDPOINT_URL_S3": "http://192.0.2.1"},
}
PROFILES = {
    "half": "aws_secret_access_key = canary\n",
    "program": "credential_process = echo canary-canary-canary-canary-canary >&2; exit 1\n",
    "answer": 'credential_process = echo \'{"Version": 1, "SecretAccessKey": "canary"}\'\n',
    "nonsense": "credential_process = echo canary\n",
    "role": "role_arn = arn:x\nsource_profile = default\naws_access_key_id = a\n"
    "aws_secret_access_key = canary\naws_session_token = canary\n",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["ls", "doctor", "cp"])
def test_no_secret_is_in_what_failures_print(headrace, tmp_path, secret_environment, command):
    environment, secrets = secret_environment
    run = functools.partial(headrace, text=False, encoding=None)
    (tmp_path / "local").write_bytes(b"content")
    url = "s3://headrace-test/none"
    arguments = {"ls": [url], "doctor": [url], "cp": [tmp_path / "local", url]}[command]
    for name, wrong in WRONG.items():
        failed = run(command, *arguments, env=environment | wrong, check=False)
        assert failed.returncode == 1, name
        expect_no_secret(secrets, f"{command}, {name}", failed.stdout + failed.stderr)
    for name, profile in PROFILES.items():
        (tmp_path / "config").write_text(f"[default]\n{profile}")
        wrong = {"AWS_CONFIG_FILE": str(tmp_path / "config")}
        wrong |= dict.fromkeys(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"], "")
        wrong["AWS_ENDPOINT_URL_STS"] = environment["AWS_ENDPOINT_URL_S3"]
        failed = run(command, *arguments, env=environment | wrong, check=False)
        assert failed.returncode == 1, name
        expect_no_secret(secrets, f"{command}, profile {name}", failed.stdout + failed.stderr)
