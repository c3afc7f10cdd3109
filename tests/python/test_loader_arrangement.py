"""Balanced and bucketed batches in Python: the order is that of the independent implementation, for any data;
every path to batches has it; what cannot be arranged is refused."""

import collections
import json

import numpy as np
import pytest
import test_order as reference
import tfrecords

import headrace as hr

BATCH = 8
WINDOW = 6_000  # several windows of one or two files each
FILES = 12


def records(seed: int) -> list[dict]:
    """With several classes, the last of which is rare, and lengths."""
    random = np.random.default_rng(seed)
    classes = random.choice([-3, 0, 5, 1 << 40], 400, p=[0.3, 0.4, 0.28, 0.02]).tolist()
    lengths = (random.exponential(20, 400)).astype(int).tolist()
    return [
        {"number": [i], "class": [c], "tokens": [i] * n}
        for i, (c, n) in enumerate(zip(classes, lengths, strict=True))
    ]


COLUMNS = {"number": hr.int64, "tokens": hr.ragged(hr.int64).default(())}


@pytest.fixture(scope="module", params=[1, 2])
def numbered(request, tmp_path_factory):
    """The records; a dataset of them in files that are one block each; and those blocks, as numbers."""
    rows = records(request.param)
    return rows, *written(tmp_path_factory.mktemp("data"), rows, request.param)


def written(folder, rows: list[dict], seed: int) -> tuple[hr.Dataset, list[tuple[list[int], int]]]:
    cuts = [0, *sorted(np.random.default_rng(seed).choice(399, FILES - 1, replace=False) + 1), 400]
    blocks = []
    for file, (begin, end) in enumerate(zip(cuts, cuts[1:], strict=False)):
        path = folder / f"part-{file:02}.tfrecord"
        tfrecords.write(path, rows[begin:end])
        blocks.append((list(range(begin, end)), path.stat().st_size))
    return hr.open(folder), blocks


def windows(blocks, seed: int, epoch: int) -> list[list[int]]:
    """The numbers of each window's records in their order without an arrangement: docs/formats/order.md."""
    key = reference.derive(seed, "block", epoch, 0)
    out, size = [], WINDOW
    for j in range(len(blocks)):
        numbers, size_bytes = blocks[reference.permute(key, len(blocks), j)]
        if size >= WINDOW:
            out.append([])
            size = 0
        out[-1] += numbers
        size += size_bytes
    keys = [reference.derive(seed, "record", epoch, w) for w in range(len(out))]
    return [
        [window[reference.permute(key, len(window), i)] for i in range(len(window))]
        for key, window in zip(keys, out, strict=True)
    ]


def exact_windows(blocks, seed: int, epoch: int) -> list[list[int]]:
    """The same in exact order."""
    count, size = sum(len(numbers) for numbers, _ in blocks), sum(size for _, size in blocks)
    each = min(max(1, int(WINDOW / max(1.0, size / count))), 1 << 20)
    key = reference.derive(seed, "exact", epoch, 0)
    order = [reference.permute(key, count, p) for p in range(count)]
    return [order[begin : begin + each] for begin in range(0, count, each)]


def expected(rows, blocks, kind: str, seed: int, epoch: int, windows_of=windows) -> list[int]:
    order, first = [], 0
    for w, window in enumerate(windows_of(blocks, seed, epoch)):
        s = reference.arrangement_seed(seed, epoch, w)
        if kind == "balance":
            places = reference.balanced([reference.class_of(rows[i].get("class"), 1) for i in window], s)
        else:
            places = reference.bucketed([len(rows[i]["tokens"]) for i in window], s, first, BATCH)
        order += [window[i] for i in places]
        first += len(window)
    return order


def numbers(loader) -> list[int]:
    return [number for batch in loader for number in batch["number"].tolist()]


@pytest.mark.parametrize(
    "shuffle, windows_of", [(True, windows), ("exact", exact_windows)], ids=["window", "exact"]
)
@pytest.mark.parametrize("arranged", [{"balance": "class"}, {"bucket": "tokens"}], ids=["balance", "bucket"])
def test_the_order_is_that_of_the_independent_implementation(numbered, arranged, shuffle, windows_of):
    rows, data, blocks = numbered
    assert len(windows_of(blocks, 7, 0)) > 3
    options = {"batch_size": BATCH, "seed": 7, "window": WINDOW, "epochs": 2, "columns": COLUMNS}
    loader = data.loader(**options, shuffle=shuffle, **arranged)
    kind = next(iter(arranged))
    wanted = [i for epoch in (0, 1) for i in expected(rows, blocks, kind, 7, epoch, windows_of)]
    assert numbers(loader) == wanted


@pytest.mark.parametrize("shuffle", [True, "exact"])
@pytest.mark.parametrize("arranged", [{"balance": "class"}, {"bucket": "tokens"}], ids=["balance", "bucket"])
def test_it_continues_anywhere_and_knows_where_its_records_are(numbered, arranged, shuffle):
    _, data, blocks = numbered
    options = {"batch_size": BATCH, "seed": 3, "window": WINDOW, "epochs": 2, "shuffle": shuffle}
    options |= {"columns": COLUMNS, **arranged}
    loader = data.loader(**options)
    batches = [batch["number"].tolist() for batch in loader]
    firsts = {f"part-{file:02}": block[0][0] for file, block in enumerate(blocks)}
    for step in (0, 1, 49, 50, 77):
        rest = data.loader(**options, state=loader.state(step))
        assert [batch["number"].tolist() for batch in rest] == batches[step:]
        places = loader.where(step)
        assert [firsts[p.url[-16:-9]] + p.record for p in places] == batches[step]
        assert [p[:2] for p in loader.where(step, look_up=True)] == [p[:2] for p in places]
    ranks = [data.loader(**options, rank=rank, world_size=3) for rank in range(3)]
    assert [sum((next(r)["number"].tolist() for r in ranks), []) for _ in batches] == batches


