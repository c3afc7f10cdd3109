"""Models that begin with weights of a run, of Keras' own file or of a SavedModel, and freeze them."""

import json
import os
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

MODELS = """
    import keras
    from keras import layers
    import headrace.keras

    def _compiled(body, rate=0.01):
        model = keras.Sequential([keras.Input((4,)), body, layers.Dense(1, "sigmoid", name="head")])
        model.compile(keras.optimizers.Adam(rate), "binary_crossentropy")
        return model

    def _body():
        return keras.Sequential([keras.Input((4,)), layers.Dense(8, "relu", name="first"),
                                 layers.BatchNormalization(name="norm")], name="body")

    def first():
        return _compiled(_body())

    def frozen():
        body = _body()
        headrace.keras.load_weights(body, RUN)
        body.trainable = False
        return _compiled(body)

    def kept():
        model = keras.models.load_model(FOLDER + "/model.keras")
        model.trainable = False
        return _compiled(model)

    def saved():
        inputs = keras.Input((4,))
        scaled = layers.TFSMLayer(FOLDER + "/saved", call_endpoint="serve")(inputs)["scaled"]
        return _compiled(keras.Model(inputs, scaled))

    def other():
        body = keras.Sequential([keras.Input((4,)), layers.Dense(8, name="else")], name="body")
        headrace.keras.load_weights(body, RUN)
        return _compiled(body)
"""


def variables(run) -> dict[str, np.ndarray]:
    """The weights in the export, by name."""
    reader = tf.train.load_checkpoint(str(run / "export" / "variables" / "variables"))
    return {
        key.split("/")[1]: reader.get_tensor(key)
        for key in reader.get_variable_to_shape_map()
        if key.startswith("vars/")
    }


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory):
    """Data, models.py, and a run of `first`."""
    folder = tmp_path_factory.mktemp("pretrained")
    draw = np.random.default_rng(1)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row in draw.normal(size=(400, 4)):
            file.write(json.dumps({"x": row.tolist(), "label": "yes" if row.sum() > 0 else "no"}) + "\n")
    (folder / "schema.toml").write_text(
        "[features.x]\ntype = 'float32'\nshape = [4]\n"
        "[features.label]\ntype = 'label'\nvocabulary = ['no', 'yes']\n",
        encoding="utf-8",
    )
    constants = f"FOLDER = {str(folder)!r}\nRUN = FOLDER + '/first'\n"
    (folder / "models.py").write_text(textwrap.dedent(MODELS) + constants, encoding="utf-8")
    headrace("prepare", folder / "rows.jsonl", folder / "data", "--schema", folder / "schema.toml")
    train(headrace, folder, "first")
    return folder


def train(headrace, folder, name: str, *options, check: bool = True):
    model = f"{folder / 'models.py'}:{name.split('-')[0]}"
    words = ("train", folder / "data", folder / name, "--model", model, "--epochs", "2", *options)
    return headrace(*words, check=check)


@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
def test_frozen_weights_of_a_run_stay_and_the_head_learns(headrace, folder, loop):
    train(headrace, folder, f"frozen-{loop}", "--loop", loop)
    first, frozen = variables(folder / "first"), variables(folder / f"frozen-{loop}")
    for name in ("body__first__kernel", "body__first__bias", "body__norm__gamma", "body__norm__moving_mean"):
        np.testing.assert_array_equal(frozen[name], first[name], err_msg=name)
    assert not np.array_equal(frozen["sequential__head__kernel"], first["sequential__head__kernel"])


@pytest.mark.soak
def test_a_model_takes_the_weights_that_are_there_now(headrace, folder):
    """The trace of a model that reads files is not taken from the cache."""
    train(headrace, folder, "frozen-before")
    train(headrace, folder, "first", "--seed", "7", "--overwrite")
    train(headrace, folder, "frozen-after")
    now = variables(folder / "first")["body__first__kernel"]
    assert not np.array_equal(variables(folder / "frozen-before")["body__first__kernel"], now)
    np.testing.assert_array_equal(variables(folder / "frozen-after")["body__first__kernel"], now)


@pytest.mark.soak
def test_a_file_of_keras_is_taken(headrace, folder):
    import keras

    body = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, name="own")])
    body.save(folder / "model.keras")
    train(headrace, folder, "kept")
    np.testing.assert_array_equal(variables(folder / "kept")["own__kernel"], body.layers[0].kernel.numpy())


@pytest.mark.parametrize("loop", ["native", "keras"])
@pytest.mark.exhaustive
def test_a_saved_model_is_a_layer(headrace, folder, loop):
    class Scale(tf.Module):
        def __init__(self):
            self.factor = tf.Variable([3.0, 1.0, 1.0, 2.0])

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
        def serve(self, x):
            return {"scaled": x * self.factor}

    module = Scale()
    tf.saved_model.save(module, str(folder / "saved"), signatures={"serve": module.serve})
    train(headrace, folder, f"saved-{loop}", "--loop", loop)
    answer = json.loads(
        headrace(
            "evaluate", folder / f"saved-{loop}", "--data", folder / "data", "--split", "train", "--json"
        ).stdout
    )
    assert answer["records"] == 400


@pytest.mark.exhaustive
def test_layers_of_other_names_are_told(headrace, folder):
    failed = train(headrace, folder, "other", check=False)
    assert failed.returncode == 1
    assert "no weight of body has the path of one of" in failed.stderr
    assert "body/else/kernel" in failed.stderr and "body/first/kernel" in failed.stderr
