"""headrace serve --config: many models from a file that changes, and a canary that is withdrawn."""

import json
import os
import signal

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf
import tritonclient.grpc
import tritonclient.http
from serve_models import HalfPlusTwo
from serve_support import Clients, Server, ask, serving
from tensorflow_serving.apis import prediction_log_pb2

pytestmark = pytest.mark.usefixtures("tracing_environment")


class Missing(tf.Module):
    """Half plus two, but for a file that is not there."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def half(self, x):
        size = tf.strings.length(tf.io.read_file(tf.strings.join(["/no/such/file", tf.as_string(x[0])])))
        return {"y": x / 2 + tf.cast(size, tf.float32)}


class Rejecting(tf.Module):
    """Takes only what is below 0."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def half(self, x):
        with tf.control_dependencies([tf.debugging.assert_less(x, 0.0)]):
            return {"y": x / 2 + 2}


class Slow(tf.Module):
    """Half plus two, after a good while."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def half(self, x):
        many = tf.while_loop(
            lambda i, m: i < 40, lambda i, m: (i + 1, tf.matmul(m, m) / 1e3), [0, tf.ones([500, 500]) * x[0]]
        )
        return {"y": x / 2 + 2 + 0 * tf.reduce_min(tf.nn.relu(-tf.abs(many[1])))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folders of numbered SavedModels: two and three add as much; the others have a version 1 that adds 2,
    and a version 2 that fails, rejects its values, or is slow."""
    root = tmp_path_factory.mktemp("models")
    HalfPlusTwo(2).save(root / "two/1")
    HalfPlusTwo(3).save(root / "three/1")
    for name, module in {"failing": Missing(), "rejecting": Rejecting(), "slow": Slow()}.items():
        HalfPlusTwo(2).save(root / name / "1")
        tf.saved_model.save(module, str(root / name / "2"), signatures={"serving_default": module.half})
    return root


def model_text(name: str, place, more: str = "") -> str:
    return f'[models.{name}]\nplace = "{place}"\n{more}\n'


def recorded(headrace, root) -> list[dict]:
    """The changes that servers have recorded, once that is finished."""
    listed = headrace("runs", "ls", root, "--json", check=False)
    runs = json.loads(listed.stdout)["runs"] if listed.returncode == 0 else []
    assert {run["start"]["command"] for run in runs} <= {"serve"}
    return [run for run in runs if run["status"] == "finished"]


def ask_half(server: Server, model: str = "half"):
    return lambda: server.predict(model, {"instances": [2]})


@pytest.mark.exhaustive
def test_models_come_change_and_go_while_requests_are_answered(headrace, build, folder, s3_url, tmp_path):
    url, local = f"{s3_url}/serving.toml", tmp_path / "serving.toml"

    def publish(text: str) -> None:
        local.write_text(text)
        headrace("cp", local, url)

    record = f'record = "{s3_url}"\n'
    publish(record + model_text("half", folder / "two") + model_text("other", folder / "three"))
    with serving(build, tmp_path / "server", "--config", url) as server:
        server.wait_until_ready()
        assert ask_half(server, "other")() == (200, {"predictions": [4.0]})
        with Clients(3, ask_half(server)) as clients:
            clients.wait_for(20)
            publish(
                record
                + model_text("half", folder / "three", "lanes = 2\nbatch-rows = 8")
                + model_text("new", folder / "two")
            )
            server.wait_until(lambda: {"half", "new", "/configuration"} == set(server.models()))
            server.wait_until(lambda: ask_half(server)() == (200, {"predictions": [4.0]}))
            server.wait_until(lambda: len(server.engines()) == 2)
            clients.wait_for(20)
        assert {status for status, _ in clients.answers} == {200}, "the change costs no request"
        answers = [answer["predictions"] for _, answer in clients.answers]
        assert answers[0] == [3.0] and answers[-1] == [4.0]
        assert ask_half(server, "other")()[0] == 404
        assert ask_half(server, "new")() == (200, {"predictions": [3.0]})
        server.wait_until(lambda: recorded(headrace, s3_url))
        (change,) = recorded(headrace, s3_url)
        assert change["start"]["parameters"] == {
            "change": "the configuration", "added": "new", "removed": "other", "changed": "half",
        }  # fmt: skip
        assert [each["url"] for each in change["end"]["inputs"]] == [url]
        assert server.stop() == 0


