"""A user who turns the check of certificates off is told so, wherever a store is opened."""

import warnings

import pytest

import headrace as hr

WARNING = "certificate is not checked"


@pytest.fixture
def unchecked(server_over_tls) -> dict[str, str]:
    return server_over_tls | {"AWS_CA_BUNDLE": "", "S3_VERIFY_SSL": "0"}


def test_a_command_warns_and_goes_on(headrace, s3_url, server_over_tls, unchecked, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x")
    done = headrace("cp", "--quiet", file, f"{s3_url}/file", env=unchecked)
    assert WARNING in done.stderr and "s3://headrace-test" in done.stderr
    assert WARNING not in headrace("stat", f"{s3_url}/file", env=server_over_tls).stderr


def test_a_python_store_warns_and_goes_on(s3_url, server_over_tls):
    options = {
        "endpoint_url": server_over_tls["AWS_ENDPOINT_URL_S3"],
        "access_key_id": server_over_tls["AWS_ACCESS_KEY_ID"],
        "secret_access_key": server_over_tls["AWS_SECRET_ACCESS_KEY"],
    }
    with pytest.warns(UserWarning, match=WARNING):
        store = hr.store(s3_url, verify_tls=False, **options)
    store.write("key", b"value")
    assert store.read("key") == b"value"
    with warnings.catch_warnings(), pytest.raises(UserWarning, match=WARNING):
        warnings.simplefilter("error")
        hr.store(s3_url, verify_tls=False, region="another-region", **options)
