"""Keys from profiles, roles and programs, and presigned URLs, at a real server."""

import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import boto3
import botocore.exceptions
import fault_support
import kill_support
import pytest
from faultproxy.faults import FAULTS, Fault
from faultproxy.messages import Request
from faultproxy.play import Play


def temporary_keys() -> dict[str, str]:
    """Keys of the server's STS, others each time."""
    endpoint = os.environ["AWS_ENDPOINT_URL_S3"]
    answer = boto3.client("sts", endpoint_url=endpoint, region_name="us-east-1").assume_role(
        RoleArn="arn:aws:iam::1:role/x", RoleSessionName="test", DurationSeconds=900
    )
    return answer["Credentials"]


@pytest.fixture
def role():
    """Temporary keys, as the environment tells them."""
    keys = temporary_keys()
    return {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }


@pytest.fixture
def profiles(tmp_path):
    """Writes a configuration file; gives the environment in which nothing else has keys."""

    def write(text: str) -> dict[str, str]:
        (tmp_path / "config").write_text(text)
        return {
            "AWS_CONFIG_FILE": str(tmp_path / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
            "AWS_ACCESS_KEY_ID": "",
            "AWS_SECRET_ACCESS_KEY": "",
            "AWS_ENDPOINT_URL_STS": os.environ["AWS_ENDPOINT_URL_S3"],
        }

    return write


def keys_of_the_server() -> str:
    return (
        f"aws_access_key_id = {os.environ['AWS_ACCESS_KEY_ID']}\n"
        f"aws_secret_access_key = {os.environ['AWS_SECRET_ACCESS_KEY']}\n"
    )


@pytest.fixture
def local(tmp_path):
    (tmp_path / "local").write_bytes(b"content")
    return tmp_path / "local"


def fetch(url: str, data: bytes | None = None, method: str = "GET") -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_a_role_is_assumed_at_the_server(headrace, s3_url, profiles, local):
    environment = profiles(
        "[default]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = base\nduration_seconds = 900\n"
        f"[profile base]\n{keys_of_the_server()}"
    )
    headrace("cp", local, f"{s3_url}/object", env=environment)
    assert headrace("cat", f"{s3_url}/object", env=environment).stdout == "content"


def test_a_role_is_refused_to_wrong_keys_in_words_that_help(headrace, s3_url, profiles):
    environment = profiles(
        "[default]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = base\n[profile base]\n"
        "aws_access_key_id = nobody\naws_secret_access_key = canary-secret\n"
    )
    refused = headrace("ls", s3_url, env=environment, check=False)
    assert refused.returncode == 1
    assert "arn:aws:iam::1:role/x" in refused.stderr
    assert 'profile "base"' in refused.stderr
    assert "canary" not in refused.stderr


def test_a_program_gives_keys(headrace, s3_url, profiles, local, tmp_path):
    answer = {
        "Version": 1,
        "AccessKeyId": os.environ["AWS_ACCESS_KEY_ID"],
        "SecretAccessKey": os.environ["AWS_SECRET_ACCESS_KEY"],
    }
    (tmp_path / "keys.json").write_text(json.dumps(answer))
    environment = profiles(f"[default]\ncredential_process = cat '{tmp_path}/keys.json'\n")
    headrace("cp", local, f"{s3_url}/object", env=environment)


def test_temporary_keys_do_everything(headrace, s3_url, role, local):
    headrace("cp", local, f"{s3_url}/object", env=role)
    assert headrace("cat", f"{s3_url}/object", env=role).stdout == "content"
    broken = headrace("ls", s3_url, env=role | {"AWS_SESSION_TOKEN": "canary-token"}, check=False)
    assert broken.returncode == 1
    assert "canary" not in broken.stderr


# ---- keys that the server calls expired


class Program:
    """A credential_process that gives other keys each time, and as many as there are."""

    def __init__(self, folder: pathlib.Path, times: int):
        folder.mkdir()
        self._calls = folder / "calls"
        self._calls.touch()
        self.tokens = []
        for i in range(times):
            keys = temporary_keys()
            self.tokens.append(keys["SessionToken"])
            answer = {name: keys[name] for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")}
            (folder / f"keys-{i}").write_text(json.dumps({"Version": 1, **answer}))
        script = f"cd '{folder}' && number=$(wc -c <calls) && printf x >>calls && cat keys-$number\n"
        (folder / "program").write_text(script)
        self.profile = f"[default]\ncredential_process = sh '{folder}/program'\n"

    @property
    def calls(self) -> int:
        return self._calls.stat().st_size


def expired(**options):
    return fault_support.proxy_of_the_server(**{"rate": 1, "kinds": ["expired_token"], **options})


def expect_no_request_twice(account) -> None:
    asked = [line.split(" ", 1)[1] for line in account.log]
    assert len(asked) == account.requests == len(set(asked)), "nothing else would come of it"


def test_keys_of_the_environment_that_have_expired_are_reported(headrace, s3_url, role):
    done, account = fault_support.run_through(expired(), headrace, "ls", s3_url, env=role)
    assert done.returncode == 1
    assert b"the session token has expired" in done.stderr
    assert b"AWS_SESSION_TOKEN" in done.stderr
    expect_no_request_twice(account)


def test_a_program_whose_new_keys_are_refused_is_not_asked_again(headrace, s3_url, profiles, tmp_path):
    program = Program(tmp_path / "program", times=2)
    done, account = fault_support.run_through(
        expired(), headrace, "ls", s3_url, env=profiles(program.profile)
    )
    assert done.returncode == 1
    assert b"the session token has expired" in done.stderr
    assert b'profile "default"' in done.stderr
    assert program.calls == 1
    expect_no_request_twice(account)


CLOCK = """
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  struct stat ahead;
  const int failed = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME && stat(getenv("CLOCK_AHEAD"), &ahead) == 0) now->tv_sec += ahead.st_size;
  return failed;
}
"""


@pytest.fixture
def clock(tmp_path) -> tuple[dict[str, str], pathlib.Path]:
    """An environment in which the clock is ahead by a second for each byte of a file, and that file."""
    ahead = tmp_path / "ahead"
    ahead.touch()
    (tmp_path / "clock.c").write_text(CLOCK)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "clock.so", tmp_path / "clock.c"], check=True, timeout=60
    )
    return {"LD_PRELOAD": str(tmp_path / "clock.so"), "CLOCK_AHEAD": str(ahead)}, ahead


