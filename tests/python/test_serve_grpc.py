"""headrace serve: models in a store answer gRPC clients of TensorFlow Serving and of KServe v2."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import socket
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import numpy as np
import pytest
import tensorflow as tf
import tritonclient.grpc as triton_client
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serve_models import HalfPlusTwo, instance_of, rows_of, train_people
from serve_support import Clients, serving
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

pytestmark = pytest.mark.usefixtures("tracing_environment")

SECONDS = 60
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture(scope="module")
def place(headrace, tmp_path_factory):
    return train_people(headrace, tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def server(build, place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign") / "half_plus_two"
    HalfPlusTwo().save(folder / "123")
    words = [place / "models/people", folder, "--body-size", "8MiB"]
    with serving(build, tmp_path_factory.mktemp("server"), *words) as running:
        yield running.wait_until_ready()


def open_channel(server, **options) -> grpc.Channel:
    """A channel with a connection of its own."""
    options = {"grpc.use_local_subchannel_pool": 1, "grpc.max_receive_message_length": -1, **options}
    return grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", options=list(options.items()))


@pytest.fixture(scope="module")
def channel(server):
    with open_channel(server) as opened:
        yield opened


@pytest.fixture(scope="module")
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def request_for(model: str, signature: str = "", outputs=(), **inputs) -> predict_pb2.PredictRequest:
    request = predict_pb2.PredictRequest(output_filter=outputs)
    request.model_spec.name = model
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        is_tensor = isinstance(value, tf.make_tensor_proto(0).__class__)
        request.inputs[name].CopyFrom(value if is_tensor else tf.make_tensor_proto(value))
    return request


def arrays(answer: predict_pb2.PredictResponse) -> dict[str, np.ndarray]:
    return {name: tf.make_ndarray(tensor) for name, tensor in answer.outputs.items()}


def refusal(call) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code(), caught.value.details()


# Predict


def test_tensors_are_answered_in_the_form_in_which_they_came(stub):
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    answer = stub.Predict(request_for("half_plus_two", x=x), SECONDS)
    np.testing.assert_array_equal(arrays(answer)["y"], x / 2 + 2)
    assert answer.outputs["y"].tensor_content and not answer.outputs["y"].float_val
    assert answer.model_spec.name == "half_plus_two" and answer.model_spec.version.value == 123
    assert answer.model_spec.signature_name == "serving_default"

    typed = tf.make_tensor_proto(0.0)
    typed.Clear()
    typed.dtype = tf.float32.as_datatype_enum
    typed.tensor_shape.dim.add().size = 3
    typed.float_val.extend([1, 2])  # the last one stands for the third
    answer = stub.Predict(request_for("half_plus_two", x=typed), SECONDS)
    assert list(answer.outputs["y"].float_val) == [2.5, 3.0, 3.0]
    assert not answer.outputs["y"].tensor_content


def test_types_and_byte_strings_arrive_as_they_were(stub):
    numbers = np.arange(-6, 6, dtype=np.int64).reshape(2, 2, 3) * 2**40
    texts = np.array([b"ABC", b"\xff\x00abcd"], object)
    answer = stub.Predict(request_for("half_plus_two", "mixed", numbers=numbers, texts=texts), SECONDS)
    got = arrays(answer)
    np.testing.assert_array_equal(got["doubled"], numbers * 2)
    assert got["raw_bytes"].tolist() == texts.tolist()
    assert got["is_long"].tolist() == [False, True]
    assert sorted(got) == ["doubled", "is_long", "lower", "raw_bytes"]


def test_a_filter_chooses_the_outputs(stub):
    inputs = {"numbers": np.ones((1, 2, 1), np.int64), "texts": np.array([b"A"], object)}
    request = request_for("half_plus_two", "mixed", ["lower", "doubled"], **inputs)
    assert sorted(arrays(stub.Predict(request, SECONDS))) == ["doubled", "lower"]
    request.output_filter.append("nothing")
    code, details = refusal(lambda: stub.Predict(request, SECONDS))
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "nothing" in details


def test_a_signature_without_rows_takes_whole_tensors(stub):
    request = request_for("half_plus_two", "total", whole=np.array([1, 2, 3], np.float32))
    assert arrays(stub.Predict(request, SECONDS))["sum"] == 6


def test_a_request_larger_than_a_batch_is_answered_whole(stub):
    x = np.arange(3000, dtype=np.float32)
    answer = stub.Predict(request_for("half_plus_two", x=x), SECONDS)
    np.testing.assert_array_equal(arrays(answer)["y"], x / 2 + 2)


def test_raw_rows_have_the_answers_that_rest_gives(place, server, stub):
    instances = [instance_of(row) for row in rows_of(place, 20)]
    _, expected = server.predict("people", {"instances": instances})
    labels = [each["label"].encode() for each in expected["predictions"]]
    rows = np.array([json.dumps(instance).encode() for instance in instances], object)
    answer = arrays(stub.Predict(request_for("people", row=rows), SECONDS))
    assert answer["label"].tolist() == labels
    columns = {}
    complete = [row for row in rows_of(place, 20) if row["age"] is not None]
    for name, dtype in (("age", np.float32), ("city", object), ("about", object)):
        values = [row[name] if dtype is np.float32 else row[name].encode() for row in complete]
        columns[name] = np.array(values, dtype)
    columns["photo"] = np.array([pathlib.Path(row["photo"]).read_bytes() for row in complete], object)
    answer = arrays(stub.Predict(request_for("people", **columns), SECONDS))
    probabilities = [
        each["probabilities"]
        for row, each in zip(rows_of(place, 20), expected["predictions"], strict=True)
        if row["age"] is not None
    ]
    np.testing.assert_allclose(answer["probabilities"], probabilities, rtol=1e-5)


def test_versions_and_labels_choose(stub):
    request = request_for("half_plus_two", x=np.float32([2]))
    request.model_spec.version.value = 123
    assert arrays(stub.Predict(request, SECONDS))["y"] == [3.0]
    request.model_spec.version_label = "latest"
    assert arrays(stub.Predict(request, SECONDS))["y"] == [3.0]
    request.model_spec.version_label = "canary"
    assert refusal(lambda: stub.Predict(request, SECONDS))[0] == grpc.StatusCode.NOT_FOUND
    request.model_spec.version.value = 7
    assert refusal(lambda: stub.Predict(request, SECONDS))[0] == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        (request_for("nobody", x=np.float32([1])), "NOT_FOUND", "half_plus_two"),
        (request_for("half_plus_two"), "INVALID_ARGUMENT", "no inputs"),
        (request_for("half_plus_two", "none", x=np.float32([1])), "INVALID_ARGUMENT", "serving_default"),
        (request_for("half_plus_two", x=np.float64([1])), "INVALID_ARGUMENT", "float64"),
        (request_for("half_plus_two", x=np.float32([[1]])), "INVALID_ARGUMENT", "shape"),
        (request_for("half_plus_two", z=np.float32([1])), "INVALID_ARGUMENT", "x is missing"),
        (predict_pb2.PredictRequest(), "INVALID_ARGUMENT", "model_spec"),
        (request_for("people", row=np.array([b"no JSON"], object)), "INVALID_ARGUMENT", "row 0"),
        (request_for("n" * 5000, x=np.float32([1])), "NOT_FOUND", "nnn"),
    ],
)
def test_a_wrong_request_is_told_why(stub, request_, code, said):
    got, details = refusal(lambda: stub.Predict(request_, SECONDS))
    assert got.name == code and said in details
    assert len(details) <= 1024


def test_bytes_that_are_no_message_are_refused(channel):
    call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    assert refusal(lambda: call(b"\x0a\xff", timeout=SECONDS))[0] == grpc.StatusCode.INVALID_ARGUMENT


def test_methods_that_are_missing_say_what_to_use(channel):
    models = model_service_pb2_grpc.ModelServiceStub(channel)
    request = model_management_pb2.ReloadConfigRequest()
    code, details = refusal(lambda: models.HandleReloadConfigRequest(request, SECONDS))
    assert code == grpc.StatusCode.UNIMPLEMENTED and "publish a version" in details
    unknown = channel.unary_unary("/a.Service/Method")
    assert refusal(lambda: unknown(b"", timeout=SECONDS))[0] == grpc.StatusCode.UNIMPLEMENTED


# Limits


def test_a_message_beyond_the_bound_is_refused(stub):
    request = request_for("half_plus_two", x=np.zeros(4 << 20, np.float32))
    assert refusal(lambda: stub.Predict(request, SECONDS))[0] == grpc.StatusCode.RESOURCE_EXHAUSTED
    repeated = request_for("half_plus_two", x=np.float32([1]))
    repeated.inputs["x"].tensor_shape.dim[0].size = 1 << 40
    code, details = refusal(lambda: stub.Predict(repeated, SECONDS))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED and "repeats" in details


def test_compressed_messages_are_refused(server):
    with open_channel(server) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = request_for("half_plus_two", x=np.zeros(1000, np.float32))
        call = lambda: stub.Predict(request, SECONDS, compression=grpc.Compression.Gzip)  # noqa: E731
        assert refusal(call)[0] == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.exhaustive
def test_many_large_messages_at_once_do_not_take_more_memory_than_they_may(build, tmp_path):
    HalfPlusTwo().save(tmp_path / "half/1")
    words = [tmp_path / "half", "--memory", "16MiB", "--body-size", "5MiB"]
    large = request_for("half", x=np.zeros(1 << 20, np.float32)).SerializeToString()
    with serving(build, tmp_path / "server", *words) as server, contextlib.ExitStack() as stack:
        server.wait_until_ready()
        answers = []
        for _ in range(20):
            channel = stack.enter_context(open_channel(server))
            predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
            answers += [predict.future(large, timeout=SECONDS) for _ in range(10)]
        # Those that are taken have too many rows.
        allowed = {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
        assert {refusal(answer.result)[0].name for answer in answers} <= allowed
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        peak_kib = int(status.partition("VmHWM:")[2].split()[0])
        assert peak_kib < 160 << 10, "200 messages of 4 MiB"
        stub = prediction_service_pb2_grpc.PredictionServiceStub(stack.enter_context(open_channel(server)))
        assert arrays(stub.Predict(request_for("half", x=np.float32([2])), SECONDS))["y"] == [3.0]


def test_a_call_without_a_message_is_refused(channel):
    call = channel.stream_unary("/tensorflow.serving.PredictionService/Predict")
    assert refusal(lambda: call(iter(()), timeout=SECONDS))[0] == grpc.StatusCode.INVALID_ARGUMENT


def test_a_deadline_ends_a_request(build, tmp_path):
    SlowModel().save(tmp_path / "slow/1")
    with serving(build, tmp_path / "server", tmp_path / "slow") as server:
        server.wait_until_ready()
        with open_channel(server) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            request = request_for("slow", x=np.float32([1]))
            code, _ = refusal(lambda: stub.Predict(request, 0.2))
            assert code == grpc.StatusCode.DEADLINE_EXCEEDED
            server.wait_until(lambda: 'protocol="grpc-predict",status="504"' in server.admin("/metrics")[1])


@pytest.mark.exhaustive
def test_the_servers_deadline_holds_for_clients_without_one(build, tmp_path):
    SlowModel().save(tmp_path / "slow/1")
    with serving(build, tmp_path / "server", tmp_path / "slow", "--deadline", "1s") as server:
        server.wait_until_ready()
        with open_channel(server) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            code, details = refusal(lambda: stub.Predict(request_for("slow", x=np.float32([1]))))
            assert code == grpc.StatusCode.DEADLINE_EXCEEDED, details


class SlowModel(tf.Module):
    """Works for some seconds on each batch."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def slow(self, x):
        square = tf.zeros([500, 500]) + x[0]
        for _ in tf.range(tf.cast(x[0], tf.int32) * 2000):
            square = tf.linalg.matmul(square, square) * 1e-9
        return {"y": x + square[0, 0]}

    def save(self, folder) -> None:
        tf.saved_model.save(self, str(folder), signatures={"serving_default": self.slow})


