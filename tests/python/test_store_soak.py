"""The stores' conformance suite at sizes that `./dev test` has no time for."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.soak


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("headrace_store_test", "File/StoreConformance.{}/*"),
        ("headrace_store_s3_server_test", "S3/StoreConformance.{}/defaults"),
    ],
    ids=["file", "minio"],
)
@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        ("AnObjectOfAnySizeIs*", "HEADRACE_CONFORMANCE_OBJECT_BYTES", "5500000003"),
        ("AListingHasWhatStays*", "HEADRACE_CONFORMANCE_KEYS", "10000"),
    ],
    ids=["object", "keys"],
)
def test_conformance_at_size(build, tmp_path, program, tests, name, variable, value):
    done = subprocess.run(
        [build / "bin" / program, f"--gtest_filter={tests.format(name)}"],
        env={**os.environ, variable: value, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ] 1 test." in done.stdout
