"""Traces a compiled Keras model to a SavedModel that trains without Python.

    python -m headrace._src.trace --model MODULE:FUNCTION --probe
    python -m headrace._src.trace --model MODULE:FUNCTION --spec spec.json --seed 44 --output FOLDER

The first command prints what a trace depends on (in a tenth of a second, since it imports no TensorFlow); the
second writes FOLDER/saved_model/, FOLDER/graph.pb (a GraphDef to show) and, last, FOLDER/model.json
(docs/formats/traced-model). The one line on standard output is JSON: the result, or
{"error": {"kind", "message"}} with exit status 1. All output of imported modules goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from headrace._src import sources, user_model
from headrace._src.errors import ModelError

if TYPE_CHECKING:
    import keras


def trace(name: str, spec_data: dict, seed: int, output: Path) -> dict:
    """Writes the folder's files and returns the content of model.json. \\raises ModelError"""
    user_model.check_libraries()
    from headrace._src import describe

    model, binding = user_model.make(name, spec_data, seed)
    _check_steps(model, name)
    return describe.save(model, binding, {"model": name, "seed": seed, "spec": spec_data}, output)


def _check_steps(model: keras.Model, name: str) -> None:
    from headrace._src import signatures

    own = signatures.own_steps(model)
    if own:
        raise ModelError(
            "steps",
            f"{name} returned a model of the class {type(model).__name__}, which defines its own "
            f"{', '.join(own)}. The native loop does not run that code: use --loop keras",
        )


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace._src.trace", description=__doc__)
    parser.add_argument("--model", required=True, metavar="MODULE:FUNCTION")
    parser.add_argument("--probe", action="store_true", help="only print what a trace depends on")
    parser.add_argument("--spec", type=Path, help="JSON: features, labels, inputs, outputs, arguments")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    return parser.parse_args(arguments)


def answer(arguments: list[str] | None) -> dict:
    """Runs the command and returns the result, which becomes the one line on standard output."""
    options = _parse(arguments)
    try:
        if options.probe:
            module, _ = sources.split_model_name(options.model)
            return {**sources.probe(module), "versions": sources.versions()}
        spec = json.loads(options.spec.read_text(encoding="utf-8"))
        options.output.mkdir(parents=True, exist_ok=True)
        trace(options.model, spec, options.seed, options.output)
        return {"output": str(options.output)}
    except ModelError as error:
        answer = error
    except Exception as error:  # a model that cannot be traced, a full disk, …: the caller reports it
        traceback.print_exc()
        answer = ModelError("trace", f"tracing {options.model}: {type(error).__name__}: {error}")
    return {"error": {"kind": answer.kind, "message": str(answer)}}


def main() -> int:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    result_file = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of imported code must not mix with the result
    result = answer(None)
    print(json.dumps(result), file=result_file, flush=True)
    return 1 if "error" in result else 0


if __name__ == "__main__":
    sys.exit(main())
