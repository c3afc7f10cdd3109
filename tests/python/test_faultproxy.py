"""The fault proxy keeps its promises: what it lets through is unharmed, each kind fails in its phase, and the
account says so."""

import collections
import http.client
import http.server
import socket
import ssl
import subprocess
import sys
import threading

import pytest
from faultproxy.faults import FAULTS
from faultproxy.messages import Request
from faultproxy.proxy import FaultProxy, Options

OBJECT = bytes(range(256)) * 16
REQUESTS = [
    Request("GET", "/bucket/key", [("Range", "bytes=1000-1999")]),
    Request("PUT", "/bucket/key", [("Content-Length", "4096")], OBJECT),
    Request("PUT", "/bucket/key", [("Content-Length", "9"), ("If-None-Match", "*")], b"condition"),
    Request("PUT", "/bucket/key", [("Content-Length", "4096"), ("Expect", "100-continue")], OBJECT),
    Request("PUT", "/bucket/key", [("Content-Length", "0"), ("x-amz-copy-source", "/bucket/other")]),
]


class Store(http.server.ThreadingHTTPServer):
    """Serves OBJECT under every name but "missing", takes everything, and counts the requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), StoreHandler)
        self.seen: collections.Counter[str] = collections.Counter()
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()
        self.address = f"127.0.0.1:{self.server_port}"


class StoreHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.seen["GET"] += 1
        if self.path.endswith("/missing"):
            return self.send_error(404)
        wanted = self.headers.get("Range")
        first, _, last = (wanted or f"bytes=0-{len(OBJECT) - 1}")[6:].partition("-")
        body = OBJECT[int(first) : int(last) + 1]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(OBJECT)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.server.seen["PUT"] += 1
        self.server.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def store():
    with Store() as server:
        yield server
        server.shutdown()


def exchange(connection: http.client.HTTPConnection, request: Request):
    """Status and body, or the exception."""
    try:
        connection.request(request.method, request.target, request.body or None, dict(request.headers))
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    except (OSError, http.client.HTTPException) as error:
        return type(error), b"", {}


@pytest.fixture
def trust(certificate) -> ssl.SSLContext:
    """A client's, which knows the certificate, and tells an end without close_notify from one with it."""
    context = ssl.create_default_context(cafile=certificate)
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    return context