# Metadata, status, health and metrics


def test_metadata_are_the_signatures(stub):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "half_plus_two"
    answer = stub.GetModelMetadata(request, SECONDS)
    assert answer.model_spec.version.value == 123
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    assert sorted(signatures.signature_def) == ["mixed", "serving_default", "total"]
    signature = signatures.signature_def["serving_default"]
    assert signature.method_name == "tensorflow/serving/predict"
    assert signature.inputs["x"].dtype == tf.float32.as_datatype_enum
    assert [each.size for each in signature.inputs["x"].tensor_shape.dim] == [-1]
    request.metadata_field[:] = ["weights"]
    assert refusal(lambda: stub.GetModelMetadata(request, SECONDS))[0] == grpc.StatusCode.INVALID_ARGUMENT


def test_status_shows_the_versions(channel):
    models = model_service_pb2_grpc.ModelServiceStub(channel)
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "half_plus_two"
    (shown,) = models.GetModelStatus(request, SECONDS).model_version_status
    assert shown.version == 123 and shown.state == get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert shown.status.error_code == 0
    request.model_spec.version.value = 7
    assert refusal(lambda: models.GetModelStatus(request, SECONDS))[0] == grpc.StatusCode.NOT_FOUND


def test_health_is_that_of_the_server_and_of_each_model(channel):
    health = health_pb2_grpc.HealthStub(channel)
    for name in ("", "tensorflow.serving.PredictionService", "inference.GRPCInferenceService", "people"):
        assert health.Check(health_pb2.HealthCheckRequest(service=name), SECONDS).status == SERVING
    request = health_pb2.HealthCheckRequest(service="nobody")
    assert refusal(lambda: health.Check(request, SECONDS))[0] == grpc.StatusCode.NOT_FOUND