def test_a_record_that_lacks_an_optional_label_has_no_class(tmp_path):
    rows = records(3)
    for row in rows[1::5]:
        del row["class"]
    data, blocks = written(tmp_path, rows, 3)
    options = {"batch_size": BATCH, "seed": 7, "window": WINDOW, "columns": COLUMNS, "balance": "class"}
    with pytest.raises(hr.errors.InvalidArgumentError, match='feature "class": the record does not have it'):
        numbers(data.loader(**options))
    order = numbers(data.loader(**options, on_corrupt="skip-record"))
    assert order == expected(rows, blocks, "balance", 7, 0)
    assert sum("class" not in rows[number] for number in order) == 80, "each keeps its place"


def test_a_balanced_epoch_repeats_rare_records_and_a_bucketed_one_needs_less_padding(numbered):
    rows, data, _ = numbered
    options = {"batch_size": BATCH, "columns": COLUMNS}
    times = collections.Counter(numbers(data.loader(**options, balance="class")))
    classes = collections.Counter()
    for number, count in times.items():
        classes[rows[number]["class"][0]] += count
    assert set(classes.values()) == {100}
    assert all(times[i] >= 5 for i, row in enumerate(rows) if row["class"] == [1 << 40])

    def padded(**arranged) -> int:
        lengths = [np.diff(batch["tokens"].offsets) for batch in data.loader(**options, **arranged)]
        return sum(len(each) * int(each.max()) for each in lengths)

    assert padded(bucket="tokens") < 0.6 * padded()


def test_a_state_of_another_arrangement_is_refused(numbered):
    _, data, _ = numbered
    options = {"batch_size": BATCH, "columns": COLUMNS}
    state = data.loader(**options, balance="class").state()
    assert json.loads(state)["balance"] == "class"
    assert json.loads(state)["order"] == reference.version(is_arranged=True)
    for arranged in ({}, {"bucket": "tokens"}, {"balance": "number"}):
        with pytest.raises(hr.errors.FailedPreconditionError, match='balance "class", but the'):
            data.loader(**options, **arranged, state=state)
    plain = json.loads(data.loader(**options).state())
    assert "balance" not in plain
    assert plain["order"] == reference.version(is_arranged=False)
    with pytest.raises(hr.errors.FailedPreconditionError, match='balance null, but the loader has "class"'):
        data.loader(**options, balance="class", state=data.loader(**options).state())


def test_mixtures_and_frameworks_have_it(numbered):
    rows, data, _ = numbered
    mixed = hr.mix(
        [(data.part(0, 200), 1), (data.part(200), 1)], batch_size=BATCH, balance="class", columns=COLUMNS
    )
    classes = collections.Counter(rows[number]["class"][0] for number in numbers(mixed))
    assert max(classes.values()) - min(classes.values()) <= 4
    loader = data.loader(batch_size=BATCH, bucket="tokens", columns=COLUMNS)
    passes = [batch["number"].tolist() for batch in loader.pass_batches()]
    assert sum(passes, []) == numbers(data.loader(batch_size=BATCH, bucket="tokens", columns=COLUMNS))


@pytest.mark.parametrize(
    "message, options",
    {
        "balance and bucket both": {"balance": "class", "bucket": "tokens"},
        "balance is 3; it must be the name": {"balance": 3},
        "has no feature clas; did you mean class": {"balance": "clas"},
        "balance by tokens: it is int64.any.; name a label": {"balance": "tokens"},
        "bucket by number: it is int64, which has the same length": {"bucket": "number"},
        "balance by class needs a shuffled order": {"balance": "class", "shuffle": False},
    }.items(),
)
def test_what_cannot_be_arranged_is_refused(numbered, message, options):
    _, data, _ = numbered
    with pytest.raises(hr.errors.InvalidArgumentError, match=message):
        data.loader(batch_size=BATCH, columns=COLUMNS, **options)


def test_labels_of_a_prepared_dataset_are_classes_one_hot_or_not(tmp_path):
    rows = [{"id": f"r{i}", "x": i / 7, "label": "rare" if i % 20 == 3 else "usual"} for i in range(400)]
    schema = """
        id = "id"
        [features.id]
        type = "string"
        [features.x]
        type = "float32"
        [features.label]
        type = "label"
        {}
    """
    for name, more in (("number", ""), ("hot", "one_hot = true")):
        prepared = hr.prepare(rows, tmp_path / name, schema=schema.format(more))
        loader = prepared.open().loader(batch_size=20, balance="label", columns=["x", "label"])
        labels = [np.asarray(batch["label"]) for batch in loader]
        wanted = [10, 10] if name == "hot" else 10
        assert all((each.sum(axis=0) == wanted).all() for each in labels)
        with pytest.raises(hr.errors.InvalidArgumentError, match="balance by x: it is float32; name a label"):
            prepared.open().loader(batch_size=20, balance="x")


def test_a_label_is_balanced_as_the_schema_has_it_whatever_column_is_read(tmp_path):
    rows = [{"id": f"r{i}", "label": "rare" if i % 20 == 3 else "usual"} for i in range(400)]
    schema = 'id = "id"\n[features.id]\ntype = "string"\n[features.label]\ntype = "label"\n'
    data = hr.prepare(rows, tmp_path / "data", schema=schema).open()
    ragged = {"label": hr.ragged(hr.int64).default(())}  # as a model reads it that takes its mask
    loader = data.loader(batch_size=20, balance="label", columns=ragged)
    assert all(batch["label"].values.sum() == 10 for batch in loader)
