"""prepare --append and --retry-failed: the next version of a dataset, of what is new or was rejected."""

import collections
import functools
import gzip
import json
import os
import pathlib
import random
import subprocess
import time

import published_support
import pytest
from prepared_support import examples, png, report
from test_order import siphash

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))


def write_table(path: pathlib.Path, rows) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("id,label,x\n" + "".join(f"{name},{label},{x}\n" for name, label, x in rows))


def days(*numbers: int, labels: str = "ab"):
    return [(f"{day}-{i}", labels[i % len(labels)], i) for day in numbers for i in range(60)]


@pytest.fixture
def run(headrace, tmp_path):
    """Prepares `tmp_path`/in into `tmp_path`/data; gives what the command answers."""

    def prepare(*options, source="in", to="data", **others):
        done = headrace("prepare", tmp_path / source, tmp_path / to, "--json", *options, **others)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    return prepare


def rows(folder, *splits) -> dict[bytes, tuple]:
    found = [row for split in splits for row in examples(folder, split)]
    assert len({row["id"][0] for row in found}) == len(found)
    return {row["id"][0]: (row["label"], row.get("x")) for row in found}


def totals(made) -> dict:
    counts = made["counts"]
    assert counts["in"] == sum(counts[name] for name in ("written", "rejected", "dropped", "ignored"))
    return counts


SPLITS = ("--split", "train=0.7,test=0.3")


def test_appended_tables_come_to_the_splits_of_one_that_was_prepared_whole(headrace, run, tmp_path):
    for day in (1, 2, 3):
        write_table(tmp_path / "in" / f"day{day}.csv", days(day))
    run(*SPLITS, to="whole")
    (tmp_path / "in" / "day2.csv").rename(tmp_path / "day2.csv")
    (tmp_path / "in" / "day3.csv").rename(tmp_path / "day3.csv")
    first = run(*SPLITS)
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir() if path.is_file()}
    for day in (2, 3):
        (tmp_path / f"day{day}.csv").rename(tmp_path / "in" / f"day{day}.csv")
        made = run("--append")
        assert made["manifest"] == 2 * day and totals(made)["written"] == 60 * day
    for split in ("train", "test"):
        assert rows(tmp_path / "data", split) == rows(tmp_path / "whole", split)
        assert made["splits"][split]["records"] == len(rows(tmp_path / "whole", split))
    assert all((tmp_path / "data" / name).read_bytes() == data for name, data in before.items())
    again = run("--append")
    assert again["was_published"] and again["manifest_digest"] == made["manifest_digest"]
    headrace("verify", tmp_path / "data")
    assert first["manifest_digest"] != made["manifest_digest"]
    other = run("--overwrite", "--append", check=False)
    assert "exclude each other" in other
    assert "repeats the earlier settings" in run("--append", *SPLITS, check=False)


def thousandth(name: str, seed: int) -> int:
    """By docs/formats/plan.md, "Order of records, and shards", and docs/formats/order.md."""
    return siphash((seed, 0x6F72646572206964), name.encode()) * 1000 >> 64


def test_appending_moves_no_record_between_training_and_validation(run, tmp_path):
    import headrace as hr

    def ids(part) -> set[int]:
        loader = part.loader(batch_size=64, shuffle=False, columns={"x": hr.int64})
        return {int(x) for batch in loader for x in batch["x"]}

    def add(begin: int, end: int) -> None:
        rows = [(f"a{x}", "ab"[x % 2], x) for x in range(begin, end)]
        write_table(tmp_path / "in" / f"{begin}.csv", rows)
        run(*(("--append",) if begin else ("--shard-records", "150", "--seed", "44")))

    seen, held_out = set(), set()
    for begin, end in ((0, 500), (500, 520), (520, 2000)):
        add(begin, end)
        train, validation = map(ids, hr.open(str(tmp_path / "data")).hold_out(0.2))
        assert validation == {x for x in range(end) if thousandth(f"a{x}", 44) >= 800}
        assert train == set(range(end)) - validation
        assert validation & seen == held_out
        seen, held_out = train | validation, validation
    prefix = ids(hr.open(str(tmp_path / "data")).part(0, 400))
    assert 60 < sum(x < 500 for x in prefix) < 140, "a part is a random sample"


