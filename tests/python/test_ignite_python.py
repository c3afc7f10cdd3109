"""headrace.ignite against a real node: what SQL and Java's objects become."""

import datetime
import decimal
import json
import os
import shlex
import subprocess
import uuid

import numpy as np
import pytest

import headrace as hr


@pytest.fixture(scope="module")
def address(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ignite")
    command = [root / "tools/servers/ignite.sh", "start", folder]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout
    variables = dict(word.split("=", 1) for word in shlex.split(lines) if "=" in word)
    yield variables["HEADRACE_IGNITE_ADDRESSES"]
    subprocess.run([root / "tools/servers/ignite.sh", "stop", folder], check=True, timeout=60)


def run(sql, address, arguments=()):
    return list(hr.ignite.query(sql, arguments, address))


@pytest.fixture(scope="module")
def kittens(address):
    run(
        "CREATE TABLE KITTENS (ID LONG PRIMARY KEY, NAME VARCHAR, VAL INT) WITH "
        '"CACHE_NAME=KITTENS,VALUE_TYPE=Kitten"',
        address,
    )
    for row in [(1, "WARM KITTY", 1), (2, "SOFT KITTY", 2), (3, "LITTLE BALL OF FUR", 3)]:
        run("INSERT INTO KITTENS VALUES (?, ?, ?)", address, row)


def test_reads_the_rows_of_a_cache(address, kittens):
    rows = sorted(hr.ignite.dataset("KITTENS", address), key=lambda row: row["key"])
    assert rows == [
        {"key": 1, "val": {"NAME": "WARM KITTY", "VAL": 1}},
        {"key": 2, "val": {"NAME": "SOFT KITTY", "VAL": 2}},
        {"key": 3, "val": {"NAME": "LITTLE BALL OF FUR", "VAL": 3}},
    ]


def test_partitions_together_are_the_cache(address, kittens):
    parts = [list(hr.ignite.dataset("KITTENS", address, partitions=range(i, 1024, 4))) for i in range(4)]
    assert sorted(row["key"] for part in parts for row in part) == [1, 2, 3]


def test_reads_the_rows_of_a_query(address, kittens):
    rows = list(hr.ignite.query("SELECT NAME, VAL FROM KITTENS WHERE VAL > ? ORDER BY ID", [1], address))
    assert rows == [{"NAME": "SOFT KITTY", "VAL": 2}, {"NAME": "LITTLE BALL OF FUR", "VAL": 3}]


def test_the_program_in_cpp_reads_the_same_rows(address, kittens, build):
    def lines(*arguments):
        command = [build / "bin/headrace_read_cache", address, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return [json.loads(line) for line in done.stdout.splitlines()]

    rows = sorted(lines("rows", "KITTENS"), key=lambda row: row["key"])
    assert rows == sorted(hr.ignite.dataset("KITTENS", address), key=lambda row: row["key"])
    query = "SELECT NAME, VAL FROM KITTENS WHERE VAL > 1 ORDER BY ID"
    assert lines("query", query) == list(hr.ignite.query(query, (), address))


def test_entries_come_back_as_they_were_put(address):
    image = {
        "pixels": np.arange(6, dtype=np.float32),
        "raw": b"\x00\xff",
        "tags": ["a", "b"],
        "metadata": {"label": "cat", "size": 7, "sharp": True, "none": None},
    }
    entries = {number: {**image, "number": number} for number in range(2500)}
    for _ in range(2):  # the second time changes nothing
        assert hr.ignite.put_all("PUT", entries, address, value_type="test.Picture", create=True) == 2500
    rows = {row["key"]: row["val"] for row in hr.ignite.dataset("PUT", address)}
    assert rows.keys() == entries.keys()
    for number in (0, 2499):
        pixels = rows[number].pop("pixels")
        assert pixels.dtype == np.float32 and pixels.tolist() == image["pixels"].tolist()
        assert rows[number] == {**{k: v for k, v in image.items() if k != "pixels"}, "number": number}
    pairs = [("a", "x"), ("a", uuid.UUID(int=1))]
    assert hr.ignite.put_all("PUT_TEXT", pairs, address, create=True) == 2
    (row,) = hr.ignite.dataset("PUT_TEXT", address)
    assert row == {"key": "a", "val": uuid.UUID(int=1)}


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ((1, {"a": 1}), "value_type"),
        ((1, object()), "a value for Ignite has the type"),
        ((1, np.zeros((2, 2))), "one-dimensional"),
        ((1, np.zeros(2, dtype=complex)), "<c16"),
        ((1, 1 << 64), "64 bits"),
        ((1, 2, 3), "pair"),
        ((1, [[[]] * 2] * 3), None),
    ],
)
def test_a_value_without_a_form_is_named(address, entry, complaint):
    def put():
        return hr.ignite.put_all("PUT_BAD", [entry], address, create=True)

    if complaint is None:
        assert put() == 1
        return
    with pytest.raises(hr.errors.InvalidArgumentError, match=complaint):
        put()
    endless = []
    endless.append(endless)
    with pytest.raises(hr.errors.InvalidArgumentError, match="nests too deep"):
        hr.ignite.put_all("PUT_BAD", [(1, endless)], address)