def connection_to(proxy: FaultProxy, trust: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
    address = proxy.url.partition("://")[2]
    if proxy.url.startswith("https"):
        return http.client.HTTPSConnection(address, timeout=20, context=trust)
    return http.client.HTTPConnection(address, timeout=20)


def play(store: Store, kind: str, request: Request, tls: ssl.SSLContext | None, trust: ssl.SSLContext):
    with FaultProxy(store.address, Options(rate=1, kinds=[kind], patience=0.5, tls=tls)) as proxy:
        connection = connection_to(proxy, trust)
        outcome = exchange(connection, request)
        connection.close()
    return outcome, proxy.account


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_fails_in_its_phase_and_is_accounted_for(store, kind, tls_of_a_server, trust):
    fault = FAULTS[kind]
    request = next(request for request in REQUESTS if fault.needs(request))
    tls = tls_of_a_server if fault.over_tls else None
    (status, body, headers), account = play(store, kind, request, tls, trust)
    reaches_the_store = fault.phase in ("after", "head", "body") and kind != "error_in_success"
    late_but_right = kind in ("slow_first_byte", "trickle")
    python_does_not_mind = kind in ("chunked", "answer_twice", "bytes_after_the_end", "two_lengths")
    assert store.seen.total() == (1 if reaches_the_store or late_but_right else 0)
    assert account.injected[kind] == 1
    assert account.requests == 1
    assert account.log == [f"0 {kind} {request.method} /bucket/key"]
    right = (206, OBJECT[1000:2000]) if request.method == "GET" else (200, b"")
    if late_but_right or python_does_not_mind:
        assert (status, body) == right
    else:
        assert (status, body, headers.get("Content-Range")) != (*right, "bytes 1000-1999/4096")


@pytest.mark.parametrize("kind", ["flipped_bit", "short_body", "long_body", "close_in_body"])
def test_what_damages_content_leaves_errors_as_they_are(store, kind):
    requests = [Request("GET", "/bucket/missing", REQUESTS[0].headers), REQUESTS[0]]
    with FaultProxy(store.address, Options(rate=1, kinds=[kind], most=1)) as proxy:
        connection = connection_to(proxy)
        (status, body, _), (_, damaged, _) = [exchange(connection, request) for request in requests]
    assert status == 404
    assert b"</html>" in body
    assert damaged != OBJECT[1000:2000]
    assert proxy.account.log == [f"1 {kind} GET /bucket/key"]


def test_only_what_lies_on_the_path_fails(store):
    with FaultProxy(store.address, Options(rate=1, kinds=["status_500"], path="/a/")) as proxy:
        connection = connection_to(proxy)
        targets = ["/bucket/a/key", "/bucket/key?of=/a/", "/bucket/b/a/"]
        statuses = [exchange(connection, Request("GET", target, []))[0] for target in targets]
    assert statuses == [500, 200, 500]


def test_what_is_let_through_is_unharmed(store):
    with FaultProxy(store.address, Options(rate=0)) as proxy:
        connection = connection_to(proxy)
        for request in REQUESTS[:2] * 3:
            status, body, _ = exchange(connection, request)
            assert (status, body) == ((206, OBJECT[1000:2000]) if request.method == "GET" else (200, b""))
        assert store.body == OBJECT
    assert proxy.account.requests == 6
    assert proxy.account.faults == 0
    assert proxy.account.never() == sorted(
        name for name, kind in FAULTS.items() if kind.expected and not kind.over_tls
    )


def outcomes(store: Store, **options) -> tuple[list, FaultProxy]:
    kinds = ["status_500", "status_503_burst", "short_body"]
    with FaultProxy(store.address, Options(kinds=kinds, **options)) as proxy:
        connection = connection_to(proxy)
        seen = [exchange(connection, REQUESTS[0])[:2] for _ in range(60)]
        connection.close()
    return seen, proxy


@pytest.mark.exhaustive
def test_a_seed_repeats_the_same_faults(store):
    first, proxy = outcomes(store, rate=0.2, seed=5)
    again, other = outcomes(store, rate=0.2, seed=5)
    assert first == again
    assert proxy.account.log == other.account.log
    assert outcomes(store, rate=0.2, seed=6)[0] != first
    assert proxy.account.never() == []


def test_a_burst_fails_as_often_as_it_says_and_most_is_an_end(store):
    seen, proxy = outcomes(store, rate=1, seed=1, most=3, spare=2)
    statuses = [status for status, _ in seen]
    assert statuses[:2] == [206, 206]
    assert statuses.count(503) == 1 + FAULTS["status_503_burst"].burst
    assert proxy.account.injected == {"status_500": 1, "status_503_burst": 5, "short_body": 1}
    assert set(statuses[9:]) == {206}


def end_of(proxy: FaultProxy, trust: ssl.SSLContext) -> tuple[bytes, Exception | None]:
    """The answer to a GET up to its end, and the error that a client with TLS sees there."""
    host, _, port = proxy.url.removeprefix("https://").partition(":")
    got = b""
    with (
        socket.create_connection((host, int(port)), timeout=20) as raw,
        trust.wrap_socket(raw, server_hostname=host, suppress_ragged_eofs=False) as tls,
    ):
        tls.sendall(REQUESTS[0].head())
        try:
            while data := tls.recv(1 << 16):
                got += data
        except OSError as error:
            return got, error
    return got, None


@pytest.mark.parametrize(
    ("kind", "says_goodbye", "tells_length"),
    [
        ("close_in_body", True, True),
        ("tls_close_without_notify", False, True),
        ("tls_cut_without_length", False, False),
    ],
)
def test_who_cuts_a_body_closes_tls_only_if_the_kind_says_so(
    store, tls_of_a_server, trust, kind, says_goodbye, tells_length
):
    for seed in range(5):
        with FaultProxy(
            store.address, Options(rate=1, kinds=[kind], seed=seed, tls=tls_of_a_server)
        ) as proxy:
            got, seen = end_of(proxy, trust)
        head, _, body = got.partition(b"\r\n\r\n")
        assert getattr(seen, "reason", None) == (None if says_goodbye else "UNEXPECTED_EOF_WHILE_READING")
        assert (seen is None) == says_goodbye
        assert head.startswith(b"HTTP/1.1 206")
        assert (b"content-length: 1000" in head.lower()) == tells_length
        assert len(body) < 1000
        assert OBJECT[1000:2000].startswith(body)


def test_kinds_that_take_tls_are_played_over_tls_alone(store, tls_of_a_server):
    over_tls = {name for name, kind in FAULTS.items() if kind.over_tls}
    assert over_tls <= {kind.name for kind in Options(tls=tls_of_a_server).faults()}
    assert over_tls.isdisjoint(kind.name for kind in Options().faults())
    with pytest.raises(ValueError, match="TLS"):
        FaultProxy(store.address, Options(kinds=["status_500", "tls_close_without_notify"]))


def test_an_unknown_kind_is_refused():
    with pytest.raises(KeyError, match="no_such"):
        FaultProxy("127.0.0.1:1", Options(kinds=["no_such"]))


def test_the_command_lists_the_kinds_and_refuses_what_cannot_be(root):
    def run(*arguments: str):
        command = [sys.executable, root / "tools/faultproxy", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    listed = run("--list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(FAULTS)
    for wrong in ("no_such", "tls_cut_without_length"):
        refused = run("127.0.0.1:1", "--kinds", wrong)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert wrong in refused.stderr