def test_a_wrong_file_keeps_the_models_and_says_so(build, folder, tmp_path):
    config = tmp_path / "serving.toml"
    config.write_text(model_text("half", folder / "two"))
    with serving(build, tmp_path / "server", "--config", config) as server:
        server.wait_until_ready()
        current = "headrace_serve_configuration_is_current"
        assert f"{current} 1" in server.admin("/metrics")[1]
        config.write_text(model_text("half", folder / "two", "lane = 4"))
        server.wait_until(lambda: not server.models()["/configuration"]["is_current"])
        problem = server.models()["/configuration"]["problem"]
        assert "line 3: [models.half]: lane is not known here; did you mean lanes?" in problem
        assert f"{current} 0" in server.admin("/metrics")[1]
        assert "did you mean lanes?" in server.errors.read_text()
        config.unlink()
        server.wait_until(lambda: "lanes?" not in server.models()["/configuration"].get("problem", ""))
        assert ask_half(server)() == (200, {"predictions": [3.0]})
        config.write_text(model_text("half", folder / "two", 'deadline = "5s"'))
        server.wait_until(lambda: server.models()["/configuration"]["is_current"])


@pytest.mark.parametrize(
    "name", ["failing", *(pytest.param(name, marks=pytest.mark.soak) for name in ("rejecting", "slow"))]
)
def test_a_canary_gets_its_weight_at_most_and_is_withdrawn(headrace, build, folder, tmp_path, name):
    config = tmp_path / "serving.toml"
    canary = "[models.half.canary]\nversion = 2\nweight = 20\nmin-requests = 5\n"
    canary += 'max-latency = "10ms"\n' if name == "slow" else "max-error-rate = 0.1\n"
    record = f'record = "{tmp_path}"\n'
    config.write_text(record + model_text("half", folder / name, 'versions = "all"\n' + canary))
    with serving(build, tmp_path / "server", "--config", config) as server:
        server.wait_until_ready()
        server.wait_until(lambda: server.models()["half"]["canary"]["state"] == "in force")
        bad = server.predict("half", {"instances": ["no number"]})
        assert bad[0] == 400
        asked = 0
        while server.models()["half"]["canary"]["state"] == "in force":
            ask_half(server)()
            asked += 1
            state = server.models()["half"]["canary"]
            assert state["requests"] + state["rejected"] <= (asked + 1) * 0.2
            assert asked < 500, state
        state = server.models()["half"]["canary"]
        assert state["state"] == "withdrawn" and state["requests"] + state["rejected"] >= 5
        assert ("max-latency" if name == "slow" else "max-error-rate") in state["reason"]
        assert "is withdrawn" in server.errors.read_text()
        server.wait_until(lambda: recorded(headrace, tmp_path))
        parameters = recorded(headrace, tmp_path)[0]["start"]["parameters"]
        assert parameters["change"] == "the canary is withdrawn" and parameters["reason"] == state["reason"]
        assert 'headrace_serve_canary_withdrawn{model="half"} 1' in server.admin("/metrics")[1]
        answers = [ask_half(server)() for _ in range(20)]
        assert answers == [(200, {"predictions": [3.0]})] * 20
        assert server.models()["half"]["canary"]["requests"] == state["requests"]
        config.write_text(config.read_text().replace("weight = 20", "weight = 30"))
        server.wait_until(lambda: server.models()["half"]["canary"]["state"] == "in force")


@pytest.mark.soak
def test_a_sticky_header_keeps_a_client_on_one_side(build, folder, tmp_path):
    config = tmp_path / "serving.toml"
    HalfPlusTwo(7).save(tmp_path / "half/2")
    HalfPlusTwo(2).save(tmp_path / "half/1")
    canary = '[models.half.canary]\nversion = "latest"\nweight = 50\nsticky-header = "X-User"'
    config.write_text(model_text("half", tmp_path / "half", 'versions = "latest:2"\n' + canary))
    with serving(build, tmp_path / "server", "--config", config) as server:
        server.wait_until_ready()
        server.wait_until(lambda: server.models()["half"]["canary"]["state"] == "in force")

        def side(user: str) -> float:
            status, answer = server.predict("half", {"instances": [2]}, {"X-User": user})
            assert status == 200
            return answer["predictions"][0]

        first = {f"user {i}": side(f"user {i}") for i in range(20)}
        assert set(first.values()) == {3.0, 8.0}
        assert {user: side(user) for user in first} == first
        triton = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}")
        given = tritonclient.grpc.InferInput("x", [1], "FP32")
        given.set_data_from_numpy(np.array([2], np.float32))
        for user, value in first.items():
            assert triton.infer("half", [given], headers={"x-user": user}).as_numpy("y") == [value]


