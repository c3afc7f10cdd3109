"""Media of runs that were killed, or whose store was away: `headrace runs recover` brings them."""

import io
import json
import math
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import headrace as hr
from headrace import errors

# Logs images of one shade each, and prints how many once they are acknowledged, by `flush` or by time.
LOGGER = """
import sys, time
import numpy as np
import headrace as hr

run = hr.init(sys.argv[1], run_id=sys.argv[2], system_metrics_each=None)
count = 0
while True:
    for _ in range(3):
        run.log({"shade": hr.Image(np.full((4, 4, 3), count, np.uint8)), "loss": count}, step=count)
        count += 1
    if sys.argv[3] == "flush":
        run.flush()
    else:
        time.sleep(1.0)
    print(count, flush=True)
"""

# An image a second for the journal alone: the first flush to the store is later.
WRITER = """
import sys, time
import headrace as hr

writer = hr.summary.Writer(sys.argv[1], flush_seconds=3600, journal=True)
writer.text("note", "kept", 0)
time.sleep(1.0)
print(1, flush=True)
time.sleep(3600)
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Where the journals of media are: empty, and of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/headrace/logs"


def kill_after_lines(lines, program, *arguments) -> int:
    """The last count that the program has printed."""
    command = [sys.executable, "-c", program, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(lines):
        count = process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    whole = [line for line in process.communicate(timeout=60)[0].split("\n")[:-1] if line]
    return int(whole[-1] if whole else count)


def recovered_events(headrace) -> list[dict]:
    found = json.loads(headrace("runs", "recover", "--json").stdout)["recovered"]
    return [log for log in found if "bytes" in log]


def images(folder) -> list[int]:
    """The shades of the images below a folder, as TensorBoard's own reader finds them."""
    from PIL import Image
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext

    seen = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"images": 0})
    seen.AddRunsFromDirectory(str(folder)).Reload()
    provider = data_provider.MultiplexerDataProvider(seen, str(folder))
    context = RequestContext()
    found = provider.read_blob_sequences(
        context, experiment_id="", plugin_name="images", downsample=1_000_000
    )
    shades = []
    for tags in found.values():
        for event in (event for events in tags.values() for event in events):
            (blob,) = event.values[2:]  # after width and height
            data = provider.read_blob(context, blob_key=blob.blob_key)
            shades.append(Image.open(io.BytesIO(data)).getpixel((0, 0))[0])
    return sorted(shades)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["flush", "time"])
def test_images_of_a_killed_run_are_recovered(headrace, s3_url, tmp_path, state, how):
    lines = 5 if how == "flush" else 2
    count = kill_after_lines(lines, LOGGER, s3_url, "killed", how)
    assert list(state.iterdir())
    (log,) = recovered_events(headrace)
    assert log["segments"] >= 1 and "/_headrace/media/killed/" in log["url"]
    assert not list(state.iterdir())
    headrace("cp", "-r", "-q", f"{s3_url}/_headrace/media/killed", tmp_path / "copy")
    shades = images(tmp_path / "copy")
    assert shades == list(range(len(shades))), "each is there once"
    assert len(shades) >= count
    assert recovered_events(headrace) == []


def test_the_next_run_brings_the_media_of_a_killed_one(headrace, file_url, tmp_path, state):
    kill_after_lines(1, LOGGER, file_url, "killed", "flush")
    media = tmp_path / "store/_headrace/media/killed"
    assert not media.exists(), "it was killed before it wrote"
    with hr.init(file_url):
        end = time.monotonic() + 60
        while list(state.iterdir()) and time.monotonic() < end:
            time.sleep(0.05)
    assert list(media.rglob("*tfevents*"))


def test_media_of_a_run_that_was_removed_stay_on_this_machine(headrace, file_url, tmp_path, state):
    kill_after_lines(1, LOGGER, file_url, "killed", "flush")
    headrace("runs", "recover", "--json")
    for name in ("removed", "removed-too"):
        kill_after_lines(1, LOGGER, file_url, name, "flush")
        headrace("rm", "-r", "--yes", "--forget", f"{file_url}/_headrace/runs/v2/{name}")
    done = headrace("runs", "recover", check=False)
    assert done.returncode != 0
    left = list(state.iterdir())
    assert len(left) == 2 and all(str(folder) in done.stderr for folder in left)
    assert done.stderr.count("was removed") == 2
    assert not (tmp_path / "store/_headrace/media/removed").exists()


def test_media_outlast_a_store_that_is_away_until_the_end(headrace, file_url, tmp_path, state):
    root = tmp_path / "store"
    run = hr.init(file_url)
    run.log({"shade": hr.Text("before")})
    root.rename(tmp_path / "away")
    root.write_text("no folder")
    run.log({"shade": hr.Text("meanwhile")})
    with pytest.raises(errors.Error):
        run.finish(timeout=0.5)
    assert recovered_events(headrace) == [], "this process has them still"
    name = run.id
    del run  # lets the journal go
    root.unlink()
    (tmp_path / "away").rename(root)
    (log,) = recovered_events(headrace)
    (file,) = (root / "_headrace/media" / name).rglob("*tfevents*")
    assert b"before" in file.read_bytes() and b"meanwhile" in file.read_bytes()
    assert file.stat().st_size == log["bytes"]


def test_a_writer_of_event_files_has_a_journal_if_it_is_asked_for(headrace, file_url, tmp_path, state):
    kill_after_lines(1, WRITER, f"{file_url}/logs")
    assert not (tmp_path / "store/logs").exists()
    (log,) = recovered_events(headrace)
    (file,) = (tmp_path / "store/logs").iterdir()
    assert b"kept" in file.read_bytes() and log["url"].endswith(file.name)
    with hr.summary.Writer(f"{file_url}/plain") as writer:
        writer.scalar("loss", 0.5, 0)
        writer.flush()
    assert not list(state.iterdir())


def test_without_a_place_on_this_machine_there_is_no_journal(file_url, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    with pytest.raises(errors.FailedPreconditionError, match="XDG_STATE_HOME"):
        hr.summary.Writer(file_url, journal=True)
    hr.summary.Writer(file_url).close()


def test_histograms_and_tables_are_media_too(headrace, file_url, state):
    run = hr.init(file_url)
    run.log({"weights": hr.Histogram(np.arange(8)), "t": hr.Table(["n"], [(1,)])})
    run.flush()
    (journal,) = state.iterdir()
    assert (journal / "000000").stat().st_size > 0
    run.finish(timeout=math.inf)
    assert not list(state.iterdir())
