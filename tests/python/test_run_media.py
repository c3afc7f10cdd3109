"""Audio and tables that runs log: hr.Audio, hr.Table, and those of headrace.wandb."""

import csv
import io
import json
import math
import wave

import numpy as np
import pytest
from headrace._src import audio, table

import headrace as hr
from headrace import errors, wandb


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HEADRACE_RUNS", str(tmp_path / "runs"))
    yield
    wandb.finish()


def shown(headrace, root, run, name, *options) -> dict:
    return json.loads(headrace("runs", "show", root, run, "--table", name, "--json", *options).stdout)


def samples_of(data: bytes) -> tuple[int, np.ndarray]:
    with wave.open(io.BytesIO(data)) as file:
        frames = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return file.getframerate(), frames.reshape(-1, file.getnchannels())


def test_a_clip_is_a_wav_file_of_16_bits():
    rate, mono = samples_of(audio.encoded([0.0, 0.5, -1.0, 2.0, math.nan], 8_000))
    assert rate == 8_000 and mono.ravel().tolist() == [0, 16384, -32767, 32767, 0]
    stereo = np.arange(6, dtype=np.int16).reshape(3, 2)
    assert samples_of(audio.encoded(stereo, 44_100))[1].tolist() == stereo.tolist()
    data = audio.encoded(stereo, 1)
    assert audio.encoded(data, 0) == data
    for bad, why in (
        (np.zeros((1, 2, 3)), "channels, not the shape"),
        (np.zeros(3, np.int64), "floats or int16, not int64"),
        (b"no WAV at all", "not a WAV file"),
        (np.zeros(20_000_000, np.int16), "at most 33554432"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=why):
            audio.encoded(bad, 8_000)
    with pytest.raises(errors.InvalidArgumentError, match="the rate is 0"):
        audio.encoded([0.0], 0)


@pytest.mark.slow
def test_tensorboard_plays_the_clips(headrace, s3_url, tmp_path):
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext

    clip = np.sin(np.linspace(0, 100, 800)).astype(np.float32)
    with hr.init(s3_url) as run:
        run.log({"loss": 0.5, "bark": hr.Audio(clip, 8_000)})
        run.log({"bark": hr.Audio(audio.encoded(clip[:400], 8_000))})
    record = json.loads(headrace("runs", "show", s3_url, run.id, "--json").stdout)
    (series,) = (each for each in record["end"]["series"] if each["name"] == "media")
    headrace("cp", "-r", "-q", series["url"], tmp_path / "copy")
    seen = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"audio": 0})
    seen.AddRunsFromDirectory(str(tmp_path / "copy")).Reload()
    provider = data_provider.MultiplexerDataProvider(seen, str(tmp_path / "copy"))
    context = RequestContext()
    found = provider.read_blob_sequences(context, experiment_id="", plugin_name="audio", downsample=10)
    ((events,),) = (tags.values() for tags in found.values())
    clips = [provider.read_blob(context, blob_key=event.values[0].blob_key) for event in events]
    assert [samples_of(data)[1].size for data in clips] == [800, 400]
    assert clips[0] == audio.encoded(clip, 8_000)


