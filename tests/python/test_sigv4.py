"""Signatures are botocore's: of requests of every kind, in the header field and in the query."""

import datetime
import json
import random
import subprocess
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

SEED = 20130524
REQUESTS = 600
CHARACTERS = "abzAZ09-._~ !$&'()*+,;=:@%/?#[]<>\"\\^`{|}äßЖ日🙂\u0301"


def random_text(random_: random.Random, longest: int, shortest: int = 0) -> str:
    return "".join(random_.choices(CHARACTERS, k=random_.randint(shortest, longest)))


def random_request(random_: random.Random) -> dict:
    host = random_.choice(["bucket.s3.eu-west-1.amazonaws.com", "127.0.0.1:9000", "[::1]:9000", "minio"])
    headers = {"Host": host}
    for _ in range(random_.randint(0, 4)):
        # botocore and we both make runs of spaces one, and HTTP allows no others to be told apart.
        headers[f"x-amz-meta-{random_.randrange(10**6)}"] = "  a  b c".join(random_.choices("xyz019/+=", k=3))
    segments = [random_text(random_, 12, 1).replace("/", "_") for _ in range(random_.randint(1, 4))]
    # No key of Headrace's has a segment "." or "..".
    path = "/" + "/".join(s if set(s) != {"."} else "dots" for s in segments)
    names = {random_text(random_, 8, 1) for _ in range(random_.randint(0, 5))}
    return {
        "method": random_.choice(["GET", "PUT", "HEAD", "DELETE", "POST"]),
        "path": path,
        "query": [[name, random_text(random_, 10)] for name in sorted(names)],
        "headers": headers,
        "digest": random_.choice(["UNSIGNED-PAYLOAD", f"{random_.getrandbits(256):064x}"]),
        "id": "AKIA" + "".join(random_.choices("ABCDEFGH234567", k=16)),
        "secret": "".join(random_.choices("abcXYZ019/+", k=40)),
        "token": random_.choice(["", "".join(random_.choices("abcXYZ019/+=", k=300))]),
        "region": random_.choice(["us-east-1", "eu-central-2", "here"]),
        "date": f"2026{random_.randint(1, 12):02}{random_.randint(1, 28):02}T"
        f"{random_.randint(0, 23):02}{random_.randint(0, 59):02}{random_.randint(0, 59):02}Z",
    }


def signatures_of_ours(build, requests: list[dict]) -> list[str]:
    done = subprocess.run(
        [build / "bin" / "headrace_sigv4_probe"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    return done.stdout.splitlines()


@pytest.fixture
def set_clock(monkeypatch):
    """botocore's clock."""

    def set_to(date: str) -> None:
        now = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
        for module in (botocore.auth,):
            if hasattr(module, "get_current_datetime"):
                monkeypatch.setattr(module, "get_current_datetime", lambda *_, **__: now)
            else:
                frozen = type("Frozen", (datetime.datetime,), {"utcnow": staticmethod(lambda: now)})
                monkeypatch.setattr(module.datetime, "datetime", frozen)

    return set_to


def theirs(request: dict) -> tuple[botocore.awsrequest.AWSRequest, botocore.credentials.Credentials]:
    query = "&".join(
        f"{urllib.parse.quote(name, safe='-._~')}={urllib.parse.quote(value, safe='-._~')}"
        for name, value in request["query"]
    )
    url = f"https://{request['headers']['Host']}{urllib.parse.quote(request['path'], safe='/-._~')}"
    aws = botocore.awsrequest.AWSRequest(
        method=request["method"], url=url + (f"?{query}" if query else ""), headers=request["headers"]
    )
    keys = botocore.credentials.Credentials(request["id"], request["secret"], request["token"] or None)
    return aws, keys


def test_header_signatures_are_botocores(build, set_clock):
    random_ = random.Random(SEED)
    requests, expected = [], []
    for _ in range(REQUESTS):
        request = random_request(random_)
        set_clock(request["date"])
        aws, keys = theirs(request)
        signer = botocore.auth.S3SigV4Auth(keys, "s3", request["region"])
        signer.payload = lambda _, digest=request["digest"]: digest
        signer.add_auth(aws)
        expected.append(aws.headers["Authorization"])
        request["headers"] |= {"x-amz-date": request["date"], "x-amz-content-sha256": request["digest"]}
        if request["token"]:
            request["headers"]["x-amz-security-token"] = request["token"]
        requests.append(request)
    ours = signatures_of_ours(build, requests)
    assert len(ours) == REQUESTS
    for request, our, their in zip(requests, ours, expected, strict=True):
        assert our == their, request


def test_presigned_queries_are_botocores(build, set_clock):
    random_ = random.Random(SEED + 1)
    requests, expected = [], []
    for _ in range(REQUESTS):
        request = random_request(random_) | {"expires": random_.randint(1, 604800)}
        set_clock(request["date"])
        aws, keys = theirs(request)
        signer = botocore.auth.S3SigV4QueryAuth(keys, "s3", request["region"], expires=request["expires"])
        signer.add_auth(aws)
        expected.append(urllib.parse.parse_qs(urllib.parse.urlsplit(aws.url).query, keep_blank_values=True))
        requests.append(request)
    ours = signatures_of_ours(build, requests)
    assert len(ours) == REQUESTS
    for request, our, their in zip(requests, ours, expected, strict=True):
        # The order in the URL is free: what is signed is sorted.
        assert urllib.parse.parse_qs(our, keep_blank_values=True) == their, request
