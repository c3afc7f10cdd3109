"""headrace.prepare: rows of Python, in whatever they come, become datasets that TensorFlow reads."""

import datetime
import decimal
import io
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import published_support
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from headrace._src.batch import MOST_ROWS
from headrace._src.prepare_options import arguments_of, name_of_function
from headrace._src.row_batches import batches_of
from headrace._src.staging import FOLDER, stage_rows
from held_store import HeldStore

import headrace as hr

SHARES = {"train": 0.8, "test": 0.2}


def records(url, split: str = "train") -> list[dict]:
    """The records of a split, as TensorFlow reads them: feature → list of values."""
    import tensorflow as tf

    store, out = hr.store(url), []
    for found in store.list(split):
        if not found.key.endswith(".tfrecord.gz"):
            continue
        local = tf.io.gfile.join(os.environ["PYTEST_SHARDS"], found.key)
        with open(local, "wb") as file:
            file.write(store.read(found.key))
        for record in tf.data.TFRecordDataset(local, compression_type="GZIP"):
            features = tf.train.Example.FromString(record.numpy()).features.feature
            out.append(
                {name: list(getattr(of, of.WhichOneof("kind")).value) for name, of in features.items()}
            )
    return out


def contents(url) -> list[bytes]:
    """The contents of the shards, in their order."""
    store = hr.store(url)
    return [store.read(found.key) for found in store.list("train-") if found.key.endswith(".gz")]


def by(rows: list[dict], name: str) -> dict:
    return {row[name][0]: row for row in rows}


def staged(url) -> list[str]:
    return [found.key for found in hr.store(url).list(FOLDER)]


@pytest.fixture(autouse=True)
def shards(tmp_path_factory, monkeypatch, build):
    monkeypatch.setenv("PYTEST_SHARDS", str(tmp_path_factory.mktemp("shards")))
    monkeypatch.setenv("HEADRACE_BUILD", str(build))


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.slow)])
def to(request, file_url) -> str:
    """Where a dataset may be prepared."""
    return f"{request.getfixturevalue('s3_url') if request.param == 's3' else file_url}/data"


def numbers(rows: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"n": range(rows), "half": np.arange(rows) / 2, "text": [f"row {i}" for i in range(rows)]}
    )


ROWS = 4
DTYPES = {
    "bool": ([True, False, True, True], [1, 0, 1, 1]),
    "int8": (np.array([1, -2, 3, 4], np.int8), [1, -2, 3, 4]),
    "uint64": (np.array([1, 2, 3, 2**63 - 1], np.uint64), [1, 2, 3, 2**63 - 1]),
    "float64": (np.array([0.1, np.nan, 1e-9, -2]), [np.float32(0.1), None, np.float32(1e-9), -2.0]),
    "float16": (np.array([0.5, 1, 2, 4], np.float16), [0.5, 1.0, 2.0, 4.0]),
    "text": (["ä", None, "", "x" * 1000], ["ä".encode(), None, b"", b"x" * 1000]),
    "bytes": ([b"\0\xff", b"", None, b"z"], [b"\0\xff", b"", None, b"z"]),
    "mixed": ([1, None, 2.5, float("nan")], [1.0, None, 2.5, None]),
    "nullable": (pd.array([1, None, 3, 2**62], dtype="Int64"), [1, None, 3, 2**62]),
    "nullable bool": (pd.array([True, None, False, True], dtype="boolean"), [1, None, 0, 1]),
    "nullable float": (pd.array([1.5, None, 3, 4], dtype="Float64"), [1.5, None, 3.0, 4.0]),
    "arrow": (pd.array(["a", None, "c", "d"], dtype="string[pyarrow]"), [b"a", None, b"c", b"d"]),
    "arrow int": (pd.array([1, None, 3, 4], dtype="int32[pyarrow]"), [1, None, 3, 4]),
    "categorical": (pd.Categorical(["cat", "dog", None, "cat"]), [b"cat", b"dog", None, b"cat"]),
    "categorical int": (pd.Categorical([7, 9, 7, 9]), [7, 9, 7, 9]),
    "categorical gap": (pd.Categorical([7, None, 7, 9]), [7, None, 7, 9]),
    "date": ([datetime.date(2024, 2, 29)] * 3 + [None], [b"2024-02-29"] * 3 + [None]),
    "timestamp": (
        pd.to_datetime(["2024-02-29 12:00:00.5", None, "2024-01-01", "1969-12-31"], format="ISO8601"),
        [b"2024-02-29T12:00:00.500000", None, b"2024-01-01T00:00:00", b"1969-12-31T00:00:00"],
    ),
    "zone": (
        pd.to_datetime(["2024-07-01 12:00"] * 4).tz_localize("Europe/Vienna"),
        [b"2024-07-01T12:00:00+02:00"] * 4,
    ),
    "decimal": ([decimal.Decimal("1.50"), None, decimal.Decimal(-2), decimal.Decimal("1e3")], None),
    "list": ([[1, 2], [3], [], [4, 5, 6]], [[1, 2], [3], [], [4, 5, 6]]),
    "array": ([np.array([0.5, 1]), None, np.array([[1.0, 2], [3, 4]]), np.array([9.0])], None),
}
DECIMALS = [b"1.50", None, b"-2", b"1E+3"]
ARRAYS = [[0.5, 1.0], None, [1.0, 2.0, 3.0, 4.0], [9.0]]


