"""headrace serve: requests that are made to hurt a server. Each has its answer, and the server stays well."""

import concurrent.futures
import os
import pathlib
import re
import socket
import struct

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serve_crafted import CRAFTED, GOOD, HALF, Crafted, post, request
from serve_crafted_frames import FRAMES
from serve_models import HalfPlusTwo
from serve_support import serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

PATIENCE_S = 60
MEMORY_MIB = 512
AT_ONCE = 8


@pytest.fixture(scope="module")
def server(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    HalfPlusTwo().save(folder / "half/1")
    with serving(
        build, tmp_path_factory.mktemp("server"), folder / "half", "--body-size", "16MiB"
    ) as running:
        yield running.wait_until_ready()
        assert predicted(running) == [3.0]
        status = pathlib.Path(f"/proc/{running.process.pid}/status").read_text()
        assert int(status.partition("VmHWM:")[2].split()[0]) < MEMORY_MIB << 10, "the server took more memory"


def predicted(server) -> list:
    status, answer = server.predict("half", {"instances": [2.0]})
    assert status == 200, answer
    return answer["predictions"]


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def read_all(connection: socket.socket) -> bytes:
    """Until the server ends the connection, as it must: else this fails by time."""
    received = b""
    while True:
        try:
            piece = connection.recv(1 << 16)
        except ConnectionResetError:
            return received
        if not piece:
            return received
        received += piece


def statuses_of(received: bytes) -> list[int]:
    """Those of answers one behind the other, by their lengths; nothing else may be there."""
    found = []
    while received:
        head, separator, rest = received.partition(b"\r\n\r\n")
        first = re.fullmatch(rb"HTTP/1\.1 (\d{3}) [A-Za-z ]+", head.split(b"\r\n")[0])
        assert separator and first, received[:200]
        if int(first[1]) != 100:
            found.append(int(first[1]))
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        received = rest[int(length[1]) if length else 0 :]
    return found


def send(port: int, data: bytes, ends_sending: bool = False) -> bytes:
    with connect(port) as connection:
        try:
            connection.sendall(data)
            if ends_sending:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has answered, and reads no more; its end of the connection may be gone
        return read_all(connection)


def fault(server, crafted: Crafted) -> str | None:
    """None: the answer is right."""
    try:
        received = send(server.port, crafted.data, crafted.ends_sending)
        found = statuses_of(received)
    except (AssertionError, TimeoutError) as error:
        return f"{crafted.name}: {error!r}"
    if found == [] == [*crafted.statuses] or (len(found) == 1 and found[0] in crafted.statuses):
        return None
    return f"{crafted.name}: {found}, not {crafted.statuses}: {received[-300:]!r}"


@pytest.mark.exhaustive
def test_crafted_requests_have_their_answers(server):
    assert len(CRAFTED) > 200 and len({each.name for each in CRAFTED}) == len(CRAFTED)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        faults = list(filter(None, pool.map(lambda each: fault(server, each), CRAFTED)))
    assert not faults, "\n".join(faults)
    assert predicted(server) == [3.0]


# Clients that take their time


def drip(port: int, data: bytes) -> list[int]:
    """Sends a byte each fifth of a second, until the server has had enough."""
    with connect(port) as connection:
        connection.settimeout(0.2)
        received = b""
        for byte in data:
            try:
                connection.send(bytes([byte]))
                if piece := connection.recv(1 << 16):
                    received += piece
                    continue
                return statuses_of(received)
            except TimeoutError:
                continue  # no answer yet
            except (BrokenPipeError, ConnectionResetError):
                return statuses_of(received)
        raise AssertionError("the server has more patience than the client")


@pytest.mark.exhaustive
def test_slow_clients_are_given_up_and_hold_up_nobody(server):
    head = b"GET /v1/models/half HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 100
    body = request("POST", HALF, "Content-Length: 1000")
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        heads = [pool.submit(drip, server.port, head) for _ in range(30)]
        # The head comes at once, so that the body is what is slow.
        bodies = [pool.submit(slow_body, server.port, body) for _ in range(10)]
        for _ in range(20):
            assert predicted(server) == [3.0]
        assert {tuple(each.result()) for each in heads} == {(408,)}
        assert {tuple(each.result()) for each in bodies} == {(408,)}


def slow_body(port: int, head: bytes) -> list[int]:
    with connect(port) as connection:
        connection.sendall(head + b"[")
        return statuses_of(read_all(connection))


def test_requests_one_behind_the_other_are_answered_in_their_order(server):
    bodies = [b'{"instances": [%d]}' % number for number in range(200)]
    data = b"".join(post(body).replace(b"Connection: close\r\n", b"") for body in bodies)
    received = send(server.port, data + request())
    assert statuses_of(received) == [200] * 201
    answers = re.findall(rb'"predictions":\[([0-9.]+)\]', received)
    assert [float(each) for each in answers] == [number / 2 + 2 for number in range(200)]


def test_clients_that_leave_cost_nothing(server):
    for end in (b"", post(GOOD)[:20], post(GOOD)[:-5], post(GOOD), post(GOOD) * 50):
        for _ in range(20):
            with connect(server.port) as connection:
                connection.sendall(end)
                # The connection is reset, not ended in order.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    bytes_left = lambda: "headrace_serve_bytes_in_flight 0\n" in server.admin("/metrics")[1]  # noqa: E731
    server.wait_until(bytes_left)
    assert predicted(server) == [3.0]


@pytest.mark.exhaustive
def test_a_client_that_reads_nothing_is_given_up(server):
    with connect(server.port) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        large = post(b'{"instances": [' + b"1," * 4000 + b"1]}").replace(b"Connection: close\r\n", b"")
        connection.settimeout(PATIENCE_S)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                connection.sendall(large)
    assert predicted(server) == [3.0]


# gRPC


def test_crafted_frames_end_their_connection_and_nothing_else(server):
    if server.grpc_port is None:
        return  # a build without gRPC
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ends = {name: pool.submit(send, server.grpc_port, data, True) for name, data in FRAMES.items()}
        for name, end in ends.items():
            try:
                end.result()
            except TimeoutError:
                pytest.fail(f"the connection goes on after {name}")
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        health = health_pb2_grpc.HealthStub(channel)
        answer = health.Check(health_pb2.HealthCheckRequest(service="half"), PATIENCE_S)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    assert predicted(server) == [3.0]
