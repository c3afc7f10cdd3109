"""LitServe with one worker and dynamic batching.

serve_litserve.py MODEL PORT
"""

import sys

import litserve
import numpy as np
from serving_peer import ROWS_MAX, Model


class Served(litserve.LitAPI):
    def setup(self, device) -> None:
        self.model = Model(sys.argv[1])

    def decode_request(self, request):
        return np.array(request["instances"][0], np.float32)

    def batch(self, inputs):
        return np.stack(inputs)

    def predict(self, rows):
        return self.model(rows)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"predictions": [output.tolist()]}


if __name__ == "__main__":
    served = Served(max_batch_size=ROWS_MAX, batch_timeout=0.005, api_path="/v1/models/mlp:predict")
    server = litserve.LitServer(served, accelerator="cpu", workers_per_device=1, fast_queue=True)
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[2]),
        num_api_servers=1,
        log_level="error",
        generate_client_file=False,
    )