def test_every_kind_of_column_is_what_a_record_has_for_it(to):
    frame = pd.DataFrame({"row": range(ROWS), **{name: given for name, (given, _) in DTYPES.items()}})
    text = ("text", "arrow", "categorical", "date", "timestamp", "zone", "decimal")
    types = dict.fromkeys(text, "string") | {"bytes": "bytes"}
    for name in ("float64", "float16", "mixed", "nullable float", "array"):
        types[name] = "float32"
    features = {name: {"type": types.get(name, "int64"), "optional": True} for name in frame.columns}
    for name in ("list", "array"):
        features[name]["shape"] = "ragged"
    made = hr.prepare(frame, to, schema={"features": features})
    assert made.counts["written"] == ROWS and not staged(to)
    rows = by(records(to), "row")
    expected = {name: values for name, (_, values) in DTYPES.items()} | {"decimal": DECIMALS, "array": ARRAYS}
    for name, values in expected.items():
        for number, value in enumerate(values):
            found = rows[number].get(name)
            assert found == (value if isinstance(value, list) or value is None else [value]), (name, number)


def test_a_frame_gets_the_schema_that_a_table_of_its_rows_would(to):
    frame = pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(60)],
            "split": ["TRAIN", "TRAIN", "TEST"] * 20,
            "label": ["cat", "dog"] * 30,
        }
    ).assign(vector=[np.ones(3, np.float32) * i for i in range(60)])
    made = hr.prepare(frame, to)
    assert made.labels == ["cat", "dog"]
    assert made.splits["train"]["records"] == 40 and made.splits["test"]["records"] == 20
    row = by(records(to, "test"), "id")[b"r2"]
    assert row == {"id": [b"r2"], "label": [0], "vector": [2.0, 2.0, 2.0]}
    with made.open(split="train").loader(batch_size=40) as loader:
        assert next(iter(loader))["vector"].shape == (40, 3)
    assert "60 records (test 20, train 40)" in repr(made)


class Stream:
    """Something that has Arrow's stream interface, and nothing else."""

    def __init__(self, table: pa.Table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def arrow_table() -> pa.Table:
    return pa.table(
        {
            "n": pa.array([0, 1, 2, 3], pa.int16()),
            "view": pa.array(["a", None, "c", "d"], pa.string_view()),
            "kind": pa.array(["x", "y", None, "x"]).dictionary_encode(),
            "pair": pa.array([[1.0, 2.0]] * 4, pa.list_(pa.float64(), 2)),
            "many": pa.array([[1], [], None, [2, 3]], pa.list_(pa.uint8())),
            "when": pa.array([datetime.datetime(2024, 1, 1, 1)] * 4, pa.timestamp("ms")),
            "price": pa.array([decimal.Decimal("1.50")] * 4, pa.decimal128(5, 2)),
            "blob": pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2)),
            "nothing": pa.nulls(4),
        }
    )


def check_arrow(rows: list[dict]) -> None:
    rows = by(rows, "n")
    assert [rows[i].get("view") for i in range(4)] == [[b"a"], None, [b"c"], [b"d"]]
    assert [rows[i].get("kind") for i in range(4)] == [[b"x"], [b"y"], None, [b"x"]]
    assert [rows[i].get("many") for i in range(4)] == [[1], [], None, [2, 3]]
    assert [rows[i].get("blob") for i in range(4)] == [[b"ab"], None, [b"cd"], [b"ef"]]
    assert all(row["pair"] == [1.0, 2.0] and row["when"] == [b"2024-01-01T01:00:00"] for row in rows.values())
    assert all(row["price"] == [1.5] and "nothing" not in row for row in rows.values())


