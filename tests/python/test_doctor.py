"""`headrace doctor` tells what is wrong, and what to do about it, of the things that go wrong most."""

import json
import os
import socket
import urllib.parse

import boto3
import pytest


def examine(headrace, url, *options, env=None) -> tuple[int, dict[str, dict]]:
    """The exit code, and the checks by name."""
    done = headrace("doctor", "--json", "--size", "1MiB", url, *options, env=env, check=False)
    document = json.loads(done.stdout)
    assert document["healthy"] == (done.returncode == 0)
    assert "canary" not in done.stdout + done.stderr
    return done.returncode, {check["name"]: check for check in document["checks"]}


def failures(checks: dict[str, dict]) -> list[str]:
    return [name for name, check in checks.items() if check["outcome"] == "failure"]


def test_a_good_bucket_passes_and_is_left_as_it_was(headrace, s3_url):
    code, checks = examine(headrace, s3_url)
    assert code == 0
    assert {check["outcome"] for check in checks.values()} == {"ok"}
    assert {"credentials", "connection", "clock", "access", "checksums"} <= set(checks)
    assert {"conditional create", "conditional replace", "reads of one version", "speed"} <= set(checks)
    assert "AWS_ENDPOINT_URL_S3" in checks["endpoint"]["text"]
    assert "AWS_ACCESS_KEY_ID" in checks["credentials"]["text"]
    url = urllib.parse.urlsplit(s3_url)
    left = boto3.client("s3").list_objects_v2(Bucket=url.netloc, Prefix=url.path[1:])
    assert left["KeyCount"] == 0


def test_nothing_is_written_unless_it_may_be(headrace, s3_url):
    code, checks = examine(headrace, s3_url, "--no-write")
    assert code == 0
    assert "conditional create" not in checks
    assert "--no-write" in checks["writing"]["text"]


def test_people_see_a_line_for_each_check(headrace, s3_url):
    lines = headrace("doctor", s3_url, "--size", "0").stdout.splitlines()
    assert all(line.startswith("ok ") for line in lines)


def test_folders_of_this_machine_are_examined_too(headrace, tmp_path):
    code, checks = examine(headrace, tmp_path)
    assert code == 0
    assert "free" in checks["disk"]["text"]
    assert list(tmp_path.iterdir()) == []
    assert examine(headrace, "memory://x")[0] == 0


def test_a_folder_that_cannot_be_written_fails(headrace):
    code, checks = examine(headrace, "/proc")
    assert code == 1
    assert failures(checks) == ["write"]


@pytest.mark.parametrize("options", [(), ("--no-write",)])
def test_a_folder_that_does_not_exist_fails_and_is_not_created(headrace, tmp_path, options):
    code, checks = examine(headrace, tmp_path / "mistyped", *options)
    assert code == 1
    assert failures(checks) == ["folder"] == list(checks)
    assert checks["folder"]["text"] == f"{tmp_path}/mistyped does not exist"
    assert "create it" in checks["folder"]["advice"]
    assert list(tmp_path.iterdir()) == []


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


WRONG = {
    "secret": ({"AWS_SECRET_ACCESS_KEY": "canary-secret"}, "access", "secret key", "right keys"),
    "key": ({"AWS_ACCESS_KEY_ID": "nobody"}, "access", "access key id", "right keys"),
    "half": ({"AWS_SECRET_ACCESS_KEY": ""}, "settings", "AWS_SECRET_ACCESS_KEY", "credentials.md"),
    "profile": ({"AWS_PROFILE": "nobody"}, "settings", "nobody", "environment.md"),
    "refused": (
        {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{closed_port()}"},
        "connection",
        "refused",
        "is the server running",
    ),
    "name": (
        {"AWS_ENDPOINT_URL_S3": "http://nowhere.invalid"},
        "connection",
        "nowhere.invalid",
        "AWS_ENDPOINT_URL_S3",
    ),
    "proxy": (
        {
            "AWS_ENDPOINT_URL_S3": "http://nowhere.invalid",
            "HTTP_PROXY": f"http://a:canary@127.0.0.1:{closed_port()}",
        },
        "connection",
        "refused",
        "HTTP_PROXY",
    ),
    "endpoint": ({"AWS_ENDPOINT_URL_S3": "ftp://x"}, "settings", "AWS_ENDPOINT_URL_S3", "environment.md"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_named_with_what_to_do(headrace, s3_url, wrong):
    environment, check, text, advice = WRONG[wrong]
    code, checks = examine(headrace, s3_url, env=environment)
    assert code == 1
    assert failures(checks) == [check]
    assert text in checks[check]["text"]
    assert advice in checks[check]["advice"]


def test_a_missing_bucket_is_named(headrace):
    code, checks = examine(headrace, "s3://headrace-there-is-none/x")
    assert code == 1
    assert failures(checks) == ["access"]
    assert 'no bucket "headrace-there-is-none"' in checks["access"]["text"]


def test_a_server_without_tls_is_told_from_one_with(headrace, s3_url):
    plain = os.environ["AWS_ENDPOINT_URL_S3"].replace("http://", "https://")
    code, checks = examine(headrace, s3_url, env={"AWS_ENDPOINT_URL_S3": plain})
    assert code == 1
    assert failures(checks) == ["connection"]
    assert "http://" in checks["connection"]["advice"]


def test_tls_and_what_is_wrong_with_it(headrace, s3_url, server_over_tls):
    code, checks = examine(headrace, s3_url, env=server_over_tls)
    assert code == 0
    assert "TLSv1.3, certificate checked" in checks["TLS"]["text"]

    code, checks = examine(headrace, s3_url, env=server_over_tls | {"AWS_CA_BUNDLE": ""})
    assert code == 1
    assert failures(checks) == ["connection"]
    assert "certificate" in checks["connection"]["text"]
    assert "AWS_CA_BUNDLE" in checks["connection"]["advice"]

    code, checks = examine(
        headrace, s3_url, env=server_over_tls | {"AWS_CA_BUNDLE": "", "S3_VERIFY_SSL": "0"}
    )
    assert code == 0
    assert checks["TLS"]["outcome"] == "warning"

    plain = server_over_tls["AWS_ENDPOINT_URL_S3"].replace("https://", "http://")
    code, checks = examine(headrace, s3_url, env=server_over_tls | {"AWS_ENDPOINT_URL_S3": plain})
    assert code == 1
