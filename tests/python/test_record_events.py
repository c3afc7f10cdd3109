"""Event files against TensorFlow and TensorBoard, both ways, through headrace_record_probe."""

import json
import random
import struct

import numpy as np
import pytest
import tensorflow as tf
from tensorboard import data_compat, dataclass_compat
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.plugins.histogram import summary_v2 as histogram_summary
from tensorboard.plugins.hparams import api_pb2 as hparams_api
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import summary_v2 as hparams_summary
from tensorboard.util import tensor_util


def png(width: int, height: int, shade: int) -> bytes:
    return tf.io.encode_png(np.full((height, width, 1), shade, np.uint8)).numpy()


def accumulate(folder) -> event_accumulator.EventAccumulator:
    shown = event_accumulator.EventAccumulator(str(folder), size_guidance={event_accumulator.TENSORS: 0})
    return shown.Reload()


def only_file(folder):
    (found,) = folder.rglob("*tfevents*")
    return found


# ---- written by us -----------------------------------------------------------------------------------------

BEGIN = {"kind": "begin", "wall_time": 1e9}


def sample_graph() -> bytes:
    with tf.Graph().as_default() as graph:
        a = tf.constant([1.0, 2.0], name="weights")
        tf.add(a, a, name="doubled")
    return graph.as_graph_def().SerializeToString()


def scalar(step: int) -> dict:
    return {
        "kind": "scalar",
        "tag": "epoch_loss",
        "value": 1 / (step + 1),
        "wall_time": 1e9 + step,
        "step": step,
    }


def test_tensorboard_shows_the_events(probe, tmp_path):
    weights = np.random.default_rng(1).normal(size=5000).astype(np.float32)
    name = tmp_path / "events.out.tfevents.1700000000.host.1"
    scalars = [scalar(step) for step in range(100)]
    histograms = [
        {"kind": "histogram", "tag": "dense/kernel", "values": values, "step": step, "wall_time": 1e9}
        for step, values in enumerate([weights.tolist(), [2.5] * 7])
    ]
    text = {"kind": "text", "tag": "model", "text": "**Dense** 256, grüße", "step": 3, "wall_time": 1e9}
    graph = {"kind": "graph", "graph_def": sample_graph().hex(), "wall_time": 1e9}
    probe("events", name, lines=[BEGIN, graph, *scalars[:60], *histograms, text])
    probe("events", f"{name}.000001", lines=[BEGIN, *scalars[60:]])  # a later segment of the same log

    shown = accumulate(tmp_path)
    tags = shown.Tags()
    assert sorted(tags["tensors"]) == ["dense/kernel", "epoch_loss", "model"]
    events = shown.Tensors("epoch_loss")
    assert [(event.step, event.wall_time) for event in events] == [(step, 1e9 + step) for step in range(100)]
    values = [tensor_util.make_ndarray(event.tensor_proto).item() for event in events]
    assert values == [np.float32(1 / (step + 1)).item() for step in range(100)]
    for tag, plugin in {"epoch_loss": "scalars", "dense/kernel": "histograms", "model": "text"}.items():
        assert shown.SummaryMetadata(tag).plugin_data.plugin_name == plugin
    for event, data in zip(shown.Tensors("dense/kernel"), [weights, np.full(7, 2.5)], strict=True):
        expected = tensor_util.make_ndarray(histogram_summary.histogram_pb("x", data).value[0].tensor)
        found = tensor_util.make_ndarray(event.tensor_proto)
        assert found.shape == (30, 3)
        np.testing.assert_allclose(found[:, :2], expected[:, :2], rtol=1e-12, atol=1e-12)
        assert np.abs(found[:, 2] - expected[:, 2]).sum() <= 2 and found[:, 2].sum() == data.size
    (model,) = shown.Tensors("model")
    assert tensor_util.make_ndarray(model.tensor_proto).item() == "**Dense** 256, grüße".encode()
    assert tags["graph"]
    assert [node.name for node in shown.Graph().node] == ["weights", "doubled"]