@pytest.mark.parametrize(
    "give",
    [
        lambda table: table,
        lambda table: table.to_reader(max_chunksize=3),
        lambda table: table.to_batches()[0],
        lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
        Stream,
    ],
    ids=["table", "reader", "batch", "chunks", "stream"],
)
def test_arrow_comes_in_many_shapes(give, file_url):
    hr.prepare(give(arrow_table()), f"{file_url}/data")
    check_arrow(records(f"{file_url}/data"))


def test_files_of_arrow_are_read_wherever_they_lie(to):
    raw = hr.store(f"{to}-raw")
    out = io.BytesIO()
    pa.parquet.write_table(
        pa.table({"n": range(10), "text": [f"t{i}" for i in range(10)]}), out, row_group_size=3
    )
    raw.write("tables/year=2023/a.parquet", out.getvalue())
    raw.write("tables/year=2024/b.parquet", out.getvalue())
    raw.write("tables/_SUCCESS", b"")
    made = hr.prepare(f"{to}-raw/tables", f"{to}/folder")
    assert made.counts["written"] == 20
    assert {row["year"][0] for row in records(f"{to}/folder")} == {2023, 2024}
    hr.prepare(f"{to}-raw/tables/year=2023/a.parquet", f"{to}/file")
    assert sorted(row["n"][0] for row in records(f"{to}/file")) == list(range(10))
    assert hr.prepare(f"{to}-raw/tables/*/*.parquet", f"{to}/pattern").counts["written"] == 20


def test_feather_and_files_of_arrow_are_read_too(tmp_path):
    table = pa.table({"n": [1, 2, 3]})
    pa.feather.write_feather(table, tmp_path / "a.feather")
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("a.feather", "b.arrow"):
        assert hr.prepare(tmp_path / name, tmp_path / name.replace(".", "-")).counts["written"] == 3


def test_a_query_gives_what_the_database_has(file_url):
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (n integer, weight real, name text, image blob)")
    rows = [(i, i / 4 if i % 5 else None, f"name {i}", bytes([i % 256])) for i in range(2500)]
    connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    asked = hr.query(connection, "select * from t where n < ? order by n", (2000,))
    assert hr.prepare(asked, f"{file_url}/data").counts["written"] == 2000
    found = by(records(f"{file_url}/data"), "n")
    assert found[7] == {"n": [7], "weight": [1.75], "name": [b"name 7"], "image": [b"\7"]}
    assert "weight" not in found[5]
    with pytest.raises(hr.errors.InvalidArgumentError, match="returns no rows"):
        hr.prepare(hr.query(connection, "create table u (n integer)"), f"{file_url}/none")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        hr.prepare(hr.query(connection, "select * from nowhere"), f"{file_url}/none")