def test_metrics_count_both_protocols(server, stub, triton):
    stub.Predict(request_for("half_plus_two", x=np.float32([1])), SECONDS)
    triton.infer("half_plus_two", [tensor("x", np.float32([1]), "FP32")])
    text = server.admin("/metrics")[1]
    for protocol in ("grpc-predict", "kserve-v2-grpc"):
        assert f'model="half_plus_two",protocol="{protocol}",api="predict",status="200"' in text
    assert 'entrypoint="GRPC"' in text


# KServe v2, by its best known client


@pytest.fixture(scope="module")
def triton(server):
    with triton_client.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
        yield client


def tensor(name: str, values: np.ndarray, datatype: str) -> triton_client.InferInput:
    out = triton_client.InferInput(name, values.shape, datatype)
    out.set_data_from_numpy(values)
    return out


def test_triton_client_sees_the_server(triton):
    assert triton.is_server_live() and triton.is_server_ready()
    assert triton.is_model_ready("half_plus_two") and triton.is_model_ready("half_plus_two", "123")
    with pytest.raises(InferenceServerException, match="nobody"):
        triton.is_model_ready("nobody")
    assert triton.get_server_metadata().name == "headrace"
    about = triton.get_model_metadata("half_plus_two")
    assert about.versions == ["123"]
    assert (about.inputs[0].name, about.inputs[0].datatype, about.inputs[0].shape) == ("x", "FP32", [-1])