def test_tensorflow_reads_the_events(probe, tmp_path):
    name = tmp_path / "events.out.tfevents.1.host.1"
    line = {"kind": "scalar", "tag": "loss", "value": 0.5, "step": 7, "wall_time": 6.5}
    probe("events", name, lines=[{"kind": "begin", "wall_time": 5.5}, line])
    first, second = tf.compat.v1.train.summary_iterator(str(name))
    assert (first.file_version, first.wall_time, first.source_metadata.writer) == (
        "brain.Event:2",
        5.5,
        "headrace_record_probe",
    )
    assert (second.step, second.wall_time, second.summary.value[0].tag) == (7, 6.5, "loss")
    assert tf.make_ndarray(second.summary.value[0].tensor) == np.float32(0.5)


def test_tensorboard_shows_images_and_labels(probe, tmp_path):
    images = [png(4, 3, 10), png(4, 3, 200)]
    line = {
        "kind": "images",
        "tag": "samples",
        "width": 4,
        "height": 3,
        "encoded": [image.hex() for image in images],
        "step": 5,
        "wall_time": 1e9,
        "display_name": "Proben",
        "description": "*first* batch",
    }
    probe("events", tmp_path / "tfevents", lines=[BEGIN, line, {**line, "step": 6}])
    shown = accumulate(tmp_path)
    metadata = shown.SummaryMetadata("samples")
    assert metadata.plugin_data.plugin_name == "images"
    assert metadata.data_class == summary_pb2.DATA_CLASS_BLOB_SEQUENCE
    assert (metadata.display_name, metadata.summary_description) == ("Proben", "*first* batch")
    for event, step in zip(shown.Tensors("samples"), [5, 6], strict=True):
        assert event.step == step
        assert tensor_util.make_ndarray(event.tensor_proto).tolist() == [b"4", b"3", *images]
    with tf.summary.create_file_writer(str(tmp_path / "tensorflow")).as_default():
        tf.summary.image("samples", np.zeros((2, 3, 4, 1), np.uint8), step=5)
    (theirs,) = accumulate(tmp_path / "tensorflow").Tensors("samples")
    ours = shown.Tensors("samples")[0].tensor_proto
    assert (ours.dtype, ours.tensor_shape) == (theirs.tensor_proto.dtype, theirs.tensor_proto.tensor_shape)
    assert ours.string_val[:2] == theirs.tensor_proto.string_val[:2]


def test_histograms_of_doubles_are_those_of_tensorboard(probe, tmp_path):
    data = np.random.default_rng(3).normal(size=3000) * 1e200
    line = {"kind": "histogram of doubles", "tag": "h", "values": data.tolist(), "wall_time": 1e9}
    probe("events", tmp_path / "tfevents", lines=[BEGIN, line])
    (event,) = accumulate(tmp_path).Tensors("h")
    found = tensor_util.make_ndarray(event.tensor_proto)
    counts, edges = np.histogram(data, bins=30)
    np.testing.assert_allclose(found[:, 0], edges[:-1], rtol=1e-9, atol=1e185)
    np.testing.assert_allclose(found[:, 1], edges[1:], rtol=1e-9, atol=1e185)
    assert np.abs(found[:, 2] - counts).sum() <= 2 and found[:, 2].sum() == data.size