BOUNDED = """
    import resource, sys
    import headrace as hr

    def rows():
        for i in range(200_000):
            yield {"n": i, "text": str(i) * 300}

    hr.prepare([{"n": 0, "text": "x"}], sys.argv[1] + "-first")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = hr.prepare(rows(), sys.argv[1], shard_records=100_000)
    print(made.counts["written"], (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.exhaustive
def test_an_iterable_is_never_in_memory_as_a_whole(file_url):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOUNDED), f"{file_url}/data"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    written, grown_mib = map(int, done.stdout.split())
    assert written == 200_000
    assert grown_mib < 220  # of 320 MiB of text, a part of 64 MiB is held, and batches


def test_rows_of_mappings_may_lack_columns_and_change_kinds_of_numbers(file_url):
    rows = [{"n": 1, "x": 1}, {"n": 2}, {"n": 3, "x": 2.5, "y": "late"}]
    hr.prepare(iter(rows), f"{file_url}/data")
    found = by(records(f"{file_url}/data"), "n")
    assert found[1] == {"n": [1], "x": [1.0]} and found[2] == {"n": [2]}
    assert found[3] == {"n": [3], "x": [2.5], "y": [b"late"]}


def test_the_same_call_again_finds_what_it_published(to):
    first = hr.prepare(numbers(100), to, splits=SHARES)
    again = hr.prepare(numbers(100), to, splits=SHARES)
    assert not first.was_published and again.was_published
    assert again.manifest_digest == first.manifest_digest and not staged(to)
    with pytest.raises(hr.errors.FailedPreconditionError, match="another plan|input"):
        hr.prepare(numbers(101), to, splits=SHARES)
    assert not staged(to)
    anew = hr.prepare(numbers(101), to, splits=SHARES, overwrite=True)
    assert anew.counts["written"] == 101 and not staged(to)


def test_rows_are_added_to_what_is_published_once(to):
    hr.prepare(numbers(100), to)
    more = numbers(150).iloc[100:]
    for _ in range(2):
        assert hr.prepare(more, to, append=True).splits["train"]["records"] == 150
        assert not staged(to)
    assert sorted(row["n"][0] for row in records(to)) == list(range(150))


def test_rejected_rows_are_tried_again(tmp_path, file_url):
    import PIL.Image

    rows = [{"n": i, "image_uri": f"file://{tmp_path}/{i}.png"} for i in range(3)]
    for i in range(2):
        PIL.Image.new("RGB", (2, 2)).save(tmp_path / f"{i}.png")
    made = hr.prepare(rows, f"{file_url}/data", max_rejects=1)
    assert made.counts["rejected"] == 1 and made.reasons == {"not there": 1}
    PIL.Image.new("RGB", (2, 2)).save(tmp_path / "2.png")
    assert hr.prepare(rows, f"{file_url}/data", retry_failed=True).splits["train"]["records"] == 3


def test_order_and_splits_of_rows_stay_when_another_row_changes(file_url):
    frame = numbers(200)
    hr.prepare(frame, f"{file_url}/a", splits=SHARES)
    frame.loc[7, "text"] = "changed"
    hr.prepare(frame, f"{file_url}/b", splits=SHARES)
    for split in SHARES:
        a, b = (records(f"{file_url}/{name}", split) for name in "ab")
        assert [row["n"] for row in a] == [row["n"] for row in b]


def test_parts_are_cut_by_size_and_kept_by_content(file_url):
    store = hr.store(f"{file_url}/data")
    frame = numbers(3 * MOST_ROWS)
    store.write(f"{FOLDER}rows-000000000000-{'0' * 32}.tfrecord", b"of a killed call with other rows")
    assert stage_rows(store, batches_of(frame), part_bytes=1) == len(frame)
    before = {found.key: found.version for found in store.list(FOLDER)}
    assert [key[len(FOLDER) :].split("-")[1] for key in before] == [f"{i * MOST_ROWS:012}" for i in range(3)]
    frame.loc[0, "text"] = "changed"
    stage_rows(store, batches_of(frame), part_bytes=1)
    after = {found.key: found.version for found in store.list(FOLDER)}
    assert len(after) == 3 and len(set(after.items()) & set(before.items())) == 2


KILLED = """
    import sys, time
    import headrace as hr

    rows = [{"n": i, "text": "x" * 100} for i in range(30_000)]
    print("staging", flush=True)
    hr.prepare(rows, sys.argv[1], workers=1, shard_records=200)
