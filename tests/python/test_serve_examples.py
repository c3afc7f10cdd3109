"""headrace serve: Classify, Regress and MultiInference, asked by the client of TensorFlow Serving."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import pytest
import tensorflow as tf
from serve_models import HalfPlusTwo, Rater, b64, save_old_rater
from serve_support import ask, serving
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    inference_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

pytestmark = pytest.mark.usefixtures("tracing_environment")

SECONDS = 60
CLASSIFY, REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"


@pytest.fixture(scope="module")
def server(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    Rater().save(folder / "rater/1")
    save_old_rater(folder / "old_rater/7")
    HalfPlusTwo().save(folder / "half/1")
    words = [folder / "rater", folder / "old_rater", folder / "half"]
    with serving(build, tmp_path_factory.mktemp("server"), *words, "--body-size", "1MiB") as running:
        yield running.wait_until_ready()


@pytest.fixture(scope="module")
def stub(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


def example(**features) -> tf.train.Example:
    kinds = {float: ("float_list", tf.train.FloatList), str: ("bytes_list", tf.train.BytesList)}
    made = {}
    for name, value in features.items():
        field, kind = kinds[type(value)]
        made[name] = tf.train.Feature(
            **{field: kind(value=[value.encode() if isinstance(value, str) else value])}
        )
    return tf.train.Example(features=tf.train.Features(feature=made))


def asked(kind, model: str, examples, context=None, signature: str = ""):
    request = kind()
    request.model_spec.name, request.model_spec.signature_name = model, signature
    fill(request.input, examples, context)
    return request


def fill(target, examples, context=None) -> None:
    if context is None:
        target.example_list.examples.extend(examples)
    else:
        target.example_list_with_context.examples.extend(examples)
        target.example_list_with_context.context.CopyFrom(context)


def classes_of(result) -> list[list[tuple[str, float]]]:
    return [[(each.label, each.score) for each in row.classes] for row in result.classifications]


def values_of(result) -> list[float]:
    return [each.value for each in result.regressions]


def refusal(call) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code().name, caught.value.details()


def rest(server, model: str, verb: str, body: dict) -> tuple[int, dict]:
    status, answer = ask(f"{server.url}/v1/models/{model}:{verb}", json.dumps(body).encode())
    return status, json.loads(answer)


# gRPC


@pytest.mark.exhaustive
def test_examples_are_classified(stub):
    examples = [example(age=1.0, name="ann"), example(age=0.5)]
    request = asked(classification_pb2.ClassificationRequest, "rater", examples)
    answer = stub.Classify(request, SECONDS)
    assert classes_of(answer.result) == [
        [("ann", 0.5), ("other", 0.5)],
        [("nobody", 0.25), ("other", 0.75)],
    ]
    assert answer.model_spec.name == "rater" and answer.model_spec.version.value == 1
    assert answer.model_spec.signature_name == "serving_default"


def test_examples_are_regressed(stub):
    examples = [example(age=float(i)) for i in range(200)]  # more than a batch
    request = asked(regression_pb2.RegressionRequest, "rater", examples, signature="regress")
    assert values_of(stub.Regress(request, SECONDS).result) == [i / 2 + 1 for i in range(200)]


def test_a_context_fills_what_examples_lack(stub):
    examples = [example(age=1.0), example(name="bob")]
    context = example(name="ann", age=0.0)
    request = asked(classification_pb2.ClassificationRequest, "rater", examples, context)
    labels = [row[0] for row in classes_of(stub.Classify(request, SECONDS).result)]
    assert labels == [("ann", 0.5), ("bob", 0.0)]


def test_several_signatures_get_the_same_examples(stub):
    request = inference_pb2.MultiInferenceRequest()
    for signature, method in (("regress", REGRESS), ("", CLASSIFY)):
        task = request.tasks.add(method_name=method)
        task.model_spec.name, task.model_spec.signature_name = "rater", signature
    fill(request.input, [example(age=1.0, name="ann")])
    regression, classification = stub.MultiInference(request, SECONDS).results
    assert values_of(regression.regression_result) == [1.5]
    assert regression.model_spec.signature_name == "regress"
    assert classes_of(classification.classification_result) == [[("ann", 0.5), ("other", 0.5)]]
    assert classification.model_spec.version.value == 1
    request.tasks[1].model_spec.name = "old_rater"
    code, details = refusal(lambda: stub.MultiInference(request, SECONDS))
    assert code == "INVALID_ARGUMENT" and "one model" in details
    request.tasks[1].model_spec.name, request.tasks[1].model_spec.signature_name = "rater", "none"
    assert refusal(lambda: stub.MultiInference(request, SECONDS))[0] == "INVALID_ARGUMENT"


def test_models_of_tensorflow_1_answer_and_keep_the_names_of_their_methods(stub):
    request = asked(classification_pb2.ClassificationRequest, "old_rater", [example(age=0.5)])
    assert classes_of(stub.Classify(request, SECONDS).result) == [[("a", 0.25), ("a", 0.75)]]
    request = asked(regression_pb2.RegressionRequest, "old_rater", [example(age=0.5)], signature="regress")
    assert values_of(stub.Regress(request, SECONDS).result) == [1.25]
    about = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    about.model_spec.name = "old_rater"
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert stub.GetModelMetadata(about, SECONDS).metadata["signature_def"].Unpack(signatures)
    names = {name: each.method_name for name, each in signatures.signature_def.items()}
    assert names == {"serving_default": CLASSIFY, "regress": REGRESS}


@pytest.mark.parametrize(
    ("examples", "context", "model", "signature", "code", "said"),
    [
        ([], None, "rater", "", "INVALID_ARGUMENT", "no examples"),
        ([example(age=1.0)], None, "half", "", "INVALID_ARGUMENT", "predict"),
        ([example(age=1.0)], None, "rater", "regress", "INVALID_ARGUMENT", "classes"),
        ([example(age=1.0)], None, "nobody", "", "NOT_FOUND", "rater"),
        ([example(age=1.0)], None, "", "", "INVALID_ARGUMENT", "model_spec"),
        ([example(name="x")], None, "rater", "", "INVALID_ARGUMENT", "age"),
        ([example()] * 30, example(name="x" * 40_000), "rater", "", "RESOURCE_EXHAUSTED", "context"),
    ],
)
def test_a_wrong_request_is_told_why(stub, examples, context, model, signature, code, said):
    request = asked(classification_pb2.ClassificationRequest, model, examples, context, signature)
    got, details = refusal(lambda: stub.Classify(request, SECONDS))
    assert got == code and said in details, details


# REST


def test_rest_classifies_and_regresses(server):
    body = {"examples": [{"age": 1.0, "name": "ann"}, {"age": [0.5], "name": b64(b"\xff")}]}
    assert rest(server, "rater", "classify", body) == (
        200,
        {"results": [[["ann", 0.5], ["other", 0.5]], [[{"b64": "/w=="}, 0.25], ["other", 0.75]]]},
    )
    body = {"signature_name": "regress", "context": {"age": 3.0}, "examples": [{}, {"age": 1.0}]}
    assert rest(server, "rater", "regress", body) == (200, {"results": [2.5, 1.5]})
    assert rest(server, "rater/versions/1", "regress", body)[0] == 200


@pytest.mark.parametrize(
    ("verb", "body", "said"),
    [
        ("classify", {"instances": [{"age": 1.0}]}, "examples"),
        ("regress", {"examples": [{"age": 1.0}]}, "regress"),
        ("classify", {"examples": [{"age": 1.0}, {"age": None}]}, "example 1"),
        ("classify", {"examples": [{"age": 1}]}, "age"),  # an int64, where the model has a float
        ("classify", {"signature_name": "none", "examples": [{}]}, "none"),
    ],
)
def test_a_wrong_body_is_told_why(server, verb, body, said):
    status, answer = rest(server, "rater", verb, body)
    assert status == 400 and said in answer["error"], answer


def test_predict_takes_examples_as_texts_still(server):
    serialized = b64(example(age=1.0).SerializeToString())
    status, answer = server.predict("rater", {"signature_name": "regress", "instances": [serialized]})
    assert (status, answer) == (200, {"predictions": [1.5]})