def test_tensorboard_reads_the_hyperparameters(probe, tmp_path):
    values = {"optimizer": "adam", "rate": 0.001, "units": 256, "shuffle": True, "augment": False}
    experiment = {
        "kind": "experiment",
        "wall_time": 1e9,
        "name": "reviews",
        "description": "a *sweep*",
        "hyperparameters": [
            {"name": "optimizer", "values": ["adam", "sgd"], "display_name": "Optimizer"},
            {"name": "rate", "least": 0.0001, "greatest": 0.1, "description": "step"},
            {"name": "shuffle", "values": [False, True]},
            {"name": "units", "values": [128, 256]},
        ],
        "metrics": [
            {
                "tag": "epoch_loss",
                "group": "validation",
                "display_name": "loss",
                "description": "held out",
            },
            {"tag": "accuracy", "group": ""},
        ],
    }
    start = {"kind": "trial start", "wall_time": 1e9 + 1, "trial": "first", "hyperparameters": values}
    end = {"kind": "trial end", "wall_time": 1e9 + 9, "status": hparams_api.STATUS_SUCCESS}
    probe("events", tmp_path / "tfevents", lines=[BEGIN, experiment, start, end])
    shown = accumulate(tmp_path)

    def content(tag: str) -> bytes:
        metadata = shown.SummaryMetadata(tag)
        assert metadata.plugin_data.plugin_name == "hparams"
        assert tensor_util.make_ndarray(shown.Tensors(tag)[0].tensor_proto).shape == (0,)
        return metadata.plugin_data.content

    parse_start = hparams_metadata.parse_session_start_info_plugin_data
    parse_end = hparams_metadata.parse_session_end_info_plugin_data
    started = parse_start(content(hparams_metadata.SESSION_START_INFO_TAG))
    expected = hparams_summary.hparams_pb(values, trial_id="first", start_time_secs=1e9 + 1)
    assert started == parse_start(expected.value[0].metadata.plugin_data.content)
    ended = parse_end(content(hparams_metadata.SESSION_END_INFO_TAG))
    assert (ended.status, ended.end_time_secs) == (hparams_api.STATUS_SUCCESS, 1e9 + 9)
    found = hparams_metadata.parse_experiment_plugin_data(content(hparams_metadata.EXPERIMENT_TAG))
    domain = hparams_summary.HParam
    config = hparams_summary.hparams_config_pb(
        [
            domain("optimizer", hparams_summary.Discrete(["adam", "sgd"]), display_name="Optimizer"),
            domain("rate", hparams_summary.RealInterval(0.0001, 0.1), description="step"),
            domain("shuffle", hparams_summary.Discrete([False, True])),
            domain("units", hparams_summary.Discrete([128, 256])),
        ],
        [
            hparams_summary.Metric("epoch_loss", "validation", "loss", "held out"),
            hparams_summary.Metric("accuracy"),
        ],
        time_created_secs=1e9,
    )
    wanted = hparams_metadata.parse_experiment_plugin_data(config.value[0].metadata.plugin_data.content)
    wanted.name, wanted.description = "reviews", "a *sweep*"
    assert found == wanted


# ---- read by us --------------------------------------------------------------------------------------------


def tensorboards_reading(path) -> list[dict]:
    """Every value of a file as TensorBoard reads it: after its own migrations, in order."""
    initial, out = {}, []
    for record in RawEventFileLoader(str(path)).Load():
        event = data_compat.migrate_event(event_pb2.Event.FromString(record))
        for migrated in dataclass_compat.migrate_event(event, initial):
            out += [
                {"step": event.step, "wall_time": event.wall_time, "value": value}
                for value in migrated.summary.value
            ]
    return out


def our_reading(probe, path, *options) -> list[dict]:
    events = probe("show-events", path, *options)
    assert not [event for event in events if "damaged" in event or event["errors"]]
    return [
        {"step": event["step"], "wall_time": event["wall_time"], "value": value}
        for event in events
        for value in event["migrated"]
    ]


def same_array(a: tensor_pb2.TensorProto, b: tensor_pb2.TensorProto) -> bool:
    left, right = tensor_util.make_ndarray(a), tensor_util.make_ndarray(b)
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def compare(probe, path, *options) -> int:
    ours, theirs = our_reading(probe, path, *options), tensorboards_reading(path)
    assert len(ours) == len(theirs)
    kinds = {}
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine["step"], mine["wall_time"]) == (other["step"], other["wall_time"])
        value, expected = mine["value"], other["value"]
        assert value["tag"] == expected.tag
        first = value["tag"] not in kinds
        metadata = kinds.setdefault(value["tag"], expected.metadata)
        assert value["class"] == metadata.data_class, value["tag"]
        if first:
            assert value["plugin"] == metadata.plugin_data.plugin_name
            assert value["content"] == metadata.plugin_data.content.hex()
            assert value["display_name"] == metadata.display_name
            assert value["description"] == metadata.summary_description
        if metadata.data_class == summary_pb2.DATA_CLASS_SCALAR:
            number = np.float32(tensor_util.make_ndarray(expected.tensor).item())
            assert value["scalar"] == int(number.view(np.uint32))
        elif metadata.data_class == summary_pb2.DATA_CLASS_TENSOR:
            found = tensor_pb2.TensorProto.FromString(bytes.fromhex(value["tensor"]))
            if expected.tensor.dtype == tf.string.as_datatype_enum:
                assert found == expected.tensor
            else:
                assert same_array(found, expected.tensor)
        elif metadata.data_class == summary_pb2.DATA_CLASS_BLOB_SEQUENCE:
            assert value["blobs"] == [blob.hex() for blob in expected.tensor.string_val]
    return len(ours)


