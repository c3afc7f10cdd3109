"""A trained model that answers rows from Python. A native child process runs it, so this process loads no
TensorFlow."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, overload

from headrace import _headrace
from headrace._src.batch import Batch
from headrace._src.option_names import with_python_names
from headrace._src.program import find_program
from headrace._src.row_batches import batches_of
from headrace._src.store import store as open_store
from headrace.errors import (
    CancelledError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    error_of,
)

if TYPE_CHECKING:
    import numpy as np

_REJECTED = re.compile(
    r"^row (\d+) of standard input(?: is rejected)?: (.*); (?:replace the image, or )?leave such", re.DOTALL
)
# Options of the program → arguments of `load`.
_OPTIONS = {
    "encoder-weights": "encoder_weights",
    "signature": "signature",
    "features": "features",
    "labels": "labels",
    "like": "like",
    "schema": "schema",
}
_STOP_SECONDS = 5.0  # how long the child may take to end


@dataclasses.dataclass(frozen=True)
class _Output:
    shape: list[int]  # of a row; -1: any size
    has_labels: bool


class Answers(Sequence[Mapping[str, Any]]):
    """A model's answers to some rows, in their order: each is a dict, as `headrace predict` writes it
    (docs/formats/predictions.md)."""

    def __init__(self, rows: list[dict[str, Any]], outputs: Mapping[str, _Output]):
        self._rows, self._outputs = rows, outputs

    @property
    def labels(self) -> list[Any]:
        """The class of each row; for an output with several labels, a list of the labels that apply.

        Raises:
            InvalidArgumentError: no output has classes, or several have: their answers are in the dicts.
        """
        names = [name for name, output in self._outputs.items() if output.has_labels]
        if len(names) != 1:
            having = ", ".join(names) or "none"
            raise InvalidArgumentError(
                f"labels needs exactly one output with classes; this model has {having}"
            )
        return [answer.get("label", answer.get("labels")) for answer in self._of(names[0])]

    def array(self, output: str | None = None) -> np.ndarray:
        """The numbers of an output, float32 [rows, *shape]: scores of classes or labels, or predicted
        numbers. `output` may be left out if the model has one.

        Raises:
            InvalidArgumentError: the model has no such output, or several.
        """
        import numpy as np

        if output is None and len(self._outputs) == 1:
            (output,) = self._outputs
        if output not in self._outputs:
            raise InvalidArgumentError(f"output is {output!r}; the model has {', '.join(self._outputs)}")
        values = [_numbers(answer) for answer in self._of(output)]
        return np.asarray(values, dtype=np.float32).reshape([len(values), *self._outputs[output].shape])

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Mapping[str, Any]]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self._rows[:3])) + (", …" if len(self) > 3 else "")
        return f"Answers({len(self):,} rows: [{shown}])"

    def _of(self, output: str) -> Iterator[Mapping[str, Any]]:
        return (row["outputs"][output] if "outputs" in row else row for row in self._rows)


def _numbers(answer: Mapping[str, Any]) -> Any:
    for of_all in ("probabilities", "scores"):
        if of_all in answer:
            return list(answer[of_all].values())
    return next(answer[name] for name in ("probability", "score", "value") if name in answer)


class Model:
    """A model that a training run exported. Get one from `headrace.load`.

    Any thread may use it; calls wait for each other. A forked child must load its own.
    """

    def __init__(self, url: str, options: Sequence[str]):
        self._url, self._options = url, list(options)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._is_closed = False
        self._child = _Child(url, self._options)
        self._about = self._child.about

    @property
    def url(self) -> str:
        """URL of the export, even if the model was loaded by its run."""
        return self._about["model"]

    @property
    def columns(self) -> list[str]:
        """The columns of raw rows that the model's inputs are made from."""
        return [column["name"] for column in self._about["columns"]]

    @property
    def outputs(self) -> dict[str, tuple[int | None, ...]]:
        """Name of each output → its shape, without the row dimension."""
        return {
            output["name"]: tuple(None if size < 0 else size for size in output["shape"])
            for output in self._about["outputs"]
        }

    @property
    def classes(self) -> dict[str, list[str]]:
        """Output → the classes or labels that its scores belong to, in order."""
        return {target["output"]: list(target["classes"]) for target in self._about["targets"]}

    def predict(self, rows: Any) -> Answers:
        """Answers raw rows. They become the model's inputs in the same way as the rows of its training data.

        Args:
            rows: what `headrace.prepare` takes as rows: a frame of pandas or polars, a table of Arrow,
                mappings from column to value. Labels need not be there. For a model with one raw column also
                a list of its values: texts, or images as paths, URLs or bytes.

        Raises:
            InvalidArgumentError: a row cannot become an input of the model; the error names the row.
                FailedPreconditionError: the model was closed, or loaded before a fork. The store's errors,
                where rows name objects.
        """
        batches = batches_of(self._mappings(rows))
        if os.getpid() != self._process:
            raise FailedPreconditionError(
                "this model was loaded before a fork: load it in the process that uses it"
            )
        answers: list[dict[str, Any]] = []
        with self._lock:
            for batch in batches:
                answers += self._ask(batch, len(answers))
        return Answers(answers, self._described_outputs)

    def close(self) -> None:
        """Ends the child process. The model cannot be used any more."""
        with self._lock:
            self._is_closed = True
            self._child.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        takes = ", ".join(f"{of['name']}" for of in self._about["columns"])
        gives = ", ".join(f"{name} {list(shape)}" for name, shape in self.outputs.items())
        return f"Model({self.url}: {takes} → {gives})"

    def _ask(self, batch: Batch, done: int) -> list[dict[str, Any]]:
        if self._is_closed:
            raise FailedPreconditionError("this model was closed")
        if self._child.has_failed:  # a row of an earlier call has ended it
            self._child = _Child(self._url, self._options)
        return self._child.ask(batch, done)

    def _mappings(self, rows: Any) -> Any:
        if isinstance(rows, str | bytes | os.PathLike):
            raise InvalidArgumentError(
                f"rows is {rows!r}; give a list of such values, or rows. To read rows from a file: "
                "model.predict("
                f"{_reader_of(rows)}). headrace predict --data answers tables of text, folders and archives"
            )
        if not isinstance(rows, Sequence) or not all(
            isinstance(row, str | bytes | os.PathLike) for row in rows
        ):
            return rows
        if len(self.columns) != 1:
            raise InvalidArgumentError(
                f"rows are single values, but the model takes the columns {', '.join(self.columns)}: give "
                "mappings"
            )
        return ({self.columns[0]: self._value(row)} for row in rows)

    def _value(self, value: str | bytes | os.PathLike[str]) -> str | bytes:
        """A value for the only column: images are read from their paths or URLs; texts are used as they
        are."""
        if isinstance(value, bytes) or not self._takes_images:
            return os.fspath(value)
        name = os.fspath(value)
        is_url = "://" in name
        if self._about["columns"][0]["is_url"]:
            return name if is_url else os.path.abspath(name)
        folder, slash, key = (name if is_url else os.path.abspath(name)).rpartition("/")
        return open_store(folder or slash).read(key)

    @property
    def _described_outputs(self) -> dict[str, _Output]:
        labelled = {target["output"] for target in self._about["targets"] if target["classes"]}
        return {of["name"]: _Output(of["shape"], of["name"] in labelled) for of in self._about["outputs"]}

    @property
    def _takes_images(self) -> bool:
        return any(of["feature"]["dtype"] == "uint8" for of in self._about["inputs"])


