"""headrace serve: models in a store answer clients of TensorFlow Serving's REST API and of KServe v2."""

import json
import math
import os
import pathlib
import re
import signal
import subprocess
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf
from serve_models import HalfPlusTwo, b64, instance_of, rows_of, train_people
from serve_support import Clients, ask, serving

pytestmark = pytest.mark.usefixtures("tracing_environment")


@pytest.fixture(scope="module")
def place(headrace, tmp_path_factory):
    """A table of people with pictures, and a model that learnt from it: models/people."""
    return train_people(headrace, tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A folder of numbered SavedModels, as TensorFlow Serving has it."""
    folder = tmp_path_factory.mktemp("foreign") / "half_plus_two"
    HalfPlusTwo().save(folder / "123")
    return folder


@pytest.fixture(scope="module")
def server(build, place, foreign, tmp_path_factory):
    with serving(build, tmp_path_factory.mktemp("server"), place / "models/people", foreign) as running:
        yield running.wait_until_ready()


def predicted(headrace, place, rows: list[dict], tmp_path) -> list[dict]:
    """The answers of `headrace predict`."""
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = headrace("predict", place / "run", "--data", tmp_path / "rows.jsonl", "--to", tmp_path / "answers")
    assert out.returncode == 0
    printed = headrace(
        "cat", tmp_path / "answers/predictions-00000-of-00001.jsonl.gz", text=False, encoding=None
    )
    import gzip

    return [json.loads(line) for line in gzip.decompress(printed.stdout).splitlines()]


# Raw rows


@pytest.mark.exhaustive
def test_raw_rows_have_the_answers_that_predict_gives(headrace, place, server, tmp_path):
    rows = rows_of(place, 150)
    expected = predicted(headrace, place, rows, tmp_path)
    status, answer = server.predict("people", {"instances": [instance_of(row) for row in rows]})
    assert status == 200, answer
    assert len(answer["predictions"]) == len(rows)
    for given, wanted in zip(answer["predictions"], expected, strict=True):
        assert given["label"] == wanted["label"]
        scores = [wanted["probabilities"][name] for name in ("low", "high")]
        np.testing.assert_allclose(given["probabilities"], scores, rtol=1e-5)


def test_columns_are_answered_by_columns(place, server):
    instances = [instance_of(row) for row in rows_of(place, 5)]
    _, by_rows = server.predict("people", {"instances": instances})
    columns = {name: [instance[name] for instance in instances] for name in instances[0]}
    status, by_columns = server.predict("people", {"inputs": columns})
    assert status == 200, by_columns
    assert by_columns["outputs"]["label"] == [each["label"] for each in by_rows["predictions"]]
    assert by_columns["outputs"]["probabilities"] == [
        each["probabilities"] for each in by_rows["predictions"]
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"city": "paris"}, "paris"),
        ({"photo": {"b64": "bm8gaW1hZ2U="}}, "photo"),
        ({"photo": "/etc/passwd"}, "photo"),
        ({"age": "old"}, "age"),
    ],
)
def test_a_bad_row_is_refused_and_costs_nobody_else_an_answer(place, server, change, said):
    good = instance_of(rows_of(place, 1)[0])
    status, answer = server.predict("people", {"instances": [good, {**good, **change}]})
    assert status == 400
    assert "instance 1" in answer["error"] and said in answer["error"], answer
    assert server.predict("people", {"instances": [good]})[0] == 200


def test_a_row_with_an_empty_id_is_a_row_as_others_are(place, server):
    instances = [instance_of(row) for row in rows_of(place, 3)]
    _, expected = server.predict("people", {"instances": instances})
    for names in (["", "b", ""], ["a", "", "c"]):
        texts = [json.dumps({**each, "name": name}) for each, name in zip(instances, names, strict=True)]
        status, answer = server.predict("people", {"instances": [{"row": text} for text in texts]})
        assert (status, answer) == (200, expected)


def test_a_column_that_rows_need_is_missed(place, server):
    good = instance_of(rows_of(place, 1)[0])
    del good["city"]
    status, answer = server.predict("people", {"instances": [good]})
    assert status == 400 and "city" in answer["error"], answer
    optional = instance_of(rows_of(place, 1)[0])
    del optional["age"]
    assert server.predict("people", {"instances": [optional]})[0] == 200


# Tensors


def test_the_example_of_tensorflow_serving(server):
    status, answer = server.predict("half_plus_two", {"instances": [1.0, 2.0, 5.0]})
    assert (status, answer) == (200, {"predictions": [2.5, 3.0, 4.5]})


def test_open_sizes_texts_and_bytes(server):
    body = {
        "signature_name": "mixed",
        "inputs": {
            "numbers": [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, -1, 2**40]]],
            "texts": ["ÄB", b64(b"XYZ\xff")],
        },
    }
    status, answer = server.predict("half_plus_two", body)
    assert status == 200, answer
    outputs = answer["outputs"]
    assert outputs["doubled"] == [[[2, 4, 6], [8, 10, 12]], [[14, 16, 18], [0, -2, 2**41]]]
    assert outputs["is_long"] == [False, True]
    assert outputs["raw_bytes"] == [b64("ÄB".encode()), b64(b"XYZ\xff")]


def test_a_signature_without_rows(server):
    status, answer = server.predict("half_plus_two", {"signature_name": "total", "inputs": [1.0, 2.0, 4.5]})
    assert (status, answer) == (200, {"outputs": 7.5})


def test_what_is_not_finite_comes_and_goes(server):
    status, body = ask(
        f"{server.url}/v1/models/half_plus_two:predict", b'{"instances": [NaN, Infinity, -Infinity, 1]}'
    )
    assert status == 200
    values = json.loads(body)["predictions"]
    assert math.isnan(values[0]) and values[1:] == [math.inf, -math.inf, 2.5]


def test_the_model_answers_as_tensorflow_does(place, server):
    model = tf.saved_model.load(str(place / "run/export"))
    draw = np.random.default_rng(5)
    inputs = {
        "age": draw.normal(size=70).astype(np.float32),
        "city": draw.integers(0, 3, 70),
        "about": draw.normal(size=(70, 8)).astype(np.float32),
        "photo": draw.integers(0, 256, (70, 6, 5, 3)).astype(np.uint8),
    }
    expected = model.signatures["predict"](**{name: tf.constant(value) for name, value in inputs.items()})
    body = {"signature_name": "predict", "inputs": {name: value.tolist() for name, value in inputs.items()}}
    status, answer = server.predict("people", body)
    assert status == 200, answer
    np.testing.assert_allclose(answer["outputs"], expected["predictions"].numpy(), rtol=1e-5)


# Names, states and bad requests


def test_versions_labels_status_and_metadata(server):
    url = f"{server.url}/v1/models"
    assert json.loads(ask(f"{url}/people/versions/1:predict", b'{"instances": []}')[1])["error"]
    for path in ("half_plus_two/versions/123", "half_plus_two/labels/latest"):
        status, body = ask(f"{url}/{path}:predict", b'{"instances": [2]}')
        assert (status, json.loads(body)) == (200, {"predictions": [3.0]})
    assert ask(f"{url}/half_plus_two/versions/7:predict", b'{"instances": [2]}')[0] == 404
    assert ask(f"{url}/half_plus_two/labels/gone:predict", b'{"instances": [2]}')[0] == 404
    assert ask(f"{url}/nobody:predict", b'{"instances": [2]}')[0] == 404
    states = json.loads(ask(f"{url}/half_plus_two")[1])["model_version_status"]
    assert [(each["version"], each["state"]) for each in states] == [("123", "AVAILABLE")]
    signatures = json.loads(ask(f"{url}/half_plus_two/metadata")[1])["metadata"]["signature_def"][
        "signature_def"
    ]
    assert signatures["serving_default"]["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert set(signatures) == {"serving_default", "mixed", "total"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b'{"instances": [1], "inputs": [1]}', "instances"),
        (b'{"instances": ["a text"]}', "x"),
        (b'{"instances": [[1, 2]]}', "x"),
        (b'{"instances": [1], "signature_name": "none"}', "serving_default"),
        (b"[" * 100_000, "JSON"),
    ],
)
def test_a_request_that_does_not_fit_is_told_why(server, body, said):
    status, answer = ask(f"{server.url}/v1/models/half_plus_two:predict", body)
    assert status == 400
    assert said in json.loads(answer)["error"]
    assert server.predict("half_plus_two", {"instances": [1]})[0] == 200


def test_a_deadline_that_cannot_be_kept(server):
    status, answer = server.predict("half_plus_two", {"instances": [1]}, {"X-Request-Timeout-Ms": "soon"})
    assert status == 400 and "X-Request-Timeout-Ms" in answer["error"]


def test_metrics_have_the_names_of_tensorflow_serving(server):
    server.predict("half_plus_two", {"instances": [1]})
    server.predict("x" * 100, {"instances": [1]})
    text = server.admin("/monitoring/prometheus/metrics")[1]
    assert ':tensorflow:serving:request_count{model_name="half_plus_two",status="OK"}' in text
    assert "x" * 100 not in text, "clients choose no labels"
    assert server.admin("/livez") == (200, "alive\n")


# KServe v2, by its best known client


@pytest.fixture(scope="module")
def triton(server):
    import tritonclient.http as client

    return client.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=2)


def test_triton_client_sees_the_server(server, triton):
    assert triton.is_server_live() and triton.is_server_ready()
    assert triton.is_model_ready("half_plus_two") and not triton.is_model_ready("nobody")
    about = triton.get_model_metadata("half_plus_two")
    assert about["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1]}]
    assert about["versions"] == ["123"]


@pytest.mark.parametrize("is_binary", [True, False])
def test_triton_client_gets_tensors(triton, is_binary):
    import tritonclient.http as client

    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    given = client.InferInput("x", x.shape, "FP32")
    given.set_data_from_numpy(x, binary_data=is_binary)
    wanted = client.InferRequestedOutput("y", binary_data=is_binary)
    answer = triton.infer("half_plus_two", [given], outputs=[wanted], request_id="7")
    np.testing.assert_array_equal(answer.as_numpy("y"), x / 2 + 2)
    assert answer.get_response()["id"] == "7" and answer.get_response()["model_version"] == "123"


def test_triton_client_gives_raw_rows(place, server, triton):
    import tritonclient.http as client

    instances = [instance_of(row) for row in rows_of(place, 3)]
    rows = np.array([json.dumps(instance).encode() for instance in instances], dtype=object)
    given = client.InferInput("row", rows.shape, "BYTES")
    given.set_data_from_numpy(rows)
    answer = triton.infer("people", [given])
    _, expected = server.predict("people", {"instances": instances})
    assert [label.decode() for label in answer.as_numpy("label")] == [
        each["label"] for each in expected["predictions"]
    ]


# Life of a server


@pytest.mark.exhaustive
def test_a_server_may_start_before_its_model_is_there(build, tmp_path):
    folder = tmp_path / "models/late"
    with serving(build, tmp_path / "server", folder) as server:
        assert server.admin("/readyz")[0] == 503
        status, answer = server.predict("late", {"instances": [1]})
        assert status == 503 and "the model late has no version yet" in answer["error"]
        HalfPlusTwo().save(folder / "1")
        server.wait_until_ready()
        assert server.predict("late", {"instances": [2]})[1] == {"predictions": [3.0]}


def test_a_named_model_in_s3_is_followed_by_its_aliases(headrace, build, place, s3_url, tmp_path):
    headrace("cp", "-r", place / "models", f"{s3_url}/models")
    model = f"{s3_url}/models/people"
    with serving(build, tmp_path / "server", model) as server:
        server.wait_until_ready()
        assert server.models()["people"]["labels"] == {"latest": 1}
        headrace("models", "alias", model, "stable", "1")
        server.wait_until(lambda: "stable" in server.models()["people"]["labels"])
        row = instance_of(rows_of(place, 1)[0])
        body = json.dumps({"instances": [row]}).encode()
        status, answer = ask(f"{server.url}/v1/models/people/labels/stable:predict", body)
        assert status == 200, answer
        assert json.loads(answer)["predictions"][0]["label"] in ("low", "high")


def ask_half(server):
    return lambda: server.predict("half", {"instances": [2]})


@pytest.mark.slow
def test_a_new_version_costs_no_request_and_no_answer_is_wrong(build, tmp_path):
    folder = tmp_path / "half"
    HalfPlusTwo(2).save(folder / "1")
    with serving(build, tmp_path / "server", folder) as server:
        server.wait_until_ready()
        with Clients(4, ask_half(server)) as clients:
            clients.wait_for(50)
            HalfPlusTwo(3).save(tmp_path / "new")
            (tmp_path / "new").rename(folder / "2")
            server.wait_until(lambda: server.models()["half"]["labels"].get("latest") == 2)
            clients.wait_for(50)
            server.wait_until(lambda: len(server.engines()) == 1)
            clients.wait_for(50)
        assert {status for status, _ in clients.answers} == {200}
        values = [answer["predictions"] for _, answer in clients.answers]
        assert values[0] == [3.0] and values[-1] == [4.0]
        assert all(value in ([3.0], [4.0]) for value in values)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.soak)])
def test_an_engine_that_is_killed_costs_its_requests_and_comes_back(build, tmp_path, times):
    """Requests wait for an engine that ended once. If it ends again soon, they are told to try again, until a
    pause is over that doubles each time."""
    folder = tmp_path / "half"
    HalfPlusTwo(2).save(folder / "1")
    with serving(build, tmp_path / "server", folder) as server:
        server.wait_until_ready()
        with Clients(4, ask_half(server)) as clients:
            for _ in range(times):
                clients.wait_for(50)
                [killed] = server.engines()
                os.kill(killed, signal.SIGKILL)
                server.wait_until(lambda killed=killed: server.engines() not in ([], [killed]))
                server.wait_until_ready()
                clients.wait_for(100)
        failed = [answer["error"] for status, answer in clients.answers if status != 200]
        refused = [error for error in failed if "signal 9" not in error]
        assert {status for status, _ in clients.answers} <= {200, 503}
        assert len(failed) - len(refused) <= 4 * times, failed[:5]
        assert bool(refused) == (times > 1)
        assert all(re.fullmatch(r"version 1 of half is [a-z ]+; try again", error) for error in refused)
        assert clients.answers[-1] == (200, {"predictions": [3.0]})


def test_engines_end_with_a_server_that_is_killed(build, tmp_path, foreign):
    with serving(build, tmp_path, foreign) as server:
        engines = server.wait_until_ready().engines()
        assert engines
        server.kill()
        end = time.monotonic() + 60
        while any(pathlib.Path(f"/proc/{engine}").exists() for engine in engines):
            assert time.monotonic() < end, "an engine is left"
            time.sleep(0.02)


@pytest.mark.slow
def test_sigterm_answers_all_that_was_accepted(build, tmp_path):
    folder = tmp_path / "half"
    HalfPlusTwo(2).save(folder / "1")

    def ask_until_refused():
        try:
            return server.predict("half", {"instances": [2]})
        except ConnectionRefusedError:
            return "refused"
        except OSError as error:
            return (
                "refused"
                if isinstance(getattr(error, "reason", None), ConnectionRefusedError)
                else repr(error)
            )

    with serving(build, tmp_path / "server", folder) as server:
        server.wait_until_ready()
        with Clients(4, ask_until_refused) as clients:
            clients.wait_for(100)
            assert server.stop() == 0
            clients.wait_for(4)
        assert set(map(str, clients.answers)) == {str((200, {"predictions": [3.0]})), "refused"}


@pytest.mark.exhaustive
def test_a_model_that_does_not_keep_to_its_signature_costs_its_request_alone(build, tmp_path):
    class Doubles(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def rows(self, x):
            return {"y": tf.ensure_shape(tf.cond(x[0] > 0, lambda: tf.concat([x, x], 0), lambda: x), [None])}

    module = Doubles()
    tf.saved_model.save(module, str(tmp_path / "doubles/1"), signatures={"serving_default": module.rows})
    with serving(build, tmp_path / "server", tmp_path / "doubles") as server:
        server.wait_until_ready()
        engines = server.engines()
        status, answer = server.predict("doubles", {"instances": [1.0]})
        assert status == 400 and "signature" in answer["error"], answer
        assert server.predict("doubles", {"instances": [-1.0]}) == (200, {"predictions": [-1.0]})
        assert server.engines() == engines


@pytest.mark.exhaustive
def test_a_damaged_version_keeps_the_one_that_is_ready(build, tmp_path):
    folder = tmp_path / "half"
    HalfPlusTwo(2).save(folder / "1")
    with serving(build, tmp_path / "server", folder) as server:
        server.wait_until_ready()
        HalfPlusTwo(3).save(tmp_path / "new")
        (tmp_path / "new/saved_model.pb").write_bytes(b"no graph")
        (tmp_path / "new").rename(folder / "2")
        server.wait_until(lambda: any(v["state"] == "failed" for v in server.models()["half"]["versions"]))
        assert server.predict("half", {"instances": [2]}) == (200, {"predictions": [3.0]})
        shown = {v["number"]: v for v in server.models()["half"]["versions"]}
        assert shown[1]["state"] == "ready" and shown[2]["error"]


@pytest.mark.exhaustive
def test_tokens_say_who_may_ask_which_model(build, foreign, tmp_path):
    everything, other = "a" * 24, "b" * 24
    (tmp_path / "tokens").write_text(f"{everything}\n{other} another_model\n")
    with serving(build, tmp_path / "server", foreign, "--tokens", tmp_path / "tokens") as server:
        server.wait_until_ready()

        def status(token: str | None) -> int:
            headers = {"Authorization": f"Bearer {token}"} if token else None
            return server.predict("half_plus_two", {"instances": [1]}, headers)[0]

        assert [status(None), status("c" * 24), status(other), status(everything)] == [401, 401, 403, 200]
        assert ask(f"{server.url}/v2/health/ready")[0] == 200
        assert ask(f"{server.url}/v2/models/half_plus_two")[0] == 401


@pytest.mark.exhaustive
def test_the_manifest_for_kubernetes_fits_its_schemas(headrace, root):
    manifest = headrace(
        "serve", "s3://models/models/imdb", "spam=s3://m/it's", "--batch-rows", "128", "--print-manifest",
        "kubernetes", "--replicas", "3", "--image", "registry/headrace:1",
    ).stdout  # fmt: skip
    program = (
        "import json, sys, yaml, kubernetes_validate\n"
        "documents = list(yaml.safe_load_all(sys.stdin))\n"
        "for each in documents: kubernetes_validate.validate(each, '1.33', strict=True)\n"
        "print(json.dumps(documents))"
    )
    judged = subprocess.run(
        [root / ".venv-engines/bin/python", "-c", program], input=manifest, capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stderr
    deployment, service, budget, scaler = json.loads(judged.stdout)
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][:4] == [
        "serve",
        "s3://models/models/imdb",
        "spam=s3://m/it's",
        "--batch-rows=128",
    ]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": 8501, "admin": 8502, "grpc": 8500}
    assert [port["name"] for port in service["spec"]["ports"]] == ["http", "grpc"]
    assert "--listen=0.0.0.0" in container["args"] and container["image"] == "registry/headrace:1"
    assert [each["kind"] for each in (service, budget, scaler)] == [
        "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler",
    ]  # fmt: skip
    assert deployment["spec"]["replicas"] == scaler["spec"]["minReplicas"] == 3


def test_manifests_name_no_file_of_this_machine(headrace):
    words = ("serve", "s3://m/a", "--print-manifest", "compose")
    printed = headrace(*words).stdout
    assert "headrace-serve" in printed and "127.0.0.1:8500:8500" in printed
    assert "8500" not in headrace(*words, "--no-grpc").stdout
    assert "[tensorflow]" in headrace("serve", "s3://m/a", "--print-manifest", "dockerfile").stdout
    done = headrace(*words, "--tokens", "tokens.txt", check=False)
    assert done.returncode == 1 and "--tokens names a file of this machine" in done.stderr
    for option in ("--log-requests", "--warm-up"):
        for place in ("./logs", "file:///tmp/logs"):
            done = headrace(*words, option, place, check=False)
            assert done.returncode == 1 and f"{option} names a place on this machine" in done.stderr
            assert "put it into a store" in done.stderr
        assert f"{option}=s3://m/logs" in headrace(*words, option, "s3://m/logs").stdout


def test_wrong_command_lines_are_told(build, headrace, place, tmp_path):
    def refused(*words) -> str:
        done = headrace("serve", *words, "--cache", tmp_path / "cache", check=False, timeout=60)
        assert done.returncode != 0
        return done.stderr

    assert "NAME=" in refused(place / "models/people", f"people={place}/run")
    assert "--versions is few" in refused(place / "run", "--versions", "few")
    assert "need each other" in refused(place / "run", "--tls-key", "key.pem")
    with serving(build, tmp_path / "server", place / "run") as server:
        taken = refused(place / "run", "--port", str(server.port))
        assert str(server.port) in taken and "in use" in taken