def test_a_table_is_shown_and_exported(headrace, s3_url, tmp_path):
    rows = [(1, 'cat, "or" dog', 0.5, True), (np.int32(2), None, np.float32(0.25), np.bool_(False))]
    with hr.init(s3_url) as run:
        run.log({"loss": 0.5, "errors": hr.Table(["id", "label", "p", "ok"], rows)})
        run.log({"errors": hr.Table(["id", "label", "p", "ok"], [(3, "é", math.inf, True)])}, step=7)
        with pytest.raises(errors.InvalidArgumentError, match="column b is a list"):
            run.log({"errors": hr.Table(["a", "b"], [(1, [])])})
    assert shown(headrace, s3_url, run.id, "errors", "--step", "0") == {
        "run": run.id,
        "rank": 0,
        "table": "errors",
        "step": 0,
        "columns": ["id", "label", "p", "ok"],
        "rows": [[1, 'cat, "or" dog', 0.5, True], [2, None, 0.25, False]],
    }
    assert shown(headrace, s3_url, run.id, "errors")["rows"] == [[3, "é", "Infinity", True]]
    lines = headrace("runs", "show", s3_url, run.id, "--table", "errors", "--step", "0").stdout.splitlines()
    assert lines[0].split() == ["id", "label", "p", "ok"] and lines[1].startswith('1   cat, "or" dog')
    missing = headrace("runs", "show", s3_url, run.id, "--table", "other", check=False)
    assert missing.returncode == 1 and "there are: errors" in missing.stderr
    headrace("runs", "export", s3_url, tmp_path / "errors.csv", "--table", "errors")
    with open(tmp_path / "errors.csv", newline="") as file:
        exported = list(csv.reader(file))
    assert exported[0] == ["run", "rank", "step", "id", "label", "p", "ok"]
    assert exported[1] == [run.id, "0", "0", "1", 'cat, "or" dog', "0.5", "true"]
    assert exported[3] == [run.id, "0", "7", "3", "é", "Infinity", "true"]


@pytest.mark.slow
def test_a_table_becomes_parquet(headrace, all_packages, file_url, tmp_path):
    import pyarrow.parquet

    with hr.init(file_url) as run:
        run.log({"t": hr.Table(["n", "text"], [(1, "a"), (None, "2026-01-01")])})
    headrace("runs", "export", file_url, tmp_path / "t.parquet", run.id, "--table", "t")
    read = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert read == {
        "run": [run.id] * 2,
        "rank": [0, 0],
        "step": [0, 0],
        "n": [1, None],
        "text": ["a", "2026-01-01"],
    }


def test_tables_that_are_too_large_or_no_tables_are_refused():
    assert json.loads(table.encoded(["a"], [])) == {"columns": ["a"], "rows": []}
    for columns, rows, why in (
        (["a", "a"], [], "each must be unique"),
        ([1], [], "each must be unique"),
        ([], [], "0 columns"),
        ([str(i) for i in range(1001)], [], "1001 columns"),
        (["a"], [(1, 2)], "row 0 has 2 cells"),
        (["a"], (("x" * 1000,) for _ in iter(int, 1)), "more than 8388608 bytes"),  # endless
        (["a"], [("x" * (1 << 20),)] * 1024, "more than 8388608 bytes"),  # a gibibyte
        (["a"], [("x" * (1 << 30),)], "more than 8388608 bytes"),  # in one cell
    ):
        with pytest.raises(errors.InvalidArgumentError, match=why):
            table.encoded(columns, rows)


def test_tables_and_audio_of_wandb(headrace, tmp_path):
    import pandas

    run = wandb.init(project="p")
    (tmp_path / "a.wav").write_bytes(audio.encoded([0.5], 8_000))
    errors_seen = wandb.Table(columns=["id", "label"], data=[[1, "cat"]])
    errors_seen.add_data(2, "dog")
    frame = wandb.Table(dataframe=pandas.DataFrame({"x": [0.5], "y": ["z"]}))
    wandb.log({"errors": errors_seen, "frame": frame, "bark": wandb.Audio(tmp_path / "a.wav")})
    wandb.log({"hum": wandb.Audio(np.zeros(8), sample_rate=8_000)})
    with pytest.raises(errors.InvalidArgumentError, match="needs its sample_rate"):
        wandb.Audio(np.zeros(8))
    with pytest.raises(errors.InvalidArgumentError, match="a row must have 2 cells"):
        errors_seen.add_data(1)
    wandb.finish()
    root = tmp_path / "runs/p"
    assert shown(headrace, root, run.id, "errors")["rows"] == [[1, "cat"], [2, "dog"]]
    assert shown(headrace, root, run.id, "frame")["columns"] == ["x", "y"]
