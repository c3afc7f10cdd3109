"""Loads a SavedModel as users do, for tensorflow_test.cc:

    python check_export.py SAVED_MODEL FEATURES

FEATURES holds float32 rows. Prints JSON: the predictions by tf.saved_model.load and by Keras' TFSMLayer,
and the names of the variables that tf.train.load_checkpoint finds.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf


def main(folder, features_file):
    loaded = tf.saved_model.load(folder)
    width = loaded.signatures["predict"].structured_input_signature[1]["features"].shape[1]
    features = np.fromfile(features_file, "float32").reshape(-1, width)
    layer = keras.layers.TFSMLayer(folder, call_endpoint="serving_default")
    keys = tf.train.load_checkpoint(f"{folder}/variables/variables").get_variable_to_shape_map()
    answer = {
        "loaded": loaded.signatures["predict"](features=tf.constant(features))["predictions"]
        .numpy()
        .tolist(),
        "layer": np.asarray(layer(features)["predictions"]).tolist(),
        "keys": sorted(keys),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
