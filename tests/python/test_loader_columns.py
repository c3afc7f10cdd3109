"""Columns that a loader can be asked for, rows of any length, and how the package shows its own objects."""

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
import tfrecords

import headrace as hr

InvalidArgumentError = hr.errors.InvalidArgumentError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hr.open(tfrecords.write_numbered(tmp_path_factory.mktemp("columns") / "data", 40))


def batch_of(data, batch_size=40, **columns):
    return next(data.loader(batch_size=batch_size, shuffle=False, columns=columns))


# ---- columns


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("float64",), "not 'float64'"),
        ((np.dtype("float32"),), "not dtype"),
        (("int64", (3, 1431655766)), "more than 2,147,483,647 values"),
        (("int64", (2**32 + 1,)), "more than 2,147,483,647 values"),
        (("int64", (2**70, 2**70)), "more than 2,147,483,647 values"),
        (("int64", (3, 0)), "positive sizes"),
        (("int64", (3, -1)), "positive sizes"),
        (("int64", (3, True)), "positive sizes"),
        (("int64", (3, 1.0)), "positive sizes"),
        (("int64", 3), "a tuple of sizes"),
        (("int64", "3"), "a tuple of sizes"),
        (("int64", (1,) * 32), "32 dimensions; it must have at most 31"),
        (
            ("int64", (), 2**63),
            r"cannot be a default of hr.int64; the default must be an integer from -2\*\*63",
        ),
        (("int64", (2,), (0, 0)), r"cannot be a default of hr.int64\[2\]"),
        (
            ("int64", None, 1),
            r"cannot be a default of hr.ragged\(hr.int64\); the default must be \(\), an empty row",
        ),
        (("float32", (), ()), "cannot be a default of hr.float32"),
    ],
)
def test_there_is_no_wrong_column_however_it_is_made(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        hr.Column(*arguments)
    changes = dict(zip(("dtype", "shape", "fill"), arguments, strict=False))
    with pytest.raises(InvalidArgumentError, match=message):
        dataclasses.replace(hr.int64, **changes)


@pytest.mark.parametrize("size", [0, -1, True, 2.0, "3", None, slice(None), (2, 0), ()])
def test_a_length_is_a_positive_integer(size):
    with pytest.raises(InvalidArgumentError, match="positive sizes"):
        hr.float32[size]


def test_the_integers_of_numpy_are_integers(data):
    column = hr.int64[np.int32(2), np.uint8(1)]
    assert column == hr.int64[2, 1]
    assert [type(size) for size in column.shape] == [int, int]
    assert hr.Column("int64", [np.int64(2), 1]) == column
    assert hr.int64.default(np.int16(-7)) == hr.int64.default(-7)
    assert hr.float32.default(np.float32(0.5)) == hr.float32.default(0.5)
    batch = batch_of(
        data, pair=column, absent=hr.int64.default(np.uint64(9)), zero=hr.float32[2].default(np.int8(3))
    )
    assert batch["pair"].shape == (40, 2, 1)
    assert set(batch["absent"].tolist()) == {9}
    np.testing.assert_array_equal(batch["zero"], np.full((40, 2), 3, np.float32))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (hr.int64, 2**63),
        (hr.int64, -(2**63) - 1),
        (hr.int64, 0.5),
        (hr.int64, True),
        (hr.int64, np.bool_(True)),
        (hr.int64, None),
        (hr.int64, ()),
        (hr.float32, 1e39),
        (hr.float32, 10**400),
        (hr.float32, "0"),
        (hr.float32, 1j),
        (hr.float32, False),
        (hr.bytes_, "text"),
        (hr.bytes_, bytearray(b"b")),
        (hr.ragged(hr.int64), 0),
        (hr.ragged(hr.int64), (1,)),
        (hr.ragged(hr.int64), np.zeros(3)),
    ],
)
def test_a_default_that_the_column_cannot_hold_is_refused(column, value):
    with pytest.raises(
        InvalidArgumentError, match=re.escape(f"cannot be a default of {column!r}; the default must be")
    ):
        column.default(value)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (hr.int64, 2**63 - 1),
        (hr.int64, -(2**63)),
        (hr.float32, float(np.finfo(np.float32).max)),
        (hr.float32, -np.inf),
        (hr.bytes_, b"\0\xff"),
    ],
)
def test_a_default_is_what_a_batch_holds(data, column, value):
    assert batch_of(data, absent=column.default(value))["absent"].tolist() == [value] * 40


