"""Lists of texts and of bytes: from every source to records that TensorFlow and the loader read."""

import json

import numpy as np
import pandas as pd
import polars
import published_support
import pyarrow as pa
import pyarrow.parquet
import pytest
from headrace._src.row_batches import batches_of
from prepared_support import examples, report

import headrace as hr

TAGS = [["red", "größe", ""], [], ["one"], ["red", "blue"]]
DATA = [[b"\0\xff", b"a"], [b"", b"b\0"], [b"c", b"d"], [b"\xc3", b"e"]]  # always two
ROWS = [{"n": n, "tags": tags, "data": data} for n, (tags, data) in enumerate(zip(TAGS, DATA, strict=True))]
EXPECTED = {row["n"]: ([tag.encode() for tag in row["tags"]], row["data"]) for row in ROWS}
TYPES = {"n": pa.int64(), "tags": pa.list_(pa.string()), "data": pa.list_(pa.binary())}
TABLE = pa.table({name: pa.array([row[name] for row in ROWS], kind) for name, kind in TYPES.items()})


@pytest.fixture(autouse=True)
def built(monkeypatch, build):
    monkeypatch.setenv("HEADRACE_BUILD", str(build))


def read(folder) -> dict[int, tuple]:
    return {row["n"][0]: (row["tags"], row["data"]) for row in examples(folder, "train")}


