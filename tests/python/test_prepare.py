"""prepare: tables, images and records of every kind become datasets that TensorFlow reads."""

import csv
import gzip
import io
import json
import pathlib
import random
import tarfile

import pytest
from prepared_support import examples, png, report

SEED = 44


@pytest.fixture
def prepare(headrace, tmp_path):
    """Prepares `source`; gives the folder and what the command answered."""

    def run(source, *options, name: str = "data"):
        done = headrace("prepare", source, tmp_path / name, "--json", *options)
        return tmp_path / name, json.loads(done.stdout)

    return run


@pytest.fixture
def people(tmp_path) -> pathlib.Path:
    """A table with a split, a label, numbers, a text with every trouble, and a missing cell."""
    path = tmp_path / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["name", "split", "label", "age", "height", "scores"])
        for i in range(300):
            split = "TRAIN" if i % 3 else "TEST"
            name = f'person "{i}",\nof Zürich' if i % 7 == 0 else f"person {i}"
            height = "" if i == 5 else 1.5 + i / 1000
            table.writerow([name, split, ["cat", "dog"][i % 2], i, height, f"[{i} {i + 1} {i + 2}]"])
    return path


def test_a_table_without_a_schema_gets_the_one_its_rows_tell(headrace, prepare, people):
    data, made = prepare(people)
    assert made["counts"] == {"in": 300, "written": 300, "rejected": 0, "dropped": 0, "ignored": 0}
    assert made["splits"]["train"] == {"records": 200, "labels": {"cat": 100, "dog": 100}}
    assert made["labels"] == ["cat", "dog"]
    rows = sorted(examples(data, "train") + examples(data, "test"), key=lambda row: row["age"])
    assert len(rows) == 300
    assert rows[7]["name"] == ['person "7",\nof Zürich'.encode()]
    assert rows[7]["label"] == [1] and rows[7]["scores"] == [7, 8, 9]
    assert "height" not in rows[5] and rows[6]["height"] == [pytest.approx(1.506)]
    shown = headrace("prepare", people, data, "--print-schema").stdout
    assert '[features.label]\ntype = "label"' in shown and 'split = "split"' in shown


def test_a_pattern_names_the_tables_of_a_folder(headrace, prepare, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"n\n{number}\n")
    (tmp_path / "3.txt").write_text("no table")
    data, made = prepare(f"{tmp_path}/[01]*.csv")
    assert made["counts"]["written"] == 2
    assert sorted(row["n"][0] for row in examples(data, "train")) == [0, 1]
    refused = headrace("prepare", f"{tmp_path}/*.tsv", data, check=False)
    assert refused.returncode == 1 and "*.tsv" in refused.stderr


def test_the_printed_schema_gives_the_same_records(headrace, prepare, people, tmp_path):
    inferred, _ = prepare(people)
    (tmp_path / "people.toml").write_text(headrace("prepare", people, "x", "--print-schema").stdout)
    named, _ = prepare(people, "--schema", tmp_path / "people.toml", name="named")
    assert examples(named, "train") == examples(inferred, "train")