def test_the_refusal_says_what_to_write():
    with pytest.raises(InvalidArgumentError, match=r"shape already.* hr.float32\[3, 2\]$"):
        hr.float32[3][2]
    with pytest.raises(InvalidArgumentError, match=r"for rows of one shape write hr.int64\[2\]$"):
        hr.ragged(hr.int64)[2]
    with pytest.raises(InvalidArgumentError, match=r"write hr.ragged\(hr.int64\).default\(\(\)\)$"):
        hr.ragged(hr.int64.default(1))
    with pytest.raises(
        InvalidArgumentError, match=r"instead of hr.float32\[3\] write hr.ragged\(hr.float32\)$"
    ):
        hr.ragged(hr.float32[3])
    with pytest.raises(InvalidArgumentError, match=r"write hr.ragged\(hr.float32\)"):
        hr.ragged("float32")
    with pytest.raises(InvalidArgumentError, match="hr.bytes_, .*, not of 'x'|'bytes', not 'x'"):
        hr.Column("x")
    assert repr(hr.float32.default(0)[2, 3]) == "hr.float32[2, 3].default(0.0)"


def test_as_many_dimensions_as_a_column_may_have_are_those_of_its_array(data):
    assert batch_of(data, number=hr.int64[(1,) * 31])["number"].shape == (40, *(1,) * 31)


# ---- features that records may lack

_GAPS = {
    "id": "name",
    "features": {
        "age": {"type": "int64", "optional": True},
        "size": {"type": "float32", "shape": [2], "optional": True},
        "tags": {"type": "string", "shape": "ragged", "optional": True},
        "note": {"type": "string", "optional": True},
        "name": {"type": "string"},
    },
}


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """A dataset whose second record has only a name."""
    rows = [{"age": 7, "size": [1.0, 2.0], "tags": ["a"], "note": "n", "name": "all"}, {"name": "bare"}]
    url = tmp_path_factory.mktemp("gaps") / "data"
    hr.prepare(rows, url, schema=_GAPS)
    return hr.open(url)


def named(batch):
    """The rows by their names: column → value."""
    rows = {name: values.tolist() for name, values in batch.items()}
    return {name: {key: rows[key][i] for key in rows} for i, name in enumerate(rows["name"])}


def test_optional_features_have_a_default(gaps):
    assert {name: repr(column) for name, column in gaps.schema.items() if name in _GAPS["features"]} == {
        "age": "hr.int64.default(0)",
        "name": "hr.bytes_",
        "note": "hr.bytes_.default(b'')",
        "size": "hr.float32[2].default(0.0)",
        "tags": "hr.ragged(hr.bytes_).default(())",
    }
    rows = named(next(gaps.loader(batch_size=2)))
    assert rows[b"all"] | {"id": None} == {
        "age": 7,
        "size": [1.0, 2.0],
        "tags": [b"a"],
        "note": b"n",
        "name": b"all",
        "id": None,
    }
    bare = {"age": 0, "size": [0.0, 0.0], "tags": [], "note": b"", "name": b"bare", "id": None}
    assert rows[b"bare"] | {"id": None} == bare


def test_a_default_of_ones_own_tells_gaps_from_values(gaps):
    rows = named(next(gaps.loader(batch_size=2, columns={"age": hr.int64.default(-1), "name": hr.bytes_})))
    assert (rows[b"all"]["age"], rows[b"bare"]["age"]) == (7, -1)


@pytest.mark.parametrize("columns", [None, ["age", "name"]])
def test_a_mixture_has_a_default_where_records_of_any_dataset_may_lack_a_feature(gaps, tmp_path, columns):
    whole = {"id": "name", "features": {"age": {"type": "int64"}, "name": {"type": "string"}}}
    hr.prepare([{"age": 9, "name": "whole"}], tmp_path / "whole", schema=whole)
    mixed = hr.mix({hr.open(tmp_path / "whole"): 1, gaps: 2}, batch_size=3, columns=columns)
    rows = named(next(mixed))
    assert {name: row["age"] for name, row in rows.items()} == {b"all": 7, b"bare": 0, b"whole": 9}


