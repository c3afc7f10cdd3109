"""Triton's server by PyTriton, with its dynamic batcher, KServe v2 by REST.

serve_pytriton.py MODEL PORT
"""

import sys

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig
from serving_peer import ROWS_MAX, Model

if __name__ == "__main__":
    model = Model(sys.argv[1])

    @batch
    def answer(x: np.ndarray) -> list[np.ndarray]:
        return [model(x)]

    port = int(sys.argv[2])
    config = TritonConfig(
        http_address="127.0.0.1", http_port=port, grpc_port=port + 1, metrics_port=port + 2, log_verbose=0
    )
    with Triton(config=config) as triton:
        triton.bind(
            model_name="mlp",
            infer_func=answer,
            inputs=[Tensor(name="x", dtype=np.float32, shape=(512,))],
            outputs=[Tensor(name="y", dtype=np.float32, shape=(2,))],
            config=ModelConfig(
                max_batch_size=ROWS_MAX, batcher=DynamicBatcher(max_queue_delay_microseconds=0)
            ),
        )
        triton.serve()
