"""The model for the servers of serve_*.py, at its best: one concrete function, which maps rows to rows, on
the single core of a server.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

ROWS_MAX = 64


class Model:
    def __init__(self, folder: str):
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self._loaded = tf.saved_model.load(folder)
        rows = tf.TensorSpec([None, 512], tf.float32)
        self._call = tf.function(self._loaded.serve, input_signature=[rows]).get_concrete_function()
        for count in (1, 2, ROWS_MAX):
            self(np.zeros((count, 512), np.float32))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self._call(tf.constant(rows)).numpy()
