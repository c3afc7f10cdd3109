"""FastAPI on uvicorn with one worker, uvloop and httptools; orjson reads and writes.

serve_fastapi.py MODEL PORT
"""

import sys

import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response
from serving_peer import Model

model = Model(sys.argv[1])
app = FastAPI()


@app.post("/v1/models/mlp:predict")
async def predict(request: Request) -> Response:
    rows = np.array(orjson.loads(await request.body())["instances"], np.float32)
    answer = orjson.dumps({"predictions": model(rows)}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(answer, media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(
        app, port=int(sys.argv[2]), loop="uvloop", http="httptools", access_log=False, log_level="error"
    )