class _Child:
    """The native program, which answers records of rows with lines of JSON."""

    def __init__(self, url: str, options: Sequence[str]):
        environment = dict(os.environ) | {"HEADRACE_ERRORS": "json"}
        environment.setdefault("HEADRACE_PYTHON", sys.executable)
        words = ["predict", url, "--data", "-", "--layout", "tfrecord", "--json", *options]
        self._child = subprocess.Popen(
            [str(find_program()), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # so that Ctrl-C reaches only this process
        )
        self._end = weakref.finalize(self, _end, self._child)
        self.has_failed = False
        self._rows = 0  # rows sent so far
        self.about = self._line()

    def ask(self, batch: Batch, done: int) -> list[dict[str, Any]]:
        """`done`: the caller's rows before these; an error counts rows from the caller's first."""
        records = _headrace.encode_examples(batch.rows, list(batch.columns))
        writer = threading.Thread(target=_write, args=(self._child.stdin, records), daemon=True)
        try:
            writer.start()
            answers = [self._line() for _ in range(batch.rows)]
            writer.join()
        except InvalidArgumentError as error:
            raise _in_callers_terms(error, done - self._rows) from None
        except BaseException:  # the next call would read the answers that are left
            self._fail()
            raise
        self._rows += batch.rows
        for answer in answers:
            answer.pop("row", None)
        return answers

    def close(self) -> None:
        self._end()

    def _line(self) -> dict[str, Any]:
        line = self._child.stdout.readline()
        if not line:
            self._fail()
            raise _ended(self._child)
        answer = json.loads(line)
        if "error" in answer:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_STOP_SECONDS)  # the child ends by itself
            self._fail()
            message = with_python_names(answer["error"]["message"], _OPTIONS.get)
            raise error_of(answer["error"]["code"], message)
        return answer

    def _fail(self) -> None:
        self.has_failed = True
        _stop(self._child)  # before closing its input, which would wait for a thread that writes
        self._end()


