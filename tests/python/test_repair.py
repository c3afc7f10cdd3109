"""headrace repair: the bytes of any missing or damaged part come back, or the answer says why not."""

import io
import json
import pathlib
import shutil
import tarfile

import kill_support
import published_support
import pytest
from prepared_support import png

SCHEMA = """
split = "split"

[features.image]
type = "image"
column = "image"
uri = true

[features.label]
type = "label"
vocabulary = ["cat", "dog", "cow"]

[features.text]
type = "string"
"""


def write_table(folder: pathlib.Path, name: str, rows: range) -> None:
    """Images by reference, labels of a vocabulary, and a row whose label is not in it."""
    lines = ["id,split,label,text,image"]
    for row in rows:
        image = folder / "images" / f"{row % 5}.png"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(png((row % 5, 2, 3)))
        label = "unicorn" if row % 20 == 19 else ["cat", "dog"][row % 2]
        lines.append(
            f"{name}-{row},{'test' if row % 4 == 3 else 'train'},{label},text {row},images/{row % 5}.png"
        )
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def prepare(headrace, source: str, to: str, *options: str) -> None:
    headrace("prepare", source, to, "--max-rejects", "50%", *options)


@pytest.fixture
def raw(tmp_path) -> pathlib.Path:
    folder = tmp_path / "raw"
    for name in ("a", "b"):
        write_table(folder, name, range(40))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return folder


@pytest.fixture
def dataset(headrace, raw, tmp_path) -> pathlib.Path:
    """Two versions: `c.csv` was appended."""
    options = ["--schema", tmp_path / "schema.toml", "--shard-records", "12", "--slice-size", "1"]
    prepare(headrace, raw, tmp_path / "data", "--layout", "csv", *options)
    write_table(raw, "c", range(100, 140))
    prepare(headrace, raw, tmp_path / "data", "--layout", "csv", "--append")
    return tmp_path / "data"


def parts(folder: pathlib.Path) -> dict[str, str]:
    """Key → role, of the latest version."""
    return {
        part["key"]: part["role"]
        for part in json.loads(published_support.manifest(folder).read_bytes())["parts"]
    }


def repair(headrace, folder, *options: str) -> dict:
    done = headrace("repair", folder, "--json", *options, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["ok"] else 1), done.stderr
    return answer


