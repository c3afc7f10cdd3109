"""Raw rows become the inputs of a model with the same bits as the same rows in a prepared dataset."""

import csv
import io
import os
import random
import shutil
import tarfile
import textwrap

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

import headrace as hr

HEIGHT, WIDTH = 6, 5
ROWS = 1100  # two batches and a part of one
PICTURES = TEXTS = 57
JOBS = ["cook", "pilot", "smith"]
SCHEMA = """
    id = "name"
    [features.name]
    type = "string"
    [features.age]
    type = "float32"
    optional = true
    [features.count]
    type = "int64"
    default = "7"
    [features.point]
    type = "float32"
    columns = ["x", "y"]
    [features.job]
    type = "label"
    vocabulary = ["cook", "pilot", "smith"]
    one_hot = true
    [features.about]
    type = "vector"
    encoder = "hash:8"
    default = ""
    [features.photo]
    type = "image"
    uri = true
    resize = [6, 5]
    encode = "jpeg"
"""


class Identity(tf.Module):
    """Answers each row with all of the numbers that it gets."""

    def __init__(self):
        super().__init__()
        self.zero = tf.Variable(0.0)

    def joined(self, *inputs):
        rows = tf.shape(inputs[0])[0]
        numbers = [tf.reshape(tf.cast(each, tf.float32), [rows, -1]) for each in inputs]
        return {"all": tf.concat(numbers, 1)}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.float32, "age"),
            tf.TensorSpec([None], tf.int64, "count"),
            tf.TensorSpec([None, 2], tf.float32, "point"),
            tf.TensorSpec([None, 3], tf.int64, "job"),
            tf.TensorSpec([None, 8], tf.float32, "about"),
            tf.TensorSpec([None, HEIGHT, WIDTH, 3], tf.uint8, "photo"),
        ]
    )
    def rows(self, age, count, point, job, about, photo):
        return self.joined(age, count, point, job, about, photo)

    @tf.function(input_signature=[tf.TensorSpec([None, HEIGHT, WIDTH, 3], tf.uint8, "image")])
    def pictures(self, image):
        return self.joined(image)

    @tf.function(input_signature=[tf.TensorSpec([None, 16], tf.float32, "sentence")])
    def texts(self, sentence):
        return self.joined(sentence)


def write_picture(path, draw):
    size = (draw.randint(3, 40), draw.randint(3, 40))
    pixels = np.frombuffer(draw.randbytes(size[0] * size[1] * 3), np.uint8).reshape(*size, 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, quality=80)


def people(draw):
    numbers = ["0.1", "-0.0", "1e-40", "16777217", "3.4e38", "-2.5e-7"]
    for number in range(ROWS):
        yield {
            "name": f"p{number}",
            "age": draw.choice([*numbers, repr(draw.gauss(0, 1e6)), ""]),
            "count": draw.choice(["3", "26.0", "-1", ""]),
            "x": repr(draw.random()),
            "y": draw.choice(numbers),
            "job": draw.choice(JOBS),
            "about": draw.choice(["likes boats", "é", "", "owns a house by the sea"]),
            "photo": f"pictures/a/{draw.randrange(PICTURES)}.jpg",
        }


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory):
    """Rows, pictures and texts; a dataset of each; a model with a signature for each."""
    folder = tmp_path_factory.mktemp("identity")
    draw = random.Random(3)
    for number in range(PICTURES):
        write_picture(folder / f"pictures/a/{number}.jpg", draw)
    for number in range(TEXTS):
        path = folder / f"texts/{'ab'[number % 2]}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(draw.choices(["sea", "é", "boat", "7"], k=number)), encoding="utf-8")
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["name", "age", "count", "x", "y", "job", "about", "photo"])
        table.writeheader()
        table.writerows(people(draw))
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    prepare = {
        "rows": [folder / "rows.csv", "--schema", folder / "schema.toml"],
        "pictures": [folder / "pictures", "--resize", f"{HEIGHT}x{WIDTH}"],
        "texts": [folder / "texts", "--encoder", "hash:16"],
    }
    for name, (source, *options) in prepare.items():
        headrace("prepare", source, folder / "data" / name, *options, "--split", "test=1")
    module = Identity()
    signatures = {name: getattr(module, name) for name in prepare}
    tf.saved_model.save(module, str(folder / "model"), signatures=signatures)
    return folder


def predict(headrace, folder, name, data, to, *options):
    words = ["--signature", name, "--like", folder / "data" / name, "--data", data]
    headrace("predict", folder / "model", *words, "--to", to, *options)


def bits_of(folder):
    """Id → the bits of all numbers, of predictions in TFRecords."""
    out = {}
    for path in sorted(folder.glob("predictions-*.tfrecord.gz")):
        for record in tf.data.TFRecordDataset(str(path), "GZIP").as_numpy_iterator():
            features = tf.train.Example.FromString(record).features.feature
            (name,) = features["id"].bytes_list.value
            out[name.decode()] = np.asarray(features["value"].float_list.value, np.float32).view(np.uint32)
    return out


def assert_same_bits(some, others, count):
    assert len(some) == count and some.keys() == others.keys()
    for name, bits in some.items():
        np.testing.assert_array_equal(bits, others[name], name)