def test_a_copy_goes_on_with_new_keys_as_often_as_they_expire(
    headrace, s3_url, profiles, clock, tmp_path, monkeypatch
):
    environment, ahead = clock
    refused = []

    async def expired_after_half_a_minute(play: Play) -> None:
        with ahead.open("ab") as file:
            file.write(bytes(31))
        refused.append(play.request.header("x-amz-security-token"))
        await FAULTS["expired_token"].play(play)

    def can_say_why(request: Request) -> bool:
        return request.method != "HEAD"

    kind = Fault("expired_late", "before", expired_after_half_a_minute, can_say_why)
    monkeypatch.setitem(FAULTS, kind.name, kind)
    times = 4
    program = Program(tmp_path / "program", times + 1)
    (tmp_path / "source").mkdir()
    for i in range(40):
        (tmp_path / "source" / f"{i:02}").write_bytes(bytes([i]) * 1000)
    done, account = fault_support.run_through(
        expired(kinds=[kind.name], most=times, apart=8), headrace,
        "cp", "-r", "--jobs", "1", tmp_path / "source", f"{s3_url}/target",
        env=profiles(program.profile) | environment | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert kill_support.s3_objects(f"{s3_url}/target") == kill_support.objects_below(tmp_path / "source")
    assert account.faults == times
    assert refused == program.tokens[:times]
    assert program.calls == times + 1


@pytest.mark.parametrize("temporary", [False, True])
def test_presigned_urls_work_until_they_are_changed(headrace, s3_url, role, temporary):
    environment = role if temporary else {}
    key = "odd key+&=?ü/object"
    put = headrace("presign", "-q", "--method", "PUT", f"{s3_url}/{key}", env=environment).stdout.strip()
    get = headrace("presign", "-q", f"{s3_url}/{key}", "--expires", "15m", env=environment).stdout.strip()
    assert ("X-Amz-Security-Token" in get) == temporary
    assert "X-Amz-Expires=900&" in get
    assert fetch(put, b"content", "PUT")[0] == 200
    assert fetch(get) == (200, b"content")
    url = urllib.parse.urlsplit(s3_url)
    stored = boto3.client("s3").get_object(Bucket=url.netloc, Key=f"{url.path[1:]}/{key}")
    assert stored["Body"].read() == b"content"
    assert fetch(get.replace("X-Amz-Expires=900", "X-Amz-Expires=901"))[0] == 403
    assert fetch(get.replace("object?", "another?"))[0] == 403
    assert fetch(get, b"content", "PUT")[0] == 403
    with pytest.raises(botocore.exceptions.ClientError):
        boto3.client("s3").head_object(Bucket=url.netloc, Key=f"{url.path[1:]}/odd key+&=?ü/another")


def test_a_presigned_url_as_json_says_when_it_ends(headrace, s3_url):
    made = json.loads(headrace("presign", "--json", f"{s3_url}/object").stdout)
    assert made["url"].startswith(os.environ["AWS_ENDPOINT_URL_S3"])
    assert made["usable_until"].endswith("Z")


def test_presign_refuses_what_it_cannot_do(headrace, s3_url, tmp_path):
    assert headrace("presign", s3_url, "--expires", "8d", check=False).returncode == 2
    assert headrace("presign", s3_url, "--expires", "soon", check=False).returncode == 2
    refused = headrace("presign", tmp_path / "file", check=False)
    assert refused.returncode == 1
    assert "s3://" in refused.stderr