def test_rows_replace_those_of_their_key(address):
    run('CREATE TABLE WRITTEN (ID LONG PRIMARY KEY, NAME VARCHAR, "low" DOUBLE)', address)
    rows = [{"id": number, "name": f"n{number}", '"low"': number / 2} for number in range(700)]
    for _ in range(2):
        assert hr.ignite.write_rows("written", iter(rows), address) == 700
    assert hr.ignite.write_rows("WRITTEN", [{"ID": 3, "NAME": "one"}, {"ID": 3, "NAME": "two"}], address) == 2
    found = run("SELECT * FROM WRITTEN ORDER BY ID", address)
    assert len(found) == 700
    assert found[2:4] == [{"ID": 2, "NAME": "n2", "low": 1.0}, {"ID": 3, "NAME": "two", "low": None}]
    for rows, complaint in [
        ([{"ID": 1, "NAME": "a"}, {"ID": 2}], "columns"),
        ([{"ID": 1, "NAME) VALUES (1) --": "a"}], "not a name in SQL"),
    ]:
        with pytest.raises(hr.errors.InvalidArgumentError, match=complaint):
            hr.ignite.write_rows("WRITTEN", rows, address)
    with pytest.raises(hr.errors.InvalidArgumentError, match="1 or more"):
        hr.ignite.write_rows("WRITTEN", [{"ID": 1}], address, batch_rows=0)


def test_takes_arguments_of_each_type(address):
    identity = uuid.uuid4()
    sql = "SELECT ?1 IS NULL, CAST(?2 AS BOOLEAN), CAST(?3 AS DOUBLE), CAST(?4 AS VARCHAR), CAST(?5 AS UUID)"
    (row,) = run(sql, address, [None, True, 0.5, "Grüße \U0001f600", identity])
    assert list(row.values()) == [True, True, 0.5, "Grüße \U0001f600", identity]
    with pytest.raises(hr.errors.InvalidArgumentError, match="a value for Ignite has the type"):
        run("SELECT ?", address, [object()])
    with pytest.raises(hr.errors.InvalidArgumentError, match="64 bits"):
        run("SELECT ?", address, [1 << 64])


def test_returns_values_of_each_type(address):
    (row,) = run(
        "SELECT CAST(1.50 AS DECIMAL(10, 2)) D, CAST(X'00ff' AS BINARY) B, "
        "TIMESTAMP '2020-01-02 03:04:05.006' T, CAST(7 AS TINYINT) S, CAST(NULL AS INT) N",
        address,
    )
    assert row["D"] == decimal.Decimal("1.50")
    assert row["B"] == b"\x00\xff"
    moment = datetime.datetime.fromtimestamp(row["T"] / 1000)
    assert moment == datetime.datetime(2020, 1, 2, 3, 4, 5, 6000)
    assert (row["S"], row["N"]) == (7, None)


