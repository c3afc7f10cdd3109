"""headrace serve while its store is slow, or away."""

import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
from relay_support import Relay
from serve_models import HalfPlusTwo, TextWaves
from serve_support import Clients, serving

pytestmark = pytest.mark.slow

AWAY_S = 4  # some polls
SCHEMA = """
    id = "id"
    [features.text]
    type = "vector"
    encoder = "saved_model:{url}"
    [features.label]
    type = "label"
"""


@pytest.fixture
def publish(headrace, s3_url, tmp_path):
    """Puts a version into the bucket, past the relay."""

    def put(number: int) -> None:
        folder = tmp_path / f"half-{number}"
        HalfPlusTwo(1 + number).save(folder)
        headrace("cp", "-r", folder, f"{s3_url}/half/{number}")

    return put


def ask_half(server):
    return lambda: server.predict("half", {"instances": [2]})


@pytest.mark.exhaustive
def test_versions_come_from_a_slow_store_and_one_that_was_away(build, publish, s3_url, tmp_path):
    publish(1)
    relay = Relay(os.environ["AWS_ENDPOINT_URL_S3"].removeprefix("http://"))
    through = {"AWS_ENDPOINT_URL_S3": relay.url}
    with serving(build, tmp_path / "server", f"{s3_url}/half", env=through) as server:
        server.wait_until_ready()
        with Clients(3, ask_half(server)) as clients:
            clients.wait_for(20)
            relay.pause_s = 0.02
            publish(2)
            server.wait_until(lambda: ask_half(server)() == (200, {"predictions": [4.0]}))
            relay.close()
            time.sleep(AWAY_S)
            assert relay.refused > 0, "the server has asked meanwhile"
            clients.wait_for(20)
            relay.pause_s, relay.is_open = 0.0, True
            publish(3)
            server.wait_until(lambda: ask_half(server)() == (200, {"predictions": [5.0]}))
            clients.wait_for(20)
        assert {status for status, _ in clients.answers} == {200}, "no request has failed"
        values = [answer["predictions"] for _, answer in clients.answers]
        assert all(value in ([3.0], [4.0], [5.0]) for value in values)
        assert values[0] == [3.0] and values[-1] == [5.0]
        assert server.admin("/readyz")[0] == 200


@pytest.mark.exhaustive
def test_raw_texts_are_encoded_by_a_saved_model_from_a_store(build, headrace, s3_url, tmp_path):
    """Its files come by the server: the process that runs it has neither network nor credentials."""
    TextWaves().save(tmp_path / "waves")
    headrace("cp", "-r", tmp_path / "waves", f"{s3_url}/waves")
    texts = [f"{'good' if i % 2 else 'bad'} film {i}" for i in range(64)]
    rows = "".join(f"{i},{text},{'no' if i % 2 else 'yes'}\n" for i, text in enumerate(texts))
    (tmp_path / "films.csv").write_text(f"id,text,label\n{rows}")
    (tmp_path / "schema.toml").write_text(SCHEMA.format(url=f"{s3_url}/waves"))
    headrace("prepare", tmp_path / "films.csv", s3_url + "/films", "--schema", tmp_path / "schema.toml")
    headrace("train", s3_url + "/films", s3_url + "/run", "--epochs", "2")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts[:3])
    told = headrace("predict", s3_url + "/run", "--data", "-", input=lines).stdout.splitlines()
    with serving(build, tmp_path / "server", f"films={s3_url}/run") as server:
        server.wait_until_ready()
        status, answer = server.predict("films", {"instances": texts[:3]})
        assert status == 200, answer
        assert "no network" in server.errors.read_text()
    for made, line in zip(answer["predictions"], told, strict=True):
        wanted = json.loads(line)
        assert made["label"] == wanted["label"]

    headrace("cp", tmp_path / "schema.toml", f"{s3_url}/waves/assets/more")
    with serving(build, tmp_path / "other", f"films={s3_url}/run") as server:
        server.wait_until(lambda: "restore exactly the files" in server.errors.read_text())