def write_records(path, rows) -> None:
    import tensorflow as tf

    def feature(values):
        if isinstance(values, int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=[values]))
        values = [value.encode() if isinstance(value, str) else value for value in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    with tf.io.TFRecordWriter(str(path)) as file:
        for row in rows:
            features = tf.train.Features(feature={name: feature(value) for name, value in row.items()})
            file.write(tf.train.Example(features=features).SerializeToString())


def in_file(path, write):
    write(str(path))
    return path


SOURCES = {
    "records": lambda folder: in_file(folder / "r.tfrecord", lambda path: write_records(path, ROWS)),
    "mappings": lambda folder: ROWS,
    "arrays": lambda folder: [{**row, "tags": np.array(row["tags"])} for row in ROWS],
    "pandas": lambda folder: pd.DataFrame(ROWS),
    "pandas of arrow": lambda folder: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of parquet": lambda folder: TABLE.to_pandas(),
    "polars": lambda folder: polars.DataFrame(ROWS),
    "arrow": lambda folder: TABLE,
    "parquet": lambda folder: in_file(folder / "r.parquet", lambda path: pa.parquet.write_table(TABLE, path)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_lists_of_every_source_are_in_the_records_and_in_batches(tmp_path, kind):
    made = hr.prepare(SOURCES[kind](tmp_path), tmp_path / "data", compression="none")
    assert read(tmp_path / "data") == EXPECTED
    columns = {"n": hr.int64, "tags": hr.ragged(hr.bytes_), "data": hr.bytes_[2]}
    with made.open(split="train").loader(batch_size=4, columns=columns, shuffle=False) as loader:
        batch = next(iter(loader))
    found = {
        int(n): (list(tags), list(data))
        for n, tags, data in zip(batch["n"], batch["tags"], batch["data"], strict=True)
    }
    assert found == EXPECTED


def test_the_schema_is_inferred_printed_kept_and_shown(headrace, tmp_path):
    source = in_file(tmp_path / "r.tfrecord", lambda path: write_records(path, ROWS))
    printed = headrace("prepare", source, tmp_path / "data", "--print-schema").stdout.rstrip() + "\n"
    assert printed == (
        '\n[features.data]\ntype = "bytes"\nshape = [2]\n\n[features.n]\ntype = "int64"\n'
        '\n[features.tags]\ntype = "string"\nshape = "ragged"\n'
    )
    (tmp_path / "schema.toml").write_text(printed)
    headrace("prepare", source, tmp_path / "data", "--schema", tmp_path / "schema.toml")
    manifest = published_support.manifest(tmp_path / "data")
    attributes = json.loads(manifest.read_text())["attributes"]
    assert attributes["schema"] == printed
    assert attributes["features"]["tags"] == {"dtype": "bytes"}
    assert attributes["features"]["data"] == {"dtype": "bytes", "shape": [2]}
    shown = headrace("inspect", tmp_path / "data").stdout
    assert "data: bytes[2]" in shown and "tags: bytes[any]" in shown
    headrace("inspect", tmp_path / "data", "--statistics", "--html", tmp_path / "page.html")
    headrace("verify", tmp_path / "data")
    again = headrace("prepare", tmp_path / "data", tmp_path / "again", "--compression", "none", "--json")
    assert json.loads(again.stdout)["counts"]["written"] == 4
    assert read(tmp_path / "again") == EXPECTED


def test_json_lists_of_nothing_but_strings_are_lists_and_others_text(headrace, tmp_path):
    lines = [{"n": n, "tags": tags, "odd": ["x", 1], "nested": [["x"]]} for n, tags in enumerate(TAGS)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    headrace("prepare", tmp_path / "r.jsonl", tmp_path / "data")
    rows = {row["n"][0]: row for row in examples(tmp_path / "data", "train")}
    assert {n: row["tags"] for n, row in rows.items()} == {n: tags for n, (tags, _) in EXPECTED.items()}
    assert all(row["odd"] == [b'["x", 1]'] and row["nested"] == [b'[["x"]]'] for row in rows.values())


def test_where_one_text_belongs_a_list_of_several_is_rejected(headrace, tmp_path):
    lines = [{"n": n, "tags": tags, "label": [f"l{n}"]} for n, tags in enumerate([["a"], ["a", "b"], "c"])]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "s.toml").write_text(
        '[features.n]\ntype="int64"\n[features.tags]\ntype="string"\n[features.label]\ntype="label"\n'
    )
    options = ("--schema", tmp_path / "s.toml", "--max-rejects", "1")
    headrace("prepare", tmp_path / "r.jsonl", tmp_path / "data", *options)
    rows = {row["n"][0]: (row["tags"], row["label"]) for row in examples(tmp_path / "data", "train")}
    assert rows == {0: ([b"a"], [0]), 2: ([b"c"], [2])}
    (line,) = report(tmp_path / "data")
    assert line["reason"] == "a list where one value belongs"
    assert line["detail"].startswith("column tags: holds 2 texts or byte strings; shape = ")


MAPS = """
import numpy as np


def lists(row):
    tags = row["tags"]
    assert all(type(tag) is str for tag in tags), tags
    return {"n": row["n"], "tags": (*tags, "ä"), "data": [tag.encode() for tag in tags] or [b"none"],
            "array": np.array(tags + ["x", "y"])}


def same(row):
    assert isinstance(row["tags"], bytes) or all(type(tag) is bytes for tag in row["tags"])
    return row


def mixed(row):
    return {"n": row["n"], "tags": ["a", b"b"] if row["n"] == 1 else ["a"]}
"""


@pytest.fixture
def run(headrace, tracing_environment, tmp_path):
    (tmp_path / "list_maps.py").write_text(MAPS)
    return lambda *arguments: headrace(*arguments, cwd=tmp_path)


def test_a_map_is_given_lists_and_gives_them(run, tmp_path):
    lines = [{"n": n, "tags": tags or None} for n, tags in enumerate(TAGS)]
    lines = [line for line in lines if line["tags"]]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run("prepare", tmp_path / "r.jsonl", tmp_path / "data", "--map", "list_maps:lists")
    rows = {row["n"][0]: row for row in examples(tmp_path / "data", "train")}
    assert {n: row["tags"] for n, row in rows.items()} == {
        n: [*tags, "ä".encode()] for n, (tags, _) in EXPECTED.items() if tags
    }
    assert rows[3]["data"] == [b"red", b"blue"]
    assert rows[2]["array"] == [b"one", b"x", b"y"]


def test_a_map_is_given_byte_strings_of_records_and_may_not_mix_kinds(run, tmp_path):
    source = in_file(tmp_path / "r.tfrecord", lambda path: write_records(path, ROWS))
    run("prepare", source, tmp_path / "data", "--map", "list_maps:same", "--compression", "none")
    assert read(tmp_path / "data") == EXPECTED
    run("prepare", source, tmp_path / "mixed", "--map", "list_maps:mixed", "--max-rejects", "1")
    (line,) = report(tmp_path / "mixed")
    assert line["detail"].startswith("tags: a list contains str; only lists of numbers, of str or of bytes")


def column(source):
    (batch,) = batches_of(source)
    return batch.columns[0]


def test_lists_of_arrow_are_cut_flat_and_of_any_layout(tmp_path):
    texts = [["skipped"], ["a", "b"], None, [], ["c"]]
    for kind in (
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.string_view()),
        pa.list_(pa.binary()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
    ):
        found = column(pa.table({"v": pa.array(texts, kind).slice(1)}))
        assert bytes(found.values)[found.offsets[0] : found.offsets[-1]] == b"abc", kind
        assert np.diff(found.offsets).tolist() == [1, 1, 1]
        assert found.lists.tolist() == [0, 2, 2, 2, 3]
        assert found.validity.tolist() == [True, False, True, True]
    pairs = column(pa.table({"v": pa.array([["a", "b"], ["c", "d"]], pa.list_(pa.string(), 2))}))
    assert pairs.lists.tolist() == [0, 2, 4]
    none = column(pa.table({"v": pa.array([[], []], pa.list_(pa.string()))}))
    assert none.lists.tolist() == [0, 0, 0]


def test_lists_that_mix_kinds_or_miss_a_text_are_refused():
    def refusal(source) -> str:
        with pytest.raises(hr.errors.InvalidArgumentError) as caught:
            list(batches_of(source))
        return str(caught.value)

    assert refusal([{"v": ["a"]}, {}, {"v": ["b", 1]}]) == (
        "column v, row 3: has int in a list, while others have str"
    )
    assert "row 2: has bytes in a list" in refusal([{"v": ["a"]}, {"v": [b"a"]}])
    assert "row 1: has NoneType in a list" in refusal([{"v": ["a", None]}])
    assert "row 1: is not a list of texts, or of numbers" in refusal([{"v": [["a"], ["b"]]}])
    missing = "column v, row 4: has a list in which a {} is missing"
    lists = [["a", "b"], None, [], ["c", None]]
    words = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 1]), pa.array(["a", None]))
    refused = {
        "text": (pa.array(lists), pa.ListArray.from_arrays(pa.array([0, 2, 2, 2, 4]), words)),
        "number": (pa.array([[1, 2], None, [], [3, None]]),),
    }
    for what, columns in refused.items():
        for column in columns:
            assert refusal(pa.table({"v": column})) == missing.format(what)