def test_the_error_about_a_gap_says_what_to_do(gaps):
    with pytest.raises(
        InvalidArgumentError, match=r"give the column a default: hr.int64.default\(0\), or leave"
    ):
        list(gaps.loader(batch_size=2, columns={"age": hr.int64}))
    kept = gaps.loader(batch_size=2, columns={"age": hr.int64}, on_corrupt="skip-record")
    assert [batch["age"].tolist() for batch in kept] == [[7]]
    with pytest.raises(InvalidArgumentError, match="leave out records without an image, with on_corrupt="):
        list(gaps.loader(batch_size=2, columns={"note": hr.image(4, 4)}))


# ---- rows


def words_of(numbers):
    return [tfrecords.numbered_example(number).get("words", []) for number in numbers]


@pytest.mark.parametrize(
    "place",
    [slice(0, 2), slice(5, None), slice(-3, -1), slice(7, 3), slice(90), slice(np.int64(2), np.int64(9))],
)
def test_a_slice_of_rows_is_such_rows(data, place):
    columns = {name: hr.ragged(kind).default(()) for name, kind in (("tags", hr.int64), ("words", hr.bytes_))}
    batch = batch_of(data, **columns, id=hr.bytes_)
    for name in ("tags", "words", "id"):
        rows = batch[name][place]
        assert type(rows) is type(batch[name])
        assert rows.tolist() == batch[name].tolist()[place]
        assert rows[:2].tolist() == batch[name].tolist()[place][:2]
        assert len(rows) == len(rows.tolist())
    rows = batch["tags"][place]
    assert rows.offsets[0] == 0
    assert rows.offsets[-1] == len(rows.values)
    assert np.shares_memory(rows.values, batch["tags"].values) or not len(rows.values)


def test_a_row_is_counted_from_either_end(data):
    batch = batch_of(data, words=hr.ragged(hr.bytes_).default(()), id=hr.bytes_)
    words, ids = batch["words"], batch["id"]
    assert words.tolist() == words_of(range(40))
    assert words[-1].tolist() == words[np.int64(39)].tolist() == words[39].tolist() == words_of([39])[0]
    assert ids[-40] == ids[np.uint8(0)] == b"record 0"
    for rows in (words, ids):
        for place in (40, -41, np.int64(40)):
            with pytest.raises(IndexError, match=f"row {place} of 40"):
                rows[place]
        with pytest.raises(IndexError, match="row 0 of 0"):
            rows[:0][0]
        with pytest.raises(TypeError):
            rows["0"]
        with pytest.raises(InvalidArgumentError, match="only with a step of 1, not 2"):
            rows[::2]


def test_what_becomes_of_the_last_batch_decides_whether_a_state_fits(data):
    def loader(drop_remainder, **options):
        columns = {"number": hr.int64}
        return data.loader(batch_size=16, seed=3, columns=columns, drop_remainder=drop_remainder, **options)

    short = loader(False)
    next(short)
    state = short.state()
    padded = list(loader("pad", state=state))
    for here, there in zip(short, padded, strict=True):
        assert here["number"].tolist() == there["number"][there["weight"] == 1].tolist()
    assert padded[-1]["weight"].tolist() == [1] * 8 + [0] * 8
    assert loader(False, state=loader("pad").state()).step == 0
    with pytest.raises(hr.errors.FailedPreconditionError, match="drop_remainder"):
        loader(True, state=state)


# ---- the package


def run_alone(script: str) -> str:
    """In a Python that has neither Keras nor TensorFlow."""
    hide = "import sys; sys.modules.update(keras=None, tensorflow=None)\n"
    command = [sys.executable, "-c", hide + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_star_import_hides_nothing_of_python():
    script = """
import builtins
from headrace import *
assert open is builtins.open
print(Column, float32, mix, errors.InvalidArgumentError)
"""
    assert "hr.float32" in run_alone(script)


def test_the_package_can_be_looked_at_where_there_is_no_keras():
    script = """
import inspect, pydoc
import headrace as hr
names = [name for name, _ in inspect.getmembers(hr)]
assert "open" in names and "Loader" in names and "models" in names and "keras" not in names, names
print(hr.open.__name__, hr.models.__name__)
print(pydoc.plain(pydoc.render_doc(hr)))
"""
    shown = run_alone(script)
    assert "open headrace.models" in shown
    assert "class Loader" in shown
    with pytest.raises(AssertionError, match="keras"):
        run_alone("import headrace as hr; hr.keras")