@pytest.mark.parametrize("piece", [1000, 8 << 20])
def test_reads_what_tensorflow_2_writes(probe, tmp_path, piece):
    rng = np.random.default_rng(2)
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        for step in range(5):
            tf.summary.scalar("loss", 1 / (step + 1), step=step, description="**lower** is better")
            for dtype in (tf.float64, tf.float16, tf.int32, tf.int64, tf.uint8):
                value = tf.cast(step * 3 + 1, dtype)
                metadata = summary_pb2.SummaryMetadata(data_class=1)
                metadata.plugin_data.plugin_name = "scalars"
                tf.summary.write(
                    f"scalar/{dtype.name}", value, step=step, metadata=metadata.SerializeToString()
                )
            tf.summary.histogram("weights", rng.normal(size=100 * step), step=step)
            tf.summary.image("samples", rng.random((3, 5, 4, 3)), step=step, description="random")
            tf.summary.audio("clips", (rng.random((2, 50, 1)) * 2 - 1).astype(np.float32), 8000, step=step)
            tf.summary.text("notes", ["one", f"grüße {step}"], step=step)
        tf.summary.graph(tf.compat.v1.GraphDef.FromString(sample_graph()))
        hparams_summary.hparams({"rate": 0.5, "name": "x", "flag": True})
        tf.summary.trace_on(graph=True)
        tf.function(lambda x: x * 2)(tf.constant(1.0))
        tf.summary.trace_export("trace", step=3)
    assert compare(probe, only_file(tmp_path), piece) == 5 * 10 + 3


def test_reads_what_tensorflow_1_writes(probe, tmp_path):
    rng = np.random.default_rng(4)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        values = tf.compat.v1.placeholder(tf.float32, [None])
        images = tf.compat.v1.placeholder(tf.uint8, [None, 3, 4, 1])
        tf.compat.v1.summary.scalar("loss", tf.reduce_sum(values))
        tf.compat.v1.summary.histogram("weights", values)
        tf.compat.v1.summary.image("samples", images, max_outputs=2)
        tf.compat.v1.summary.audio("clips", tf.reshape(values, [1, -1, 1]), 8000)
        tf.compat.v1.summary.text("notes", tf.constant("hello"))
        merged = tf.compat.v1.summary.merge_all()
        writer = tf.compat.v1.summary.FileWriter(str(tmp_path), graph)
        for step in range(4):
            feed = {values: rng.normal(size=50 * step + 1), images: rng.integers(0, 255, (2, 3, 4, 1))}
            options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
            metadata = tf.compat.v1.RunMetadata()
            summary = session.run(merged, feed, options=options, run_metadata=metadata)
            writer.add_summary(summary, step)
            writer.add_run_metadata(metadata, f"step {step}", step)
        writer.add_session_log(tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START), 4)
        writer.close()
    path = only_file(tmp_path)
    assert compare(probe, path) == 1 + 4 * (6 + 1)  # the graph; two images have two tags
    kinds = [event["kind"] for event in probe("show-events", path)]
    assert {1, 2, 3, 5, 6, 7} == set(kinds)  # every kind of event but a log message