def test_a_state_of_version_1_of_the_order_continues_by_it(run, tmp_path):
    import headrace as hr

    write_table(tmp_path / "in" / "1.csv", days(1, 2))
    run("--shard-records", "40")
    write_table(tmp_path / "in" / "3.csv", days(3))
    run("--append")
    data = hr.open(str(tmp_path / "data"))
    make = functools.partial(data.loader, batch_size=16, columns={"id": hr.bytes_}, seed=3)

    def batches(loader) -> list[list[bytes]]:
        return [list(batch["id"]) for batch in loader]

    first = batches(make(order=1))
    assert first != batches(make()) and sorted(sum(first, [])) == sorted(sum(batches(make()), []))
    loader = make(order=1, rank=0, world_size=1)
    assert [next(loader), next(loader)]
    state = loader.state()
    assert json.loads(state)["order"] == 1
    assert batches(make(state=state)) == first[2:]
    with pytest.raises(hr.errors.FailedPreconditionError, match="order=1"):
        make().step_of(state)
    with pytest.raises(hr.errors.UnimplementedError, match="install a newer one"):
        make(state=state.replace(b'"order":1', b'"order":9'))
    with pytest.raises(hr.errors.InvalidArgumentError, match="order"):
        make(order=4)


@pytest.mark.parametrize("share", [0, 1, -0.1, "0.1", 0.9999])
def test_nothing_is_held_out_where_a_part_would_be_empty(run, tmp_path, share):
    import headrace as hr

    write_table(tmp_path / "in" / "1.csv", days(1))
    run()
    data = hr.open(str(tmp_path / "data"))
    with pytest.raises(hr.errors.InvalidArgumentError, match="share"):
        data.hold_out(share)
    with pytest.raises(hr.errors.InvalidArgumentError, match="needs the whole"):
        data.part(0, 9).hold_out(0.5)


def test_the_manifest_counts_the_thousandths_of_each_shard(run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1, 2))
    run("--shard-records", "40")
    write_table(tmp_path / "in" / "3.csv", days(3))
    run("--append")
    published = published_support.manifest(tmp_path / "data")
    document = json.loads(published.read_text())
    counted = collections.Counter()
    for part in (part for part in document["parts"] if part["role"] == "shard"):
        first, *counts = part["thousandths"]
        assert sum(counts) == part["records"] and counts[0] and counts[-1]
        counted.update({first + i: count for i, count in enumerate(counts) if count})
    seed = document["attributes"]["seed"]
    assert counted == collections.Counter(thousandth(name, seed) for name, *_ in days(1, 2, 3))


def test_new_labels_come_after_those_that_were_there(run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1, labels="bd"))
    assert run()["vocabularies"] == {"label": ["b", "d"]}
    write_table(tmp_path / "in" / "2.csv", days(2, labels="abcd"))
    made = run("--append")
    assert made["labels"] == ["b", "d", "a", "c"]
    by_label = collections.Counter(label[0] for label, _ in rows(tmp_path / "data", "train").values())
    assert by_label == {0: 45, 1: 45, 2: 15, 3: 15}
    assert made["splits"]["train"]["labels"] == {"a": 15, "b": 45, "c": 15, "d": 45}


def test_a_new_value_of_a_one_hot_label_is_refused(run, tmp_path):
    (tmp_path / "s.toml").write_text('[features.label]\ntype = "label"\none_hot = true\n')
    write_table(tmp_path / "in" / "1.csv", days(1))
    run("--schema", tmp_path / "s.toml")
    write_table(tmp_path / "in" / "2.csv", days(2, labels="abc"))
    assert 'has the new value "c", but is one-hot with 2 places' in run("--append", check=False)


def test_a_file_that_changed_cannot_be_appended(run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1))
    run()
    write_table(tmp_path / "in" / "1.csv", days(1, 2))
    message = run("--append", check=False)
    assert "in/1.csv has changed since it was read" in message and "--overwrite" in message


