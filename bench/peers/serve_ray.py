"""Ray Serve with one replica, dynamic batching, and the options that Ray names for throughput.

serve_ray.py MODEL PORT
"""

import os
import sys
import time

os.environ["RAY_SERVE_THROUGHPUT_OPTIMIZED"] = "1"
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import orjson
import ray
from ray import serve
from serving_peer import ROWS_MAX, Model
from starlette.requests import Request
from starlette.responses import Response


@serve.deployment(num_replicas=1, max_ongoing_requests=4 * ROWS_MAX)
class Served:
    def __init__(self, folder: str):
        self.model = Model(folder)

    @serve.batch(max_batch_size=ROWS_MAX, batch_wait_timeout_s=0.002)
    async def answer(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        return list(self.model(np.stack(rows)))

    async def __call__(self, request: Request) -> Response:
        row = np.array(orjson.loads(await request.body())["instances"][0], np.float32)
        answer = {"predictions": [(await self.answer(row)).tolist()]}
        return Response(orjson.dumps(answer), media_type="application/json")


if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[2])})
    serve.run(Served.bind(sys.argv[1]), route_prefix="/")
    while True:
        time.sleep(60)
