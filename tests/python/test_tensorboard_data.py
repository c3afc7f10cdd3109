"""headrace-tensorboard-data: every call by TensorBoard's own client, beside TensorBoard's own reader."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

import fault_support
import grpc
import numpy as np
import pytest
import tensorflow as tf
from relay_support import Relay
from tensorboard import context, errors
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.data import provider
from tensorboard.data.proto import data_provider_pb2
from tensorboard_support import (
    ALL_POINTS,
    PATIENCE_S,
    data_server,
    headrace_tensorboard,
    wait_until,
    write_logs,
)

CONTEXT = context.RequestContext()


def tensorboards_own(folder: pathlib.Path) -> data_provider.MultiplexerDataProvider:
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        size_guidance={"tensors": 0}, tensor_size_guidance={}
    )
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, str(folder))


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("logs")
    write_logs(folder)
    return folder


@pytest.fixture
def serve(build, tmp_path):
    """Starts servers that are stopped with the test."""
    with contextlib.ExitStack() as stack:
        counter = iter(range(100))

        def start(url, *options, env=None):
            told = tmp_path / f"errors-{next(counter)}"
            return stack.enter_context(data_server(build, str(url), told, *options, env=env))

        yield start


@pytest.fixture
def probe(build):
    """Writes an event file from JSON lines."""

    def write(path: pathlib.Path, *lines: dict) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        command = [build / "bin" / "headrace_record_probe", "events", path]
        subprocess.run(command, input=text, encoding="utf-8", check=True, timeout=60)

    return write


def begin(wall_time: float = 1e9) -> dict:
    return {"kind": "begin", "wall_time": wall_time}


def scalar(step: int, value: float, wall_time: float = 1e9, tag: str = "loss") -> dict:
    return {"kind": "scalar", "tag": tag, "value": value, "step": step, "wall_time": wall_time}


def url_of(kind: str, folder: pathlib.Path, request, headrace) -> str:
    if kind == "file":
        return f"file://{folder}"
    url = request.getfixturevalue("s3_url")
    headrace("sync", folder, url)
    return url


def everything(source: provider.DataProvider, plugin: str, kind: str) -> tuple:
    """The listing of a provider for a plugin, and all that it reads."""
    options = {"experiment_id": "", "plugin_name": plugin}
    listed = getattr(source, f"list_{kind}")(CONTEXT, **options)
    read = getattr(source, f"read_{kind}")(CONTEXT, downsample=ALL_POINTS, **options)
    return listed, read


# ---- what it answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "s3"])
def test_answers_as_tensorboards_own_reader_does(serve, logs, request, headrace, journals, kind):
    server, own = serve(url_of(kind, logs, request, headrace)), tensorboards_own(logs)
    runs = {"deep/validation", "train", "."}
    wait_until(lambda: len(server.provider.list_runs(CONTEXT, experiment_id="")) == len(runs), "three runs")
    for run in ("train", "deep/validation"):
        server.wait_for("accuracy", run, 7)
    server.wait_for("loss", ".", 3)

    def start_times(source):
        return {run.run_name: run.start_time for run in source.list_runs(CONTEXT, experiment_id="")}

    assert start_times(server.provider) == start_times(own)
    plugins = set(server.provider.list_plugins(CONTEXT, experiment_id=""))
    assert plugins == {"scalars", "histograms", "text", "images", "audio", "graphs", "hparams"}
    assert plugins == set(own.list_plugins(CONTEXT, experiment_id=""))

    assert everything(server.provider, "scalars", "scalars") == everything(own, "scalars", "scalars")
    for plugin in ("histograms", "text", "hparams"):
        (listed, read), (own_listed, own_read) = (
            everything(source, plugin, "tensors") for source in (server.provider, own)
        )
        assert listed == own_listed
        assert read.keys() == own_read.keys()
        for run, tags in read.items():
            assert tags.keys() == own_read[run].keys()
            for tag, data in tags.items():
                for datum, expected in zip(data, own_read[run][tag], strict=True):
                    assert (datum.step, datum.wall_time) == (expected.step, expected.wall_time)
                    assert datum.numpy.dtype == expected.numpy.dtype
                    np.testing.assert_array_equal(datum.numpy, expected.numpy)
    for plugin in ("images", "audio", "graphs"):
        compare_blobs(server.provider, own, plugin)


def compare_blobs(ours: provider.DataProvider, own: provider.DataProvider, plugin: str) -> None:
    (listed, read), (own_listed, own_read) = (everything(p, plugin, "blob_sequences") for p in (ours, own))
    assert listed == own_listed
    assert {run: set(tags) for run, tags in read.items()} == {
        run: set(tags) for run, tags in own_read.items()
    }
    for run, tags in read.items():
        for tag, data in tags.items():
            for datum, expected in zip(data, own_read[run][tag], strict=True):
                assert (datum.step, datum.wall_time) == (expected.step, expected.wall_time)
                blobs = [ours.read_blob(CONTEXT, blob_key=blob.blob_key) for blob in datum.values]
                assert blobs == [own.read_blob(CONTEXT, blob_key=blob.blob_key) for blob in expected.values]


def test_shows_what_headrace_writes(serve, probe, tmp_path):
    image = tf.io.encode_png(np.zeros((3, 4, 1), np.uint8)).numpy()
    graph = tf.Graph().as_graph_def().SerializeToString() + b"\x22\x02\x08\x01"
    probe(
        tmp_path / "logs/run/events.out.tfevents.headrace",
        begin(),
        {"kind": "graph", "graph_def": graph.hex(), "wall_time": 1e9},
        {**scalar(1, 0.5), "display_name": "Loss", "description": "of *training*"},
        {"kind": "histogram", "tag": "weights", "values": [1, 2, 3], "wall_time": 1e9, "step": 2},
        {"kind": "text", "tag": "notes", "text": "hello", "wall_time": 1e9, "step": 3},
        {
            "kind": "images",
            "tag": "samples",
            "width": 4,
            "height": 3,
            "encoded": [image.hex()] * 2,
            "wall_time": 1e9,
        },
        {"kind": "trial start", "wall_time": 1e9, "trial": "t", "hyperparameters": {"rate": 0.5}},
    )
    probe(tmp_path / "logs/run/events.out.tfevents.headrace.000002", begin(), scalar(2, 0.25))
    server, own = serve(tmp_path / "logs"), tensorboards_own(tmp_path / "logs")
    assert server.wait_for("loss", "run", 2) == [(1, 0.5), (2, 0.25)]
    assert everything(server.provider, "scalars", "scalars") == everything(own, "scalars", "scalars")
    (listed,) = server.provider.list_scalars(CONTEXT, experiment_id="", plugin_name="scalars")["run"].values()
    assert (listed.display_name, listed.description, listed.max_step) == ("Loss", "of *training*", 2)
    for plugin in ("images", "graphs"):
        compare_blobs(server.provider, own, plugin)
    hparams = server.provider.list_tensors(CONTEXT, experiment_id="", plugin_name="hparams")
    assert hparams == own.list_tensors(CONTEXT, experiment_id="", plugin_name="hparams")


def test_filters_and_bounds(serve, probe, tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(size=5000)
    values[1234], values[3456] = 50, -50
    lines = [scalar(step, float(value)) for step, value in enumerate(values)]
    for run in ("a", "b"):
        probe(tmp_path / run / "tfevents", begin(), *lines, scalar(0, 1, tag="other"))
    server = serve(tmp_path)
    for run in ("a", "b"):
        server.wait_for("other", run, 0)
    options = {"experiment_id": "", "plugin_name": "scalars"}
    only = provider.RunTagFilter(runs=["b", "none"], tags=["loss", "none"])
    read = server.provider.read_scalars(CONTEXT, downsample=100, run_tag_filter=only, **options)
    assert {run: list(tags) for run, tags in read.items()} == {"b": ["loss"]}
    kept = {datum.step: datum.value for datum in read["b"]["loss"]}
    assert len(kept) <= 100 and {0, 1234, 3456, 4999} <= kept.keys()
    nothing = provider.RunTagFilter(runs=[], tags=None)
    assert server.provider.list_scalars(CONTEXT, run_tag_filter=nothing, **options) == {}
    last = server.provider.read_last_scalars(CONTEXT, **options)
    assert last["a"]["loss"].step == 4999
    assert server.provider.read_scalars(CONTEXT, downsample=0, **options)["a"]["loss"] == []
    assert server.provider.list_tensors(CONTEXT, **options) == {}


def test_calls_that_cannot_be_answered(serve, logs):
    server = serve(logs)
    stub = server.stub
    for call, request in {
        stub.ListScalars: data_provider_pb2.ListScalarsRequest(),
        stub.ReadScalars: data_provider_pb2.ReadScalarsRequest(plugin_filter={"plugin_name": "scalars"}),
        stub.ReadTensors: data_provider_pb2.ReadTensorsRequest(
            plugin_filter={"plugin_name": "text"}, downsample={"num_points": -1}
        ),
        stub.ListBlobSequences: data_provider_pb2.ListBlobSequencesRequest(),
    }.items():
        with pytest.raises(grpc.RpcError) as refused:
            call(request)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    for key in ("", "guess", "AAAAAAAAAAAAAAAAAAAA"):
        with pytest.raises(errors.NotFoundError):
            server.provider.read_blob(CONTEXT, blob_key=key)
    metadata = server.provider.experiment_metadata(CONTEXT, experiment_id="")
    assert metadata.data_location == f"file://{logs}"


def test_a_blob_of_another_server_is_not_found(serve, logs):
    first, second = serve(logs), serve(logs)

    def blob_keys(server):
        options = {"experiment_id": "", "plugin_name": "images", "downsample": 10}
        read = server.provider.read_blob_sequences(CONTEXT, **options).get("train")
        return read and [blob.blob_key for datum in read["samples"] for blob in datum.values]

    keys = wait_until(lambda: blob_keys(first), "images")
    assert first.provider.read_blob(CONTEXT, blob_key=keys[0]) == b"4"
    with pytest.raises(errors.NotFoundError):
        second.provider.read_blob(CONTEXT, blob_key=keys[0])


# ---- following ---------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_what_is_flushed_appears(serve, tmp_path):
    server = serve(tmp_path)
    for run in ("first", "second"):
        with tf.summary.create_file_writer(str(tmp_path / run)).as_default() as writer:
            for step in range(3):
                tf.summary.scalar("loss", float(step), step=step)
                writer.flush()
                assert server.wait_for("loss", run, step) == [(i, float(i)) for i in range(step + 1)]


def test_segments_and_new_runs_appear_in_a_bucket(serve, probe, tmp_path, s3_url, headrace, journals):
    server = serve(s3_url)
    for number, name in enumerate(("tfevents", "tfevents.000001", "tfevents.000002")):
        probe(tmp_path / "run" / name, begin(), scalar(number, number))
        headrace("sync", tmp_path, s3_url)
        server.wait_for("loss", "run", number)
    assert server.scalars("loss") == {"run": [(0, 0), (1, 1), (2, 2)]}


def test_a_file_that_grows_by_parts_of_records(serve, probe, tmp_path):
    probe(tmp_path / "whole", begin(), *(scalar(step, 1) for step in range(6)))
    whole = (tmp_path / "whole").read_bytes()
    log = tmp_path / "logs/tfevents"
    log.parent.mkdir()
    log.write_bytes(whole[:-20])
    server = serve(tmp_path / "logs")
    server.wait_for("loss", ".", 4)
    with log.open("ab") as file:
        file.write(whole[-20:])
    assert len(server.wait_for("loss", ".", 5)) == 6


def test_a_file_that_is_replaced(serve, probe, tmp_path):
    log = tmp_path / "logs/tfevents"
    probe(log, begin(), *(scalar(step, 1) for step in range(100)))
    server = serve(tmp_path / "logs")
    server.wait_for("loss", ".", 99)
    probe(tmp_path / "new", begin(), *(scalar(step, 2) for step in range(5)))
    (tmp_path / "new").rename(log)
    assert server.wait_for("loss", ".", 4) == [(step, 2) for step in range(5)]
    log.unlink()
    wait_until(lambda: server.provider.list_runs(CONTEXT, experiment_id="") == [], "no run is left")


def test_two_writers_and_a_resumed_run(serve, probe, tmp_path):
    for writer in (1, 2):
        points = [scalar(step, writer, 1e9 + 10 + step + writer / 10) for step in range(4)]
        probe(tmp_path / f"both/tfevents.{writer}", begin(1e9 + writer), *points)
    probe(tmp_path / "resumed/tfevents.1", begin(1e9), *(scalar(step, 1, 1e9 + step) for step in range(6)))
    probe(tmp_path / "resumed/tfevents.2", begin(2e9), *(scalar(step, 2, 2e9 + step) for step in range(3, 5)))
    server = serve(tmp_path)
    server.wait_for("loss", "both", 3)
    server.wait_for("loss", "resumed", 4)
    assert server.scalars("loss") == {
        "both": [(step, writer) for step in range(4) for writer in (1, 2)],
        "resumed": [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)],
    }


def test_damage_is_told_and_other_files_go_on(serve, probe, tmp_path):
    for run in ("damaged", "sound"):
        probe(tmp_path / run / "tfevents", begin(), *(scalar(step, 1) for step in range(10)))
    log = tmp_path / "damaged/tfevents"
    data = bytearray(log.read_bytes())
    data[data.rindex(b"loss")] ^= 1
    log.write_bytes(data)
    server = serve(tmp_path)
    assert len(server.wait_for("loss", "sound", 9)) == 10
    assert len(server.wait_for("loss", "damaged", 8)) == 9
    (line,) = server.errors().splitlines()
    assert re.search(r"damaged/tfevents: at offset \d+: record data with a wrong checksum", line)


@pytest.mark.exhaustive
def test_a_store_that_cannot_be_reached(serve, probe, tmp_path, s3_url, headrace, journals):
    probe(tmp_path / "run/tfevents", begin(), scalar(0, 1))
    headrace("sync", tmp_path, s3_url)
    relay = Relay(os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://"))
    server = serve(s3_url, env={"AWS_ENDPOINT_URL_S3": relay.url})
    server.wait_for("loss", "run", 0)
    relay.close()
    wait_until(lambda: "data read so far stay visible" in server.errors(), "the server says so")
    assert server.scalars("loss") == {"run": [(0, 1)]}
    probe(tmp_path / "run/tfevents.000001", begin(), scalar(1, 2))
    headrace("sync", tmp_path, s3_url)
    relay.is_open = True
    server.wait_for("loss", "run", 1)
    wait_until(lambda: "can be read again" in server.errors(), "the server says so")
    assert len(server.errors().splitlines()) == 2


@pytest.mark.slow
@pytest.mark.soak
def test_a_thousand_finished_runs_cost_a_listing(serve, probe, tmp_path, s3_url, headrace, journals):
    probe(tmp_path / "log", begin(), scalar(3, 1))
    data = (tmp_path / "log").read_bytes()
    for run in range(1000):
        folder = tmp_path / "logs" / f"run{run:04}"
        folder.mkdir(parents=True)
        (folder / "tfevents").write_bytes(data)
    headrace("sync", tmp_path / "logs", s3_url)
    with fault_support.proxy_of_the_server(rate=0) as proxy:
        server = serve(s3_url, env={"AWS_ENDPOINT_URL_S3": proxy.url})
        wait_until(lambda: len(server.scalars("loss")) == 1000, "all runs")
        loaded = proxy.account.requests
        wait_until(lambda: proxy.account.requests >= loaded + 5, "further listings")
        assert server.stop() == 0
        total = proxy.account.requests
    polls = int(re.search(r"listed the folder (\d+) times", server.errors())[1])
    # The first poll is before `loaded`; the last may have been stopped, and is not counted then.
    assert total - loaded <= 2 * polls


# ---- the program -------------------------------------------------------------------------------------------


def test_ends_when_told_and_with_its_parent(serve, logs, tmp_path):
    server = serve(logs, "--port-file", tmp_path / "port", "--metrics", tmp_path / "metrics")
    assert (tmp_path / "port").read_text() == server.address.rpartition(":")[2] + "\n"
    server.wait_for("loss", "train", 7)
    assert server.stop() == 0
    assert (tmp_path / "metrics").exists()
    orphan = serve(logs, "--die-after-stdin")
    orphan.process.stdin.close()
    assert orphan.process.wait(PATIENCE_S) == 0


def test_says_what_is_wrong_with_its_command_line(build, logs, serve):
    program = build / "bin" / "headrace-tensorboard-data"

    def failed(*arguments) -> str:
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode != 0
        return done.stderr

    assert "--log-folder URL is missing" in failed()
    assert "no store driver" in failed("--log-folder", "nothing://x")
    port = serve(logs).address.rpartition(":")[2]
    assert "cannot listen on" in failed("--log-folder", logs, "--port", port)


def test_the_core_links_no_grpc(build):
    for program in ("headrace",):
        linked = subprocess.run(["ldd", build / "bin" / program], capture_output=True, text=True, check=True)
        assert not re.search(r"grpc|protobuf|absl", linked.stdout)


@pytest.mark.exhaustive
def test_headrace_tensorboard_shows_the_folder(build, logs, tmp_path):
    options = ("--window_title", "Reviews")
    with headrace_tensorboard(build, str(logs), tmp_path / "errors", *options) as (process, address):

        def get(path: str):
            with urllib.request.urlopen(address + path, timeout=PATIENCE_S) as answer:
                return json.load(answer)

        wait_until(lambda: sorted(get("data/runs")) == [".", "deep/validation", "train"], "three runs")
        scalars = wait_until(lambda: get("data/plugin/scalars/tags").get("train"), "scalars")
        assert set(scalars) == {"loss", "accuracy"}
        assert get("data/environment")["window_title"] == "Reviews"
        of_run = "run=train&tag="
        for route in (
            f"scalars/scalars?{of_run}loss",
            f"histograms/histograms?{of_run}weights",
            f"text/text?{of_run}notes",
            f"images/images?{of_run}samples&sample=1",
            f"audio/audio?{of_run}clips&sample=1",
            "graphs/info",
        ):
            assert len(get(f"data/plugin/{route}")) >= 3, route
        series = get("experiment/defaultExperimentId/data/plugin/timeseries/tags")
        assert set(series["scalars"]["runTagInfo"]) == {".", "deep/validation", "train"}
        (image,) = get(f"data/plugin/images/images?{of_run}samples&sample=1")[:1]
        with urllib.request.urlopen(
            f"{address}data/plugin/images/individualImage?{image['query']}"
        ) as answer:
            assert answer.read(8) == b"\x89PNG\r\n\x1a\n"
    assert process.returncode == 0


@pytest.mark.exhaustive
def test_headrace_tensorboard_that_is_killed_leaves_no_program(build, logs, tmp_path):
    with headrace_tensorboard(build, str(logs), tmp_path / "errors") as (process, _):
        children = pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
        programs = [pathlib.Path("/proc", child) for path in children for child in path.read_text().split()]
        assert len(programs) == 2
        process.kill()
        wait_until(lambda: not any(map(is_running, programs)), "both have ended")


def is_running(process: pathlib.Path) -> bool:
    try:
        return process.joinpath("stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_headrace_tensorboard_says_what_is_missing(headrace, logs, tmp_path):
    done = headrace("tensorboard", logs, env={"HEADRACE_PYTHON": "/no/such/python"}, check=False)
    assert done.returncode == 1 and "/no/such/python" in done.stderr
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')  # without what is installed
    bare.chmod(0o755)
    done = headrace("tensorboard", logs, env={"HEADRACE_PYTHON": str(bare)}, check=False)
    assert done.returncode == 1 and "pip install tensorboard" in done.stderr