def test_triton_client_gets_tensors(triton):
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    wanted = [triton_client.InferRequestedOutput("y")]
    answer = triton.infer("half_plus_two", [tensor("x", x, "FP32")], outputs=wanted, request_id="7")
    np.testing.assert_array_equal(answer.as_numpy("y"), x / 2 + 2)
    assert answer.get_response().id == "7" and answer.get_response().model_version == "123"


def test_triton_client_gets_byte_strings_of_another_signature(triton):
    numbers = np.arange(4, dtype=np.int64).reshape(2, 2, 1)
    texts = np.array([b"ABC", b"\xff\x00abcd"], object)
    inputs = [tensor("numbers", numbers, "INT64"), tensor("texts", texts, "BYTES")]
    answer = triton.infer("half_plus_two", inputs, parameters={"signature_name": "mixed"})
    np.testing.assert_array_equal(answer.as_numpy("doubled"), numbers * 2)
    assert answer.as_numpy("raw_bytes").tolist() == texts.tolist()
    assert answer.as_numpy("is_long").tolist() == [False, True]


def test_contents_are_answered_by_contents(channel):
    request = service_pb2.ModelInferRequest(model_name="half_plus_two")
    given = request.inputs.add(name="x", datatype="FP32", shape=[2])
    given.contents.fp32_contents.extend([1, 2])
    answer = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(request, SECONDS)
    assert list(answer.outputs[0].contents.fp32_contents) == [2.5, 3.0]
    assert not answer.raw_output_contents