def test_says_what_is_wrong(address, kittens):
    with pytest.raises(hr.errors.NotFoundError, match="CATS"):
        list(hr.ignite.dataset("CATS", address))
    with pytest.raises(hr.errors.Error, match="(?i)syntax"):
        run("SELEKT 1", address)


def test_refuses_columns_of_the_same_name(address):
    with pytest.raises(hr.errors.InvalidArgumentError, match="two columns are named A; rename one with AS"):
        run("SELECT 1 AS A, 2 AS A", address)


def test_reads_pages_of_any_number_of_rows(address, kittens):
    for rows in [1, 2, 3]:
        assert len(list(hr.ignite.query("SELECT ID FROM KITTENS", (), address, page_rows=rows))) == 3
    with pytest.raises(hr.errors.InvalidArgumentError, match="page_rows is 0"):
        hr.ignite.query("SELECT 1", (), address, page_rows=0)


def test_is_refused_after_a_fork(address, kittens):
    rows = iter(hr.ignite.dataset("KITTENS", address))
    next(rows)  # the others lie in other partitions, so on other pages
    child = os.fork()
    if child == 0:
        try:
            list(rows)
        except hr.errors.FailedPreconditionError:
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(list(rows)) == 2


@pytest.fixture(scope="module")
def images(root, address):
    command = [root / "tools/servers/ignite.sh", "java", root / "tests/ignite/WriteImages.java", address]
    subprocess.run(command, check=True, timeout=120)


@pytest.mark.exhaustive
def test_reads_objects_in_objects_that_java_wrote(address, images):
    rows = sorted(hr.ignite.dataset("IMAGES", address), key=lambda row: row["key"])
    assert [row["key"] for row in rows] == ["image 0", "image 1", "image 2"]
    for i, row in enumerate(rows):
        image = row["val"]
        assert image["metadata"] == {"file_name": f"image_{i}.png", "label": i}
        assert image["pixels"] == bytes([i, 255])
        np.testing.assert_array_equal(image["vector"], np.array([i, 0.5], np.float32), strict=True)
    assert "tags" not in rows[1]["val"]
    assert rows[2]["val"]["tags"] == {"day": [1, "x"]}


def test_gives_rows_as_examples_for_tensorflow(address, images):
    import tensorflow

    columns = ["key", "val.metadata", "val.pixels", "val.vector"]
    serialized = sorted(hr.ignite.examples("IMAGES", address, columns=columns))
    fixed = tensorflow.io.FixedLenFeature
    spec = {
        "key": fixed([], tensorflow.string),
        "val.metadata.file_name": fixed([], tensorflow.string),
        "val.metadata.label": fixed([], tensorflow.int64),
        "val.pixels": fixed([], tensorflow.string),
        "val.vector": fixed([2], tensorflow.float32),
    }
    parsed = {name: column.numpy() for name, column in tensorflow.io.parse_example(serialized, spec).items()}
    for i in parsed["val.metadata.label"].tolist():
        row = parsed["val.metadata.label"].tolist().index(i)
        assert parsed["key"][row] == f"image {i}".encode()
        assert parsed["val.metadata.file_name"][row] == f"image_{i}.png".encode()
        assert parsed["val.pixels"][row] == bytes([i, 255])
        assert parsed["val.vector"][row].tolist() == [i, 0.5]
    assert sorted(parsed["val.metadata.label"].tolist()) == [0, 1, 2]
    with pytest.raises(hr.errors.InvalidArgumentError, match="val.tags"):
        list(hr.ignite.examples("IMAGES", address))


def test_the_keys_of_tls_are_checked_and_files_are_looked_for(address):
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="no key 'ca'; its keys are cafile, certfile, keyfile, password"
    ):
        hr.ignite.dataset("KITTENS", address, tls={"ca": "a.pem"})
    with pytest.raises(hr.Error, match="no-such.pem"):
        hr.ignite.dataset("KITTENS", address, tls={"cafile": "no-such.pem"})


def test_the_given_addresses_alone_suffice(address, kittens):
    assert len(list(hr.ignite.dataset("KITTENS", address, discover=False))) == 3
