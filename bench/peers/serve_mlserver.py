"""MLServer with the model in the process of the server and adaptive batching, KServe v2 by REST.

serve_mlserver.py MODEL PORT
"""

import asyncio
import sys

import numpy as np
from mlserver import MLModel, MLServer, ModelSettings, Settings
from mlserver.codecs import NumpyCodec
from mlserver.settings import ModelParameters
from mlserver.types import InferenceRequest, InferenceResponse
from serving_peer import ROWS_MAX, Model


class Served(MLModel):
    async def load(self) -> bool:
        self.model = Model(self.settings.parameters.uri)
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        rows = NumpyCodec.decode_input(payload.inputs[0]).astype(np.float32)
        answer = NumpyCodec.encode_output("y", self.model(rows))
        return InferenceResponse(model_name=self.name, outputs=[answer])


async def main() -> None:
    port = int(sys.argv[2])
    settings = Settings(
        host="127.0.0.1",
        http_port=port,
        grpc_port=port + 1,
        metrics_port=port + 2,
        parallel_workers=0,
        debug=False,
    )
    model = ModelSettings(
        name="mlp",
        implementation=Served,
        parameters=ModelParameters(uri=sys.argv[1]),
        max_batch_size=ROWS_MAX,
        max_batch_time=0.005,
    )
    await MLServer(settings).start([model])


if __name__ == "__main__":
    asyncio.run(main())
