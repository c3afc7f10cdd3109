"""headrace serve: requests are logged as TensorFlow Serving logs them, and played to new versions."""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import numpy as np
import pytest
import tensorflow as tf
import tritonclient.http as triton_client
from serve_models import HalfPlusTwo, instance_of, rows_of, train_people
from serve_support import serving
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2, prediction_service_pb2_grpc

pytestmark = pytest.mark.usefixtures("tracing_environment")

SECONDS = 60


@pytest.fixture(scope="module")
def place(headrace, tmp_path_factory):
    return train_people(headrace, tmp_path_factory.mktemp("people"))


@pytest.fixture
def foreign(tmp_path):
    HalfPlusTwo().save(tmp_path / "half_plus_two/123")
    return tmp_path / "half_plus_two"


def logs_of(headrace, url: str, model: str, folder: pathlib.Path) -> list[prediction_log_pb2.PredictionLog]:
    """The log's records, as TensorFlow reads them."""
    headrace("cp", "-r", f"{url}/{model}", folder / model)
    files = sorted(map(str, (folder / model).glob("*.tfrecord")))
    assert files
    records = tf.data.TFRecordDataset(files).as_numpy_iterator()
    return [prediction_log_pb2.PredictionLog.FromString(record) for record in records]


def arrays(tensors) -> dict[str, np.ndarray]:
    return {name: tf.make_ndarray(tensor) for name, tensor in tensors.items()}


def metric(server, name: str) -> float:
    lines = server.admin("/metrics")[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_requests_of_all_protocols_are_logged_in_one_form(build, headrace, foreign, s3_url, tmp_path):
    words = [foreign, "--log-requests", f"{s3_url}/logs", "--log-fraction", "1"]
    with serving(build, tmp_path / "server", *words) as server:
        server.wait_until_ready()
        assert server.predict("half_plus_two", {"instances": [1.0, 2.0]})[0] == 200
        assert server.predict("half_plus_two", {"instances": ["no number"]})[0] == 400
        body = {"signature_name": "total", "inputs": [1.0, 2.0, 3.0]}
        assert server.predict("half_plus_two", body)[0] == 200
        x = np.arange(300, dtype=np.float32)
        client = triton_client.InferenceServerClient(f"127.0.0.1:{server.port}")
        tensor = triton_client.InferInput("x", [300], "FP32")
        tensor.set_data_from_numpy(x)
        client.infer("half_plus_two", [tensor])
        request = predict_pb2.PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = "half_plus_two", "mixed"
        texts = np.array([b"\xff\x00a", b""], object)
        request.inputs["numbers"].CopyFrom(tf.make_tensor_proto(np.ones((2, 2, 1), np.int64)))
        request.inputs["texts"].CopyFrom(tf.make_tensor_proto(texts))
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, SECONDS)
        server.wait_until(lambda: metric(server, "headrace_serve_logged_requests_total{") == 4)
        assert metric(server, "headrace_serve_unlogged_requests_total{") == 0
        assert server.stop() == 0

    rest, total, infer, predict = logs_of(headrace, f"{s3_url}/logs", "half_plus_two", tmp_path)
    facts = rest.log_metadata
    assert facts.model_spec.name == "half_plus_two" and facts.model_spec.version.value == 123
    assert facts.sampling_config.sampling_rate == 1 and facts.timestamp_secs > 1_700_000_000
    assert not rest.predict_log.request.model_spec.HasField("version")
    assert arrays(rest.predict_log.request.inputs)["x"].tolist() == [1.0, 2.0]
    assert arrays(rest.predict_log.response.outputs)["y"].tolist() == [2.5, 3.0]
    assert total.predict_log.request.model_spec.signature_name == "total"
    assert arrays(total.predict_log.request.inputs)["whole"].tolist() == [1.0, 2.0, 3.0]
    assert arrays(total.predict_log.response.outputs)["sum"] == 6
    np.testing.assert_array_equal(arrays(infer.predict_log.request.inputs)["x"], x)  # in several batches
    np.testing.assert_array_equal(arrays(infer.predict_log.response.outputs)["y"], x / 2 + 2)
    assert arrays(predict.predict_log.request.inputs)["texts"].tolist() == texts.tolist()
    assert arrays(predict.predict_log.response.outputs).keys() == answer.outputs.keys()
    assert predict.predict_log.response.model_spec.version.value == 123


@pytest.mark.exhaustive
def test_raw_rows_are_logged_as_they_came_and_can_be_asked_again(build, headrace, place, tmp_path):
    words = [place / "models/people", "--log-requests", tmp_path / "logs", "--log-fraction", "1"]
    instances = [instance_of(row) for row in rows_of(place, 3)]
    with serving(build, tmp_path / "server", *words) as server:
        server.wait_until_ready()
        _, expected = server.predict("people", {"instances": instances})
        assert server.stop() == 0
    (log,) = logs_of(headrace, tmp_path / "logs", "people", tmp_path / "copy")
    rows = arrays(log.predict_log.request.inputs)["row"]
    assert [json.loads(row) for row in rows] == instances
    labels = [each["label"] for each in expected["predictions"]]
    assert [label.decode() for label in arrays(log.predict_log.response.outputs)["label"]] == labels

    with serving(build, tmp_path / "again", *words[:1], "--warm-up", tmp_path / "logs") as server:
        server.wait_until_ready()
        assert "warm-up requests: 1 ran\n" in server.errors.read_text()
        body = {"instances": [{"row": row.decode()} for row in rows]}
        assert server.predict("people", body)[1] == expected