def test_nothing_to_append_to(run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1))
    assert "no dataset is published at" in run("--append", check=False)


def add_image(folder: pathlib.Path, label: str, number: int) -> None:
    (folder / label).mkdir(parents=True, exist_ok=True)
    (folder / label / f"{number}.png").write_bytes(png((number, 0, 0)))


def test_images_that_came_into_a_folder_are_appended(run, tmp_path):
    for number in range(20):
        add_image(tmp_path / "in", "ab"[number % 2], number)
    (tmp_path / "in" / "README").write_text("about it")
    (tmp_path / "in" / "a" / "broken.png").write_bytes(b"no image")
    made = run("--max-rejects", "1")
    assert made["counts"] == {"in": 22, "written": 20, "rejected": 1, "dropped": 0, "ignored": 1}
    for number in range(20, 50):
        add_image(tmp_path / "in", "abc"[number % 3], number)
    made = run("--append")
    assert made["counts"] == {"in": 52, "written": 50, "rejected": 1, "dropped": 0, "ignored": 1}
    assert made["labels"] == ["a", "b", "c"] and made["manifest"] == 4
    assert len(rows(tmp_path / "data", "train")) == 50
    add_image(tmp_path / "in", "a", 0)  # the same bytes, written again
    assert "has changed since it was read" in run("--append", check=False)


def test_what_has_no_readable_name_is_not_read_again(run, tmp_path):
    add_image(tmp_path / "in", "a", 1)
    add_image(tmp_path / "in", "b", 2)
    odd = os.fsencode(tmp_path / "in" / "a") + b"/\xff.png"
    with open(odd, "wb") as file:
        file.write(png((3, 0, 0)))
    assert run("--max-rejects", "1")["reasons"] == {"path is not UTF-8": 1}
    add_image(tmp_path / "in", "b", 4)
    made = run("--append")
    assert made["reasons"] == {"path is not UTF-8": 1} and made["counts"]["written"] == 3


@pytest.fixture
def pictures(tmp_path):
    """A table of forty images by URI, of which those from 30 on are not there, and one is broken."""
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [f"{i},{i}.png,{'ab'[i % 2]}\n" for i in range(40)]
    (folder / "table.csv").write_text("id,image_uri,label\n" + "".join(lines))
    for number in range(30):
        (folder / f"{number}.png").write_bytes(png((number, 0, 0)))
    (folder / "7.png").write_bytes(b"no image")
    return folder


def test_failed_rows_alone_are_retried(headrace, run, tmp_path, pictures):
    made = run("--max-rejects", "11", source="in/table.csv")
    assert totals(made)["written"] == 29 and made["reasons"]["not there"] == 10
    for number in range(30, 36):
        (pictures / f"{number}.png").write_bytes(png((number, 0, 0)))
    made = run("--retry-failed", source="in/table.csv")
    assert made["manifest"] == 4
    assert totals(made)["written"] == 35 and made["counts"]["rejected"] == 5 and made["counts"]["in"] == 40
    assert made["reasons"]["not there"] == 4 and sum(made["reasons"].values()) == 5
    for number in (7, 36, 37, 38, 39):
        (pictures / f"{number}.png").write_bytes(png((number, 0, 0)))
    made = run("--retry-failed", source="in/table.csv")
    assert made["counts"] == {"in": 40, "written": 40, "rejected": 0, "dropped": 0, "ignored": 0}
    assert made["reasons"] == {} and made["manifest"] == 6
    assert sorted(map(int, rows(tmp_path / "data", "train"))) == list(range(40))
    again = run("--retry-failed", source="in/table.csv")
    assert again["was_published"] and again["manifest"] == 6
    latest = {line["id"]: line["status"] for line in report(tmp_path / "data") if line["status"] == "written"}
    assert len(latest) == 11
    headrace("verify", tmp_path / "data")


