"""How many requests it takes to own and publish outputs (docs/formats/ownership.md), so that nothing is added
unseen. The numbers before and with ownership: bench/results/2026-11-24/ownership_requests.txt.
"""

import pathlib

import kill_support
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]


@pytest.fixture
def requests(headrace, tmp_path):
    """Runs a command, and counts its requests to the S3 server, without those that were sent again."""

    def run(*words: object) -> int:
        file = tmp_path / "metrics"
        headrace(*words, "--metrics", file)
        lines = [line.split() for line in file.read_text().splitlines() if not line.startswith("#")]
        counters = {name: int(value) for name, value in lines if name.endswith("_total")}
        again = counters["headrace_store_resent_total"] + counters["headrace_store_hedges_total"]
        return counters["headrace_store_requests_total"] - again

    return run


@pytest.mark.exhaustive
def test_ownership_costs_few_requests(requests, s3_url, tmp_path):
    archive: pathlib.Path = kill_support.write_archive(tmp_path / "raw.tar.gz", kill_support.reviews(600))
    words = ["--encoder", "hash:16", "--shard-records", "200", "--workers", "1"]
    assert requests("prepare", archive, f"{s3_url}/data", *words) <= 58
    train = ["train", f"{s3_url}/data", "--batch-size", "32", "--seed", "7"]
    one = requests(*train, f"{s3_url}/one", "--epochs", "1")
    assert one <= 92, "two of them for the lines that it prints"
    three = requests(*train, f"{s3_url}/three", "--epochs", "3")
    assert three - one <= 2 * 8, "a checkpoint takes no more than without ownership"