@pytest.mark.exhaustive
def test_a_shadow_is_compared_and_costs_clients_nothing(build, folder, tmp_path):
    config = tmp_path / "serving.toml"
    HalfPlusTwo(2).save(tmp_path / "half/1")
    HalfPlusTwo(2.5).save(tmp_path / "half/2")
    shadow = "[models.{0}.shadow]\nversion = 2\nfraction = 100\n"
    config.write_text(
        model_text("half", tmp_path / "half", 'versions = "all"\n' + shadow.format("half"))
        + model_text("failing", folder / "failing", 'versions = "all"\n' + shadow.format("failing"))
    )
    with serving(build, tmp_path / "server", "--config", config) as server:
        server.wait_until_ready()
        for name in ("half", "failing"):
            server.wait_until(lambda name=name: len(json.loads(
                ask(f"{server.url}/v2/models/{name}")[1])["versions"]) == 2)  # fmt: skip
            answers = [ask_half(server, name)() for _ in range(15)]
            assert answers == [(200, {"predictions": [3.0]})] * 15

        def state(name: str) -> dict:
            return server.models()[name]["shadow"]

        server.wait_until(lambda: state("half")["requests"] == 15)
        assert (state("half")["rows_that_differ"], state("half")["largest_difference"]) == (15, 0.5)
        server.wait_until(lambda: state("failing")["failed"] == 15)
        assert "no/such/file" in state("failing")["last_error"]
        metrics = server.admin("/metrics")[1]
        assert 'headrace_serve_shadow_requests_total{model="half",outcome="compared"} 15' in metrics
        assert 'headrace_serve_shadow_differing_rows_total{model="half"} 15' in metrics
        triton = tritonclient.http.InferenceServerClient(f"127.0.0.1:{server.port}")
        given = tritonclient.http.InferInput("x", [1], "FP32")
        given.set_data_from_numpy(np.array([2], np.float32), binary_data=True)
        for _ in range(2):
            assert triton.infer("half", [given]).as_numpy("y") == [3.0]
        server.wait_until(lambda: state("half")["requests"] == 17)


def test_models_and_a_configuration_exclude_each_other(headrace, folder, tmp_path):
    config = tmp_path / "serving.toml"
    config.write_text("[models]")

    def refused(*words) -> str:
        done = headrace("serve", *words, "--cache", tmp_path / "cache", check=False, timeout=60)
        assert done.returncode != 0
        return done.stderr

    assert "exclude each other" in refused(folder / "two", "--config", config)
    assert "no model" in refused()
    assert "no model" in refused("--config", config)
    assert "nowhere.toml" in refused("--config", tmp_path / "nowhere.toml")
    for place in (config, f"file://{config}"):
        assert "put it into a store" in refused("--config", place, "--print-manifest", "kubernetes")
    printed = headrace("serve", "--config", "s3://m/serving.toml", "--print-manifest", "kubernetes").stdout
    assert "--config=s3://m/serving.toml" in printed
    config.write_text(model_text("half", "s4://b/m"))
    assert "line 2: [models.half]: place cannot be used" in refused("--config", config)


@pytest.mark.exhaustive
def test_two_servers_share_a_file_a_log_and_a_record_and_one_is_stopped_for_a_while(
    headrace, build, folder, s3_url, tmp_path
):
    """Each writes under names of its own, so neither waits for the other, loses or repeats anything."""
    config = tmp_path / "serving.toml"
    shared = f'record = "{s3_url}"\n'
    config.write_text(shared + model_text("half", folder / "two"))
    words = ["--config", config, "--log-requests", f"{s3_url}/logs", "--log-fraction", "1"]
    with (
        serving(build, tmp_path / "a", *words) as first,
        serving(build, tmp_path / "b", *words) as second,
    ):
        servers = [first.wait_until_ready(), second.wait_until_ready()]
        asked = iter(range(1_000))

        def ask_each(chosen) -> None:
            for server in chosen * 5:
                number = next(asked)
                wanted = number / 2 + (3 if is_changed else 2)
                assert server.predict("half", {"instances": [number]}) == (200, {"predictions": [wanted]})

        is_changed = False
        ask_each(servers)
        first.process.send_signal(signal.SIGSTOP)
        is_changed = True
        config.write_text(shared + model_text("half", folder / "three"))
        second.wait_until(lambda: ask_half(second)() == (200, {"predictions": [4.0]}))
        ask_each([second])
        second.wait_until(lambda: len(recorded(headrace, s3_url)) == 1)
        first.process.send_signal(signal.SIGCONT)
        first.wait_until(lambda: ask_half(first)() == (200, {"predictions": [4.0]}))
        ask_each(servers)
        assert [server.stop() for server in servers] == [0, 0]
    assert len(recorded(headrace, s3_url)) == 2
    headrace("cp", "-r", f"{s3_url}/logs/half", tmp_path / "logs")
    files = sorted(map(str, (tmp_path / "logs").glob("*.tfrecord")))
    records = map(
        prediction_log_pb2.PredictionLog.FromString, tf.data.TFRecordDataset(files).as_numpy_iterator()
    )
    logged = [tf.make_ndarray(each.predict_log.request.inputs["x"])[0] for each in records]
    numbers = sorted(number for number in logged if number != 2)
    assert numbers == [number for number in range(next(asked)) if number != 2]
