"""headrace serve --trace: requests have their place in a trace, and a collector of spans gets theirs."""

import contextlib
import http.client
import http.server
import json
import os
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import pytest
from serve_models import HalfPlusTwo, Rater, b64
from serve_support import serving
from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

pytestmark = pytest.mark.usefixtures("tracing_environment")

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE[::-1]}-{SPAN}-00"


class Collector(http.server.ThreadingHTTPServer):
    """Keeps the spans that it gets by OTLP."""

    def __init__(self):
        self.spans: list[dict] = []
        super().__init__(("127.0.0.1", 0), Receiver)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/otlp"

    def of(self, trace: str) -> dict[str, dict]:
        return {span["name"]: span for span in self.spans if span["traceId"] == trace}


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_right = self.path == "/otlp/v1/traces" and self.headers["Content-Type"] == "application/json"
        for resource in document["resourceSpans"]:
            assert {"key": "service.name", "value": {"stringValue": "headrace"}} in resource["resource"][
                "attributes"
            ]
            for scope in resource["scopeSpans"]:
                self.server.spans += scope["spans"]
        self.send_response(200 if is_right else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def collector():
    with Collector() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def server(build, collector, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    HalfPlusTwo().save(folder / "half/3")
    Rater().save(folder / "rater/1")
    words = [folder / "half", folder / "rater", "--trace", collector.url, "--trace-share", "0"]
    with serving(build, tmp_path_factory.mktemp("server"), *words) as running:
        yield running.wait_until_ready()


def post(server, target: str, body: dict, traceparent: str | None) -> tuple[int, str | None]:
    """The status, and the place in a trace that the answer names."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        headers = {"traceparent": traceparent} if traceparent else {}
        connection.request("POST", target, json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers["traceparent"]


@pytest.mark.exhaustive
def test_a_request_is_a_span_with_its_steps(server, collector):
    status, place = post(server, "/v1/models/half:predict", {"instances": [1.0]}, SAMPLED)
    assert status == 200
    version, trace, span, flags = place.split("-")
    assert (version, trace, flags) == ("00", TRACE, "01") and span != SPAN
    server.wait_until(lambda: "rest-v1 half" in collector.of(TRACE))
    spans = collector.of(TRACE)
    whole = spans.pop("rest-v1 half")
    assert (whole["spanId"], whole["parentSpanId"], whole["kind"]) == (span, SPAN, 2)
    attributes = {each["key"]: [*each["value"].values()][0] for each in whole["attributes"]}
    assert attributes == {
        "protocol": "rest-v1",
        "model.name": "half",
        "model.version": "3",
        "http.response.status_code": "200",
    }
    assert sorted(spans) == ["encode", "parse", "queue", "read", "run"]
    assert {each["parentSpanId"] for each in spans.values()} == {span}
    end = whole["startTimeUnixNano"]
    for name in ("read", "parse", "queue", "run", "encode"):
        assert spans[name]["startTimeUnixNano"] == end  # where the step before ended
        end = spans[name]["endTimeUnixNano"]
        assert int(end) >= int(spans[name]["startTimeUnixNano"])
    assert int(whole["endTimeUnixNano"]) >= int(end)


def test_who_is_not_sampled_is_not_recorded(server, collector):
    status, place = post(server, "/v1/models/half:predict", {"instances": [1.0]}, UNSAMPLED)
    assert status == 200 and place.startswith(f"00-{TRACE[::-1]}-") and place.endswith("-00")
    for given in (None, "nonsense", f"00-{'0' * 32}-{SPAN}-01"):
        assert post(server, "/v1/models/half:predict", {"instances": [1.0]}, given) == (200, None)
    later = "1" * 32
    assert post(server, "/v1/models/half:predict", {"instances": []}, f"00-{later}-{SPAN}-01")[0] == 400
    server.wait_until(lambda: collector.of(later))
    assert "encode" not in collector.of(later)
    assert {span["traceId"] for span in collector.spans} <= {TRACE, later}
    assert 'headrace_serve_spans_total{outcome="dropped"} 0' in server.admin("/metrics")[1]


def test_calls_of_grpc_are_traced(server, collector):
    trace = "2" * 32
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "half"
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        stub.GetModelMetadata(request, 60, metadata=[("traceparent", f"00-{trace}-{SPAN}-01")])
    server.wait_until(lambda: "grpc-predict half" in collector.of(trace))
    assert collector.of(trace)["grpc-predict half"]["parentSpanId"] == SPAN


def test_an_example_that_fails_ends_its_trace(server, collector):
    trace = "3" * 32
    body = {"signature_name": "regress", "instances": [b64(b"no example")]}
    assert post(server, "/v1/models/rater:predict", body, f"00-{trace}-{SPAN}-01")[0] == 400
    server.wait_until(lambda: "rest-v1 rater" in collector.of(trace))


def test_a_collector_that_is_not_there_costs_no_answer(build, tmp_path):
    HalfPlusTwo().save(tmp_path / "half/1")
    words = [tmp_path / "half", "--trace", "http://127.0.0.1:1", "--trace-share", "1"]
    with serving(build, tmp_path / "server", *words) as server:
        server.wait_until_ready()
        for _ in range(20):
            status, place = post(server, "/v1/models/half:predict", {"instances": [1.0]}, None)
            assert status == 200 and place.endswith("-01")
        server.wait_until(lambda: "takes no spans" in server.errors.read_text())
        dropped = 'headrace_serve_spans_total{outcome="dropped"} 1'
        server.wait_until(lambda: dropped in server.admin("/metrics")[1])
        assert server.stop() == 0