def _reader_of(name: str | bytes | os.PathLike[str]) -> str:
    """The pandas call that reads a file of that name."""
    readers = {
        ".csv": "read_csv(path)",
        ".tsv": "read_csv(path, sep='\\t')",
        ".jsonl": "read_json(path, lines=True)",
        ".feather": "read_feather(path)",
        ".arrow": "read_feather(path)",
        ".xlsx": "read_excel(path)",
    }
    ending = os.path.splitext(os.fsdecode(name))[1].lower()
    return f"pandas.{readers.get(ending, 'read_parquet(path)')}"


def _in_callers_terms(error: InvalidArgumentError, rows_before: int) -> InvalidArgumentError:
    """Rewrites the message for rows of Python: they have no file, and the caller counts from the first row of
    the call."""
    found = _REJECTED.search(str(error))
    if found is None:
        return error
    return InvalidArgumentError(f"row {int(found[1]) + rows_before} is rejected: {found[2]}")


def _write(to: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError):  # the child has ended; the reader of its answers notices that
        to.write(data)
        to.flush()


def _end(child: subprocess.Popen[bytes]) -> None:
    """The child ends at the end of its input, or when nobody reads its answers. If a fork of this process
    holds both open, the child gets a signal."""
    for pipe in (child.stdout, child.stdin):
        with contextlib.suppress(OSError):
            pipe.close()
    try:
        child.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _stop(child)


def _stop(child: subprocess.Popen[bytes]) -> None:
    for make_end in (child.terminate, child.kill):
        make_end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_STOP_SECONDS)
            return


def _ended(child: subprocess.Popen[bytes]) -> Exception:
    if child.returncode is not None and child.returncode < 0:
        return CancelledError("headrace predict was ended by a signal; call again")
    return InternalError("headrace predict ended without an answer; see its messages on stderr")


def load(
    url: str | os.PathLike[str],
    *,
    encoder_weights: str | os.PathLike[str] | None = None,
    signature: str | None = None,
    features: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    like: str | os.PathLike[str] | None = None,
    schema: str | os.PathLike[str] | None = None,
) -> Model:
    """Loads the model of a finished run, a version of a named model, or a SavedModel that another program
    wrote, to answer raw rows here.

        model = headrace.load("s3://runs/pets")
        model.predict(["cat.jpg", "dog.jpg"]).labels
        model.predict(frame).array()
        headrace.load("saved_model", features={"x": "age"}, like="s3://datasets/people")

    A child process keeps the model in memory until the model is closed or garbage collected.

    Args:
        url: URL of the run, of the version, or of the folder with the saved_model.pb.
        encoder_weights: folder with the weights of a text encoder; default as in `headrace prepare`.

    For a SavedModel that Headrace did not write, which needs `like` or `schema`:

        signature: the signature to call; default "serving_default".
        features: input → feature, if neither names nor types decide which goes where. Numbers are cast to the
            input's dtype and reshaped to its shape.
        labels: output → label, whose classes name the output's scores; by default, answers are numbers.
        like: a dataset whose schema, vocabularies and encoders say how rows become inputs.
        schema: instead of `like`, a schema file for `headrace prepare`.

    Raises:
        TypeError: features or labels is not a dict of names.
        InvalidArgumentError: a SavedModel and the data do not fit each other; the error lists both sides.
        FailedPreconditionError: the run has not exported a model yet, or the way to make its inputs is not
            known.
        NotFoundError: there is no run, or no TensorFlow. The store's errors.
    """
    given = {
        "encoder_weights": encoder_weights,
        "signature": signature,
        "features": _assigned("features", features, "{'input': 'feature'}"),
        "labels": _assigned("labels", labels, "{'output': 'label'}"),
        "like": like,
        "schema": schema,
    }
    options = [
        word
        for option, name in _OPTIONS.items()
        if (value := given[name]) is not None
        for word in (f"--{option}", os.fspath(value))
    ]
    return Model(os.fspath(url), options)


def _assigned(argument: str, names: Mapping[str, str] | None, example: str) -> str | None:
    if names is None:
        return None
    if not isinstance(names, Mapping) or not all(
        isinstance(each, str) for pair in names.items() for each in pair
    ):
        raise TypeError(f"{argument} is {names!r}; it takes a dict of names, such as {example}")
    return ",".join(f"{name}={value}" for name, value in names.items())
