"""prepare --dry-run: what all would take, told from some rows; nothing is written."""

import json

import pytest
from prepared_support import png


@pytest.fixture
def dry_run(headrace, tmp_path):
    def run(source, *options):
        done = headrace("prepare", source, tmp_path / "data", "--dry-run", "--json", *options)
        assert not (tmp_path / "data").exists()
        return json.loads(done.stdout)

    return run


def test_a_table(headrace, dry_run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,x\n" + "".join(f"{'abc'[i % 3]},{i}\n" for i in range(300_000)))
    told = dry_run(path, "--shard-records", "10000")
    assert told["trial"]["counts"]["written"] == told["trial"]["rows"] >= 100_000
    assert 200_000 <= told["rows"] <= 450_000 and 20 <= told["shards"] <= 50
    assert told["read_bytes"] == path.stat().st_size and told["seconds"] > 0
    made = json.loads(headrace("prepare", path, tmp_path / "data", "--json").stdout)
    assert made["shard_bytes"] / 2 < told["written_bytes"] < made["shard_bytes"] * 2


def test_images_in_a_store_with_prices(headrace, dry_run, s3_url, tmp_path):
    for number in range(400):
        folder = tmp_path / "in" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.png").write_bytes(png((number % 256, 0, 0)))
    (tmp_path / "in" / "a" / "0.png").write_bytes(b"no image")
    headrace("sync", tmp_path / "in", f"{s3_url}/in")
    told = dry_run(f"{s3_url}/in", "--prices", "get=1,put=2,gigabyte=0")
    assert told["trial"]["counts"]["rejected"] == 1 and told["objects"] == 400
    assert 400 <= told["read_requests"] <= 500
    assert told["money"] == pytest.approx(told["read_requests"] / 1000 + told["write_requests"] / 500)
    shown = headrace("prepare", f"{s3_url}/in", tmp_path / "data", "--dry-run").stdout
    assert "a/0.png is rejected" in shown and "shards" in shown
    wrong = headrace("prepare", "in", "out", "--dry-run", "--prices", "get=cheap", check=False)
    assert wrong.returncode == 2 and "get=0.0004" in wrong.stderr
