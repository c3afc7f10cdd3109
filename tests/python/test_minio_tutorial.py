"""The job that people ran on MinIO when TensorFlow still had s3://, with the environment that they set."""

import os
import re
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "legacy", ["0", pytest.param("1", marks=pytest.mark.soak)], ids=["keras", "tf_keras"]
)
@pytest.mark.exhaustive
def test_it_runs_with_one_import_more(legacy, root, headrace, real_reviews, s3_url):
    headrace("cp", "-r", "-q", real_reviews, f"{s3_url}/preprocessed-data")
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": legacy, "S3_USE_HTTPS": "0"}
    environment["S3_ENDPOINT"] = environment.pop("AWS_ENDPOINT_URL_S3").removeprefix("http://")
    shown = subprocess.run(
        [sys.executable, root / "examples/minio_tutorial.py", s3_url, "2"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    told = re.search(
        r" (\d+) to test on\n.*accuracy (0\.[5-9]\d+)\npredicted (\d+) examples, (0\.\d+) of them right\n",
        shown.stdout,
        re.DOTALL,
    )
    assert told, shown.stdout
    assert told[3] == told[1]
    assert float(told[4]) == pytest.approx(float(told[2]), abs=2e-4)
    assert "differs by 0\n" in shown.stdout
    assert "serving_default" in shown.stdout

    keys = headrace("ls", "-r", s3_url).stdout
    checkpoint = "checkpoints/cp.ckpt.index" if legacy == "1" else "checkpoints/cp.weights.h5"
    for name in (checkpoint, "imdb_sentiment/saved_model.pb", "imdb_sentiment/variables/variables.index"):
        assert name in keys
    for split in ("train", "validation"):
        assert re.search(rf"logs/imdb/[^/]+/{split}/events\.out\.tfevents\.\S+\.v2\b", keys)