@pytest.mark.exhaustive
def test_a_store_that_takes_nothing_costs_no_request(build, foreign, s3_url, tmp_path):
    nowhere = s3_url.replace("headrace-test", "headrace-nowhere")
    words = [foreign, "--log-requests", nowhere, "--log-fraction", "1"]
    with serving(build, tmp_path / "server", *words) as server:
        server.wait_until_ready()
        for _ in range(3):
            assert server.predict("half_plus_two", {"instances": [1.0]}) == (200, {"predictions": [2.5]})
        server.wait_until(lambda: metric(server, "headrace_serve_logged_requests_total{") == 3)
        assert metric(server, "headrace_serve_request_log_waiting_bytes") > 0
        assert server.stop() == 0
        text = server.errors.read_text()
    assert "the log of requests of half_plus_two loses" in text and "headrace-nowhere" in text


# Warm-up


def warm_up_file(folder: pathlib.Path, *logs: prediction_log_pb2.PredictionLog) -> pathlib.Path:
    path = folder / "assets.extra/tf_serving_warmup_requests"
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for log in logs:
            writer.write(log.SerializeToString())
    return path


def log_of(signature: str, **inputs) -> prediction_log_pb2.PredictionLog:
    log = prediction_log_pb2.PredictionLog()
    spec = log.predict_log.request.model_spec
    spec.name, spec.signature_name = "any", signature
    for name, value in inputs.items():
        log.predict_log.request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return log


@pytest.mark.exhaustive
def test_the_requests_in_a_models_assets_run_before_it_is_ready(build, foreign, tmp_path):
    other = prediction_log_pb2.PredictionLog()
    other.session_run_log.request.model_spec.name = "any"
    good = [log_of("", x=np.float32([1, 2])), log_of("total", whole=np.float32([1, 2, 3]))]
    bad = [other, log_of("", y=np.float32([1])), log_of("none", x=np.float32([1]))]
    path = warm_up_file(foreign / "123", *good, *bad)
    with serving(build, tmp_path / "server", foreign) as server:
        server.wait_until_ready()
        text = server.errors.read_text()
        assert "version 123, its warm-up requests: 2 ran, 3 left out, " in text
        assert "the first for: record 2: it is not a PredictLog" in text

    path.write_bytes(path.read_bytes()[:-1])
    with serving(build, tmp_path / "truncated", foreign) as server:
        server.wait_until_ready()
        text = server.errors.read_text()
        assert "truncated record" in text and "2 ran, 2 left out" in text


def test_a_log_that_is_not_there_yet_keeps_no_version_from_being_ready(build, foreign, s3_url, tmp_path):
    with serving(build, tmp_path / "server", foreign, "--warm-up", f"{s3_url}/logs") as server:
        server.wait_until_ready()
        assert (
            f"warms up without requests: {s3_url}/logs is not a log of requests" in server.errors.read_text()
        )


# The log as data


@pytest.mark.exhaustive
def test_logged_requests_are_compared_with_the_data_and_prepared(build, headrace, place, tmp_path):
    words = [place / "models/people", "--log-requests", tmp_path / "logs", "--log-fraction", "1"]
    rows = [{**row, "age": None if number % 3 else "95"} for number, row in enumerate(rows_of(place, 120))]
    with serving(build, tmp_path / "server", *words) as server:
        server.wait_until_ready()
        for begin in range(0, 120, 40):
            instances = [instance_of(row) for row in rows[begin : begin + 40]]
            assert server.predict("people", {"instances": instances})[0] == 200
        assert server.stop() == 0

    log = tmp_path / "logs/people"
    shown = json.loads(headrace("inspect", log, "--against", place / "data", "--json").stdout)
    assert (shown["rows"], shown["records"], shown["split"]) == (120, 200, "train")
    features = {feature["feature"]: feature for feature in shown["features"]}
    assert shown["features"][0]["feature"] == "age"
    assert features["age"]["compared"] == "numbers", "a text in the requests"
    assert features["age"]["has_moved"] and features["age"]["missing"]["requests"] == 2 / 3
    assert not features["city"]["has_moved"] and features["city"]["compared"] == "values"
    assert features["photo"]["not_compared"] == "an image"
    assert features["income"]["not_compared"] == "not in the requests"
    assert "float32 in the dataset, bytes" in features["about"]["not_compared"]
    table = headrace("inspect", log, "--against", place / "data").stdout.splitlines()
    assert "1 feature has moved, 3 not compared" in table[0] and table[2].split()[0] == "age"

    assert 'first          0: {"row": [' in headrace("inspect", log).stdout
    headrace("prepare", log, tmp_path / "data", "--layout", "request-log")
    prepared = json.loads(headrace("inspect", tmp_path / "data", "--json").stdout)
    assert sum(split["records"] for split in prepared["splits"].values()) == 120
    assert {"age", "city", "about", "photo"} <= prepared["features"].keys()


def test_a_limit_takes_the_rows_of_the_newest_files(headrace, place, tmp_path):
    for name, age, modified in (("a", 20, 1_000), ("c", 30, 2_000), ("b", 1_000, 3_000)):
        path = tmp_path / f"{name}.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            writer.write(log_of("", row=[json.dumps({"age": age})] * 50).SerializeToString())
        os.utime(path, (modified, modified))
    words = ["inspect", tmp_path, "--against", place / "data", "--json", "--limit"]
    for limit, above in ((50, 1), (100, 0.5)):
        shown = json.loads(headrace(*words, str(limit)).stdout)
        (age,) = (feature for feature in shown["features"] if feature["feature"] == "age")
        assert shown["rows"] == limit
        assert age["most"]["bin"].startswith("above") and age["most"]["requests"] == above
