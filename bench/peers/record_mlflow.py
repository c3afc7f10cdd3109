"""Records the requests of a stock MLflow client that logs, as they are on the wire:

python record_mlflow.py FILE BATCHES SINGLES

Writes JSON: lists of requests, each with a `head` and a `body`, for batches of 1,000 points and for single
points. The id of the run is RUN.
"""

import http.server
import json
import os
import sys
import threading

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true"}

from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Metric  # noqa: E402

METRICS = 20
STEPS = 50  # steps per batch, each with a point of every metric
START_MS = 1_700_000_000_000


class Recorder(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        lines = [self.requestline, *(f"{name}: {value}" for name, value in self.headers.items())]
        if "/runs/" in self.path:
            self.server.recorded.append({"head": "\r\n".join(lines), "body": body})
        self._answer()

    def do_GET(self):
        self._answer()

    def _answer(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def main() -> None:
    target, batches, singles = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.recorded = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = MlflowClient(f"http://127.0.0.1:{server.server_port}")
    for batch in range(batches):
        points = []
        for step in range(batch * STEPS, (batch + 1) * STEPS):
            points += [
                Metric(f"metric_{i}", 1 / (step + i + 1), START_MS + step, step) for i in range(METRICS)
            ]
        client.log_batch("RUN", points)
    batched, server.recorded = server.recorded, []
    for step in range(singles):
        client.log_metric("RUN", "loss", 1 / (step + 1), START_MS + step, step)
    with open(target, "w") as file:
        json.dump({"batches": batched, "singles": server.recorded}, file)
    print(json.dumps({"batches": len(batched), "singles": len(server.recorded)}))


if __name__ == "__main__":
    main()
