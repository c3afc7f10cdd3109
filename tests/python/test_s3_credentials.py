"""Keys from profiles, roles and programs, and presigned URLs, at a real server."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

import boto3
import botocore.exceptions
import pytest


@pytest.fixture
def role(s3_url):
    """Temporary keys of the server's STS."""
    endpoint = os.environ["AWS_ENDPOINT_URL_S3"]
    answer = boto3.client("sts", endpoint_url=endpoint, region_name="us-east-1").assume_role(
        RoleArn="arn:aws:iam::1:role/x", RoleSessionName="test", DurationSeconds=900
    )
    return {
        "AWS_ACCESS_KEY_ID": answer["Credentials"]["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": answer["Credentials"]["SecretAccessKey"],
        "AWS_SESSION_TOKEN": answer["Credentials"]["SessionToken"],
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