def damage(path: pathlib.Path) -> None:
    """The same size, other bytes."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_whole_dataset_is_left_as_it_is(headrace, dataset):
    before = kill_support.objects_below(dataset)
    answer = repair(headrace, dataset)
    assert (answer["repaired"], answer["lost"]) == ([], [])
    assert answer["parts"] == len(parts(dataset))
    assert kill_support.objects_below(dataset) == before


@pytest.mark.parametrize("harm", [pathlib.Path.unlink, damage, lambda path: path.write_bytes(b"short")])
def test_any_one_part_comes_back(headrace, dataset, harm):
    before = kill_support.objects_below(dataset)
    roles = parts(dataset)
    assert set(roles.values()) == {"shard", "index", "inputs", "report"}
    one_of_each = {}
    for key, role in roles.items():
        one_of_each.setdefault((role, key.rsplit("-", 1)[-1], key.split("-")[1]), key)
    for key in one_of_each.values():
        harm(dataset / key)
        planned = repair(headrace, dataset, "--dry-run")
        assert [part["url"] for part in planned["repairable"]] == [(dataset / key).as_uri()]
        assert (dataset / key).exists() == (harm is not pathlib.Path.unlink)
        answer = repair(headrace, dataset)
        assert [part["url"] for part in answer["repaired"]] == [(dataset / key).as_uri()]
        assert kill_support.objects_below(dataset) == before, key
    headrace("verify", dataset)


def test_all_parts_at_once_come_back(headrace, raw, tmp_path):
    data = tmp_path / "data"
    prepare(
        headrace, raw, data, "--layout", "csv", "--schema", tmp_path / "schema.toml", "--shard-records", "12"
    )
    before = kill_support.objects_below(data)
    keys = list(parts(data))
    for number, key in enumerate(keys):
        if number % 2:
            damage(data / key)
        else:
            (data / key).unlink()
    answer = repair(headrace, data)
    assert len(answer["repaired"]) == len(keys)
    assert kill_support.objects_below(data) == before


def archive_of_reviews(folder: pathlib.Path) -> list:
    kill_support.write_archive(folder / "reviews.tar.gz", kill_support.reviews(60))
    return [folder / "reviews.tar.gz", "--encoder", "hash:16"]


def tars_of_samples(folder: pathlib.Path) -> list:
    (folder / "tars").mkdir()
    for number in range(2):
        with tarfile.open(folder / "tars" / f"{number:05d}.tar", "w") as tar:
            for name in (f"{number}{i:03d}.{ending}" for i in range(20) for ending in ("txt", "cls")):
                content = name.encode() if name.endswith("txt") else b"1"
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return [folder / "tars"]


def rows_of_a_map(folder: pathlib.Path) -> list:
    (folder / "louder.py").write_text('def louder(row):\n    return row | {"text": row["text"].upper()}\n')
    lines = ["text,label", *(f"text {i},{'ab'[i % 2]}" for i in range(60))]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return [folder / "table.csv", "--map", f"{folder / 'louder.py'}:louder"]


@pytest.mark.parametrize("make_input", [archive_of_reviews, tars_of_samples, rows_of_a_map])
def test_parts_come_back_from_inputs_of_every_kind(headrace, tmp_path, make_input):
    data = tmp_path / "data"
    source, *options = make_input(tmp_path)
    headrace("prepare", source, data, "--shard-records", "12", *options)
    before = kill_support.objects_below(data)
    keys = list(parts(data))
    for key in keys[:: max(1, len(keys) // 5)]:
        (data / key).unlink()
        assert repair(headrace, data)["lost"] == []
        assert kill_support.objects_below(data) == before, key


def test_parts_in_buckets_come_back(headrace, raw, tmp_path, s3_url):
    headrace("cp", "-r", raw, f"{s3_url}/raw")
    data = f"{s3_url}/data"
    prepare(
        headrace,
        f"{s3_url}/raw",
        data,
        "--layout",
        "csv",
        "--schema",
        tmp_path / "schema.toml",
        "--shard-records",
        "12",
    )
    before = kill_support.s3_objects(data)
    for number, name in enumerate(sorted(name for name in before if "manifest-" not in name)):
        if number % 2:
            headrace("rm", "--yes", f"{data}/{name}")
        else:
            (tmp_path / "other").write_bytes(b"x" * len(before[name]))
            headrace("cp", tmp_path / "other", f"{data}/{name}")
    headrace("repair", data)
    assert kill_support.s3_objects(data) == before
    headrace("verify", data)


def test_folders_of_images_that_have_grown_are_repaired(headrace, tmp_path):
    def write(numbers: range) -> None:
        for number in numbers:
            image = tmp_path / "raw" / "train" / ["cat", "dog"][number % 2] / f"{number}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            image.write_bytes(png((number, 1, 2)))

    data = tmp_path / "data"
    write(range(30))
    headrace("prepare", tmp_path / "raw", data)
    write(range(30, 50))
    headrace("prepare", tmp_path / "raw", data, "--append")
    write(range(50, 60))  # nobody has read these yet
    before = kill_support.objects_below(data)
    for key in parts(data):
        if "inputs" not in key:  # these tell what had been read
            (data / key).unlink()
    repair(headrace, data)
    assert kill_support.objects_below(data) == before


def test_what_a_version_has_read_is_told_from_what_came_later_even_without_its_record(headrace, raw, dataset):
    before = kill_support.objects_below(dataset)
    roles = parts(dataset)
    lost = [key for key, role in roles.items() if role == "inputs"][0]
    (dataset / lost).unlink()
    assert repair(headrace, dataset)["ok"]
    assert kill_support.objects_below(dataset) == before

    (dataset / lost).unlink()
    write_table(raw, "d", range(10))  # which no version has read
    (why,) = (part["why"] for part in repair(headrace, dataset)["lost"])
    assert "raw has changed since it was read" in why and lost in why


def test_an_input_that_is_gone_or_changed_is_named_and_nothing_else_is_touched(headrace, raw, dataset):
    shard, report = (
        next(key for key, role in parts(dataset).items() if role == wanted) for wanted in ("shard", "report")
    )
    (dataset / shard).unlink()
    damage(dataset / report)
    before = kill_support.objects_below(dataset)
    table = (raw / "a.csv").read_text()

    (raw / "a.csv").unlink()
    answer = repair(headrace, dataset)
    assert len(answer["lost"]) == 2
    assert all("a.csv has been removed" in part["why"] for part in answer["lost"]), answer["lost"]
    assert kill_support.objects_below(dataset) == before

    (raw / "a.csv").write_text(table + "x,train,cat,more,images/0.png\n")
    answer = repair(headrace, dataset)
    assert all("a.csv has changed" in part["why"] for part in answer["lost"]), answer["lost"]
    assert kill_support.objects_below(dataset) == before

    (raw / "a.csv").write_text(table.replace("text 1,", "tExt 1,"))  # the same size
    answer = repair(headrace, dataset)
    assert kill_support.objects_below(dataset).keys() <= before.keys() | {shard}
    for part in answer["lost"]:
        assert "its sources have changed since" in part["why"] and "a.csv" in part["why"]


def test_an_input_that_was_restored_is_as_good_as_it_was(headrace, raw, dataset):
    """Its version in the store is another, its bytes are the same."""
    before = kill_support.objects_below(dataset)
    for key, role in parts(dataset).items():
        if role == "shard":
            (dataset / key).unlink()
    tables = {path: path.read_bytes() for path in raw.glob("*.csv")}
    for path, data in tables.items():
        path.unlink()
        path.write_bytes(data)
    answer = repair(headrace, dataset)
    lost = {part["url"] for part in answer["lost"]}
    assert all("continue" in part["why"] or "changed" in part["why"] for part in answer["lost"])
    for key, data in before.items():
        if (dataset / key).as_uri() not in lost:
            assert (dataset / key).read_bytes() == data


def test_an_index_needs_only_its_shard(headrace, raw, dataset):
    before = kill_support.objects_below(dataset)
    for key, role in parts(dataset).items():
        if role == "index":
            (dataset / key).unlink()
    shutil.rmtree(raw)
    assert repair(headrace, dataset)["ok"]
    assert kill_support.objects_below(dataset) == before


def test_a_damaged_manifest_is_named(headrace, dataset):
    damage(published_support.manifests(dataset)[0])
    answer = repair(headrace, dataset)
    assert [part["role"] for part in answer["lost"]] == ["manifest"]


def test_verify_names_the_command(headrace, dataset):
    (dataset / next(iter(parts(dataset)))).unlink()
    assert f"headrace repair {dataset}" in headrace("verify", dataset, check=False).stderr
