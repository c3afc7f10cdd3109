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
import struct
import subprocess
import time
import zlib

import pytest
from headrace._src.imports import mlflow_database as mlflow_database_reader
from headrace._src.imports import mlflow_files, wandb_files, wandb_log
from headrace._src.imports.source_run import Problem, SourceRun

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


def check_lineage(headrace, root, run) -> None:
    """From the run's files back to where they came from, and from there to the run."""
    (files,) = run["end"]["outputs"]
    (source,) = run["start"]["inputs"]
    made = json.loads(headrace("lineage", files["url"], "--json").stdout)["upstream"]["runs"]
    assert [each["id"] for each in made] == [run["id"]]
    assert [each["url"] for each in made[0]["inputs"]] == [source["url"]]
    used = headrace("lineage", source["url"], "--track", root, "--json").stdout
    assert run["id"] in [each["id"] for each in json.loads(used)["downstream"]["runs"]]


def test_a_database_of_mlflow_becomes_records(headrace, s3_url, mlflow_database, tmp_path):
    artifacts = ("--artifacts-from", mlflow_database.parent / "artifacts")
    assert counts(headrace("runs", "import", mlflow_database, s3_url, *artifacts, "--json")) == (2, 0, 1)
    check_mlflow_runs(headrace, s3_url, tmp_path, -1.7976931348623157e308)
    check_lineage(headrace, s3_url, shown(headrace, s3_url)["first"])
    before = objects(headrace, s3_url)
    again = headrace("runs", "import", mlflow_database, s3_url)
    assert (
        again.stdout
        == "imported 0 runs; 2 were imported before; 1 have not ended: --unfinished imports them\n"
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
    assert f"{loss}, line 6 is not a point of a metric" in done.stderr
    assert f"{meta} is not YAML" in done.stderr and "2 runs could not be imported" in done.stderr
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
        f"values of {name} were left out, because they are not numbers: 1" for name in ("weights", "words")
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
    assert done.returncode == 1 and "is not a log of wandb" in done.stderr


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
        row("CATS-0", "sys/creation_time", "string", string_value="no time"),
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
    done = headrace("runs", "import", tmp_path / "exports", file_url, "--json", check=False)
    assert done.returncode == 1 and counts(done) == (2, 0, 0) and "run CATS-0 of us/cats" in done.stderr
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


def remarks_of(headrace, root, name) -> str:
    return "\n".join(shown(headrace, root)[name]["start"].get("remarks", []))


def test_files_outside_the_source_are_copied_only_where_an_option_allows_it(
    headrace, file_url, mlflow_database, tmp_path
):
    done = headrace("runs", "import", mlflow_database, f"{file_url}/none", "--json")
    assert counts(done) == (2, 0, 1) and "--artifacts-from file://" in done.stderr
    first = shown(headrace, f"{file_url}/none")["first"]
    assert first["end"].get("outputs", []) == []
    told = remarks_of(headrace, f"{file_url}/none", "first")
    artifacts = mlflow_database.parent / "artifacts"
    assert f"--artifacts-from file://{artifacts}/" in told and "lie outside the source" in told
    headrace("runs", "import", mlflow_database, f"{file_url}/one", "--artifacts-from", artifacts)
    run = shown(headrace, f"{file_url}/one")["first"]["id"]
    assert "notes/a.txt" in files_of(headrace, f"{file_url}/one", run, tmp_path / "got")


def test_files_beside_mlflows_database_are_copied(headrace, file_url, mlflow_database, tmp_path):
    database = sqlite3.connect(mlflow_database)
    database.execute("UPDATE runs SET artifact_uri = 'mlruns/' || run_uuid")
    (run,) = database.execute("SELECT run_uuid FROM runs WHERE name = 'first'").fetchone()
    database.commit()
    database.close()
    folder = mlflow_database.parent / "mlruns" / run
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    headrace("runs", "import", mlflow_database, file_url)
    run = shown(headrace, file_url)["first"]["id"]
    assert files_of(headrace, file_url, run, tmp_path / "got") == {"a.txt": "a"}
    shutil.move(mlflow_database.parent / "mlruns", tmp_path / "away")
    (mlflow_database.parent / "mlruns").symlink_to(tmp_path / "away")
    headrace("runs", "import", mlflow_database, f"{file_url}/linked")
    assert "lie outside the source" in remarks_of(headrace, f"{file_url}/linked", "first")


def test_links_that_lead_out_of_the_source_are_left_out(headrace, file_url, tmp_path):
    (tmp_path / "secret").write_text("s")
    source = tmp_path / "wandb"
    shutil.copytree(RECORDED / "offline-run-recorded", source / "offline-run-recorded")
    (source / "offline-run-recorded/files/secret").symlink_to(tmp_path / "secret")
    (source / "offline-run-recorded/files/within").symlink_to("labels.csv")
    assert counts(headrace("runs", "import", source, file_url, "--json")) == (1, 0, 0)
    run = shown(headrace, file_url)["cnn-1"]["id"]
    assert files_of(headrace, file_url, run, tmp_path / "files") == {
        "labels.csv": "a,b\n",
        "within": "a,b\n",
    }
    assert "1 files in file://" in remarks_of(headrace, file_url, "cnn-1")


def test_event_files_outside_the_source_are_left_out(headrace, file_url, tmp_path):
    with hr.summary.Writer(tmp_path / "away") as writer:
        writer.scalar("loss", 1, 0)
    (away,) = (tmp_path / "away").iterdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / away.name).symlink_to(away)
    done = headrace("runs", "import", tmp_path / "logs", file_url, "--from", "tensorboard", check=False)
    assert done.returncode == 1 and "leads out of the source" in done.stderr
    assert "imported 0 runs" in done.stdout