def test_gzip_tsv_and_lines_of_json_give_the_records_of_the_table(prepare, people, tmp_path):
    rows = list(csv.DictReader(people.open(newline="", encoding="utf-8")))
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(people.read_bytes()))
    with (tmp_path / "people.tsv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0], delimiter="\t")
        table.writeheader()
        table.writerows(rows)
    with (tmp_path / "people.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            row = {**row, "age": int(row["age"]), "scores": json.loads(row["scores"].replace(" ", ","))}
            row["height"] = float(row["height"]) if row["height"] else None
            file.write(json.dumps(row) + "\n")

    def content(path, name):
        folder, _ = prepare(path, name=name)
        return sorted((examples(folder, "train")), key=lambda row: row["age"])

    expected = content(people, "csv")
    for kind in ("csv.gz", "tsv", "jsonl"):
        assert content(tmp_path / f"people.{kind}", kind) == expected, kind


def test_workers_and_memory_do_not_change_a_byte(headrace, people, tmp_path):
    def shards(name, *options):
        headrace("prepare", people, tmp_path / name, "--shard-records", "20", *options)
        return {path.name: path.read_bytes() for path in (tmp_path / name).rglob("t*-of-*")}

    expected = shards("one", "--workers", "1")
    assert len(expected) > 20
    assert shards("seven", "--workers", "7", "--memory", "0") == expected


def test_splits_by_hash_stay_when_data_grow_and_samples_are_nested(prepare, tmp_path):
    def members(name, source, *options):
        folder, _ = prepare(
            source, "--split", "train=0.6,test=0.4", *options, "--schema", tmp_path / "s.toml", name=name
        )
        return {split: {row["age"][0] for row in examples(folder, split)} for split in ("train", "test")}

    (tmp_path / "s.toml").write_text('id = "name"\n[features.age]\ntype = "int64"\n')
    small = tmp_path / "small.csv"
    small.write_text("name,age\n" + "".join(f"person {i},{i}\n" for i in range(200)))
    large = tmp_path / "large.csv"
    large.write_text("name,age\n" + "".join(f"person {i},{i}\n" for i in reversed(range(400))))
    few, many = members("few", small), members("many", large)
    assert few["train"] <= many["train"] and few["test"] <= many["test"]
    tenth = members("tenth", large, "--sample", "0.2")
    half = members("half", large, "--sample", "0.5")
    for split in ("train", "test"):
        assert tenth[split] < half[split] < many[split]


def test_rows_of_a_group_come_to_one_split(prepare, tmp_path):
    table = tmp_path / "scans.csv"
    table.write_text("scan,patient\n" + "".join(f"{i},p{i % 37}\n" for i in range(1000)))
    schema = tmp_path / "scans.toml"
    schema.write_text(
        'id = "scan"\ngroup = "patient"\n[splits]\ntrain = 0.5\ntest = 0.5\n'
        '[features.patient]\ntype = "string"\n'
    )
    data, _ = prepare(table, "--schema", schema)
    patients = {split: {row["patient"][0] for row in examples(data, split)} for split in ("train", "test")}
    assert not patients["train"] & patients["test"]
    assert len(patients["train"] | patients["test"]) == 37


def test_an_image_folder_is_kept_or_resized(prepare, tmp_path):
    import tensorflow as tf

    for split, count in (("train", 12), ("validation", 4)):
        for label, color in (("cats", (250, 10, 10)), ("dogs", (10, 250, 10))):
            for i in range(count):
                path = tmp_path / "raw" / split / label / f"{label}.{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(color, (20 + i, 30)))
    (tmp_path / "raw/train/cats/.DS_Store").write_bytes(b"x")
    kept, made = prepare(tmp_path / "raw")
    assert made["splits"]["train"]["labels"] == {"cats": 12, "dogs": 12}
    assert made["counts"]["ignored"] == 1 and made["labels"] == ["cats", "dogs"]
    for row in examples(kept, "train") + examples(kept, "validation"):
        assert row["image"] == [(tmp_path / "raw" / row["id"][0].decode()).read_bytes()]
        assert row["label"] == [1 if b"dogs" in row["id"][0] else 0]
    resized, _ = prepare(
        tmp_path / "raw", "--resize", "15x10", "--image-format", "png", "--report", "all", name="resized"
    )
    lines = report(resized)
    assert len(lines) == 32
    assert {(line["status"], line["height"], line["width"], line["channels"]) for line in lines} == {
        ("written", 15, 10, 3)
    }
    for row in examples(resized, "validation"):
        pixels = tf.io.decode_image(row["image"][0]).numpy()
        assert pixels.shape == (15, 10, 3)
        assert (pixels[0, 0] == ((10, 250, 10) if row["label"] == [1] else (250, 10, 10))).all()


@pytest.mark.slow
def test_images_by_url_come_from_any_store_each_with_its_verdict(headrace, prepare, s3_url, tmp_path):
    (tmp_path / "raw").mkdir()
    for i in range(40):
        (tmp_path / f"raw/{i}.png").write_bytes(png((i, 2 * i, 3 * i)))
    (tmp_path / "raw/cut.png").write_bytes(png((1, 2, 3))[:20])
    (tmp_path / "raw/empty.png").write_bytes(b"")
    headrace("cp", "-r", tmp_path / "raw", f"{s3_url}/raw")
    rows = [f"TRAIN,{s3_url}/raw/{i}.png,{'cat' if i % 2 else 'dog'}" for i in range(20)]
    rows += [f"VALIDATION,raw/{i}.png,{'cat' if i % 2 else 'dog'}" for i in range(20, 40)]
    rows += [
        "TRAIN,raw/none.png,cat",
        "TRAIN,raw/cut.png,cat",
        "DISCARD,raw/1.png,dog",
        "TRAIN,raw/empty.png,dog",
    ]
    rows += ["TRAIN,/etc/passwd.png,cat"]
    table = tmp_path / "images.csv"
    table.write_text("split,image_uri,label\n" + "".join(row + "\n" for row in rows))
    headrace("cp", table, f"{s3_url}/images.csv")
    data, made = prepare(f"{s3_url}/images.csv", "--max-rejects", "10%")
    assert made["counts"] == {"in": 45, "written": 40, "rejected": 4, "dropped": 0, "ignored": 1}
    assert made["splits"]["validation"]["records"] == 20
    reasons = {line["id"]: (line["reason"], line["row"], line["detail"]) for line in report(data)}
    found = {reason: (row, detail) for reason, row, detail in reasons.values()}
    assert found["not there"][0] == 42 and f"{s3_url}/raw/none.png" in found["not there"][1]
    assert found["damaged image"][0] in (43, 45)
    assert found["may not be read"][0] == 46 and "column image_uri" in found["may not be read"][1]
    by_label = {row["label"][0] for row in examples(data, "train")}
    assert by_label == {0, 1}
    images = [row["image"][0] for row in examples(data, "train") + examples(data, "validation")]
    assert sorted(images) == sorted((tmp_path / f"raw/{i}.png").read_bytes() for i in range(40))


def test_webdataset_tars_and_records_are_inputs_too(prepare, tmp_path):
    with tarfile.open(tmp_path / "samples.tar", "w") as tar:
        for i in range(50):
            for ending, data in (("png", png((i, i, i))), ("cls", b"%d" % (i % 5))):
                entry = tarfile.TarInfo(f"sample{i:03}.{ending}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    data, made = prepare(tmp_path / "samples.tar")
    assert made["counts"]["written"] == 50
    rows = examples(data, "train")
    assert {row["png"][0] for row in rows} == {png((i, i, i)) for i in range(50)}
    again, made = prepare(
        data, "--layout", "tfrecord", "--split", "train=0.5,test=0.5", "--compression", "none", name="again"
    )
    assert made["counts"]["written"] == 50
    both = examples(again, "train") + examples(again, "test")
    assert {row["png"][0] for row in both} == {row["png"][0] for row in rows}


BAD_ROWS = {
    "too few cells": ("3,train", "wrong number of cells", ["2", "3"]),
    "text for a number": ("x,train,cat", "not a number, or out of range", ["column n", '"x"']),
    "a number too large": ("9999999999999999999,train,cat", "not a number, or out of range", ["column n"]),
    "no label": ("3,train,", "missing value", ["column label"]),
    "an unknown label": ("3,train,bird", "label that is not in the vocabulary", ["column label", '"bird"']),
    "a split that cannot be": ("3,../x,cat", "split with a name that cannot be used", ["../x"]),
    "no split": ("3,,cat", "missing value", ["column split"]),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_is_named_with_file_row_and_column(headrace, prepare, tmp_path, kind):
    row, reason, details = BAD_ROWS[kind]
    table = tmp_path / "bad.csv"
    good = "".join(f"{i},train,{'cat' if i % 2 else 'dog'}\n" for i in range(20))
    table.write_text(f"n,split,label\n{good}{row}\n{good}")
    schema = tmp_path / "bad.toml"
    schema.write_text(
        'split = "split"\n[features.n]\ntype = "int64"\n'
        '[features.label]\ntype = "label"\nvocabulary = ["cat", "dog"]\n'
    )
    done = headrace("prepare", table, tmp_path / "out", "--schema", schema, check=False)
    assert done.returncode == 1
    for word in (str(table), "row 22", reason, "--max-rejects", *details):
        assert word in done.stderr, done.stderr
    data, made = prepare(table, "--schema", schema, "--max-rejects", "1", name="allowed")
    assert made["counts"] == {"in": 41, "written": 40, "rejected": 1, "dropped": 0, "ignored": 0}
    (line,) = report(data)
    assert (line["status"], line["reason"], line["row"]) == ("rejected", reason, 22)
    assert line["source"].endswith("bad.csv")


def test_an_id_that_occurs_twice_is_rejected_the_second_time(prepare, tmp_path):
    table = tmp_path / "twice.csv"
    table.write_text("id,n\n" + "".join(f"{i % 99},{i}\n" for i in range(100)))
    schema = tmp_path / "twice.toml"
    schema.write_text('id = "id"\n[features.n]\ntype = "int64"\n')
    data, made = prepare(table, "--schema", schema, "--max-rejects", "1%")
    assert made["reasons"] == {"the id occurs twice": 1}
    assert sorted(row["n"][0] for row in examples(data, "train")) == list(range(99))


def test_an_id_of_several_splits_stays_in_the_smallest(headrace, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    ids = {"train": range(100), "test": range(90, 110), "validation": range(105, 145)}
    lines = [f"{i},{split},{1000 * place + i}\n" for place, split in enumerate(ids) for i in ids[split]]
    random.Random(SEED).shuffle(lines)
    for part in range(16):
        (folder / f"{part}.csv").write_text("id,split,n\n" + "".join(lines[part::16]))
    schema = tmp_path / "schema.toml"
    schema.write_text('id = "id"\nsplit = "split"\n[features.n]\ntype = "int64"\n')
    options = ("--schema", schema, "--max-rejects", "15", "--slice-size", "200", "--shard-records", "15")
    made = {}
    for runner in (("local:1",), ("local:2", "--memory", "0"), ("store", "--workers", "2")):
        data = tmp_path / runner[0].replace(":", "-")
        done = headrace("prepare", folder, data, *options, "--json", "--runner", *runner)
        assert json.loads(done.stdout)["reasons"] == {"the id occurs in another split": 15}
        parts = [path for path in data.iterdir() if path.is_file()]
        made[runner] = {path.name: path.read_bytes() for path in parts}
    assert len({frozenset(parts.items()) for parts in made.values()}) == 1
    for place, (split, left) in enumerate([("train", range(90)), ("test", ids["test"])]):
        numbers = sorted(row["n"][0] for row in examples(data, split))
        assert numbers == [1000 * place + i for i in left]
    assert sorted(row["n"][0] - 2000 for row in examples(data, "validation")) == list(range(110, 145))
    found = {(line["id"], line["detail"].split(", in ")[1]) for line in report(data)}
    assert found == {(str(i), "test") for i in (*range(90, 100), *range(105, 110))}
    assert all("column id: file://" in line["detail"] for line in report(data))
    schema.write_text('[features.n]\ntype = "int64"\n')
    done = headrace("prepare", folder, tmp_path / "other", "--schema", schema, "--json")
    assert json.loads(done.stdout)["counts"]["written"] == 160


def test_equal_rows_are_kept_reported_or_dropped(prepare, tmp_path):
    table = tmp_path / "equal.csv"
    draw = random.Random(SEED)
    rows = [f"text {i % 80}" for i in range(100)]
    draw.shuffle(rows)
    table.write_text("text\n" + "\n".join(rows) + "\n")
    for choice, written, reasons in (
        ("keep", 100, {}),
        ("report", 100, {"duplicate content, kept": 20}),
        ("drop", 80, {"duplicate content": 20}),
    ):
        data, made = prepare(table, "--duplicates", choice, name=choice)
        assert made["counts"]["written"] == written and made["reasons"] == reasons
        assert len({row["text"][0] for row in examples(data, "train")}) == 80


def test_what_is_in_two_splits_stays_in_the_smaller_also_where_equals_are_dropped(prepare, tmp_path):
    table = tmp_path / "both.csv"
    rows = [(i, "train", f"text {i}") for i in range(20)]
    rows += [(i, "test", f"text {i}") for i in (3, 4, 5)]  # the same rows, later in the input
    rows += [(30, "test", "text 6"), (31, "train", "text 7")]
    table.write_text("id,split,text\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    schema = tmp_path / "both.toml"
    schema.write_text('id = "id"\nsplit = "split"\n[features.text]\ntype = "string"\n')
    data, made = prepare(table, "--schema", schema, "--duplicates", "drop", "--max-rejects", "3")
    assert made["reasons"] == {"the id occurs in another split": 3, "duplicate content": 2}
    expected = {"test": {3, 4, 5, 6}, "train": set(range(20)) - {3, 4, 5, 6}}
    for split, numbers in expected.items():
        texts = [row["text"][0].decode() for row in examples(data, split)]
        assert sorted(texts) == sorted(f"text {i}" for i in numbers)


@pytest.mark.soak
def test_a_vocabulary_of_megabytes_is_prepared_found_again_and_continued(headrace, prepare, tmp_path):
    values = [f"class-{i:06}-of-a-long-name-that-goes-on" for i in range(70_000)]
    (tmp_path / "values.txt").write_text("".join(value + "\n" for value in values))
    schema = tmp_path / "schema.toml"
    schema.write_text(
        '[features.label]\ntype = "label"\n'
        f'vocabulary = "{tmp_path}/values.txt"\n[features.n]\ntype = "int64"\n'
    )
    tables = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for table, labels in zip(tables, (values[:40], values[-40:]), strict=True):
        rows = "".join(f"{label},{n}\n" for n, label in enumerate(labels))
        table.write_text("label,n\n" + rows)
    first, second = tables
    data, made = prepare(first, "--schema", schema)
    assert made["counts"]["written"] == 40
    assert (data / "_headrace/manifest-00000001").stat().st_size > 2_500_000
    assert prepare(first, "--schema", schema)[1]["manifest_digest"] == made["manifest_digest"]
    added = json.loads(headrace("prepare", second, data, "--append", "--json").stdout)
    assert added["counts"]["written"] == 80
    assert sorted({row["label"][0] for row in examples(data, "train")})[-1] == len(values) - 1
    shared = tmp_path / "shared"
    headrace("plan", first, shared, "--schema", schema)
    headrace("execute", shared)
    headrace("publish", shared)
    assert len(examples(shared, "train")) == 40


def test_a_schema_that_names_no_column_is_refused_with_what_was_meant(headrace, people, tmp_path):
    schema = tmp_path / "wrong.toml"
    schema.write_text('[features.size]\ntype = "float32"\ncolumn = "hight"\noptional = true\n')
    done = headrace("prepare", people, tmp_path / "out", "--schema", schema, check=False)
    assert done.returncode == 1 and "did you mean height?" in done.stderr and "people.csv" in done.stderr
    assert not list((tmp_path / "out").glob("_headrace/manifest-*"))


def test_with_json_an_error_is_told_to_programs_too(headrace, tmp_path):
    for options, code in (
        ([], "NOT_FOUND"),
        (["--sample", "2"], "INVALID_ARGUMENT"),
        (["--split", "x"], "INVALID_ARGUMENT"),
    ):
        done = headrace("prepare", tmp_path / "none.csv", tmp_path / "out", "--json", *options, check=False)
        told = json.loads(done.stdout)["error"]
        assert told["code"] == code and told["message"] in done.stderr
    assert headrace("prepare", tmp_path / "none.csv", tmp_path / "out", check=False).stdout == ""


def test_texts_among_numbers_are_told_and_mended_by_the_options_that_are_named(headrace, prepare, tmp_path):
    table = tmp_path / "prices.csv"
    table.write_bytes("name;price\nK\xe4se;2,5\nBrot;NA\nMilch;1\n".encode("latin-1"))
    told = headrace("prepare", table, tmp_path / "out", "--delimiter", ";", "--dry-run").stderr
    assert "--encoding latin-1" in told
    options = ("--delimiter", ";", "--encoding", "latin-1", "--missing", "NA", "--decimal", ",")
    data, _ = prepare(table, *options)
    rows = {row["name"][0].decode(): row.get("price") for row in examples(data, "train")}
    assert rows == {"Käse": [2.5], "Brot": None, "Milch": [1.0]}


def test_options_without_a_use_are_refused(headrace, people, tmp_path):
    def refused(*words: object) -> str:
        done = headrace("prepare", people, tmp_path / "out", *words, check=False)
        assert done.returncode != 0
        return done.stderr

    assert "--encoder is for folders of texts, and the input is csv" in refused("--encoder", "hash:16")
    assert "--resize has no use" in refused("--resize", "10x10")
    assert "--image-format needs --resize" in refused("--image-format", "png")
    assert "--missing does not go with --schema" in refused("--missing", "NA", "--schema", "people.toml")
    assert "as NA,-" in refused("--missing", "NA,,-")
    (tmp_path / "texts" / "good").mkdir(parents=True)
    (tmp_path / "texts" / "good" / "1.txt").write_text("fine")
    done = headrace("prepare", tmp_path / "texts", tmp_path / "out", "--decimal", ",", check=False)
    assert "--decimal is for tables" in done.stderr


def test_shards_of_another_program_in_the_folder_are_told(headrace, people, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "train-00000-of-00004.tfrecord.gz").write_bytes(b"old")
    told = headrace("prepare", people, tmp_path / "out").stderr
    assert "1 objects that are named like shards" in told and "train-00000-of-00004.tfrecord.gz" in told
    (tmp_path / "out" / "train-00000-of-00004.tfrecord.gz").unlink()
    assert "named like shards" not in headrace("prepare", people, tmp_path / "out").stderr


def test_input_that_changed_after_its_plan_is_told_with_what_plans_it_again(headrace, tmp_path):
    table, out = tmp_path / "n.csv", tmp_path / "out"
    table.write_text("n\n1\n")
    headrace("plan", table, out)
    table.write_text("n\n1\n2\n")
    refused = headrace("execute", out, check=False)
    assert "was written since the input was listed" in refused.stderr and "--overwrite" in refused.stderr
    headrace("plan", table, out, "--overwrite")
    headrace("execute", out)
    headrace("publish", out)
    assert [row["n"] for row in examples(out, "train")].count([2]) == 1


def test_a_tracking_root_that_cannot_be_written_is_named_with_its_option(headrace, people, tmp_path):
    (tmp_path / "file").write_text("no folder")
    place = tmp_path / "file" / "runs"
    done = headrace("prepare", people, tmp_path / "out", "--track", place, check=False)
    assert done.returncode == 1 and f"recording the run at --track {place}: " in done.stderr


def test_shares_that_replace_a_column_of_splits_are_told(headrace, people, tmp_path):
    done = headrace("prepare", people, tmp_path / "out", "--split", "train=0.5,test=0.5", "--dry-run")
    assert "--split decides the splits, not the column split of" in done.stderr
    assert "--split decides" not in headrace("prepare", people, tmp_path / "out", "--dry-run").stderr


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--split", "train=0.8,test=0.1"], "sum to 0.9"),
        (["--split", "train"], "train=0.8"),
        (["--resize", "150"], "150x150"),
        (["--max-rejects", "many"], "0% to 100%"),
        (["--sample", "2"], "from 0 to 1"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_read(headrace, tmp_path, options, word):
    done = headrace("prepare", tmp_path / "none.csv", tmp_path / "out", *options, check=False)
    assert done.returncode == 2 and word in done.stderr, done.stderr
