"""`headrace runs import`: runs of MLflow, TensorBoard, Weights & Biases and Neptune become records."""

import datetime
import decimal
import json
import math
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest
from headrace._src.imports import wandb_files, wandb_log
from headrace._src.imports.source_run import Problem

import headrace as hr

RECORDED = pathlib.Path(__file__).parent / "recorded"


@pytest.fixture(autouse=True)
def journals_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def shown(headrace, root) -> dict[str, dict]:
    """name → record, of all runs"""
    runs = json.loads(headrace("runs", "ls", root, "--json").stdout)["runs"]
    return {run["start"]["parameters"].get("name", ""): run for run in runs}


def points(headrace, root, run, metric) -> list[tuple[int, float, float]]:
    """steps, times in seconds, values"""
    lines = headrace("runs", "metrics", root, run, "--metric", metric).stdout.splitlines()
    return [
        (int(step), float(at), float(value)) for _, step, at, value in (line.split("\t") for line in lines)
    ]


def counts(done) -> tuple[int, int, int]:
    result = json.loads(done.stdout)
    return result["imported"], result["known"], result["unfinished"]


def objects(headrace, root) -> list[str]:
    return sorted(headrace("ls", "-r", f"{root}/").stdout.splitlines())


def files_of(headrace, root, run, target) -> dict[str, str]:
    headrace("artifacts", "get", root, run, target)
    found = (path for path in pathlib.Path(target).rglob("*") if path.is_file())
    return {path.relative_to(target).as_posix(): path.read_text() for path in found}


@pytest.fixture
def mlflow_database(tmp_path) -> pathlib.Path:
    """A real mlflow has written it (recorded/record_mlflow.py)."""
    path = tmp_path / "source/mlflow.db"
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.executescript((RECORDED / "mlflow.sql").read_text().replace("@FOLDER@", str(path.parent)))
    database.commit()
    for run, uri in database.execute("SELECT name, artifact_uri FROM runs").fetchall():
        notes = pathlib.Path(uri.removeprefix("file://"), "notes/a.txt")
        if run == "first":
            notes.parent.mkdir(parents=True)
            notes.write_text("hello")
    (model,) = database.execute("SELECT artifact_location FROM logged_models").fetchone()
    pathlib.Path(model.removeprefix("file://")).mkdir(parents=True)
    pathlib.Path(model.removeprefix("file://"), "MLmodel").write_text("flavors: {}")
    database.close()
    return path


