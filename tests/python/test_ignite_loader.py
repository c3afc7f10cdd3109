"""Loaders over caches of Apache Ignite, against real nodes."""

import collections
import contextlib
import os
import pickle
import shlex
import signal
import subprocess

import numpy as np
import pytest

import headrace as hr

ROWS = 3000
COLUMNS = {"key": hr.int64, "val.X": hr.float32, "val.NAME": hr.string}


@contextlib.contextmanager
def running(root, folder, *options):
    """The environment of a cluster of nodes."""
    script = root / "tools/servers/ignite.sh"
    lines = subprocess.run(
        [script, "start", folder, *options], stdout=subprocess.PIPE, text=True, check=True, timeout=600
    ).stdout
    try:
        yield dict(word.split("=", 1) for word in shlex.split(lines) if "=" in word)
    finally:
        subprocess.run([script, "stop", folder], check=True, timeout=60)


@pytest.fixture(scope="module")
def address(root, tmp_path_factory):
    with running(root, tmp_path_factory.mktemp("ignite")) as environment:
        yield environment["HEADRACE_IGNITE_ADDRESSES"]


def make_table(addresses, name, rows=ROWS, options=""):
    """A table whose cache has the same name. X and NAME are functions of the key."""
    create = f'CREATE TABLE {name} (ID LONG PRIMARY KEY, X FLOAT, NAME VARCHAR) WITH "CACHE_NAME={name}'
    list(hr.ignite.query(f'{create}{options}"', (), addresses))
    for first in range(0, rows, 500):
        values = ", ".join(f"({i}, {i / 2}, 'row {i}')" for i in range(first, min(first + 500, rows)))
        list(hr.ignite.query(f"INSERT INTO {name} VALUES {values}", (), addresses))


@pytest.fixture
def table(address, request):
    """Makes a table for this test: its address and name."""
    name = request.node.name.upper().split("[")[0]
    make_table(address, name)
    yield address, name
    list(hr.ignite.query(f"DROP TABLE {name}", (), address))


def rows_of(batches):
    rows = []
    for batch in batches:
        columns = [np.asarray(batch[name]).tolist() for name in COLUMNS]
        rows += zip(*columns, strict=True)
    return rows


def expected(keys):
    return [(i, i / 2, f"row {i}".encode()) for i in keys]


def test_kittens_are_what_the_documentation_shows(address):
    list(hr.ignite.query('CREATE TABLE KITTEN (ID LONG PRIMARY KEY, NAME VARCHAR) WITH "VALUE_TYPE=Kitten"',
                         (), address))  # fmt: skip
    for number, name in enumerate(["WARM KITTY", "SOFT KITTY", "LITTLE BALL OF FUR"], 1):
        list(hr.ignite.query("INSERT INTO KITTEN VALUES (?, ?)", [number, name], address))
    data = hr.ignite.dataset("SQL_PUBLIC_KITTEN", address).snapshot()
    assert dict(data.schema) == {"key": hr.int64, "val.NAME": hr.bytes_}
    assert len(data) == 3 and data.url == f"ignite://{address}/SQL_PUBLIC_KITTEN"
    with data.loader(batch_size=3, shuffle=False) as loader:
        (batch,) = loader
        names = dict(zip(batch["key"].tolist(), np.asarray(batch["val.NAME"]).tolist(), strict=True))
    assert names == {1: b"WARM KITTY", 2: b"SOFT KITTY", 3: b"LITTLE BALL OF FUR"}


@pytest.mark.exhaustive
def test_objects_in_objects_are_columns(root, address):
    command = [root / "tools/servers/ignite.sh", "java", root / "tests/ignite/WriteImages.java", address]
    subprocess.run(command, check=True, timeout=120)
    images = hr.ignite.dataset("IMAGES", address)
    data = images.snapshot()
    assert data.schema["val.vector"] == hr.float32[2]
    assert "val.tags" not in data.schema and "val.tags" in data.remarks[0]
    columns = {"key": hr.string, "val.vector": hr.float32[2], "val.metadata.label": hr.int64}
    for batches in (
        images.loader(columns=columns, batch_size=3),
        images.loader(columns=columns, batch_size=3, snapshot=False),
    ):
        (batch,) = batches
        order = np.argsort(batch["val.metadata.label"])
        assert batch["val.metadata.label"][order].tolist() == [0, 1, 2]
        assert np.asarray(batch["key"])[order].tolist() == [b"image 0", b"image 1", b"image 2"]
        np.testing.assert_array_equal(batch["val.vector"][order], np.array([[0, 0.5], [1, 0.5], [2, 0.5]]))
    columns = {"val.pixels": hr.float32[640_000], "val.metadata.label": hr.string}
    (batch,) = hr.ignite.dataset("KITTEN_IMAGES", address).loader(columns=columns, batch_size=32)
    assert batch["val.pixels"].shape == (1, 640_000) and batch["val.pixels"][0, :3].tolist() == [0, 0.25, 0]
    assert np.asarray(batch["val.metadata.label"]).tolist() == [b"little ball of fur"]


