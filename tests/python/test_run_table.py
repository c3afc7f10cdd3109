"""`headrace runs ls` as a table: columns, filters, orders and pages, from the index and without it."""

import csv
import io
import json
import shutil

import pytest

import headrace as hr


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Journals and the index are empty, and of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def index(tmp_path):
    return tmp_path / "cache/headrace/runs"


@pytest.fixture
def runs(s3_url) -> str:
    """Three runs that have ended, one that goes on, one whose loss is not a number."""
    for number, (lr, loss) in enumerate([(1e-3, 0.5), (1e-2, 0.25), (1e-1, 0.125)]):
        with hr.init(s3_url, run_id=f"run-{number}", config={"lr": lr, "a' b": "x,y"}) as run:
            run.log({"loss": loss + 1}, step=0)
            run.log({"loss": loss, "val loss": number}, step=1)
    with hr.init(s3_url, run_id="run-nan", config={"lr": "auto"}) as run:
        run.log({"loss": float("nan")})
    live = hr.init(s3_url, run_id="run-live")
    yield s3_url
    live.finish()


def table(headrace, *arguments) -> list[dict]:
    return json.loads(headrace("runs", "ls", *arguments, "--json").stdout)["runs"]


def test_columns_filters_orders_and_pages(headrace, runs):
    shown = table(headrace, runs, "--metric", "loss", "--param", "lr", "--sort", "metrics.loss")
    assert [run["id"] for run in shown] == ["run-2", "run-1", "run-0", "run-nan", "run-live"]
    assert shown[0]["metrics"] == {"loss": 0.125}
    assert shown[0]["parameters"] == {"lr": "0.1"}
    assert shown[3]["metrics"] == {"loss": "NaN"}
    assert shown[4]["metrics"] == {"loss": None}
    assert shown[4]["status"] == "running or killed"

    kept = "metrics.loss < 0.3 AND params.lr >= 1e-2 AND status = 'finished'"
    assert {run["id"] for run in table(headrace, runs, "--where", kept)} == {"run-1", "run-2"}
    page = table(headrace, runs, "--sort", "params.lr DESC", "--limit", "2", "--offset", "1")
    assert [run["id"] for run in page] == ["run-1", "run-0"]
    missing = headrace("runs", "ls", runs, "--where", "metrics.loss > 9", check=False)
    assert missing.returncode == 1
    assert "--where" in missing.stderr


def test_a_table_as_text_and_as_csv(headrace, runs):
    arguments = ["runs", "ls", runs, "--metric", "val loss", "--param", "*", "--sort", "metrics.loss"]
    text = headrace(*arguments).stdout.splitlines()
    assert text[0].split()[:3] == ["run", "command", "status"]
    assert text[1].split()[0] == "run-2"
    rows = list(csv.DictReader(io.StringIO(headrace(*arguments, "--csv").stdout)))
    assert rows[0]["run"] == "run-2"
    assert rows[0]["val loss"] == "2"
    assert rows[0]["a' b"] == "x,y"
    assert rows[2]["lr"] == "0.001"


def test_the_index_may_be_deleted_or_damaged_and_need_not_ask_the_store(headrace, runs, index):
    arguments = (runs, "--metric", "*", "--param", "*")
    expected = table(headrace, *arguments)
    (file,) = index.glob("*.sqlite")
    assert table(headrace, *arguments, "--no-refresh") == expected
    file.write_bytes(b"x" * 4096)
    assert table(headrace, *arguments) == expected
    shutil.rmtree(index)
    index.parent.mkdir(exist_ok=True)
    index.write_text("no folder")
    warned = headrace("runs", "ls", *arguments, "--json")
    assert json.loads(warned.stdout)["runs"] == expected
    assert "no index of runs is kept" in warned.stderr


def test_no_refresh_shows_no_run_that_is_not_in_the_index(headrace, runs):
    refused = headrace("runs", "ls", runs, "--no-refresh", check=False)
    assert refused.returncode == 1
    assert "--no-refresh" in refused.stderr
    before = table(headrace, runs)
    with hr.init(runs, run_id="run-new"):
        pass
    assert table(headrace, runs, "--no-refresh") == before
    assert len(table(headrace, runs)) == len(before) + 1


def test_a_filter_that_cannot_be_read_is_explained(headrace, s3_url):
    for option, value in [("--where", "loss <"), ("--where", "tags.a = 'b'"), ("--sort", "metrics.a UP")]:
        refused = headrace("runs", "ls", s3_url, option, value, check=False)
        assert refused.returncode != 0
        assert option in refused.stderr
