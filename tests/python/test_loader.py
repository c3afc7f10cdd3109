"""The loader in Python: what it hands out, in which order, and how it continues."""

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml

import kill_support
import numpy as np
import pytest
import tfrecords

import headrace as hr

RECORDS = 1000
COLUMNS = {"number": hr.int64, "vector": hr.float32[3]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tfrecords.write_numbered(tmp_path_factory.mktemp("loader") / "data", RECORDS)


@pytest.fixture(scope="module")
def data(folder):
    return hr.open(folder)


def numbers(batches) -> list[int]:
    return [int(number) for batch in batches for number in batch["number"]]


def test_a_data_set_tells_what_is_in_it(data, folder):
    assert len(data) == RECORDS
    assert [shard.records for shard in data.shards] == [250] * 4
    assert data.shards[1].url == f"file://{folder}/part-00001.tfrecord"
    assert data.schema["id"] == hr.bytes_
    assert data.schema["number"] == hr.int64
    assert data.schema["vector"] == hr.float32[3]
    assert "1,000 records in 4 shards" in repr(data)
    assert "hr.float32[3]" in data._repr_html_()


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_has_every_record_once_with_its_values(tmp_path, compress, shuffle):
    data = hr.open(tfrecords.write_numbered(tmp_path / "data", 500, compress=compress))
    seen = []
    for batch in data.loader(batch_size=64, seed=5, shuffle=shuffle, columns=COLUMNS):
        number = batch["number"]
        assert (number.dtype, batch["vector"].dtype) == (np.int64, np.float32)
        assert batch["vector"].shape == (len(number), 3)
        np.testing.assert_array_equal(batch["vector"][:, 0], number + np.float32(0.25))
        np.testing.assert_array_equal(batch["vector"][:, 1], -number)
        seen += number.tolist()
    assert sorted(seen) == list(range(500))
    assert (seen == sorted(seen)) is not shuffle


def test_every_mode_of_order_differs_by_seed_and_epoch(data):
    def order(**options):
        return numbers(data.loader(batch_size=100, columns=COLUMNS, **options))

    assert order(seed=1) == order(seed=1, threads=1)
    assert order(seed=1) != order(seed=2)
    assert order(seed=1) != order(seed=1, shuffle="exact")
    two_epochs = order(seed=1, epochs=2)
    assert two_epochs[:RECORDS] == order(seed=1)
    assert two_epochs[RECORDS:] != two_epochs[:RECORDS]
    assert sorted(two_epochs[RECORDS:]) == list(range(RECORDS))


def test_a_shape_of_several_dimensions_is_row_major(data):
    batch = next(data.loader(batch_size=10, columns={"number": hr.int64, "pair": hr.int64[2, 1]}))
    assert batch["pair"].shape == (10, 2, 1)
    np.testing.assert_array_equal(batch["pair"][:, 0, 0], batch["number"])
    np.testing.assert_array_equal(batch["pair"][:, 1, 0], -batch["number"])


def test_columns_of_any_length_are_values_and_offsets(data):
    columns = {"number": hr.int64, "tags": hr.ragged(hr.int64).default(()), "id": hr.bytes_}
    columns["words"] = hr.ragged(hr.bytes_).default(())
    for batch in data.loader(batch_size=90, seed=3, columns=columns):
        for row, number in enumerate(batch["number"].tolist()):
            expected = tfrecords.numbered_example(number)
            assert batch["tags"][row].tolist() == expected.get("tags", [])
            assert batch["words"][row].tolist() == expected.get("words", [])
            assert batch["id"][row] == expected["id"][0]
        assert len(batch["tags"]) == len(batch["words"]) == len(batch["id"]) == len(batch["number"])
        assert np.asarray(batch["id"]).tolist() == batch["id"].tolist()


def test_a_default_fills_what_a_record_lacks(data):
    columns = {"number": hr.int64, "rare": hr.int64.default(-7)}
    for batch in data.loader(batch_size=100, columns=columns):
        expected = np.where(batch["number"] % 3 == 0, batch["number"], -7)
        np.testing.assert_array_equal(batch["rare"], expected)
    with pytest.raises(hr.errors.InvalidArgumentError, match="rare"):
        list(data.loader(batch_size=100, columns={"rare": hr.int64}))


def test_without_columns_the_loader_gives_all_of_the_schema(tmp_path):
    tfrecords.write(tmp_path / "a.tfrecord", [{"n": [i], "text": [b"%d" % i]} for i in range(20)])
    batch = next(hr.open(tmp_path / "a.tfrecord").loader(batch_size=20, shuffle=False))
    assert batch["n"].tolist() == list(range(20))
    assert batch["text"].tolist() == [b"%d" % i for i in range(20)]


# ---- memory


def test_arrays_view_the_engines_memory_which_is_used_again(data):
    kept, seen = [], set()
    for batch in data.loader(batch_size=10, seed=1, epochs=2, columns=COLUMNS):
        kept.append(batch["vector"])
    assert len({array.ctypes.data for array in kept}) == len(kept) == 200
    assert all(array.ctypes.data % 64 == 0 for array in kept)
    for batch in data.loader(batch_size=10, seed=1, epochs=2, columns=COLUMNS):
        seen.add(batch["vector"].ctypes.data)
        del batch
    assert len(seen) < 100


def test_dlpack_shares_the_memory(data):
    array = next(data.loader(batch_size=10, columns=COLUMNS))["vector"]
    other = np.from_dlpack(array)
    assert other.ctypes.data == array.ctypes.data
    other[0, 0] = 42
    assert array[0, 0] == 42


def test_arrays_outlive_batch_loader_and_data_set(folder):
    loader = hr.open(folder).loader(batch_size=100, shuffle=False, columns=COLUMNS)
    part = next(loader)["vector"][10:20, 0]
    for _ in loader:
        pass
    del loader
    gc.collect()
    np.testing.assert_array_equal(part, np.arange(10, 20) + np.float32(0.25))


def test_headspace_gives_one_batch_again_and_again(data):
    loader = data.loader(batch_size=50, epochs=3, columns=COLUMNS, headspace=True)
    first, *others = (batch["number"].copy() for batch in loader)
    assert len(others) == 3 * 20 - 1
    assert all((other == first).all() for other in others)


# ---- the end of an epoch


def test_the_last_batch_is_short_dropped_or_padded(data):
    def sizes(**options):
        return [len(batch["number"]) for batch in data.loader(batch_size=300, columns=COLUMNS, **options)]

    assert sizes() == [300, 300, 300, 100]
    assert sizes(drop_remainder=True) == [300, 300, 300]
    assert sizes(drop_remainder="pad") == [300, 300, 300, 300]
    *full, last = data.loader(batch_size=300, columns=COLUMNS, drop_remainder="pad", weights="w")
    assert all((batch["w"] == 1).all() for batch in full)
    np.testing.assert_array_equal(last["w"], [1] * 100 + [0] * 200)
    assert set(last["number"][100:]) == {last["number"][0]}


def test_numpys_integers_are_integers(data):
    loader = data.loader(
        batch_size=np.int64(300), seed=np.uint64(2**64 - 1), rank=np.int8(0), columns=COLUMNS
    )
    assert sorted(numbers(loader)) == list(range(RECORDS))


def test_len_counts_what_is_to_come(data):
    loader = data.loader(batch_size=300, epochs=5, columns=COLUMNS)
    assert (len(loader), loader.batches_per_epoch) == (20, 4)
    state = [next(loader) for _ in range(6)] and loader.state()
    rest = data.loader(batch_size=300, epochs=5, columns=COLUMNS, state=state)
    assert len(rest) == len(list(rest)) == 14
    past = data.loader(batch_size=300, epochs=5, columns=COLUMNS)
    past.seek(13)
    short = data.loader(batch_size=300, epochs=2, columns=COLUMNS, state=past.state())
    assert (len(short), list(short)) == (0, [])
    with pytest.raises(TypeError, match="no end"):
        len(data.loader(batch_size=300, epochs=None, columns=COLUMNS))


# ---- ranks and positions


@pytest.mark.parametrize("world_size", [2, 3, 7])
def test_ranks_share_each_global_batch(data, world_size):
    options = {"batch_size": 100, "seed": 9, "columns": COLUMNS}
    whole = [numbers([batch]) for batch in data.loader(**options)]
    ranks = [data.loader(rank=rank, world_size=world_size, **options) for rank in range(world_size)]
    for step, parts in enumerate(zip(*ranks, strict=True)):
        assert numbers(parts) == whole[step]


def test_a_state_continues_at_any_step_on_any_number_of_ranks(data):
    options = {"batch_size": 64, "seed": 2, "epochs": 3, "columns": COLUMNS}
    loader = data.loader(**options)
    states, batches = [], []
    for batch in loader:
        states.append(loader.state())
        batches.append(numbers([batch]))
    assert max(map(len, states)) < 1000
    for step in (0, 1, 15, 16, 30, 46):
        ranks = [data.loader(state=states[step], rank=rank, world_size=5, **options) for rank in range(5)]
        assert [rank.state() for rank in ranks] == [states[step]] * 5
        assert [numbers(parts) for parts in zip(*ranks, strict=True)] == batches[step + 1 :]


def test_a_state_of_other_data_or_options_is_refused(data, tmp_path):
    other = hr.open(tfrecords.write_numbered(tmp_path / "other", 100))
    state = other.loader(batch_size=10, columns=COLUMNS).state()
    with pytest.raises(hr.errors.FailedPreconditionError, match="another dataset"):
        data.loader(batch_size=10, columns=COLUMNS, state=state)
    with pytest.raises(hr.errors.FailedPreconditionError, match="has seed 0, but the loader has 1"):
        other.loader(batch_size=10, columns=COLUMNS, seed=1, state=state)
    with pytest.raises(hr.errors.DataLossError, match="damaged"):
        data.loader(batch_size=10, columns=COLUMNS, state=b"\x00")


def test_the_window_decides_what_is_mixed_with_what(data):
    """A shard of this dataset is one block, so in the smallest window one shard follows the other."""

    def loader(window, mix=False, **options):
        options = {"batch_size": 250, "seed": 9, "window": window, "columns": COLUMNS, **options}
        return hr.mix({data: 1}, **options) if mix else data.loader(**options)

    assert [len({number // 250 for number in numbers([batch])}) for batch in loader(1)] == [1] * 4
    assert [len({number // 250 for number in numbers([batch])}) for batch in loader("1GB")] == [4] * 4
    assert sorted(numbers(loader(1))) == list(range(RECORDS))
    assert numbers(loader(1, mix=True)) == numbers(loader(1)) != numbers(loader("64MiB"))
    spreads = [loader(window).shuffle_quality().spread for window in (1, "64MiB")]
    assert spreads[0] < 0.5 < 0.9 < spreads[1] < 1.1
    mixed = hr.mix([(data, 1), (data, 2)], batch_size=250, seed=9, window=1, columns=COLUMNS)
    assert [mixed.shuffle_quality(source).spread for source in (0, 1)] == [
        pytest.approx(spreads[0], abs=0.2)
    ] * 2
    with pytest.raises(hr.errors.OutOfRangeError, match="no source 2: the loader has 2, counted from 0"):
        mixed.shuffle_quality(2)


def test_the_window_is_part_of_the_state(data):
    options = {"batch_size": 50, "columns": COLUMNS}
    state = data.loader(**options).state()
    assert data.loader(window=64 * 2**20, **options).state() == state  # the default
    with pytest.raises(hr.errors.FailedPreconditionError, match="67108864, but the loader has 1000"):
        data.loader(window="1kB", state=state, **options)
    loader = data.loader(window="1kB", **options)
    batches = [numbers([batch]) for batch in loader]
    loader.seek(7)
    rest = data.loader(window=1000, state=loader.state(), **options)
    assert [numbers([batch]) for batch in rest] == batches[7:]


def test_seek_goes_to_any_step(data):
    loader = data.loader(batch_size=100, seed=4, epochs=2, columns=COLUMNS)
    batches = [numbers([batch]) for batch in loader]
    for step in (17, 3, 4, 0, 19):
        loader.seek(step)
        assert loader.step == step
        assert numbers([next(loader)]) == batches[step]
    assert loader.stats().batches >= 25
    assert list(loader) == []


def test_where_names_the_records_of_a_batch(data, folder):
    loader = data.loader(batch_size=32, seed=6, epochs=2, columns={**COLUMNS, "id": hr.bytes_})
    batches = list(loader)
    for step in (0, 31, 40):
        places = loader.where(step, look_up=True)
        assert [place.id for place in places] == batches[step]["id"].tolist()
        assert [place[:2] for place in places] == [place[:2] for place in loader.where(step)]
        for place, number in zip(places, batches[step]["number"].tolist(), strict=True):
            assert place.url == f"file://{folder}/part-{number // 250:05}.tfrecord"
            assert place.record == number % 250
            content = (folder / place.url.rpartition("/")[2]).read_bytes()
            framed = tfrecords.frame(tfrecords.encode(tfrecords.numbered_example(number)))
            assert content[place.offset_bytes :].startswith(framed)


def test_a_pass_that_is_given_up_begins_anew_and_a_whole_one_does_not(data):
    loader = data.loader(batch_size=250, seed=8, epochs=1, columns=COLUMNS)
    first = [numbers([batch]) for batch in data.loader(batch_size=250, seed=8, epochs=3, columns=COLUMNS)]
    assert len(first) == 12
    given_up = loader.pass_batches()
    assert numbers([next(given_up)]) == first[0]
    assert [numbers([batch]) for batch in loader.pass_batches()] == first[:4]
    assert [numbers([batch]) for batch in loader.pass_batches()] == first[4:8]
    engine = loader._engine  # with what it has read ahead; how far that is depends on time
    assert [numbers([batch]) for batch in loader.pass_batches()] == first[8:12]
    assert loader._engine is engine
    with pytest.raises(hr.errors.FailedPreconditionError, match="another pass"):
        next(given_up)


# ---- mixtures


def test_a_mixture_keeps_its_shares_and_resumes(tmp_path):
    few = hr.open(tfrecords.write_numbered(tmp_path / "few", 60))
    many = hr.open(tfrecords.write_numbered(tmp_path / "many", 600))
    options = {"batch_size": 50, "seed": 3, "epochs": 2, "columns": ["number", "id"]}
    loader = hr.mix({few: 0.2, many: 0.8}, **options)
    batches, states = [], []
    for step, batch in enumerate(loader):
        of_few = [str(tmp_path / "few") in place.url for place in loader.where(step)]
        assert 8 <= sum(of_few) <= 12
        batches.append(batch["id"].tolist())
        states.append(loader.state())
    assert len(batches) == len(loader) == 2 * (660 // 50)
    again = hr.mix([(few, 1), (many, 4)], state=states[10], **options)
    assert [batch["id"].tolist() for batch in again] == batches[11:]
    with pytest.raises(hr.Error, match="not above 0"):
        hr.mix({few: 0, many: 1}, **options)


# ---- damage, errors


@pytest.fixture
def published(tmp_path, headrace):
    """A published dataset of several shards, of which some may be damaged: its folder."""
    archive = kill_support.write_archive(tmp_path / "raw.tar.gz", kill_support.reviews(200))
    options = ("--encoder", "hash:8", "--compression", "none", "--shard-records", "40")
    headrace("prepare", archive, tmp_path / "data", *options)
    return tmp_path / "data"


def flip_a_byte(folder, place) -> str:
    """Flips a byte of the record there, and returns the name of its shard."""
    shard = folder / place.url.rpartition("/")[2]
    content = bytearray(shard.read_bytes())
    content[place.offset_bytes + 20] ^= 1
    shard.write_bytes(content)
    return shard.name


def test_damage_fails_or_is_left_out_or_gets_weight_0(published, caplog):
    data = hr.open(published)
    options = {"batch_size": len(data), "shuffle": False, "columns": ["id", "label"]}
    loader = data.loader(**options)
    (expected,) = loader
    place = loader.where(0, look_up=True)[70]
    name = flip_a_byte(published, place)
    data = hr.open(published)
    with pytest.raises(hr.errors.DataLossError, match=f"{name}.*{place.record}"):
        list(data.loader(**options))
    (padded,) = data.loader(on_corrupt="skip-record", drop_remainder="pad", **options)
    assert np.flatnonzero(padded["weight"] == 0).tolist() == [70]
    np.testing.assert_array_equal(np.delete(padded["label"], 70, 0), np.delete(expected["label"], 70, 0))
    caplog.clear()
    loader = data.loader(on_corrupt="skip-record", epochs=2, **options)
    assert loader.weights is None and not loader.has_equal_batches
    for batch in loader:
        assert set(batch) == {"id", "label"}
        np.testing.assert_array_equal(batch["label"], np.delete(expected["label"], 70, 0))
        assert batch["id"].tolist() == expected["id"].tolist()[:70] + expected["id"].tolist()[71:]
    assert loader.stats().corrupt_records == 2
    loader.seek(0)
    next(loader)
    (remark,) = loader.remarks
    assert [record.getMessage() for record in caplog.records if record.name == "headrace"] == [remark]
    assert f"record {place.record}" in remark and name in remark and str(place.offset_bytes) in remark


def test_a_loader_skips_what_its_data_set_was_opened_to_skip(published, caplog):
    options = {"batch_size": 16, "seed": 5, "columns": ["id"]}
    whole = [batch["id"].tolist() for batch in hr.open(published).loader(**options)]
    lost = hr.open(published).shards[1]
    (published / lost.url.rpartition("/")[2]).unlink()
    data = hr.open(published, on_corrupt="skip-shard")
    assert data.on_corrupt == "skip-shard"
    assert [record.getMessage() for record in caplog.records] == data.remarks != []
    loader = data.loader(drop_remainder="pad", **options)
    kept = []
    for expected, batch in zip(whole, loader, strict=True):
        good = np.flatnonzero(batch["weight"][: len(expected)])
        kept.append([batch["id"][row] for row in good])
        assert kept[-1] == [expected[row] for row in good]
    assert sum(map(len, kept)) == len(data) - lost.records
    assert loader.stats().corrupt_records == lost.records
    assert [batch["id"].tolist() for batch in data.loader(**options)] == [ids for ids in kept if ids]
    with pytest.raises(hr.errors.FailedPreconditionError):
        list(data.loader(on_corrupt="fail", **options))


def test_a_mixture_of_data_sets_that_were_opened_differently_must_say_what_is_skipped(published, folder):
    few, many = hr.open(published, on_corrupt="skip-shard"), hr.open(published)
    options = {"batch_size": 10, "columns": ["id"]}
    with pytest.raises(hr.errors.InvalidArgumentError, match="fail and skip-shard: choose one"):
        hr.mix({few: 1, many: 1}, **options)
    assert len(next(hr.mix({few: 1, many: 1}, on_corrupt="skip-shard", **options))["id"]) > 0
    assert hr.mix({many: 1}, **options).weights is None
    assert hr.mix([(few, 1), (few, 2)], drop_remainder="pad", **options).weights == "weight"


WRONG = {
    "there is no such column": ({"columns": {"nothing": hr.int64}}, "nothing"),
    "no such column by name": ({"columns": ["nothing"]}, r"it has: .*vector \(hr.float32\[3\]\)"),
    "no column at all": ({"columns": {"number": int}}, "hr.int64"),
    "rank too high": ({"rank": 2, "world_size": 2}, "rank 2 is not below the world size 2"),
    "no batch": ({"batch_size": 0}, "batch_size is 0; it must be an integer from 1"),
    "half a batch": ({"batch_size": 0.5}, "batch_size is 0.5"),
    "no epoch": ({"epochs": 0}, "epochs is 0"),
    "negative seed": ({"seed": -1}, "seed is -1"),
    "nothing wanted": ({"columns": {}}, "at least one"),
    "no mode": ({"shuffle": "well"}, "one of True, False, 'window', 'none', 'exact'"),
    "no policy": ({"on_corrupt": "hope"}, "one of 'fail', 'skip-record', 'skip-shard'"),
    "no remainder": ({"drop_remainder": "yes"}, "'pad'"),
    "no size": ({"memory_budget": "much"}, "'much' is not a size"),
    "small budget": ({"memory_budget": "10kB"}, "needs .* but the memory budget is"),
    "no window": ({"window": 0}, "window is 0; it must be an integer from 1"),
    "no size of a window": ({"window": "wide"}, "window: 'wide' is not a size"),
    "a window beyond the budget": ({"window": "1kB", "memory_budget": "2kB"}, "windows of 1.0 kB.* 2.0 kB"),
    "weights like a column": ({"drop_remainder": "pad", "weights": "number"}, "weights="),
}


@pytest.mark.parametrize("options, message", WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused_with_what_to_do(data, options, message):
    with pytest.raises(hr.Error, match=message) as caught:
        next(data.loader(**{"batch_size": 10, "columns": COLUMNS, **options}))
    assert caught.value.code in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")
    assert isinstance(caught.value, ValueError) == (caught.value.code == "INVALID_ARGUMENT")


def test_a_feature_of_another_type_is_named_with_what_was_found(data):
    with pytest.raises(hr.Error, match=r"number.*float32.*int64"):
        list(data.loader(batch_size=10, columns={"number": hr.float32}))
    with pytest.raises(hr.Error, match=r"vector.*4.*3"):
        list(data.loader(batch_size=10, columns={"vector": hr.float32[4]}))


def test_what_is_not_there_is_said(tmp_path, folder):
    with pytest.raises(hr.errors.NotFoundError, match="there is no dataset at"):
        hr.open(tmp_path / "nothing")
    with pytest.raises(hr.errors.InvalidArgumentError, match="file, memory, s3"):
        hr.open("gopher://bucket/data")
    with pytest.raises(ValueError, match="positive sizes"):
        hr.float32[0]
    with pytest.raises(ValueError, match="more than"):
        hr.float32[65536, 65536]
    with pytest.raises(ValueError, match="cannot be a default"):
        hr.int64.default(0.5)


# ---- how it is looked at


def test_stats_plot_and_trace_tell_where_the_time_goes(data):
    loader = data.loader(batch_size=100, epochs=2, columns=COLUMNS, trace=True)
    for _ in loader:
        pass
    stats = loader.stats()
    assert (stats.batches, stats.records) == (20, 2 * RECORDS)
    assert stats.fetched_bytes >= sum(len(tfrecords.frame(b"")) for _ in range(RECORDS))
    assert "2,000" in repr(stats) and "2,000" in stats._repr_html_()
    picture = xml.fromstring(loader.plot()._repr_svg_())
    assert "store" in "".join(picture.itertext())
    assert json.loads(loader.trace())["traceEvents"]
    assert "thread 0" in loader.activity()


def test_the_quality_of_a_shuffle_is_a_number(data):
    shuffled = data.loader(batch_size=100, columns=COLUMNS).shuffle_quality()
    stored = data.loader(batch_size=100, columns=COLUMNS, shuffle=False).shuffle_quality()
    assert 0.8 < shuffled.displacement < 1.2
    assert stored.displacement == 0
    assert stored.spread < 0.1 < shuffled.spread


@pytest.mark.parametrize("shuffle", [True, False, "exact"])
def test_parts_of_a_data_set_are_its_records(data, shuffle):
    parts = data.part(0, 700), data.part(700), data.part(700).part(-100), data.part(690, 710)
    expected = range(700), range(700, RECORDS), range(900, RECORDS), range(690, 710)
    for part, records in zip(parts, expected, strict=True):
        assert len(part) == len(records)
        seen = numbers(part.loader(batch_size=64, shuffle=shuffle, columns=["number"]))
        assert sorted(seen) == list(records)
        again = pickle.loads(pickle.dumps(part))
        assert numbers(again.loader(batch_size=64, shuffle=shuffle, columns=["number"])) == seen
    assert "700 to 1,000 of the 1,000 records in 4 shards" in repr(parts[1])
    mixed = hr.mix([(parts[1], 1), (parts[3], 1)], batch_size=10, columns=["number"])
    assert {*numbers(mixed)} <= {*range(690, RECORDS)}


def test_a_part_has_a_state_of_its_own_and_has_to_lie_in_the_data(data):
    state = data.part(0, 700).loader(batch_size=64, columns=["number"]).state()
    with pytest.raises(hr.errors.FailedPreconditionError, match="dataset or range"):
        data.part(0, 701).loader(batch_size=64, columns=["number"], state=state)
    for begin, end in ((0, RECORDS + 1), (RECORDS, None), (10, 10), (RECORDS + 1, None)):
        with pytest.raises(hr.errors.InvalidArgumentError, match="records 0 to 1000"):
            data.part(begin, end)


def test_a_part_is_of_the_data_set_as_it_was_opened(tmp_path):
    folder = tfrecords.write_numbered(tmp_path / "data", 50)
    data = hr.open(folder)
    tfrecords.write_numbered(tmp_path / "more", 30)
    for number, file in enumerate(sorted((tmp_path / "more").iterdir())):
        file.rename(folder / f"z{number}")
    parts = data.part(0, 40), data.part(40), data.part(10).part(5, 20)
    numbers = [
        [
            n
            for batch in part.loader(batch_size=8, shuffle=False, columns=["number"])
            for n in batch["number"].tolist()
        ]
        for part in parts
    ]
    assert numbers == [list(range(40)), list(range(40, 50)), list(range(15, 30))]
    for begin, end in ((-51, None), (0, -51), (0, 51)):
        with pytest.raises(hr.errors.InvalidArgumentError, match="the dataset has records 0 to 50"):
            data.part(begin, end)


def test_who_loops_after_the_last_epoch_is_told(data, caplog):
    loader = data.loader(batch_size=100, columns=["number"])
    assert len(list(loader)) > 0
    assert not caplog.records
    assert list(loader) == []
    assert "the 1 epochs of this loader are over" in caplog.text


def test_a_mixture_looks_at_the_columns_of_every_data_set(data, tmp_path):
    tfrecords.write(tmp_path / "other", [{"other": [1]}])
    other = hr.open(tmp_path / "other")
    with pytest.raises(hr.errors.InvalidArgumentError, match="has no feature number"):
        hr.mix({data: 1, other: 1}, batch_size=4, columns=["number"])
    with pytest.raises(TypeError, match="mix\\(\\) got an unexpected keyword argument 'bogus'"):
        hr.mix({data: 1}, batch_size=4, bogus=1)
    with pytest.raises(hr.errors.InvalidArgumentError, match="5 is not a URL"):
        hr.open(5)


def test_strings_can_be_masked(data):
    batch = next(data.loader(batch_size=8, columns=["id"]))
    strings, mask = batch["id"], np.arange(8) % 2 == 0
    assert strings[mask].tolist() == strings.tolist()[::2]
    assert strings[[3, 1]].tolist() == [strings[3], strings[1]]


def test_a_pass_is_not_held_up_by_one_that_waits(data):
    loader = data.loader(batch_size=1, columns=["number"], memory_budget="160kB", threads=1, epochs=None)
    held, failures = [], []

    def hold_all():
        try:
            held.extend(loader.pass_batches())
        except hr.errors.FailedPreconditionError as error:
            failures.append(str(error))

    thread = threading.Thread(target=hold_all)
    thread.start()
    while thread.is_alive() and (not loader.stats().held_batches or loader.stats().ready_batches):
        time.sleep(0.01)
    first = next(loader.pass_batches())  # of the same engine, which has no room: it gets one of its own
    thread.join()
    assert first["number"].tolist() == next(data.loader(batch_size=1, columns=["number"]))["number"].tolist()
    assert failures == ["another pass over this loader has begun; make a loader for each pass"]


def test_a_data_set_pickles_as_its_url(data):
    again = pickle.loads(pickle.dumps(data))
    assert (again.url, again.digest, len(again)) == (data.url, data.digest, len(data))


def test_importing_the_package_loads_nothing_heavy():
    script = "import sys, headrace; print(sorted({'numpy', 'keras', 'tensorflow'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- files without a manifest


def test_files_open_by_folder_name_pattern_and_list(folder):
    def order(url):
        return numbers(hr.open(url).loader(batch_size=100, shuffle=False, columns=COLUMNS))

    parts = [f"{folder}/part-{i:05}.tfrecord" for i in range(4)]
    assert order(folder) == list(range(RECORDS))
    assert order(parts[2]) == list(range(500, 750))
    assert order(f"{folder}/part-*1.tfrecord") == order([parts[1]]) == list(range(250, 500))
    assert order(f"file://{folder}/part-0000[0-2].tfrecord") == list(range(750))
    assert order([parts[3], parts[0]]) == [*range(750, 1000), *range(250)]
    assert order([f"{folder}/*[!012].tfrecord", f"{folder.parent}/**/part-00000.tf??????"]) == order(
        [parts[3], parts[0]]
    )


def test_files_that_are_not_there_are_named(folder):
    with pytest.raises(hr.errors.NotFoundError, match=r"part-x\*"):
        hr.open(f"{folder}/part-x*")
    with pytest.raises(hr.errors.NotFoundError, match=r"part-00009\.tfrecord"):
        hr.open([f"{folder}/part-00000.tfrecord", f"{folder}/part-00009.tfrecord"])
    with pytest.raises(hr.errors.InvalidArgumentError):
        hr.open([])


def test_a_cache_keeps_what_is_read(headrace, tmp_path):
    archive = kill_support.write_archive(tmp_path / "raw.tar.gz", kill_support.reviews(300))
    headrace("prepare", archive, tmp_path / "data", "--encoder", "hash:8")
    cache = f"file://{tmp_path}/cache?max=10MB"
    options = {"batch_size": 20, "seed": 1, "columns": ["label"]}
    labels = [
        np.concatenate([batch["label"] for batch in data.loader(**options)])
        for data in (hr.open(tmp_path / "data"), hr.open(tmp_path / "data", cache=cache))
    ]
    np.testing.assert_array_equal(*labels)
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()) > 1000
    with pytest.raises(hr.errors.InvalidArgumentError, match="cache"):
        hr.open(tmp_path / "data", cache=f"file://{tmp_path}/cache?least=1")


def test_a_data_set_in_s3_streams_too(headrace, tmp_path, s3_url):
    archive = kill_support.write_archive(tmp_path / "raw.tar.gz", kill_support.reviews(300))
    for place in (s3_url, str(tmp_path / "data")):
        headrace("prepare", archive, place, "--encoder", "hash:8")
    options = {"batch_size": 20, "seed": 1, "columns": ["id", "sentence"]}
    remote, local = (hr.open(place).loader(**options) for place in (s3_url, tmp_path / "data"))
    for there, here in zip(remote, local, strict=True):
        assert there["id"].tolist() == here["id"].tolist()
        np.testing.assert_array_equal(there["sentence"], here["sentence"])
    shards = hr.open(f"{s3_url}/test-*.tfrecord.gz")
    assert shards.shards[0].url.startswith(f"{s3_url}/test-")
    assert len(shards) == len(hr.open(s3_url, split="test"))