def test_a_state_continues_with_the_same_rows_in_another_snapshot(table, tmp_path):
    address, name = table
    options = {"columns": COLUMNS, "batch_size": 64, "seed": 7, "epochs": 2}
    with hr.ignite.dataset(name, address).loader(**options) as loader:
        first = rows_of(next(loader) for _ in range(20))
        state = loader.state()
        rest = rows_of(loader)
    assert sorted(first + rest) == sorted(2 * expected(range(ROWS)))
    assert first != expected(range(20 * 64))
    # Another process would do the same: it scans the cache again.
    ranks = []
    for rank in range(2):
        again = hr.ignite.dataset(name, address).loader(state=state, rank=rank, world_size=2, **options)
        ranks.append([rows_of([batch]) for batch in again])
    assert [row for pair in zip(*ranks, strict=True) for part in pair for row in part] == rest

    url = str(tmp_path / "snapshot")
    kept = hr.ignite.dataset(name, address).loader(snapshot=url, **options)
    assert kept.step_of(state) == 20
    list(hr.ignite.query(f"INSERT INTO {name} VALUES (?, 1, 'new')", [ROWS], address))
    with pytest.raises(hr.errors.FailedPreconditionError, match="(?i)dataset|data"):
        hr.ignite.dataset(name, address).loader(state=state, **options)
    stored = hr.ignite.dataset(name, address).loader(snapshot=url, state=state, **options)
    assert rows_of(stored) == rest


def test_rows_that_are_gone_or_changed_are_said(table):
    address, name = table
    data = hr.ignite.dataset(name, address).snapshot()
    taking = hr.ignite.dataset(name, address).snapshot(take_changed=True, on_corrupt="skip-record")
    list(hr.ignite.query(f"DELETE FROM {name} WHERE ID = 5", (), address))
    list(hr.ignite.query(f"UPDATE {name} SET X = -1 WHERE ID = 6", (), address))
    with pytest.raises(
        hr.errors.FailedPreconditionError, match="key [56]: the .*row .* the snapshot was taken"
    ):
        rows_of(data.loader(columns=COLUMNS, batch_size=100))
    others = [i for i in range(ROWS) if i not in (5, 6)]
    skipping = data.loader(columns=COLUMNS, batch_size=100, on_corrupt="skip-record")
    assert sorted(rows_of(skipping)) == expected(others)
    assert sorted(remark.split("key ")[1][0] for remark in skipping.remarks) == ["5", "6"]
    taken = sorted(rows_of(taking.loader(columns=COLUMNS, batch_size=100)))
    assert taken == sorted([*expected(others), (6, -1.0, b"row 6")])


def test_a_snapshot_is_a_dataset_like_any_other(table):
    address, name = table
    cache = hr.ignite.dataset(name, address, partitions="local")
    assert cache.partitions == list(range(1024))
    data = cache.snapshot()
    parts = data.hold_out(0.2)
    shown = [rows_of(part.loader(columns=COLUMNS, batch_size=64)) for part in parts]
    assert len(shown[0]) == 4 * len(shown[1])
    assert sorted(shown[0] + shown[1]) == expected(range(ROWS))
    twice = hr.ignite.dataset(name, address, partitions=[1, 2, 1]).snapshot()
    assert {shard.url for shard in twice.shards} == {f"{data.url}, partition {i}" for i in (1, 2)}
    mixed = hr.mix({data: 3, twice: 1}, columns=COLUMNS, batch_size=64, seed=1)
    keys = [key for key, _, _ in rows_of(mixed)]
    own = {key for key, _, _ in rows_of(twice.loader(columns=COLUMNS, batch_size=64))}
    assert len(own) == len(twice) < 20
    assert sum(key in own for key in keys) == pytest.approx(len(keys) / 4, rel=0.05)
    with pytest.raises(hr.errors.FailedPreconditionError, match="open it in the other process"):
        pickle.dumps(data)