def test_triton_client_gives_raw_rows(place, server, triton):
    instances = [instance_of(row) for row in rows_of(place, 3)]
    rows = np.array([json.dumps(instance).encode() for instance in instances], object)
    answer = triton.infer("people", [tensor("row", rows, "BYTES")])
    _, expected = server.predict("people", {"instances": instances})
    labels = [label.decode() for label in answer.as_numpy("label")]
    assert labels == [each["label"] for each in expected["predictions"]]


def test_triton_client_is_told_what_is_wrong(triton):
    with pytest.raises(InferenceServerException, match="float64") as caught:
        triton.infer("half_plus_two", [tensor("x", np.float64([1]), "FP64")])
    assert "INVALID_ARGUMENT" in caught.value.status()


# Life of a server


def test_many_calls_at_once_each_get_their_own_answer(server):
    with open_channel(server) as channel, concurrent.futures.ThreadPoolExecutor(16) as pool:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

        def ask(number: int) -> bool:
            answer = stub.Predict(request_for("half_plus_two", x=np.float32([number])), SECONDS)
            return arrays(answer)["y"].tolist() == [number / 2 + 2]

        assert all(pool.map(ask, range(1000)))


@pytest.mark.exhaustive
def test_sigterm_answers_all_that_was_accepted(build, tmp_path):
    HalfPlusTwo().save(tmp_path / "half/1")

    with serving(build, tmp_path / "server", tmp_path / "half") as server:
        server.wait_until_ready()
        with open_channel(server) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

            def ask_until_refused():
                try:
                    return arrays(stub.Predict(request_for("half", x=np.float32([2])), SECONDS))["y"].tolist()
                except grpc.RpcError as error:
                    is_refused = error.code() == grpc.StatusCode.UNAVAILABLE
                    return "refused" if is_refused else f"{error.code()}: {error.details()}"

            with Clients(16, ask_until_refused) as clients:
                clients.wait_for(400)
                assert server.stop() == 0
                clients.wait_for(16)
        assert set(map(str, clients.answers)) == {"[3.0]", "refused"}


@pytest.mark.exhaustive
def test_a_draining_server_is_not_serving_and_answers_what_it_has(build, tmp_path):
    SlowModel().save(tmp_path / "slow/1")
    with serving(build, tmp_path / "server", tmp_path / "slow") as server:
        server.wait_until_ready()
        with open_channel(server) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            before = batches_of(server)
            answer = stub.Predict.future(request_for("slow", x=np.float32([1, 1])), SECONDS)
            server.wait_until(lambda: batches_of(server) > before)
            assert server.stop() == 0
            assert arrays(answer.result())["y"].shape == (2,)


@pytest.mark.exhaustive
def test_calls_that_pass_the_drain_time_are_ended(build, tmp_path):
    SlowModel().save(tmp_path / "slow/1")
    with serving(build, tmp_path / "server", tmp_path / "slow", "--drain", "1s") as server:
        server.wait_until_ready()
        with open_channel(server) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            before = batches_of(server)
            answer = stub.Predict.future(request_for("slow", x=np.float32([5])), SECONDS)
            server.wait_until(lambda: batches_of(server) > before)
            assert server.stop() != 0
            assert refusal(answer.result)[0] in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)


