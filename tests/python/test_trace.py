"""The tracer, against Keras itself: both train the same models on the same batches."""

import contextlib
import io
import json
import os
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf
from headrace._src import fused_adam, sources, trace, user_model

_ROWS, _FEATURES, _CLASSES = 32, 6, 3

_MODELS = """
    import keras

    def network(features, classes, *extra):
        return keras.Sequential([keras.Input((features,)), *extra, keras.layers.Dense(8, activation="relu"),
                                 keras.layers.Dense(classes, activation="softmax")])

    def compiled(features, classes, optimizer="adam", loss="categorical_crossentropy", metrics=("accuracy",)):
        model = network(features, classes)
        model.compile(optimizer=optimizer, loss=loss, metrics=list(metrics))
        return model

    def clipped(features, classes):
        return compiled(features, classes, keras.optimizers.Adam(1e-2, clipnorm=0.5))

    def scheduled(features, classes):
        rate = keras.optimizers.schedules.ExponentialDecay(1e-2, 3, 0.5)
        return compiled(features, classes, keras.optimizers.Adam(rate))

    def normalized(features, classes):
        model = network(features, classes, keras.layers.BatchNormalization(), keras.layers.Dropout(0.5))
        model.compile(optimizer="sgd", loss="categorical_crossentropy", jit_compile=False)
        return model

    def regularized(features, classes):
        model = network(features, classes, keras.layers.Dense(4, kernel_regularizer="l2"))
        model.compile(optimizer="sgd", loss="categorical_crossentropy", weighted_metrics=["accuracy"])
        return model

    def not_compiled(features, classes):
        return network(features, classes)

    def not_a_model():
        return 17

    def asks_for_more(features, width, *rest, depth=2, **options):
        return network(features, width)

    def fails():
        raise ValueError("my own fault")

    class Own(keras.Sequential):
        def train_step(self, data):
            raise RuntimeError("mine")

    class OwnTest(keras.Sequential):
        def test_step(self, data):
            raise RuntimeError("mine")

        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            return {}

    def own_steps(features, classes, kind):
        model = {"train": Own, "test": OwnTest}[kind](
            [keras.Input((features,)), keras.layers.Dense(classes, "softmax")])
        model.compile("sgd", "categorical_crossentropy")
        return model

    def own_step_of_an_instance(features, classes):
        model = compiled(features, classes)
        model.train_step = lambda data: {}
        return model

    class NeedsMore(keras.Model):
        def call(self, age, income, training=False):
            return age + income

    def needs_more():
        model = NeedsMore()
        model.compile("sgd", "mse")
        return model

    def sequences(classes):
        model = keras.Sequential([keras.Input((None,)), keras.layers.Embedding(4, 5)])
        model.compile("sgd", keras.losses.CTC(name="mine"))
        return model

    def without_weights(features, classes):
        model = keras.Sequential([keras.Input((features,)), keras.layers.Lambda(lambda x: x[:, :classes])])
        model.compile(optimizer="sgd", loss="mse")
        return model
"""


def _batches(count):
    random = np.random.default_rng(3)
    for _ in range(count):
        features = random.normal(size=(_ROWS, _FEATURES)).astype("float32")
        labels = np.eye(_CLASSES, dtype="int64")[random.integers(0, _CLASSES, _ROWS)]
        yield features, labels


