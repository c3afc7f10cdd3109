"""headrace.prepare: what rows of Python may not become, and which files they may name."""

import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from headrace._src.row_batches import batches_of

import headrace as hr


@pytest.fixture(autouse=True)
def built(monkeypatch, build):
    monkeypatch.setenv("HEADRACE_BUILD", str(build))


def refusal(source) -> str:
    """The message about rows that cannot be staged."""
    with pytest.raises(hr.errors.InvalidArgumentError) as caught:
        list(batches_of(source))
    return str(caught.value)


def column(source):
    """The values of the first column."""
    (batch,) = batches_of(source)
    return batch.columns[0]


def test_integers_beside_floats_stay_what_they_are_or_are_refused():
    rows = [{"v": 16777217} for _ in range(20_000)]
    rows[16_999] = {"v": 0.5}
    told = refusal(rows)  # of the second batch
    assert re.match("column v, row 16385: 16777217 does not fit float32, .*; make all values integers", told)
    for number in (2**53 + 1, np.int64(-16777217), 2**128, 10**400):
        assert f"column v, row 2: {number} does not fit float32" in refusal([{"v": 0.5}, {"v": number}])
    lists = [{"v": [0.5]}, {}, {"v": [1, 16777217]}]
    assert "column v, row 3: 16777217 does not fit float32" in refusal(lists)
    exact = [0.5, 16777216, 16777218, -(2**63), 2**127, True]
    assert column([{"v": value} for value in exact]).values.tolist() == [float(value) for value in exact]


@pytest.mark.parametrize(
    "give",
    [
        lambda values: [{"v": value} for value in values],
        lambda values: pd.DataFrame({"v": values}),
        lambda values: pd.DataFrame({"v": pd.array(values, dtype="Float64")}),
        lambda values: pa.table({"v": pa.array(values, pa.float64())}),
        lambda values: [{"v": [0.0, value]} for value in values],
        lambda values: pa.table({"v": pa.array([[], *([value, 0.0] for value in values)][1:])}),
        lambda values: pa.table({"v": pa.array([[1e300], *([value] for value in values)]).slice(1)}),
    ],
    ids=["mappings", "pandas", "nullable", "arrow", "lists", "lists of arrow", "slice of arrow"],
)
def test_floats_that_float32_has_not_are_refused_and_infinite_ones_stay(give):
    told = refusal(give([1.0, float("inf"), -1e39, 1e300]))
    assert told == "column v, row 3: -1e+39 is too large for float32; scale it, or give it as text"
    kept = column(give([1.0, float("inf"), float("-inf"), 3e38])).values
    assert [value for value in kept if value] == [1.0, np.inf, -np.inf, np.float32(3e38)]


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_bytes(b"of this machine")
    return path


URI = {"features": {"data": {"type": "bytes", "column": "path", "uri": True}}}


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.slow)])
def to(request, file_url) -> str:
    return f"{request.getfixturevalue('s3_url') if request.param == 's3' else file_url}/data"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_parquet_file_in_a_store_names_no_files_of_this_machine(s3_url, to, secret, scheme):
    store, out = hr.store(s3_url), io.BytesIO()
    store.write("public.txt", b"of the store")
    paths = [f"{scheme}{secret}", f"{s3_url}/public.txt"]
    pa.parquet.write_table(pa.table({"path": paths}), out)
    store.write("t.parquet", out.getvalue())
    with pytest.raises(hr.errors.InvalidArgumentError, match="row 1 is rejected: .*of this machine"):
        hr.prepare(f"{s3_url}/t.parquet", to, schema=URI, compression="none")
    made = hr.prepare(f"{s3_url}/t.parquet", to, schema=URI, max_rejects=1, compression="none")
    assert made.counts["written"] == made.counts["rejected"] == 1
    assert contents(to).count(b"of the store") == 1 and b"of this machine" not in contents(to)


def contents(url: str) -> bytes:
    store = hr.store(url)
    return b"".join(store.read(found.key) for found in store.list("train-"))


@pytest.mark.parametrize("kind", ["frame", "mappings", "arrow", "parquet"])
def test_rows_of_this_program_name_its_files_wherever_the_output_lies(to, secret, tmp_path, kind):
    paths = {"path": [str(secret), f"file://{secret}"]}
    pa.parquet.write_table(pa.table(paths), tmp_path / "t.parquet")
    source = {
        "frame": pd.DataFrame(paths),
        "mappings": [{"path": path} for path in paths["path"]],
        "arrow": pa.table(paths),
        "parquet": tmp_path / "t.parquet",
    }[kind]
    assert hr.prepare(source, to, schema=URI, compression="none").counts["written"] == 2
    assert contents(to).count(b"of this machine") == 2