def test_snapshots_that_do_not_fit_are_refused(table, tmp_path):
    address, name = table
    url = str(tmp_path / "snapshot")
    some = hr.ignite.dataset(name, address, partitions=range(100)).snapshot(url)
    assert 0 < len(some) < ROWS
    fewer = hr.ignite.dataset(name, address, partitions=range(50)).snapshot(url)
    assert 0 < len(fewer) < len(some)
    with pytest.raises(hr.errors.FailedPreconditionError, match="only some of the partitions"):
        hr.ignite.dataset(name, address).snapshot(url)
    with pytest.raises(hr.errors.FailedPreconditionError, match="lacks partition 100"):
        hr.ignite.dataset(name, address, partitions=[100]).snapshot(url)
    with pytest.raises(hr.errors.ResourceExhaustedError, match="give it a URL in a store"):
        hr.ignite.dataset(name, address).snapshot(memory="20kB")
    with pytest.raises(hr.errors.UnimplementedError, match="shuffle in windows instead"):
        some.loader(batch_size=1, shuffle="exact")
    (tmp_path / "no-snapshot").write_bytes(b"x" * 100)
    with pytest.raises(hr.errors.DataLossError, match="not a snapshot of a cache"):
        hr.ignite.dataset(name, address).snapshot(str(tmp_path / "no-snapshot"))


def test_a_stream_gives_each_row_once_and_has_no_state(table):
    address, name = table
    cache = hr.ignite.dataset(name, address)
    stream = cache.loader(columns=COLUMNS, batch_size=64, snapshot=False)
    for _ in range(2):
        batches = list(stream)
        assert [len(batch["key"]) for batch in batches] == [64] * (ROWS // 64) + [ROWS % 64]
        assert sorted(rows_of(batches)) == expected(range(ROWS))
    with pytest.raises(hr.errors.FailedPreconditionError, match="make the loader with a snapshot"):
        stream.state()
    for option in ({"state": b""}, {"seed": 1}, {"shuffle": True}, {"take_changed": True}):
        with pytest.raises(hr.errors.InvalidArgumentError, match=f"{next(iter(option))} needs a snapshot"):
            cache.loader(columns=COLUMNS, batch_size=64, snapshot=False, **option)
    wrong = cache.loader(columns={"val.X": hr.int64}, batch_size=64, snapshot=False)
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=f"{name}, partition [0-9]+, key [0-9]+: .*val.X"
    ):
        next(iter(wrong))


@pytest.mark.exhaustive
def test_workers_train_on_disjoint_partitions_alone(table, monkeypatch):
    import tensorflow as tf

    address, name = table
    host, port = address.split(":")
    monkeypatch.setenv("IGNITE_DATASET_HOST", host)
    monkeypatch.setenv("IGNITE_DATASET_PORT", port)
    seen = collections.Counter()
    for part in ("0-300,700-1023", "301-699"):
        monkeypatch.setenv("IGNITE_DATASET_PART", part)
        rows = hr.ignite.dataset(name, "no-such-host:1")
        columns = {"key": hr.int64, "val.X": hr.float32}
        loader = rows.loader(columns=columns, batch_size=50, seed=1)
        data = loader.as_tf_dataset(labels="val.X")
        data = data.map(lambda key, x: (tf.cast(key, tf.float32)[:, None] / ROWS, x[:, None] / ROWS))
        model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(0.05), "mse")
        losses = model.fit(data, epochs=8, verbose=0).history["loss"]
        assert losses[-1] < losses[0] / 10
        stream = rows.loader(columns=columns, batch_size=50, snapshot=False).as_tf_dataset("key")
        keys = [key for batch in stream for key in batch.numpy().tolist()]
        assert len(keys) == loader.records_per_epoch > ROWS / 4
        seen.update(keys)
    assert seen == dict.fromkeys(range(ROWS), 1)
    monkeypatch.setenv("IGNITE_DATASET_PART", "all")
    with pytest.raises(hr.errors.InvalidArgumentError, match="'all'; it must be 'local', or numbers"):
        hr.ignite.dataset(name)


@pytest.mark.exhaustive
def test_a_node_that_is_killed_costs_no_row(root, tmp_path):
    with running(root, tmp_path / "nodes", "--nodes", "3") as environment:
        addresses = environment["HEADRACE_IGNITE_ADDRESSES"].split(",")
        make_table(addresses, "KEPT", options=",BACKUPS=1")
        loader = hr.ignite.dataset("KEPT", addresses).loader(
            columns=COLUMNS, batch_size=10, seed=3, epochs=2, window="16kB"
        )
        rows = rows_of(next(loader) for _ in range(100))
        os.kill(int(environment["HEADRACE_IGNITE_PIDS"].split()[2]), signal.SIGKILL)
        rows += rows_of(loader)
        assert sorted(rows[:ROWS]) == sorted(rows[ROWS:]) == expected(range(ROWS))
        parts = [
            hr.ignite.dataset("KEPT", address, partitions="local").partitions for address in addresses[:2]
        ]
        assert sorted(parts[0] + parts[1]) == list(range(1024))
        assert min(map(len, parts)) > 256
        again = hr.ignite.dataset("KEPT", addresses[:2]).loader(
            columns=COLUMNS, batch_size=10, seed=3, epochs=2
        )
        assert sorted(rows_of(next(again) for _ in range(300))) == expected(range(ROWS))
