"""headrace serve, asked by the client of Vertex AI."""

import json
import os
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
from serve_models import HalfPlusTwo
from serve_support import serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.exhaustive,  # only then is the client installed
    pytest.mark.usefixtures("tracing_environment"),
]

SECONDS = 120
CLIENT = """
import json, sys
from google.api_core.exceptions import GoogleAPICallError
from google.auth.credentials import AnonymousCredentials
from google.cloud.aiplatform_v1.services.prediction_service import PredictionServiceClient, transports

host, model, instances = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
transport = transports.PredictionServiceRestTransport(
    host=host, credentials=AnonymousCredentials(), url_scheme="http"
)
client = PredictionServiceClient(transport=transport)
try:
    answer = client.predict(
        endpoint=f"projects/p/locations/l/endpoints/{model}",
        instances=instances,
        parameters={"signature_name": "serving_default"},
    )
    print(json.dumps({"predictions": list(answer.predictions)}))
except GoogleAPICallError as error:
    print(json.dumps({"error": type(error).__name__, "message": error.message}))
"""


def test_the_client_of_vertex_ai(engines, build, tmp_path):
    HalfPlusTwo().save(tmp_path / "models/half/1")
    with serving(build, tmp_path / "server", tmp_path / "models/half") as server:
        server.wait_until_ready()
        host = server.url.removeprefix("http://")

        def predict(model: str, instances: list) -> dict:
            command = [engines, "-c", CLIENT, host, model, json.dumps(instances)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        assert predict("half", [2.0, 3.0]) == {"predictions": [3.0, 3.5]}
        refused = predict("none", [2.0])
        assert refused["error"] == "NotFound" and "none" in refused["message"]
        assert predict("half", ["two"])["error"] == "BadRequest"