def test_rows_of_a_table_that_changed_cannot_be_retried(run, tmp_path):
    def write(bad: str):
        lines = [f"n{i},{bad if i == 3 else i},a{i % 2}\n" for i in range(10)]
        (tmp_path / "table.csv").write_text("id,x,label\n" + "".join(lines))

    schema = 'id = "id"\n[features.x]\ntype = "int64"\n[features.label]\ntype = "label"\n'
    (tmp_path / "s.toml").write_text(schema)
    write("bad")
    made = run("--schema", tmp_path / "s.toml", "--max-rejects", "1", source="table.csv")
    assert made["counts"]["rejected"] == 1
    write("777")
    assert "has changed since it was read" in run("--retry-failed", source="table.csv", check=False)
    write_table(tmp_path / "in" / "other.csv", days(1))
    assert "no file of" in run("--retry-failed", check=False)


def test_rows_of_an_id_that_another_has_are_not_retried(run, tmp_path):
    for name, value in (("1.csv", "1"), ("2.csv", "2")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(f"id,label,x\nr1,a,{value}\nr{name[0]}0,b,{value}\n")
    (tmp_path / "s.toml").write_text('id = "id"\n[features.x]\ntype = "int64"\n')
    made = run("--schema", tmp_path / "s.toml", "--max-rejects", "1")
    assert made["counts"]["written"] == 3 and made["reasons"] == {"the id occurs twice": 1}
    again = run("--retry-failed")
    assert again["was_published"] and again["counts"] == made["counts"] and again["manifest"] == 2


def test_a_rejected_row_is_told_from_a_written_one_of_its_id(run, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("id,label,x\nr1,a,1\nr2,b,2\n")
    (tmp_path / "s.toml").write_text('id = "id"\n[features.x]\ntype = "int64"\n')
    run("--schema", tmp_path / "s.toml")
    (tmp_path / "in" / "2.csv").write_text("id,label,x\nr1,a,\nr3,b,3\n")
    made = run("--append", "--max-rejects", "1")
    assert made["counts"] == {"in": 4, "written": 3, "rejected": 1, "dropped": 0, "ignored": 0}
    again = run("--retry-failed")  # it fails as before
    assert again["manifest"] == 4 and again["counts"] == made["counts"]


def test_what_does_not_apply_is_refused(run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1))
    run()
    for option in (("--sample", "0.1"), ("--seed", "9"), ("--compression", "none"), ("--shard-records", "7")):
        assert "repeats the earlier settings" in run("--append", *option, check=False)
    assert "is not for --runner store" in run("--retry-failed", "--runner", "store", check=False)


def test_processes_that_append_together_have_one_plan(headrace, run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1))
    run()
    write_table(tmp_path / "in" / "2.csv", days(2))
    headrace("plan", tmp_path / "in", tmp_path / "data", "--append")
    write_table(tmp_path / "in" / "3.csv", days(3))
    message = run("--append", "--runner", "store", check=False)
    assert "input version was" in message and "headrace plan --append" in message
    headrace("plan", tmp_path / "in", tmp_path / "data", "--append")
    made = run("--append", "--runner", "store")
    assert made["manifest"] == 5 and made["counts"]["written"] == 180
    late = run("--append", "--runner", "store")
    assert late["was_published"] and late["manifest_digest"] == made["manifest_digest"]
    assert "--append" in run(check=False)


def test_objects_of_a_folder_are_retried_in_the_version_that_is_there_now(run, tmp_path):
    for number in range(10):
        add_image(tmp_path / "in", "ab"[number % 2], number)
    for name in ("x.png", "y.png"):
        (tmp_path / "in" / "a" / name).write_bytes(b"no image")
    assert run("--max-rejects", "2")["counts"]["rejected"] == 2
    (tmp_path / "in" / "a" / "x.png").write_bytes(png((200, 0, 0)))
    made = run("--retry-failed")
    assert made["counts"] == {"in": 12, "written": 11, "rejected": 1, "dropped": 0, "ignored": 0}
    add_image(tmp_path / "in", "b", 100)  # what was retried is known in its new version
    made = run("--append")
    assert made["counts"] == {"in": 13, "written": 12, "rejected": 1, "dropped": 0, "ignored": 0}


