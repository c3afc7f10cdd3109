"""Traces a compiled Keras model to a SavedModel that trains without Python.

    python -m headrace._src.trace --model MODULE:FUNCTION --probe
    python -m headrace._src.trace --model MODULE:FUNCTION --spec spec.json --seed 44 --output FOLDER

The first prints what a trace depends on (no TensorFlow is imported: it takes a tenth of a second); the second
writes FOLDER/saved_model/, FOLDER/graph.pb (a GraphDef to show) and, last, FOLDER/model.json
(docs/formats/traced-model). The one line on standard output is JSON: the result, or
{"error": {"kind", "message"}} with exit status 1. Everything else that is printed, by whatever is imported,
goes to standard error.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import json
import os
import sys
import traceback
from pathlib import Path

from headrace._src import sources
from headrace._src.errors import ModelError

FORMAT_VERSION = 1


def _load_function(name: str):
    module_name, function_name = sources.split_model_name(name)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the user's module raises is the answer
        if isinstance(error, ModuleNotFoundError) and error.name == module_name.partition(".")[0]:
            raise ModelError(
                "import",
                f"there is no Python module '{module_name}': run where it lies, or set PYTHONPATH",
            ) from error
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        raise ModelError("import", f"module '{module_name}' does not import: {reason}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        near = difflib.get_close_matches(function_name, names, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ModelError("function", f"module '{module_name}' has no function '{function_name}'{hint}")
    return function


def _call(function, name: str, offered: dict, arguments: dict):
    """Calls the user's function with those of the offered arguments that it names, and all of `arguments`."""
    parameters = inspect.signature(function).parameters
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for argument in arguments:
        if argument not in parameters and not takes_any:
            raise ModelError(
                "argument", f"{name} takes no argument '{argument}'; it takes {', '.join(parameters)}"
            )
    passed = {key: value for key, value in offered.items() if key in parameters} | arguments
    try:
        return function(**passed)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise ModelError(
            "function", f"{name} failed: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        ) from error


def _check_compiled(model, name: str) -> None:
    import keras

    if not isinstance(model, keras.Model):
        raise ModelError("type", f"{name} returned {type(model).__name__}, not a keras.Model")
    if not getattr(model, "compiled", False) or model.optimizer is None or model.loss is None:
        raise ModelError(
            "compile",
            f"{name} returned a model that is not compiled with an optimizer and a loss:"
            " call model.compile(optimizer=…, loss=…) before returning it",
        )


def _build(model, name: str, spec) -> None:
    """Creates every variable, and checks that the data fits the model."""
    import tensorflow as tf

    try:
        predictions = model(tf.zeros([1, *spec.features]), training=False)
    except Exception as error:
        wants = getattr(model, "input_shape", None)
        wants = f" (it wants {tuple(wants[1:])})" if isinstance(wants, tuple) else ""
        raise ModelError(
            "features", f"{name} does not take features of shape {tuple(spec.features)}{wants}: {error}"
        ) from error
    if not isinstance(predictions, tf.Tensor) or tuple(predictions.shape[1:]) != (spec.classes,):
        got = getattr(predictions, "shape", type(predictions).__name__)
        got = tuple(got[1:]) if isinstance(got, tf.TensorShape) else got
        raise ModelError(
            "classes",
            f"{name} gives outputs of shape {got}, but the data has {spec.classes} classes: "
            f"the last layer must have {spec.classes} units",
        )
    if not model.trainable_variables:
        raise ModelError("trainable", f"{name} has no trainable variables")
    model.optimizer.build(model.trainable_variables)
    labels = tf.one_hot([0], spec.classes)
    from headrace._src import signatures

    target = tf.argmax(labels, -1) if signatures.takes_class_index(model) else labels
    model.compute_metrics(None, target, predictions, None)  # resolves names such as "accuracy"
    model.reset_metrics()


def _make_deterministic(seed: int) -> None:
    import keras
    import tensorflow as tf

    if keras.backend.backend() != "tensorflow":
        raise ModelError(
            "backend", "Keras runs on another backend: unset KERAS_BACKEND, or set it to tensorflow"
        )
    keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()


def trace(name: str, spec_data: dict, seed: int, output: Path) -> dict:
    """Writes the folder's files and returns the content of model.json. \\raises ModelError"""
    try:
        import keras
        import tensorflow as tf
    except ImportError as error:
        raise ModelError(
            "tensorflow", f"{sys.executable} cannot import TensorFlow ({error}): pip install tensorflow-cpu"
        ) from error
    if int(keras.__version__.split(".")[0]) < 3:
        raise ModelError("keras", f"Keras {keras.__version__} is too old: pip install 'keras>=3'")
    from headrace._src import describe, signatures

    spec = signatures.Spec(tuple(spec_data["features"]), spec_data["classes"], spec_data["label_dtype"])
    function = _load_function(name)
    _make_deterministic(seed)
    features = spec.features[0] if len(spec.features) == 1 else spec.features
    offered = {"features": features, "classes": spec.classes, "seed": seed}
    model = _call(function, name, offered, spec_data.get("arguments", {}))
    _check_compiled(model, name)
    _build(model, name, spec)

    variables = signatures.variables_of(model)
    traced = signatures.TracedModel(model, spec, variables)
    saved_model = output / "saved_model"
    tf.saved_model.save(traced, str(saved_model), signatures=traced.concrete_functions)
    graph = traced.concrete_functions["train_step"].graph.as_graph_def(add_shapes=True)
    (output / "graph.pb").write_bytes(graph.SerializeToString(deterministic=True))
    description = {
        "format": FORMAT_VERSION,
        "model": name,
        "seed": seed,
        "spec": spec_data,
        **describe.description(model, traced, variables),
    }
    (output / "model.json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    return description


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace._src.trace", description=__doc__)
    parser.add_argument("--model", required=True, metavar="MODULE:FUNCTION")
    parser.add_argument("--probe", action="store_true", help="only print what a trace depends on")
    parser.add_argument("--spec", type=Path, help="JSON: features (shape), classes, label_dtype, arguments")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def answer(arguments: list[str] | None) -> dict:
    """What the one line on standard output says."""
    options = _parse(arguments)
    try:
        if options.probe:
            module, _ = sources.split_model_name(options.model)
            return {"source_digest": sources.source_digest(module), "versions": sources.versions()}
        spec = json.loads(options.spec.read_text(encoding="utf-8"))
        options.output.mkdir(parents=True, exist_ok=True)
        trace(options.model, spec, options.seed, options.output)
        return {"output": str(options.output)}
    except ModelError as error:
        answer = error
    except Exception as error:  # a model that TensorFlow cannot trace, a full disk: the caller reports it
        traceback.print_exc()
        answer = ModelError("trace", f"tracing {options.model}: {type(error).__name__}: {error}")
    return {"error": {"kind": answer.kind, "message": str(answer)}}


def main() -> int:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    result_file = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what imported code prints must not mix with the result
    result = answer(None)
    print(json.dumps(result), file=result_file, flush=True)
    return 1 if "error" in result else 0


if __name__ == "__main__":
    sys.exit(main())