def test_reads_every_field_of_a_number(probe, tmp_path):
    """Scalars as other writers may lay them out: in the field of their type, packed or in tensor_content."""
    numbers = {
        tf.float32: 1.5,
        tf.float64: -2.25,
        tf.float16: 0.333,
        tf.bfloat16: 3.14,
        tf.int8: -8,
        tf.uint8: 200,
        tf.int16: -3000,
        tf.uint16: 60000,
        tf.int32: -(2**31),
        tf.int64: -(2**53),
        tf.uint32: 2**32 - 1,
        tf.uint64: 2**63,
        tf.bool: True,
    }
    events = []
    for kind, number in numbers.items():
        array = np.array(number, kind.as_numpy_dtype)
        spelled = tf.make_tensor_proto(array)
        for shape in ((), (1,), (1, 1)):
            listed = tf.make_tensor_proto(array.reshape(shape))
            content = tf.make_tensor_proto(array.reshape(shape))
            for name, _ in content.ListFields():
                if name.name.endswith("_val"):
                    content.ClearField(name.name)
            content.tensor_content = array.tobytes()
            for tensor in (listed, content):
                event = tf.compat.v1.Event(step=len(events))
                event.summary.value.add(tag=kind.name, tensor=tensor)
                events.append((event, float(tf.make_ndarray(spelled).item())))
    with tf.io.TFRecordWriter(str(tmp_path / "tfevents")) as writer:
        for event, _ in events:
            writer.write(event.SerializeToString())
    shown = probe("show-events", tmp_path / "tfevents")
    for event, (_, expected) in zip(shown, events, strict=True):
        (value,) = event["values"]
        (found,) = struct.unpack("<d", struct.pack("<Q", value["scalar"]))
        assert found == expected, value


def test_damage_is_told_and_stepped_over(probe, tmp_path):
    path = tmp_path / "tfevents"
    probe("events", path, lines=[BEGIN, *(scalar(step) for step in range(10))])
    whole = probe("show-events", path)
    data = bytearray(path.read_bytes())
    data[whole[4]["offset"] + 5] ^= 1
    path.write_bytes(data)
    shown = probe("show-events", path)
    assert [event.get("step") for event in shown] == [0, 0, 1, 2, None, 4, 5, 6, 7, 8, 9]
    assert f"offset {whole[4]['offset'] - 12}" in shown[4]["damaged"]
    data[whole[7]["offset"] - 12] ^= 1
    path.write_bytes(data)
    done = probe("show-events", path, check=False)
    assert done.returncode == 1
    assert f"offset {whole[7]['offset'] - 12}: record length with a wrong checksum" in done.stderr
    assert [json.loads(line).get("step") for line in done.stdout.splitlines()] == [0, 0, 1, 2, None, 4, 5]


def test_tensors_that_are_accepted_can_be_parsed_by_protobuf(probe, tmp_path):
    rng = random.Random(9)
    seeds = [
        tf.make_tensor_proto(np.arange(6.0).reshape(2, 3)).SerializeToString(),
        tf.make_tensor_proto([3, 4, 500]).SerializeToString(),
        tf.make_tensor_proto(["a", "bc"]).SerializeToString(),
        tensor_pb2.TensorProto(dtype=1, float_val=[1, 2, 3], half_val=[7, 8]).SerializeToString(),
    ]
    seeds.append(b"\x12\x06\x12\x04\x08\x01\x12\x00" + seeds[3])
    with tf.io.TFRecordWriter(str(tmp_path / "tfevents")) as writer:
        for _ in range(20_000):
            tensor = bytearray(rng.choice(seeds))
            for _ in range(rng.randrange(4)):
                tensor[rng.randrange(len(tensor))] = rng.choice([rng.randrange(256), 0x12, 0x2A, 0x6A, 0x82])
            metadata = b"\x4a\x09\x0a\x05\x0a\x03abc\x20\x02"
            value = b"\x0a\x01t\x42" + bytes([len(tensor)]) + bytes(tensor) + metadata
            summary = b"\x0a" + bytes([len(value)]) + value
            writer.write(b"\x2a" + bytes([len(summary)]) + summary)
    accepted = 0
    for event in probe("show-events", tmp_path / "tfevents"):
        for value in event.get("migrated", []):
            tensor_pb2.TensorProto.FromString(bytes.fromhex(value["tensor"]))
            accepted += 1
    assert accepted > 5000