def write_mlruns(folder, **metas) -> None:
    """run id → its meta.yaml"""
    (folder / "0").mkdir(parents=True)
    (folder / "0/meta.yaml").write_text("name: cats\n")
    for run_id, meta in metas.items():
        (folder / "0" / run_id).mkdir()
        (folder / "0" / run_id / "meta.yaml").write_text(meta)


def read_all(runs) -> tuple[list[str], str]:
    """the ids of the runs, and the problems"""
    found = list(runs)
    ids = [run.id for run in found if not isinstance(run, Problem)]
    return ids, "\n".join(str(each) for each in found if isinstance(each, Problem))


def test_a_bad_run_or_model_of_mlflows_files_hides_no_other(tmp_path):
    write_mlruns(tmp_path, bad="run_id: bad\nend_time: .inf\n", good="run_id: good\n")
    for name, meta in (("m-1", "source_run_id: [1]\n"), ("m-2", "source_run_id: good\n")):
        (tmp_path / "0/models" / name / "artifacts").mkdir(parents=True)
        (tmp_path / "0/models" / name / "meta.yaml").write_text(meta)
    ids, problems = read_all(mlflow_files.runs(str(tmp_path)))
    assert ids == ["good"] and "OverflowError" in problems and "source_run_id is a list" in problems
    (good,) = (run for run in mlflow_files.runs(str(tmp_path)) if not isinstance(run, Problem))
    assert [path for _, path in good.files] == ["models/m-2"]


def test_a_bad_run_of_mlflows_database_hides_no_other(mlflow_database):
    database = sqlite3.connect(mlflow_database)
    database.execute("UPDATE runs SET end_time = 9e999 WHERE name = 'first'")
    database.commit()
    database.close()
    ids, problems = read_all(mlflow_database_reader.runs(str(mlflow_database)))
    assert len(ids) == 2 and "OverflowError" in problems


def test_a_bad_run_of_weights_and_biases_hides_no_other(tmp_path):
    def field(number, content):
        tag = number << 3 | 2
        return (
            (bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7]))
            + bytes([len(content)])
            + content
        )

    record = field(17, field(1, b"bad") + field(17, field(2, b"no number")))
    header = struct.pack("<IHB", zlib.crc32(b"\x01" + record), len(record), 1)
    (tmp_path / "run-bad.wandb").write_bytes(b":W&B\xe1\xbe\x00" + header + record)
    shutil.copy(RECORDED / "offline-run-recorded/run-abcd1234.wandb", tmp_path)
    ids, problems = read_all(wandb_files.runs(str(tmp_path)))
    assert ids == ["abcd1234"] and "TypeError" in problems


def test_facts_that_are_no_texts_are_a_problem_of_the_run():
    run = SourceRun("mlflow/1", "mlflow", "1", "/mlruns", points=list, parameters={"lr": 7})
    with pytest.raises(Problem, match="int instead of a text"):
        run.facts()


def test_no_alias_in_a_small_file_becomes_a_large_text(tmp_path):
    def bomb(first, line):
        return f"a0: &a0 {first}\n" + "".join(
            f"a{i}: &a{i} " + line.format(", ".join([f"*a{i - 1}"] * 9)) + "\n" for i in range(1, 12)
        )

    lists = bomb("[lol]", "[{}]") + "run_id: bad\nrun_name: *a11\n"
    merges = bomb("{x: y}", "{{<<: [{}]}}") + "run_id: bad\n"
    write_mlruns(tmp_path, lists=lists, merges=merges, good="run_id: good\nrun_name: 7\n")
    ids, problems = read_all(mlflow_files.runs(str(tmp_path)))
    assert ids == ["good"]
    assert "run_name is a list" in problems and "merge keys (<<) are not supported" in problems


def test_params_of_mlflow_are_not_read_through_links_out_of_the_source(tmp_path):
    (tmp_path / "secret").write_text("s")
    write_mlruns(tmp_path / "mlruns", one="run_id: one\n")
    (tmp_path / "mlruns/0/one/params").mkdir()
    (tmp_path / "mlruns/0/one/params/lr").write_text("0.1")
    (tmp_path / "mlruns/0/one/params/key").symlink_to(tmp_path / "secret")
    (run,) = mlflow_files.runs(str(tmp_path / "mlruns"))
    assert run.parameters == {"lr": "0.1"}
    assert run.remarks == [
        "params were left out, because they are symbolic links that lead out of the source: 1"
    ]


def test_an_import_that_was_killed_before_its_end_goes_on_after_its_source_has_grown(
    headrace, file_url, mlflow_database
):
    importing = ("runs", "import", mlflow_database, file_url, "--json")
    headrace(*importing)
    first = shown(headrace, file_url)["first"]["id"]
    records = pathlib.Path(file_url.removeprefix("file://"), "_headrace/runs/v2", first)
    (end,) = records.rglob("end")
    end.unlink()
    database = sqlite3.connect(mlflow_database)
    (run,) = database.execute("SELECT run_uuid FROM runs WHERE name = 'first'").fetchone()
    database.execute("INSERT INTO metrics VALUES ('loss', 7.0, 1700000000007, ?, 5, 0)", (run,))
    database.execute("INSERT INTO params VALUES ('late', 'x', ?)", (run,))
    database.commit()
    database.close()
    assert counts(headrace(*importing)) == (1, 1, 1)
    record = shown(headrace, file_url)["first"]
    assert record["status"] == "finished" and record["start"]["parameters"]["late"] == "x"
    assert [step for step, _, _ in points(headrace, file_url, first, "loss")] == [0, 1, 2, 3, 4, 5]
    assert counts(headrace(*importing)) == (0, 2, 1)
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