"""


@pytest.mark.exhaustive
def test_a_killed_call_is_gone_on_with(s3_url):
    to = f"{s3_url}/data"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), to]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    work = hr.store(f"{to}/_headrace/work")
    while not any("shard-" in found.key for found in work.list()):
        assert child.poll() is None
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    parts = {found.key: found.version for found in hr.store(to).list(FOLDER)}
    assert parts
    rows = [{"n": i, "text": "x" * 100} for i in range(30_000)]
    made = hr.prepare(rows, to, workers=1, shard_records=200)
    assert made.counts["written"] == 30_000 and not made.was_published and not staged(to)
    whole = hr.prepare(rows, f"{s3_url}/other", workers=1, shard_records=200)
    assert contents(to) == contents(f"{s3_url}/other")
    assert whole.shards == made.shards


def test_ctrl_c_stops_the_program(tmp_path, monkeypatch, people_csv):
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "")
    held = HeldStore(tmp_path, lambda key: key.endswith(".csv"))
    program = "import sys, headrace; headrace.prepare(sys.argv[1], sys.argv[2])"
    command = [sys.executable, "-c", program, f"{held.url}/people.csv", str(tmp_path / "data")]
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert held.is_asked.wait(60)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)  # the program has it, too: both have ended
    assert b"KeyboardInterrupt" in said and not held.has_answered
    held.release()


def refused(source, to, match: str, **options) -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match=match):
        hr.prepare(source, to, **options)


def test_what_no_record_can_hold_is_refused_with_what_to_do(file_url):
    import PIL.Image

    to = f"{file_url}/data"
    refused([{"a": PIL.Image.new("RGB", (2, 2))}], to, r"column a, row 1: PIL.Image.Image .*image.save")
    refused([{"a": 1}, {"a": {"b": 1}}], to, r"column a, row 2: dict .*json.dumps")
    refused(pa.table({"a": [{"b": 1}]}), to, "column a: struct")
    refused([{"a": 1}, {"a": "x"}], to, "column a: has int and str")
    refused([{"a": 2**63}], to, "column a, row 1: 9223372036854775808 does not fit")
    refused(pd.DataFrame({"a": np.array([0, 2**64 - 1], np.uint64)}), to, "row 2: .* too large for int64")
    refused([{"a": [["x"], ["y"]]}], to, "column a, row 1: is not a list of texts, or of numbers")
    refused(pa.table({"a": [[["x"]]]}), to, "column a, row 1: is a list of list")
    refused(pa.table({"a": [[1, None]]}), to, "a number is missing")
    refused(pd.DataFrame({"a": pd.to_timedelta([1], unit="s")}), to, "timedelta.*total_seconds")
    refused(pd.DataFrame([[1, 2]], columns=["a", "a"]), to, "two columns have the name a")
    refused([{1: 2}], to, "the key 1")
    refused([[1, 2]], to, "row 1 is list; it must be a mapping")
    refused({"a": 1}, to, r"put it into a list: \[row\]")
    refused({"a": [1]}, to, "source is dict")
    refused(7, to, "source is int")
    refused(pd.Series([1, 2]), to, r"is a Series, .*series.to_frame\(\)")
    refused([{"a": 1}], numbers(3), "^to is DataFrame")
    refused([], to, "no rows")
    refused([{"a": 1}], to, "layout", layout="csv")
    assert not list(hr.store(file_url).list())


def test_errors_of_the_program_are_exceptions(tmp_path, file_url):
    refused([{"image_uri": "pets/1.jpg"}], f"{file_url}/a", "pets/1.jpg is relative, .*write it as a URL")
    refused([{"a": 1}, {"a": "x"}][:1], f"{file_url}/a", "^sample takes a number", sample=2)
    refused([{"a": 1}], f"{file_url}/a", "did you mean", schema='[features.a]\ntype = "itn64"\n')
    with pytest.raises(FileNotFoundError, match="there is nothing at"):
        hr.prepare(tmp_path / "none", f"{file_url}/a")
    assert not staged(f"{file_url}/a")


def test_errors_name_the_arguments_of_python_and_are_told_once(people_csv, file_url, capfd):
    to = f"{file_url}/data"
    refused(people_csv, to, "^splits has shares that sum to 0.9, not 1$", splits={"train": 0.5, "test": 0.4})
    refused(people_csv, to, "^append=True and overwrite=True exclude", append=True, overwrite=True)
    assert "exclude each other" not in capfd.readouterr().err
    refused(people_csv, to, r"^splits is \['train'\]; it takes a dict such as", splits=["train"])
    refused(people_csv, to, "^splits gives 'train' the share 'all'", splits={"train": "all"})
    refused(people_csv, to, "^resize is 150; it takes height and width", resize=150)
    refused(people_csv, to, "^missing is .*texts without commas", missing=["a,b"])
    refused(people_csv, to, "^runner_options is", runner_options=["a"])
    refused(people_csv, to, "^schema has no dict 'features'", schema={"age": "int64"})
    refused(people_csv, to, "^schema: the feature 'age' is 'int64'", schema={"features": {"age": "int64"}})
    refused(people_csv, to, "^schema is list", schema=["age"])
    wrong = {"features": {"age": {"type": "int"}}}
    refused(people_csv, to, r"^schema, line 3: \[features.age\]: type is \"int\"", schema=wrong)


def test_how_cells_are_read_is_said_in_python_too(tmp_path, file_url):
    table = tmp_path / "prices.csv"
    table.write_bytes("name;price\nKäse;2,5\nBrot;NA\n".encode("latin-1"))
    options = {"delimiter": ";", "encoding": "latin-1", "missing": ["NA", "-"], "decimal": ","}
    hr.prepare(table, f"{file_url}/data", **options)
    found = {row["name"][0]: row.get("price") for row in records(f"{file_url}/data")}
    assert found == {"Käse".encode(): [2.5], b"Brot": None}


def test_a_schema_may_be_a_dict_a_text_or_a_file(file_url, tmp_path):
    schema = {
        "id": "n",
        "splits": {"train": 0.5, "test": 0.5},
        "features": {
            "number": {"type": "int64", "column": "n"},
            'a "b"\n': {"type": "label", "column": "text", "vocabulary": ["ä\\", 'b"'], "one_hot": True},
        },
    }
    rows = [{"n": i, "text": ["ä\\", 'b"'][i % 2]} for i in range(40)]
    from headrace._src.schema_text import schema_text

    text = schema_text(schema)
    (tmp_path / "schema.toml").write_text(text)
    given = [schema, text, tmp_path / "schema.toml"]
    made = [hr.prepare(rows, f"{file_url}/{i}", schema=one) for i, one in enumerate(given)]
    assert made[0].splits == made[1].splits == made[2].splits
    found = by(records(f"{file_url}/0"), "number")
    assert all(row['a "b"\n'] == [1 - number % 2, number % 2] for number, row in found.items())
    with pytest.raises(hr.errors.InvalidArgumentError, match="has no dict 'features'"):
        hr.prepare(rows, f"{file_url}/3", schema={"x": {1, 2}})


def test_options_are_those_of_the_command(people_csv, file_url):
    made = hr.prepare(
        people_csv, f"{file_url}/data", splits=SHARES, seed=7, shard_records=50, sample=0.5, max_rejects=0.1,
        shard_size="1MiB", compression="none", report="all", workers=1, splits_as_they_are=True,
    )  # fmt: skip
    assert made.shards > 1 and 0 < made.counts["written"] < 300
    kept = published_support.configuration(pathlib.Path(file_url.removeprefix("file://")) / "data")
    assert kept["seed"] == "7" and kept["shard-records"] == "50" and kept["compression"] == "none"
    assert arguments_of(
        {"max_rejects": 0.001, "resize": (3, 4), "map": textwrap.dedent, "version": "2"}, None
    ) == (["--max-rejects", "0.1%", "--resize", "3x4", "--map", "textwrap:dedent", "--map-version", "2"])
    counts = [(1, "1"), (0, "0"), (np.int64(3), "3"), ("2%", "2%")]
    shares = [(1.0, "100%"), (0.0, "0%"), (0.999, "99.9%"), (np.float32(0.5), "50%")]
    for given, text in counts + shares:
        assert arguments_of({"max_rejects": given}, None) == ["--max-rejects", text]
    assert arguments_of({"map_timeout": 60}, None) == ["--map-timeout", "60"]
    for wrong in ({"max_rejects": 1.5}, {"max_rejects": -0.1}, {"map_timeout": 1.5}, {"map_timeout": 60.0}):
        with pytest.raises(hr.errors.InvalidArgumentError, match="it takes"):
            arguments_of(wrong, None)
    with pytest.raises(TypeError, match="no option 'seeds'"):
        hr.prepare(people_csv, f"{file_url}/data", seeds=7)


@pytest.fixture
def people_csv(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\n" + "".join(f"person {i},{i}\n" for i in range(300)))
    return path


def test_frames_have_an_accessor_and_pandas_is_not_imported_for_it(file_url):
    assert numbers(10).headrace.to_tfrecord(f"{file_url}/data").counts["written"] == 10
    program = """
        import sys, headrace
        assert not {"pandas", "polars", "numpy", "pyarrow"} & set(sys.modules), "imported"
        import pandas
        assert pandas.DataFrame.headrace.to_tfrecord
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)
    later = "import pandas, headrace; assert pandas.DataFrame.headrace"
    subprocess.run([sys.executable, "-c", later], check=True, timeout=60)


def test_functions_are_named_if_other_processes_can_import_them():
    assert name_of_function("module:function") == "module:function"
    assert name_of_function(textwrap.dedent) == "textwrap:dedent"
    for wrong in (lambda row: row, json.JSONDecoder().decode, len.__call__):
        with pytest.raises(hr.errors.InvalidArgumentError, match="import"):
            name_of_function(wrong)

    def closure(row):
        return row

    with pytest.raises(hr.errors.InvalidArgumentError, match="outside of other functions"):
        name_of_function(closure)
    closure.__module__, closure.__qualname__ = "__main__", "closure"
    with pytest.raises(hr.errors.InvalidArgumentError, match="notebook"):
        name_of_function(closure)