def batches_of(server) -> int:
    """Batches that were run, or are."""
    lines = server.admin("/metrics")[1].splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith("headrace_serve_batches_total{"))


def test_a_taken_port_is_told(headrace, server, place, tmp_path):
    words = [place / "run", "--cache", tmp_path / "cache", "--port", "0", "--admin-port", "0"]
    done = headrace("serve", *words, "--grpc-port", str(server.grpc_port), check=False, timeout=SECONDS)
    assert done.returncode != 0 and str(server.grpc_port) in done.stderr and "--grpc-port 0" in done.stderr


def test_no_port_is_opened_if_there_shall_be_none(build, place, tmp_path):
    with serving(build, tmp_path / "server", place / "run", "--no-grpc") as server:
        assert server.grpc_port is None


@pytest.mark.exhaustive
def test_tls_asks_for_the_certificate_of_a_client(build, place, tmp_path):
    def openssl(*words) -> None:
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key", "-out", tmp_path / "pem"),
    )
    key, certificate = (tmp_path / "key").read_bytes(), (tmp_path / "pem").read_bytes()
    words = ["--tls-certificate", tmp_path / "pem", "--tls-key", tmp_path / "key"]
    words += ["--tls-client-ca", tmp_path / "pem"]
    with serving(build, tmp_path / "server", place / "run", *words) as server:
        server.wait_until_ready()

        def health(*credentials) -> int:
            address = f"localhost:{server.grpc_port}"
            with grpc.secure_channel(address, grpc.ssl_channel_credentials(*credentials)) as channel:
                stub = health_pb2_grpc.HealthStub(channel)
                return stub.Check(health_pb2.HealthCheckRequest(), SECONDS).status

        assert health(certificate, key, certificate) == SERVING
        assert refusal(lambda: health(certificate))[0] == grpc.StatusCode.UNAVAILABLE


def test_tokens_say_who_may_ask_which_model(build, tmp_path):
    HalfPlusTwo().save(tmp_path / "half/1")
    everything, other = "a" * 24, "b" * 24
    (tmp_path / "tokens").write_text(f"{everything}\n{other} another_model\n")
    words = [tmp_path / "half", "--tokens", tmp_path / "tokens"]
    with (
        serving(build, tmp_path / "server", *words) as server,
        open_channel(server.wait_until_ready()) as channel,
    ):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        models = model_service_pb2_grpc.ModelServiceStub(channel)

        def codes(token: str | None) -> set[str]:
            metadata = [("authorization", f"Bearer {token}")] if token else []
            status = get_model_status_pb2.GetModelStatusRequest()
            about = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
            infer = service_pb2.ModelInferRequest(model_name="half")
            infer.inputs.add(name="x", datatype="FP32", shape=[1]).contents.fp32_contents.append(1)
            for request in (status, about):
                request.model_spec.name = "half"
            kserve = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            calls = [
                (stub.Predict, request_for("half", x=np.float32([1]))),
                (stub.GetModelMetadata, about),
                (models.GetModelStatus, status),
                (kserve.ModelInfer, infer),
                (kserve.ModelMetadata, service_pb2.ModelMetadataRequest(name="half")),
                (kserve.ModelReady, service_pb2.ModelReadyRequest(name="half")),
            ]
            found = set()
            for method, request in calls:
                try:
                    method(request, SECONDS, metadata=metadata)
                    found.add("OK")
                except grpc.RpcError as error:
                    found.add(error.code().name)
            return found

        assert codes(None) == codes("c" * 24) == {"UNAUTHENTICATED"}
        assert codes(other) == {"PERMISSION_DENIED"}
        assert codes(everything) == {"OK"}
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest(), SECONDS).status == SERVING


def test_a_client_that_sends_nothing_holds_up_nobody(server, stub):
    with socket.create_connection(("127.0.0.1", server.grpc_port)) as silent:
        silent.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert arrays(stub.Predict(request_for("half_plus_two", x=np.float32([2])), SECONDS))["y"] == [3.0]