@pytest.fixture(scope="module")
def prepared(headrace, folder):
    """Dataset → id → the bits of the model's answer."""
    for name in ("rows", "pictures", "texts"):
        to = folder / "of-data" / name
        predict(headrace, folder, name, folder / "data" / name, to, "--format", "tfrecord")
    return {name: bits_of(folder / "of-data" / name) for name in ("rows", "pictures", "texts")}


@pytest.fixture(scope="module")
def table(folder):
    with (folder / "rows.csv").open(encoding="utf-8") as file:
        return [{**row, "photo": str(folder / row["photo"])} for row in csv.DictReader(file)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name, data, count",
    [("rows", "rows.csv", ROWS), ("pictures", "pictures", PICTURES), ("texts", "texts", TEXTS)],
)
def test_raw_rows_have_the_bits_of_prepared_ones(headrace, folder, prepared, name, data, count):
    to = folder / "of-raw" / name
    predict(headrace, folder, name, folder / data, to, "--format", "tfrecord")
    assert_same_bits(bits_of(to), prepared[name], count)
    assert len({bits.tobytes() for bits in prepared[name].values()}) > count / 2


def test_rows_of_python_have_the_bits_of_prepared_ones(folder, prepared, table):
    rows = [{name: text or None for name, text in row.items()} for row in table]
    for row in rows:
        row["x"], row["y"] = float(row["x"]), float(row["y"])
    with hr.load(folder / "model", signature="rows", like=folder / "data" / "rows") as model:
        bits = model.predict(rows).array().view(np.uint32)
    assert_same_bits({row["name"]: of for row, of in zip(rows, bits, strict=True)}, prepared["rows"], ROWS)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("all_packages")
@pytest.mark.parametrize("archive", ["pictures.tar", "pictures.tar.gz"])
def test_files_of_an_archive_have_their_paths_as_ids_in_every_format(
    headrace, folder, prepared, archive, tmp_path
):
    with tarfile.open(tmp_path / archive, "w:gz" if archive.endswith(".gz") else "w") as tar:
        tar.add(folder / "pictures" / "a", "a")
    made = {}
    for form in ("jsonl", "csv", "tfrecord", "parquet"):
        predict(headrace, folder, "pictures", tmp_path / archive, tmp_path / form, "--format", form)
        (made[form],) = (tmp_path / form).glob("predictions-*")
    assert_same_bits(bits_of(tmp_path / "tfrecord"), prepared["pictures"], PICTURES)
    of_form = {
        "jsonl": pd.read_json(made["jsonl"], lines=True),
        "csv": pd.read_csv(made["csv"]),
        "parquet": pd.read_parquet(made["parquet"]),
    }
    for form, table in of_form.items():
        assert set(table["id"]) == set(prepared["pictures"]), form
        assert "row" not in table.columns, form


def write_records(path, rows):
    def feature(value):
        if isinstance(value, str):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
        return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))

    with tf.io.TFRecordWriter(str(path)) as file:
        for row in rows:
            features = {name: feature(value) for name, value in row.items() if value != ""}
            file.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def test_raw_records_are_told_from_prepared_ones(headrace, folder, prepared, table, tmp_path):
    write_records(tmp_path / "raw.tfrecord", table)
    predict(headrace, folder, "rows", tmp_path / "raw.tfrecord", tmp_path / "raw", "--format", "tfrecord")
    assert_same_bits(bits_of(tmp_path / "raw"), prepared["rows"], ROWS)
    (shard,) = (folder / "data" / "rows").glob("test-*.tfrecord.gz")
    shutil.copy(shard, tmp_path / "made.tfrecord.gz")
    predict(headrace, folder, "rows", tmp_path / "made.tfrecord.gz", tmp_path / "made")
    (made,) = (tmp_path / "made").glob("predictions-*")
    answers = pd.read_json(made, lines=True)
    assert list(answers["row"]) == list(range(1, ROWS + 1))
    rows = np.asarray(answers["value"].tolist(), np.float32).view(np.uint32)
    assert sorted(map(bytes, rows)) == sorted(map(bytes, prepared["rows"].values()))


def test_records_that_are_neither_are_refused_with_both_reasons(headrace, folder, table, tmp_path):
    write_records(tmp_path / "other.tfrecord", [{**row, "job": "thief"} for row in table[:3]])
    words = ["--signature", "rows", "--like", folder / "data" / "rows", "--to", tmp_path / "to"]
    done = headrace("predict", folder / "model", "--data", tmp_path / "other.tfrecord", *words, check=False)
    assert done.returncode == 1
    assert 'feature "about": expected float32[8]' in done.stderr
    assert "They are not raw rows of the model either (--layout tfrecord)" in done.stderr
    assert "thief" in done.stderr


def test_raw_samples_are_told_from_prepared_ones(headrace, folder, prepared, tmp_path):
    with tarfile.open(tmp_path / "samples.tar", "w") as tar:
        for path in sorted((folder / "texts").glob("*/*.txt")):
            sample = f"{path.parent.name}/{path.stem}"
            for name, content in ((f"{sample}.text", path.read_bytes()), (f"{sample}.cls", b"0")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    predict(headrace, folder, "texts", tmp_path / "samples.tar", tmp_path / "to", "--format", "tfrecord")
    answers = {f"{key}.txt": bits for key, bits in bits_of(tmp_path / "to").items()}
    assert_same_bits(answers, prepared["texts"], TEXTS)
