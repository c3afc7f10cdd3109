"""headrace serve while its store is slow, or away."""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
from relay_support import Relay
from serve_models import HalfPlusTwo
from serve_support import Clients, serving

pytestmark = pytest.mark.slow

AWAY_S = 4  # some polls


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