def test_several_processes_append_the_same_bytes(headrace, run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1))
    for to in ("data", "shared"):
        run("--slice-size", "1kB", to=to)
    for day in range(2, 8):
        write_table(tmp_path / "in" / f"{day}.csv", days(day, labels="abc"))
    made = run("--append")
    headrace("plan", tmp_path / "in", tmp_path / "shared", "--append")
    headrace("execute", tmp_path / "shared", "--workers", "3")
    published = json.loads(headrace("publish", tmp_path / "shared", "--json").stdout)
    assert published["counts"] == made["counts"] and published["manifest"] == 4
    assert rows(tmp_path / "shared", "train") == rows(tmp_path / "data", "train")
    again = json.loads(headrace("publish", tmp_path / "shared", "--json").stdout)
    assert again["was_published"] and again["manifest_digest"] == published["manifest_digest"]


def execute_without_records(headrace, data: pathlib.Path, tmp_path: pathlib.Path) -> dict:
    """Executes each task of a plan while what the base says of its input and rejects is not there, and
    publishes."""
    aside = tmp_path / "aside"
    aside.mkdir()
    records = [*data.glob("_headrace/inputs/*"), *data.glob("_headrace/report/*")]
    assert records
    for path in records:
        path.rename(aside / f"{path.parent.name}-{path.name}")
    for left in ("unread", "undone"):
        tasks = json.loads(headrace("execute", data, "--list", "--json").stdout)[left]
        assert tasks
        for task in tasks:
            headrace("execute", data, "--task", task)
    for path in records:
        (aside / f"{path.parent.name}-{path.name}").rename(path)
    aside.rmdir()
    return json.loads(headrace("publish", data, "--json").stdout)


def test_tasks_do_not_read_all_that_was_read_or_rejected(headrace, run, tmp_path, pictures):
    run("--max-rejects", "11", source="in/table.csv")
    for number in range(30, 36):
        (pictures / f"{number}.png").write_bytes(png((number, 0, 0)))
    headrace("plan", pictures / "table.csv", tmp_path / "data", "--retry-failed")
    made = execute_without_records(headrace, tmp_path / "data", tmp_path)
    assert made["counts"] == {"in": 40, "written": 35, "rejected": 5, "dropped": 0, "ignored": 0}
    for number in range(4):
        add_image(tmp_path / "images", "ab"[number % 2], number)
    (tmp_path / "images" / "a" / "x.png").write_bytes(b"no image")
    run("--max-rejects", "1", source="images", to="folder")
    (tmp_path / "images" / "a" / "x.png").write_bytes(png((200, 0, 0)))
    headrace("plan", tmp_path / "images", tmp_path / "folder", "--retry-failed")
    made = execute_without_records(headrace, tmp_path / "folder", tmp_path)
    assert made["counts"]["written"] == 5 and made["counts"]["rejected"] == 0
    add_image(tmp_path / "images", "b", 100)
    headrace("plan", tmp_path / "images", tmp_path / "folder", "--append")
    made = execute_without_records(headrace, tmp_path / "folder", tmp_path)
    assert made["counts"] == {"in": 6, "written": 6, "rejected": 0, "dropped": 0, "ignored": 0}


@pytest.mark.exhaustive
def test_killed_while_appending(headrace, build, run, tmp_path):
    write_table(tmp_path / "in" / "1.csv", days(1))
    run()
    for day in range(2, 30):
        write_table(tmp_path / "in" / f"{day}.csv", [(f"{day}-{i}", "ab"[i % 2], i) for i in range(2000)])
    draw = random.Random(SEED)
    command = [build / "bin" / "headrace", "prepare", tmp_path / "in", tmp_path / "data", "--append"]
    for _ in range(8):
        process = subprocess.Popen(
            [*map(str, command), "--memory", "0", "--quiet"],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        time.sleep(draw.uniform(0.01, 0.4))
        process.kill()
        process.wait()
    made = run("--append", "--memory", "0")
    assert made["counts"]["written"] == 60 + 28 * 2000 and made["manifest"] == 4
    assert len(rows(tmp_path / "data", "train")) == 60 + 28 * 2000
    lines = [gzip.decompress(part.read_bytes()) for part in (tmp_path / "data").glob("_headrace/inputs/*")]
    assert sum(part.count(b"\n") for part in lines) == 29
