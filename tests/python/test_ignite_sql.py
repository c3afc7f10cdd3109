"""Tables and caches of Apache Ignite as the input of prepare and predict, and as their output, on a real
node."""

import os
import shlex
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import prepared_support
import pytest
import tensorflow as tf
from relay_support import FaultyRelay

import headrace as hr

ROWS = 2000
SCHEMA = """
    id = "ID"
    [features.STARS]
    type = "int64"
    [features.TEXT]
    type = "string"
"""


@pytest.fixture(scope="module")
def address(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ignite")
    command = [root / "tools/servers/ignite.sh", "start", folder]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout
    variables = dict(word.split("=", 1) for word in shlex.split(lines) if "=" in word)
    yield variables["HEADRACE_IGNITE_ADDRESSES"]
    subprocess.run([root / "tools/servers/ignite.sh", "stop", folder], check=True, timeout=60)


def text_of(number: int) -> str:
    return f"review {number}: Grüße " + "x" * (number % 50)


@pytest.fixture(scope="module")
def reviews(address) -> str:
    """The table REVIEWS, and its address."""
    columns = "ID LONG, PART VARCHAR, TEXT VARCHAR, STARS INT, PRIMARY KEY (PART, ID)"
    list(hr.ignite.query(f"CREATE TABLE REVIEWS ({columns})", (), address))
    for first in range(0, ROWS, 250):
        rows = [(i, f"part {i % 7}", text_of(i), i % 5) for i in range(first, first + 250)]
        merge = "MERGE INTO REVIEWS (ID, PART, TEXT, STARS) VALUES " + ", ".join(["(?, ?, ?, ?)"] * len(rows))
        list(hr.ignite.query(merge, [value for row in rows for value in row], address))
    return address


def shards(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.tfrecord*")}


def test_a_table_becomes_the_same_dataset_each_time(headrace, reviews, tmp_path):
    url = f"ignite-sql://{reviews}/REVIEWS"
    headrace("prepare", url, tmp_path / "one", "--slice-size", "20kB", "--workers", "3")
    done = headrace("prepare", url, tmp_path / "other", "--slice-size", "20kB", "--workers", "1")
    assert shards(tmp_path / "one") == shards(tmp_path / "other")
    assert "2000 in, 2000 written" in done.stdout
    records = prepared_support.examples(tmp_path / "one", "train")
    found = {
        each["ID"][0]: (each["PART"][0].decode(), each["TEXT"][0].decode(), each["STARS"][0])
        for each in records
    }
    assert found == {i: (f"part {i % 7}", text_of(i), i % 5) for i in range(ROWS)}
    assert url in headrace("lineage", tmp_path / "one").stdout


def test_several_processes_share_one_plan(build, headrace, reviews, tmp_path):
    url = f"ignite-sql://{reviews}/REVIEWS"
    headrace("prepare", url, tmp_path / "alone", "--slice-size", "20kB")
    command = [
        build / "bin/headrace",
        "prepare",
        url,
        tmp_path / "shared",
        "--slice-size",
        "20kB",
        "--runner",
        "store",
    ]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert shards(tmp_path / "alone") == shards(tmp_path / "shared")


PAGES = "?query=SELECT * FROM REVIEWS&page_rows=50"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("scheme", "path"),
    [("sql", f"{PAGES}&order_by=ID"), ("sql", PAGES), ("cache", "SQL_PUBLIC_REVIEWS")],
    ids=["key", "no key", "cache"],
)
def test_lost_connections_cost_no_row(headrace, reviews, tmp_path, scheme, path):
    """Each of some runs gives the same dataset, or says that the node was lost."""
    headrace("prepare", f"ignite-{scheme}://{reviews}/{path}", tmp_path / "sound", "--slice-size", "20kB")
    relay = FaultyRelay(reviews, seed=44, kinds=["cut"])
    address = relay.url.removeprefix("http://")
    done = [
        headrace(
            *("prepare", f"ignite-{scheme}://{address}/{path}", tmp_path / f"{run}", "--slice-size", "20kB"),
            env={"HEADRACE_IGNITE_DISCOVER": "off"},
            check=False,
        )
        for run in range(3)
    ]
    relay.close()
    assert relay.made["cut"] > 0
    assert any(each.returncode == 0 for each in done), [each.stderr for each in done]
    for run, each in enumerate(done):
        if each.returncode == 0:
            assert shards_by_content(tmp_path / f"{run}") == shards_by_content(tmp_path / "sound")
        else:
            assert "Ignite" in each.stderr or "connection" in each.stderr


def shards_by_content(folder):
    """Their names have the digest of a plan, in which the address stands."""
    return sorted(path.read_bytes() for path in folder.glob("*.tfrecord*"))


@pytest.mark.parametrize("order", ["&order_by=id", ""], ids=["key", "no key"])
def test_a_select_with_and_without_a_key(headrace, reviews, tmp_path, order):
    query = "SELECT ID, STARS * 2 AS TWICE FROM REVIEWS WHERE STARS > 3 AND TEXT LIKE 'review%25' -- ;"
    headrace("prepare", f"ignite-sql://{reviews}/?query={query}{order}", tmp_path / "out")
    records = prepared_support.examples(tmp_path / "out", "train")
    assert sorted((each["ID"][0], each["TWICE"][0]) for each in records) == [
        (i, 8) for i in range(4, ROWS, 5)
    ]


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("NOWHERE", "no table NOWHERE in the schema PUBLIC"),
        ("REVIEWS?order_by=STARS", "STARS is in two rows"),
        ("REVIEWS?order_by=NAME", "no column NAME to order them by; their columns are ID, PART, TEXT, STARS"),
        ("REVIEWS?password=secret", "HEADRACE_IGNITE_USER"),
        ("?query=DROP TABLE REVIEWS", "Ignite refuses"),
        ("?query=SELECT 1 AS A) ORDER BY 1; DROP TABLE REVIEWS --", "Ignite refuses"),
        ("?query=SELECT ID FROM REVIEWS WHERE ID < 0", "has no rows"),
    ],
)
def test_bad_input_is_named(headrace, reviews, tmp_path, path, complaint):
    done = headrace("prepare", f"ignite-sql://{reviews}/{path}", tmp_path / "out", check=False)
    assert done.returncode != 0
    assert complaint in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "out").exists()
    (count,) = hr.ignite.query("SELECT COUNT(*) AS N FROM REVIEWS", (), reviews)
    assert count == {"N": ROWS}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Twice the stars of a row, and the schema of rows."""

    class Twice(tf.Module):
        def __init__(self):
            super().__init__()
            self.factor = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "STARS")])
        def rows(self, stars):
            return {"twice": tf.cast(stars, tf.float32) * self.factor}

    folder = tmp_path_factory.mktemp("model")
    twice = Twice()
    tf.saved_model.save(twice, str(folder / "model"), signatures=twice.rows)
    (folder / "schema.toml").write_text(SCHEMA)
    return folder


@pytest.mark.exhaustive
def test_predictions_are_rows_whoever_writes_them(build, headrace, reviews, model, tmp_path):
    answers = f"ignite-table://{reviews}/answers"
    predict = ["predict", model / "model", "--schema", model / "schema.toml", "--to", answers]
    data = ["--data", f"ignite-sql://{reviews}/REVIEWS?order_by=ID"]
    # At once, and one after the other.
    commands = [[build / "bin/headrace", *predict, *data]] * 2
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    written = rows_of(reviews)
    assert [(row["ID"], row["VALUE"]) for row in written] == sorted(
        (str(i), 2.0 * (i % 5)) for i in range(ROWS)
    )
    assert len({row["MODEL_DIGEST"] for row in written}) == 1
    done = headrace(*predict, *data, "--json")
    assert '"records":2000' in done.stdout
    assert rows_of(reviews) == written
    assert answers in headrace("lineage", model / "model").stdout

    # A file of the same rows, for a model that says so.
    (tmp_path / "some.csv").write_text("ID,STARS,TEXT\n7,100,new\n")
    headrace(*predict, "--data", tmp_path / "some.csv")
    changed = [row for row in rows_of(reviews) if row not in written]
    assert [(row["ID"], row["VALUE"]) for row in changed] == [("7", 200.0)]


def rows_of(address):
    return sorted(
        hr.ignite.query("SELECT * FROM ANSWERS", (), address, page_rows=1000), key=lambda row: row["ID"]
    )


@pytest.mark.exhaustive
def test_predictions_are_entries_whoever_puts_them(build, headrace, reviews, model):
    """Also SQL sees them, in a table whose values have that type."""
    columns = 'ID VARCHAR PRIMARY KEY, "VALUE" REAL, MODEL_DIGEST VARCHAR'
    create = f'CREATE TABLE ENTRIES ({columns}) WITH "CACHE_NAME=entries,VALUE_TYPE=Answer"'
    list(hr.ignite.query(create, (), reviews))
    target = f"ignite-cache://{reviews}/entries?type=Answer"
    predict = ["predict", model / "model", "--schema", model / "schema.toml", "--to", target]
    predict += ["--data", f"ignite-sql://{reviews}/REVIEWS?order_by=ID"]
    processes = [
        subprocess.Popen([build / "bin/headrace", *predict], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    found = {row["key"]: row["val"] for row in hr.ignite.dataset("entries", reviews)}
    assert {key: value["VALUE"] for key, value in found.items()} == {
        str(i): 2.0 * (i % 5) for i in range(ROWS)
    }
    assert len({value["MODEL_DIGEST"] for value in found.values()}) == 1
    seen = hr.ignite.query("SELECT * FROM ENTRIES WHERE ID = '9'", (), reviews)
    assert list(seen) == [{"ID": "9", **found["9"]}]
    assert target.removesuffix("type=Answer") in headrace("lineage", model / "model").stdout
    hr.ignite.put_all("texts", {1: {"VALUE": "one"}}, reviews, value_type="Text", create=True)
    wrong = [*predict[:5], f"ignite-cache://{reviews}/texts?type=Text", *predict[6:]]
    done = headrace(*wrong, check=False)
    assert done.returncode != 0
    assert "name another type with ?type=" in done.stderr and "texts" in done.stderr


@pytest.mark.exhaustive
def test_a_cache_becomes_the_same_dataset_each_time(headrace, reviews, model, tmp_path):
    """And a model answers its rows."""
    books = {
        f"book {i}": {"TEXT": text_of(i), "about": {"STARS": i % 5, "tags": [1, 2]}} for i in range(ROWS)
    }
    hr.ignite.put_all("books", books, reviews, value_type="Book", create=True)
    (tmp_path / "schema.toml").write_text("""
        id = "key"
        [features.key]
        type = "string"
        [features.STARS]
        type = "int64"
        column = "val.about.STARS"
        [features.TEXT]
        type = "string"
        column = "val.TEXT"
    """)
    url = f"ignite-cache://{reviews}/books"
    options = ["--schema", tmp_path / "schema.toml", "--slice-size", "40kB", "--workers"]
    done = headrace("prepare", url, tmp_path / "one", *options, "3")
    assert "2000 in, 2000 written" in done.stdout
    headrace("prepare", url, tmp_path / "other", *options, "1")
    assert shards(tmp_path / "one") == shards(tmp_path / "other")
    records = prepared_support.examples(tmp_path / "one", "train")
    found = {each["key"][0].decode(): (each["TEXT"][0].decode(), each["STARS"][0]) for each in records}
    assert found == {key: (book["TEXT"], book["about"]["STARS"]) for key, book in books.items()}
    assert url in headrace("lineage", tmp_path / "one").stdout

    predict = ["predict", model / "model", "--schema", tmp_path / "schema.toml", "--data", url]
    headrace(*predict, "--to", f"ignite-cache://{reviews}/ratings")
    ratings = {row["key"]: row["val"]["VALUE"] for row in hr.ignite.dataset("ratings", reviews)}
    assert ratings == {key: 2.0 * book["about"]["STARS"] for key, book in books.items()}
    done = headrace(*predict, "--to", url, check=False)
    assert done.returncode != 0 and "the same cache" in done.stderr
    assert {row["key"]: row["val"]["TEXT"] for row in hr.ignite.dataset("books", reviews)} == {
        key: book["TEXT"] for key, book in books.items()
    }

    hr.ignite.put_all("books", {"book 7": {"TEXT": "other"}}, reviews, value_type="Book")
    done = headrace("prepare", url, tmp_path / "one", "--append", check=False)
    assert done.returncode != 0 and "changed" in done.stderr
    done = headrace("prepare", url, tmp_path / "rest", *options, "1", "--max-rejects", "1")
    assert "1999 written" in done.stdout


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("nowhere", "Cache does not exist"),
        ("", "names no cache"),
        ("SQL_PUBLIC_REVIEWS?type=T", "the known parameters are columns"),
    ],
)
def test_bad_caches_are_named(headrace, reviews, tmp_path, path, complaint):
    done = headrace("prepare", f"ignite-cache://{reviews}/{path}", tmp_path / "out", check=False)
    assert done.returncode != 0 and complaint in done.stderr


@pytest.mark.exhaustive
def test_a_table_that_does_not_fit_is_named(headrace, reviews, model):
    list(hr.ignite.query("CREATE TABLE OTHER (ID VARCHAR PRIMARY KEY, STARS INT)", (), reviews))
    predict = ["predict", model / "model", "--schema", model / "schema.toml"]
    data = ["--data", f"ignite-sql://{reviews}/REVIEWS"]
    done = headrace(*predict, *data, "--to", f"ignite-table://{reviews}/OTHER", check=False)
    assert done.returncode != 0
    assert 'table OTHER, as "ID", "VALUE", "MODEL_DIGEST"' in done.stderr
    for wrong, complaint in [("", "names no table"), ("T?user=ann", "the known parameters are schema")]:
        done = headrace(*predict, *data, "--to", f"ignite-table://{reviews}/{wrong}", check=False)
        assert complaint in done.stderr
    done = headrace(*predict, *data, "--to", f"ignite-table://{reviews}/T", "--overwrite", check=False)
    assert "--overwrite has no use" in done.stderr