class _ModelsTest(unittest.TestCase):
    """A folder on the path with a module `mine` of small models."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "mine.py").write_text(textwrap.dedent(_MODELS), encoding="utf-8")
        self.addCleanup(sys.path.remove, str(self.folder))
        self.addCleanup(sys.modules.pop, "mine", None)
        sys.path.insert(0, str(self.folder))
        keras.utils.clear_session()

    def answer(self, model, classes=_CLASSES, features=_FEATURES, arguments=None):
        one_hot = {"name": "y", "dtype": "int64", "shape": [classes], "classes": classes, "one_hot": True}
        spec = {
            "features": [{"name": "x", "dtype": "float32", "shape": [features]}],
            "labels": [one_hot],
            "arguments": arguments or {},
        }
        (self.folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        output = self.folder / "out"
        with contextlib.redirect_stderr(io.StringIO()):
            return trace.answer(
                [
                    "--model",
                    model,
                    "--spec",
                    str(self.folder / "spec.json"),
                    "--seed",
                    "5",
                    "--output",
                    str(output),
                ]
            )


class TraceTest(_ModelsTest):
    def traced(self, model, **arguments):
        answer = self.answer(model, **arguments)
        self.assertNotIn("error", answer)
        description = json.loads((self.folder / "out/model.json").read_text(encoding="utf-8"))
        return tf.saved_model.load(str(self.folder / "out/saved_model")), description

    def keras_model(self, function, **arguments):
        """The same model, with the same initial weights, as Keras itself trains it."""
        keras.utils.clear_session()
        user_model.make_deterministic(5)
        return getattr(sys.modules["mine"], function)(_FEATURES, _CLASSES, **arguments)

    def assert_trains_as_keras(self, function, tolerance, **arguments):
        traced, description = self.traced(f"mine:{function}", arguments=arguments)
        model = self.keras_model(function, **arguments)
        one = tf.ones([_ROWS])
        for features, labels in _batches(8):
            target = labels.argmax(-1) if "sparse" in model.loss else labels.astype("float32")
            loss = model.train_on_batch(features, target)
            loss = loss[0] if isinstance(loss, list) else loss
            model.reset_metrics()
            got = traced.signatures["train_step"](
                features=tf.constant(features), labels=tf.constant(labels), weights=one
            )
            np.testing.assert_allclose(got["loss"], loss, rtol=tolerance)
        weights = traced.signatures["variables"]()
        names = [v["name"] for v in description["variables"] if v["role"] == "trainable"]
        for name, variable in zip(names, model.trainable_variables, strict=True):
            np.testing.assert_allclose(weights[name], variable.numpy(), rtol=tolerance, atol=tolerance * 1e-1)
        return description

    def test_trains_as_keras_does_with_the_fused_adam(self):
        model = self.traced("mine:compiled") and self.keras_model("compiled")
        model.optimizer.build(model.trainable_variables)
        self.assertTrue(fused_adam.can_replace(model.optimizer))
        slow = keras.optimizers.Adam(beta_2=0.9999)
        slow.build(model.trainable_variables)
        self.assertFalse(fused_adam.can_replace(slow), "its steps would be off by 8e-5")
        self.assert_trains_as_keras("compiled", 2e-5)

    @pytest.mark.exhaustive
    def test_trains_as_keras_does_with_options_that_the_fused_adam_lacks(self):
        self.assert_trains_as_keras("clipped", 2e-5)

    @pytest.mark.exhaustive
    def test_trains_as_keras_does_with_batch_statistics(self):
        self.assert_trains_as_keras("normalized", 2e-5)

    @pytest.mark.exhaustive
    def test_trains_as_keras_does_with_a_loss_of_the_weights(self):
        self.assert_trains_as_keras("regularized", 2e-5)

    @pytest.mark.exhaustive
    def test_a_schedule_sets_the_rate(self):
        description = self.assert_trains_as_keras("scheduled", 2e-5)
        self.assertIsNone(description["learning_rate"])

    @pytest.mark.exhaustive
    def test_a_loss_over_class_numbers_takes_one_hot_labels(self):
        self.assert_trains_as_keras("compiled", 2e-5, loss="sparse_categorical_crossentropy")

    def test_metrics_are_sums_that_keras_confirms(self):
        metrics = ["accuracy", "mse", "AUC"]
        traced, description = self.traced("mine:compiled", arguments={"metrics": metrics})
        self.assertEqual(description["metrics"], ["examples", "accuracy", "mse"])
        self.assertEqual(description["stateful_metrics"], ["AUC"])
        model = self.keras_model("compiled", metrics=metrics[:2])
        states = traced.signatures["reset_metrics"]()
        sums, want = np.zeros(3), np.zeros(2)
        for features, labels in _batches(3):
            model.reset_metrics()
            of_batch = model.test_on_batch(features, labels.astype("float32"), return_dict=True)
            want += _ROWS * np.array([of_batch["accuracy"], of_batch["mse"]])
            got = traced.signatures["eval_step"](
                features=tf.constant(features),
                labels=tf.constant(labels),
                weights=tf.ones([_ROWS]),
                **states,
            )
            sums += got["metrics"].numpy()
        self.assertEqual(sums[0], 3 * _ROWS)
        np.testing.assert_allclose(sums[1:], want, rtol=1e-6)

    @pytest.mark.slow
    @pytest.mark.soak
    def test_the_same_seed_gives_the_same_trace_and_another_does_not(self):
        def initial(seed):
            answer = self.answer("mine:normalized")
            self.assertNotIn("error", answer)
            keras.utils.clear_session()
            spec = json.loads((self.folder / "spec.json").read_text())
            with contextlib.redirect_stderr(io.StringIO()):
                trace.trace("mine:normalized", spec, seed, self.folder / "out")
            reader = tf.train.load_checkpoint(str(self.folder / "out/saved_model/variables/variables"))
            keys = [
                v["checkpoint_key"]
                for v in json.loads((self.folder / "out/model.json").read_text())["variables"]
            ]
            return [reader.get_tensor(key).tolist() for key in keys]

        self.assertEqual(initial(1), initial(1))
        self.assertNotEqual(initial(1), initial(2))

    @pytest.mark.exhaustive
    def test_every_variable_has_a_role_and_a_checkpoint_key(self):
        _, description = self.traced("mine:normalized")
        roles = {variable["role"] for variable in description["variables"]}
        self.assertEqual(roles, {"trainable", "non_trainable", "seed", "optimizer"})
        reader = tf.train.load_checkpoint(str(self.folder / "out/saved_model/variables/variables"))
        for variable in description["variables"]:
            self.assertEqual(list(reader.get_tensor(variable["checkpoint_key"]).shape), variable["shape"])

    def test_keras_loads_it_as_a_layer(self):
        traced, _ = self.traced("mine:compiled")
        features = next(_batches(1))[0]
        layer = keras.layers.TFSMLayer(str(self.folder / "out/saved_model"), call_endpoint="serving_default")
        np.testing.assert_array_equal(
            layer(features)["predictions"], traced.signatures["predict"](features=features)["predictions"]
        )

    def test_the_graph_is_a_graph_def(self):
        self.traced("mine:compiled")
        graph = tf.compat.v1.GraphDef.FromString((self.folder / "out/graph.pb").read_bytes())
        self.assertIn("MatMul", {node.op for node in graph.node})


class ErrorsTest(_ModelsTest):
    """Each fault of a model has a kind and a message that says what to change."""

    def assert_error(self, kind, message, model, **arguments):
        error = self.answer(model, **arguments)["error"]
        self.assertEqual(error["kind"], kind)
        self.assertRegex(error["message"], message)
        self.assertNotIn("\x1b", error["message"])
        self.assertFalse((self.folder / "out/model.json").exists())

    def test_faults_of_the_name(self):
        self.assert_error("name", "MODULE:FUNCTION", "headrace.models")
        self.assert_error("import", "no Python module 'no_such'", "no_such:build")
        self.assert_error("import", "there is no file", "no/such.py:build")
        self.assert_error("function", "did you mean 'compiled'", "mine:complied")

    def test_a_module_that_does_not_import(self):
        (self.folder / "broken.py").write_text("import no_such_library\n", encoding="utf-8")
        self.assert_error("import", r"No module named 'no_such_library' \(.*broken.py:1\)", "broken:build")

    def test_faults_of_the_function(self):
        self.assert_error("type", "returned int, not a keras.Model", "mine:not_a_model")
        (self.folder / "forgets.py").write_text("def build():\n    pass\n", encoding="utf-8")
        self.assert_error("type", "NoneType.*end the function with a return of the model", "forgets:build")
        self.assert_error("function", "ValueError: my own fault", "mine:fails")
        self.assert_error("compile", "not compiled", "mine:not_compiled")
        self.assert_error("trainable", "no trainable variables", "mine:without_weights")
        self.assert_error("argument", "no argument 'layers'", "mine:compiled", arguments={"layers": 3})
        self.assert_error("argument", "parameter 'width' that Headrace does not pass", "mine:asks_for_more")

    def test_steps_of_the_models_own_which_the_native_loop_would_not_run(self):
        for kind, steps in (
            ("train", "Own, .* train_step"),
            ("test", "OwnTest, .* test_step, compute_metrics"),
        ):
            message = f"of the class {steps}. The native loop does not run that code: use --loop keras"
            self.assert_error("steps", message, "mine:own_steps", arguments={"kind": kind})
        self.assert_error("steps", "its own train_step", "mine:own_step_of_an_instance")

    def test_a_call_with_several_arguments(self):
        self.assert_error(
            "features",
            r"call\(self, age, income\).*\. Write call\(self, inputs\), and in it age, income = inputs",
            "mine:needs_more",
        )

    def test_a_loss_that_compares_sequences(self):
        self.assert_error("loss", "the loss mine, whose labels have another length", "mine:sequences")

    def test_a_model_that_does_not_fit_the_data(self):
        (self.folder / "fixed.py").write_text(
            "import mine\ndef build():\n    return mine.compiled(5, 4)\n", encoding="utf-8"
        )
        self.assert_error("features", r"nothing fits \w+ float32\[5\](.|\n)*x float32\[6\]", "fixed:build")
        self.assert_error("classes", "must have 3 units", "fixed:build", features=5)


class SourceDigestTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "package").mkdir()
        self.write("package/__init__.py", "")
        self.write("package/model.py", "import helper, json, tensorflow\n")
        self.write("helper.py", "RATE = 1\n")
        self.write("unrelated.py", "")
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def test_covers_the_package_and_what_it_imports_and_nothing_else(self):
        first = sources.probe("package.model")
        self.write("unrelated.py", "changed = True\n")
        self.assertEqual(sources.probe("package.model"), first)
        self.write("helper.py", "RATE = 2\n")
        second = sources.probe("package.model")
        self.assertNotEqual(second, first)
        self.write("package/layers.py", "")
        self.assertNotEqual(sources.probe("package.model"), second)

    @pytest.mark.exhaustive
    def test_a_model_that_may_read_files_says_so(self):
        self.assertFalse(sources.probe("package.model")["reads_files"])
        for line in (
            "keras.models.load_model('a.keras')",
            "model.load_weights(path)",
            "np.load('x.npy')",
            "TFSMLayer('saved')",
            "MobileNetV2(weights='imagenet')",
            "open('words.txt').read()",
            "StringLookup(vocabulary='words.txt')",
            "h5py.File('weights.h5')",
            "np.genfromtxt('table.csv')",
            "TextFileInitializer('words.txt', 0, 1, 2, 3)",
        ):
            self.write("helper.py", f"{line}\n")
            self.assertTrue(sources.probe("package.model")["reads_files"], line)
        self.write(
            "helper.py", "MobileNetV2(weights=None); reopen(); loader = 1; class_weights = 2; file == 3\n"
        )
        self.assertFalse(sources.probe("package.model")["reads_files"])


if __name__ == "__main__":
    unittest.main()