@pytest.fixture
def mlruns(tmp_path, monkeypatch) -> pathlib.Path:
    """The same runs, written by the real client into files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.syspath_prepend(str(RECORDED))
    import record_mlflow

    folder = tmp_path / "elsewhere/mlruns"
    record_mlflow.log_runs(f"file://{folder}", None)
    return folder


def check_mlflow_runs(headrace, root, tmp_path, infinity) -> None:
    runs = shown(headrace, root)
    assert len(runs) == 2
    first = runs["first"]
    parameters = first["start"]["parameters"]
    assert parameters["lr"] == "0.001" and parameters["layers/0"] == "dense"
    assert parameters["tags/team"] == "a b" and parameters["imported/group"] == "cats"
    assert parameters["imported/from"] == "mlflow" and len(parameters["imported/id"]) == 32
    assert first["status"] == "finished" and first["start"]["command"] == "import"
    assert first["start"]["inputs"][0]["kind"] == "mlflow"
    loss = points(headrace, root, first["id"], "loss")
    assert [step for step, _, _ in loss] == [0, 1, 2, 3, 4]
    assert [at for _, at, _ in loss] == [1_700_000_000 + step / 1000 for step in range(5)]
    assert [value for _, _, value in loss[:3]] == [1.0, 0.5, 1 / 3]
    assert math.isnan(loss[3][2]) and loss[4][2] == infinity
    files = files_of(headrace, root, first["id"], tmp_path / "files")
    assert files.pop("notes/a.txt") == "hello"
    assert all(path.startswith("models/m-") for path in files)
    (second,) = (run for name, run in runs.items() if name.startswith("second: with 'colon' # and a long"))
    assert second["status"] == "stopped" and second["start"]["parameters"]["name"].endswith(
        "eighty characters"
    )
    assert points(headrace, root, second["id"], "acc/top 1")[0][::2] == (1, 0.5)


def test_a_database_of_mlflow_becomes_records(headrace, s3_url, mlflow_database, tmp_path):
    assert counts(headrace("runs", "import", mlflow_database, s3_url, "--json")) == (2, 0, 1)
    check_mlflow_runs(headrace, s3_url, tmp_path, -1.7976931348623157e308)
    before = objects(headrace, s3_url)
    again = headrace("runs", "import", mlflow_database, s3_url)
    assert (
        again.stdout == "imported 0 runs; 2 were there already; 1 have not ended: --unfinished imports them\n"
    )
    assert objects(headrace, s3_url) == before
    assert counts(headrace("runs", "import", mlflow_database, s3_url, "--unfinished", "--json")) == (1, 2, 0)
    going = shown(headrace, s3_url)["going"]
    assert going["status"] == "stopped" and "had not ended" in going["end"]["error"]
    assert "all " in headrace("verify", s3_url).stdout


@pytest.mark.slow
def test_files_of_mlflow_become_records_wherever_they_were_moved(
    headrace, all_packages, file_url, mlruns, tmp_path
):
    moved = tmp_path / "moved"
    shutil.move(mlruns, moved)
    assert counts(headrace("runs", "import", moved, file_url, "--json")) == (2, 0, 1)
    check_mlflow_runs(headrace, file_url, tmp_path, -math.inf)
    lineage = headrace("lineage", file_url, shown(headrace, file_url)["first"]["id"]).stdout
    assert "moved/" in lineage and "import" in lineage
    shutil.move(moved, mlruns)
    assert counts(headrace("runs", "import", mlruns, file_url, "--json")) == (0, 2, 1)


@pytest.mark.slow
def test_a_damaged_run_is_named_and_hides_no_other(headrace, all_packages, file_url, mlruns):
    (loss,) = mlruns.glob("*/*/metrics/loss")
    content = loss.read_text()
    loss.write_text(content + "no point\n")
    (meta,) = (path for path in mlruns.glob("*/*/meta.yaml") if "name: going" in path.read_text())
    meta.write_text("a: [")
    done = headrace("runs", "import", mlruns, file_url, check=False)
    assert done.returncode == 1 and "imported 1 runs" in done.stdout
    assert f"{loss}, line 6 is no point of a metric" in done.stderr
    assert f"{meta} is no YAML" in done.stderr and "2 runs could not be imported" in done.stderr
    loss.write_text(content)
    meta.unlink()
    assert counts(headrace("runs", "import", mlruns, file_url, "--json")) == (1, 1, 0)


def test_event_files_become_records_that_tensorboard_shows(headrace, file_url, tmp_path):
    logs = tmp_path / "logs"
    for folder, loss in (("first", 0.5), ("first/validation", 0.25)):
        with hr.summary.Writer(logs / folder) as writer:
            for step in range(3):
                writer.scalar("loss", loss / (step + 1), step, wall_time_s=1_700_000_000 + step)
            writer.text("notes", "# Hello", 0)
    assert counts(headrace("runs", "import", logs, file_url, "--json")) == (2, 0, 0)
    runs = shown(headrace, file_url)
    assert set(runs) == {"first", "first/validation"}
    run = runs["first/validation"]
    assert points(headrace, file_url, run["id"], "events/loss")[:2] == [
        (0, 1_700_000_000.0, 0.25),
        (1, 1_700_000_001.0, 0.125),
    ]
    assert set(run["end"]["metrics"]) == {"events/loss"}
    (series,) = run["end"]["series"]
    copies = pathlib.Path(series["url"].removeprefix("file://"))
    originals = list((logs / "first/validation").iterdir())
    assert sorted(path.read_bytes() for path in copies.iterdir()) == sorted(p.read_bytes() for p in originals)
    assert counts(headrace("runs", "import", logs, file_url, "--json")) == (0, 2, 0)


def test_an_offline_run_of_weights_and_biases_becomes_a_record(headrace, file_url, tmp_path):
    assert counts(headrace("runs", "import", RECORDED, file_url, "--from", "wandb", "--json")) == (1, 0, 0)
    run = shown(headrace, file_url)["cnn-1"]
    parameters = run["start"]["parameters"]
    assert (
        parameters["lr"] == "0.01" and parameters["opt/name"] == "adam" and parameters["layers"] == "[1, 2]"
    )
    assert (
        parameters["tags"] == '["a", "b"]' and parameters["group"] == "g" and parameters["notes"] == "first"
    )
    assert parameters["imported/from"] == "wandb" and parameters["imported/id"] == "abcd1234"
    assert parameters["imported/group"] == "cats"
    assert run["status"] == "finished" and run["end"]["metrics"]["best"] == 0.25
    remarks = run["start"]["remarks"]
    assert remarks == [
        f"values of {name} were left out, since they are no numbers: 1" for name in ("weights", "words")
    ]
    loss = points(headrace, file_url, run["id"], "loss")
    assert [step for step, _, _ in loss] == [0, 1, 2, 3, 10]
    assert [value for _, _, value in loss[:3]] == [1.0, 0.5, 1 / 3]
    assert math.isnan(loss[3][2]) and loss[4][2] == math.inf
    assert all(1.7e9 < at < 1.9e9 for _, at, _ in loss)
    assert points(headrace, file_url, run["id"], "nested/acc")[2][::2] == (2, 0.2)
    assert points(headrace, file_url, run["id"], "big")[0][2] == 2.0**60
    assert points(headrace, file_url, run["id"], "system/memory_percent")
    assert files_of(headrace, file_url, run["id"], tmp_path / "files") == {"labels.csv": "a,b\n"}
    alone = RECORDED / "offline-run-recorded/run-abcd1234.wandb"
    assert counts(headrace("runs", "import", alone, file_url, "--json")) == (0, 1, 0)


def test_a_log_of_weights_and_biases_is_read_up_to_where_it_was_cut_off(headrace, file_url, tmp_path):
    whole = (RECORDED / "offline-run-recorded/run-abcd1234.wandb").read_bytes()
    log = tmp_path / "offline-run-cut/run-abcd1234.wandb"
    log.parent.mkdir()
    log.write_bytes(whole[: len(whole) // 2])
    assert counts(headrace("runs", "import", log, file_url, "--json")) == (0, 0, 1)
    assert counts(headrace("runs", "import", log, file_url, "--unfinished", "--json")) == (1, 0, 0)
    run = shown(headrace, file_url)["cnn-1"]
    assert run["status"] == "stopped" and "were left out: 1" in run["start"]["remarks"][-1]
    log.write_bytes(b"something else")
    done = headrace("runs", "import", log, file_url, check=False)
    assert done.returncode == 1 and "does not begin as a log of wandb" in done.stderr


def test_no_bytes_crash_the_reader_of_weights_and_biases(tmp_path):
    whole = bytearray((RECORDED / "offline-run-recorded/run-abcd1234.wandb").read_bytes())
    log = tmp_path / "run-a.wandb"
    for place in range(7, len(whole), 41):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        log.write_bytes(changed)
        for run in wandb_files.runs(str(log)):
            assert isinstance(run, Problem) or list(run.points()) is not None
    for message in (b"\xff" * 20, b"\x0a\xff", b"\x08", b"\x0b", bytes(range(256))):
        assert isinstance(wandb_log.fields_of(message), dict)


def test_numbers_and_texts_that_no_record_has_do_not_stop_an_import(headrace, file_url, mlflow_database):
    database = sqlite3.connect(mlflow_database)
    database.execute("UPDATE runs SET start_time = -7, end_time = 1 << 62 WHERE name = 'first'")
    database.execute("UPDATE runs SET name = CAST(x'ff' AS TEXT) WHERE name LIKE 'second%'")
    database.execute("UPDATE tags SET key = '' WHERE key = 'team'")
    database.execute("UPDATE metrics SET step = 1e30 WHERE key LIKE 'acc%'")
    database.commit()
    database.close()
    done = headrace("runs", "import", mlflow_database, file_url, check=False)
    assert done.returncode == 1 and "imported 1 runs" in done.stdout
    assert "acc/top 1" in done.stderr
    first = shown(headrace, file_url)["first"]
    assert first["start"]["started"] == "1970-01-01T00:00:00.000Z"
    assert first["end"]["ended"] == "2199-12-31T23:59:59.000Z"


@pytest.mark.slow
def test_an_export_of_neptune_becomes_records(headrace, all_packages, file_url, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    started = datetime.datetime(2025, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)

    def row(run, path, kind, **values):
        return {
            "project_id": "us/cats",
            "run_id": run,
            "attribute_path": path,
            "attribute_type": kind,
            **values,
        }

    rows = [
        row("CATS-1", "sys/name", "string", string_value="cnn-1"),
        row("CATS-1", "sys/creation_time", "datetime", datetime_value=started),
        row("CATS-1", "config/lr", "float", float_value=0.1),
        row("CATS-1", "sys/tags", "string_set", string_set_value=["a", "b"]),
        row("CATS-1", "labels", "file", file_value={"path": "us_cats/CATS-1/labels"}),
        row("CATS-1", "log", "string_series", step=decimal.Decimal(1), string_value="text"),
        *(
            row(
                "CATS-1",
                "loss",
                "float_series",
                step=decimal.Decimal(step),
                timestamp=started,
                float_value=1 / step,
            )
            for step in (1, 2)
        ),
        row("CATS-2", "sys/failed", "bool", bool_value=True),
        row("CATS-2", "x", "float_series", step=decimal.Decimal("0.5"), timestamp=started, float_value=2.0),
    ]
    file_type = pa.struct([("path", pa.string())])
    types = {"step": pa.decimal128(18, 6), "timestamp": pa.timestamp("ms", tz="UTC"), "file_value": file_type}
    types |= {"string_set_value": pa.list_(pa.string()), "datetime_value": pa.timestamp("ms", tz="UTC")}
    types |= {"int_value": pa.int64(), "float_value": pa.float64(), "bool_value": pa.bool_()}
    texts = ("project_id", "run_id", "attribute_path", "attribute_type", "string_value")
    schema = pa.schema([(name, pa.string()) for name in texts] + list(types.items()))
    (tmp_path / "exports/data/us_cats").mkdir(parents=True)
    (tmp_path / "exports/files/us_cats/CATS-1").mkdir(parents=True)
    (tmp_path / "exports/files/us_cats/CATS-1/labels").write_text("a,b")
    parquet.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "exports/data/us_cats/part_0.parquet")
    assert counts(headrace("runs", "import", tmp_path / "exports", file_url, "--json")) == (2, 0, 0)
    runs = shown(headrace, file_url)
    first = runs["cnn-1"]
    assert first["start"]["parameters"]["config/lr"] == "0.1"
    assert first["start"]["parameters"]["sys/tags"] == '["a", "b"]'
    assert first["start"]["started"] == "2025-01-02T03:04:05.000Z"
    assert first["start"]["remarks"] == ["values of the type string_series were left out: 1"]
    assert points(headrace, file_url, first["id"], "loss") == [
        (1, started.timestamp(), 1.0),
        (2, started.timestamp(), 0.5),
    ]
    files = files_of(headrace, file_url, first["id"], tmp_path / "got")
    assert files == {"us_cats/CATS-1/labels": "a,b"}
    assert runs[""]["status"] == "failed"
    assert points(headrace, file_url, runs[""]["id"], "x")[0][::2] == (500_000, 2.0)


@pytest.mark.slow
def test_a_killed_import_goes_on_and_two_at_once_write_one(
    headrace, build, file_url, tmp_path, mlflow_database
):
    database = sqlite3.connect(mlflow_database)
    (run,) = database.execute("SELECT run_uuid FROM runs WHERE name = 'first'").fetchone()
    rows = [("many", float(step), step, run, step, 0) for step in range(60_000)]
    database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    command = [build / "bin/headrace", "runs", "import", str(mlflow_database), file_url, "--json"]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    records = pathlib.Path(file_url.removeprefix("file://"), "_headrace/runs")
    end = time.monotonic() + 60
    while not list(records.rglob("start")) and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [json.loads(each.communicate(timeout=300)[0]) for each in both]
    assert all(each["imported"] + each["known"] == 2 and not each["problems"] for each in told)
    runs = shown(headrace, file_url)
    assert len(runs) == 2 and runs["first"]["status"] == "finished"
    assert len(points(headrace, file_url, runs["first"]["id"], "many")) == 60_000
    headrace("verify", file_url)


def test_what_holds_no_runs_is_refused(headrace, file_url, tmp_path):
    (tmp_path / "notes.txt").write_text("no runs")
    done = headrace("runs", "import", tmp_path / "notes.txt", file_url, check=False)
    assert done.returncode == 1 and "holds no runs of MLflow" in done.stderr
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.close()
    done = headrace("runs", "import", other, file_url, check=False)
    assert done.returncode == 1 and "no such table" in done.stderr and "mlflow db upgrade" in done.stderr
    away = headrace("runs", "import", "memory://m/mlruns", file_url, "--from", "wandb", check=False)
    assert away.returncode == 1 and "headrace cp -r" in away.stderr
