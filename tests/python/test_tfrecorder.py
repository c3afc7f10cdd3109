"""headrace.tfrecorder: what google/tensorflow-recorder documents, with only the import changed."""

import base64
import csv
import datetime
import io
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from headrace._src.prepare_options import arguments_of
from headrace.tfrecorder import input_schema, types

import headrace as hr
from headrace import tfrecorder

MODES = ("RGB", "L", "RGBA", "P", "LA")
LABELS = ("cat", "dog", "cat", "bird, or\nbat", "dog", "cat")  # of TRAIN; their ids are below
IDS = {"cat": 0, "dog": 1, "bird, or\nbat": 2, "NA": 3}


def picture(mode: str, seed: int) -> PIL.Image.Image:
    """Not square, with a size and pixels of its own."""
    pixels = np.random.default_rng(seed).integers(0, 256, (5 + seed, 9, 4), np.uint8)
    if mode == "L":
        return PIL.Image.fromarray(pixels[:, :, 0])
    if mode == "LA":
        return PIL.Image.fromarray(np.ascontiguousarray(pixels[:, :, :2]), "LA")
    if mode == "RGBA":
        return PIL.Image.fromarray(pixels, "RGBA")
    image = PIL.Image.fromarray(np.ascontiguousarray(pixels[:, :, :3]))
    return image.quantize(16) if mode == "P" else image.convert(mode)


def as_stored(path: str) -> np.ndarray:
    """The pixels that Pillow reads, in grey or RGB."""
    image = PIL.Image.open(path)
    return np.asarray(image.convert("L" if image.mode in ("L", "LA") else "RGB"))


@pytest.fixture
def frame(tmp_path) -> pd.DataFrame:
    """Images of every mode in all splits, by absolute paths."""
    rows = []
    for i, label in enumerate(LABELS):
        rows.append(("TRAIN", MODES[i % len(MODES)], label))
    rows += [("VALIDATION", "RGB", "dog"), ("TEST", "CMYK", "NA"), ("DISCARD", "RGB", "cow")]
    out = []
    for i, (split, mode, label) in enumerate(rows):
        path = tmp_path / "images" / f"{i}.{'jpg' if mode == 'CMYK' else 'png'}"
        path.parent.mkdir(exist_ok=True)
        picture(mode, i).save(path, **({"quality": 95} if mode == "CMYK" else {}))
        out.append((split, str(path), label))
    return pd.DataFrame(out, columns=["split", "image_uri", "label"])


@pytest.fixture
def table(frame, tmp_path) -> str:
    frame.to_csv(tmp_path / "data.csv", index=False)
    return str(tmp_path / "data.csv")


def specification() -> dict:
    """The specification that TensorFlow Transform wrote for such records."""
    import tensorflow as tf

    names = ("image", "image_name", "split")
    numbers = ("image_height", "image_width", "image_channels", "label")
    return {name: tf.io.FixedLenFeature([], tf.string) for name in names} | {
        name: tf.io.FixedLenFeature([], tf.int64) for name in numbers
    }


def records(folder: str, split: str) -> list[dict]:
    """As a script of old parses files by their names."""
    import tensorflow as tf

    files = tf.io.gfile.glob(f"{folder}/{split}-*.tfrecord.gz")
    parsed = tf.data.TFRecordDataset(files, "GZIP").map(
        lambda record: tf.io.parse_single_example(record, specification())
    )
    return sorted(parsed.as_numpy_iterator(), key=lambda record: record["image_name"])


def decoded(record: dict) -> np.ndarray:
    """As `beam_image.decode` did."""
    mode = "RGB" if record["image_channels"] == 3 else "L"
    size = (int(record["image_width"]), int(record["image_height"]))
    return np.asarray(PIL.Image.frombytes(mode, size, base64.urlsafe_b64decode(record["image"])))


def file_name(uri: str) -> str:
    return pathlib.Path(uri).name


def check_folder(folder: str, frame: pd.DataFrame) -> None:
    """All rows of the frame but those discarded are in the folder's records."""
    for split in ("TRAIN", "VALIDATION", "TEST"):
        rows = frame[frame["split"] == split]
        rows = rows.sort_values("image_uri", key=lambda uris: uris.map(file_name))
        found = records(folder, split.lower())
        assert [record["image_name"].decode() for record in found] == list(map(file_name, rows["image_uri"]))
        for record, row in zip(found, rows.itertuples(), strict=True):
            assert record["split"].decode() == split
            assert record["label"] == IDS[row.label]
            np.testing.assert_array_equal(decoded(record), as_stored(row.image_uri))


def test_a_frame_becomes_records_of_the_old_layout(frame, tmp_path):
    result = frame.tensorflow.to_tfr(output_dir=str(tmp_path / "out"))
    assert result["job_id"] == "DirectRunner"
    assert result["metrics"] == {"rows": 9, "good_images": 8, "bad_images": 0}
    name = pathlib.Path(result["tfrecord_dir"]).relative_to(tmp_path / "out")
    assert re.fullmatch(r"tfrecorder-\d{8}-\d{6}-\d{6}-to-tfr", str(name))
    check_folder(result["tfrecord_dir"], frame)
    assert hr.open(result["tfrecord_dir"]).labels == list(IDS)


def test_a_table_with_and_without_header_gives_the_same(frame, table, tmp_path):
    result = tfrecorder.create_tfrecords(input_data=table, output_dir=str(tmp_path / "a"), job_label="my_job")
    assert result["tfrecord_dir"].endswith("-my-job")
    check_folder(result["tfrecord_dir"], frame)
    frame[["label", "split", "image_uri"]].to_csv(tmp_path / "bare.csv", index=False, header=False)
    names = ["label", "split", "image_uri"]
    bare = tfrecorder.convert(str(tmp_path / "bare.csv"), str(tmp_path / "b"), header=None, names=names)
    check_folder(bare["tfrecord_dir"], frame)
    frame.to_csv(tmp_path / "usual.csv", index=False, header=False)
    usual = tfrecorder.client.create_tfrecords(str(tmp_path / "usual.csv"), str(tmp_path / "c"), header=None)
    check_folder(usual["tfrecord_dir"], frame)


def test_paths_are_relative_to_the_working_directory(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame["image_uri"] = [f"images/{pathlib.Path(uri).name}" for uri in frame["image_uri"]]
    (tmp_path / "tables").mkdir()
    frame.to_csv("tables/data.csv", index=False)
    result = tfrecorder.convert("tables/data.csv")
    assert result["tfrecord_dir"].startswith("./tfrecords/tfrecorder-")
    check_folder(result["tfrecord_dir"], frame)


def test_a_folder_of_images_is_split_and_labelled_by_its_folders(frame, tmp_path, caplog):
    rows = []
    for row in frame.itertuples():
        label = row.label.replace("\n", " ")
        path = tmp_path / "folder" / row.split / label / pathlib.Path(row.image_uri).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pathlib.Path(row.image_uri).read_bytes())
        rows.append((row.split, str(path), label))
    (tmp_path / "folder" / "README.txt").write_text("no image")
    result = tfrecorder.convert(str(tmp_path / "folder"), str(tmp_path / "out"), num_shards=1)
    expected = pd.DataFrame(rows, columns=frame.columns)
    expected["label"] = expected["label"].replace("bird, or bat", "bird, or\nbat")
    check_folder(result["tfrecord_dir"], expected)
    assert "1 files are not in <split>/<label>/" in caplog.text


def test_load_gives_parsed_records_of_each_split(frame, tmp_path):
    import tensorflow as tf

    datasets = tfrecorder.convert_and_load(frame, str(tmp_path / "out"), compression=None)
    assert list(datasets) == ["TRAIN", "VALIDATION", "TEST"]
    assert all(isinstance(dataset, tf.data.Dataset) for dataset in datasets.values())
    read = sorted(datasets["train"].as_numpy_iterator(), key=lambda record: record["image_name"])
    assert [int(record["label"]) for record in read] == [IDS[label] for label in LABELS]
    assert set(read[0]) == set(specification())
    assert datasets["TRAIN"] is datasets["train"] is datasets.get("train") and "test" in datasets
    assert "holdout" not in datasets and datasets.get("holdout") is None
    with pytest.raises(FileNotFoundError):
        tfrecorder.load(str(tmp_path / "elsewhere"))


def test_the_same_rows_give_the_same_records_in_the_same_order(frame, tmp_path):
    def names(label):
        made = tfrecorder.convert(frame, str(tmp_path), job_label=label)["tfrecord_dir"]
        return [record["image_name"] for record in tfrecorder.load(made)["train"].as_numpy_iterator()]

    assert names("first") == names("second")


def check_written(folder: str, frame: pd.DataFrame, count: int) -> None:
    folder = pathlib.Path(folder)
    assert re.fullmatch(r"check-tfrecords-\d{8}-\d{6}-\d{6}", folder.name)
    with (folder / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count
    assert set(rows[0]) == set(specification()) - {"image"}
    expected = {file_name(row.image_uri): row for row in frame.itertuples()}
    for row in rows:
        source = expected[row["image_name"]]
        assert row["label"] == str(IDS[source.label])
        image = PIL.Image.open(folder / row["image_name"])
        np.testing.assert_array_equal(np.asarray(image), as_stored(source.image_uri))


def test_records_are_written_as_a_table_and_images(frame, tmp_path):
    made = tfrecorder.convert(frame, str(tmp_path / "out"), num_shards=3)["tfrecord_dir"]
    assert len(hr.open(made, "train").shards) > 1
    check_written(tfrecorder.inspect(made, num_records=6, output_dir=str(tmp_path / "a")), frame, 6)
    checked = tfrecorder.check_tfrecords(
        file_pattern=f"{made}/train*.tfrecord.gz", num_records=5, output_dir=str(tmp_path / "b")
    )
    check_written(checked, frame, 5)
    one = tfrecorder.inspect(made, split="test", output_dir=str(tmp_path / "c"))
    assert PIL.Image.open(f"{one}/7.jpg").mode == "RGB"
    with pytest.raises(ValueError, match="has no split 'holdout'"):
        tfrecorder.inspect(made, split="holdout")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        tfrecorder.check_tfrecords(f"{made}/holdout*")


def write_as_tfrecorder(folder: pathlib.Path, rows: dict[str, list[dict]], ending: str) -> None:
    """A folder as tfrecorder left it: files of records by splits, and those of TensorFlow Transform."""
    import tensorflow as tf

    for split, of_split in rows.items():
        compression = "GZIP" if ending.endswith(".gz") else ""
        with tf.io.TFRecordWriter(f"{folder}/{split}-00000-of-00001.{ending}", compression) as writer:
            for row in of_split:
                feature = {
                    name: tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
                    if isinstance(value, int)
                    else tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
                    for name, value in row.items()
                }
                writer.write(
                    tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
                )
    for name in ("transformed_metadata/schema.pbtxt", "transform_fn/saved_model.pb", "discarded-data-00000"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text('feature {\n  name: "image"\n}\n')


def old_record(name: str, label: int, split: str) -> dict:
    pixels = bytes(range(12))
    return {
        "image": base64.urlsafe_b64encode(pixels),
        "image_name": name.encode(),
        "image_height": 2,
        "image_width": 2,
        "image_channels": 3,
        "label": label,
        "split": split.encode(),
    }


@pytest.mark.parametrize("ending", ["tfrecord.gz", "tfrecord"])
@pytest.mark.parametrize("validation", ["validation", "val"])
def test_folders_that_tfrecorder_wrote_are_loaded_and_inspected(tmp_path, ending, validation):
    train = [old_record("a.png", 0, "TRAIN"), old_record("b.png", 1, "TRAIN")]
    splits = {"train": train, validation: [old_record("c.png", -1, "VALIDATION")], "test": []}
    write_as_tfrecorder(tmp_path, splits, ending)
    datasets = tfrecorder.load(tmp_path)
    assert list(datasets) == ["TRAIN", "VALIDATION", "TEST"]
    assert list(datasets["train"].as_numpy_iterator()) == train
    assert [row["label"] for row in datasets["VALIDATION"].as_numpy_iterator()] == [-1]
    assert list(datasets["TEST"]) == []
    looked = tfrecorder.inspect(str(tmp_path), "TRAIN", num_records=2, output_dir=str(tmp_path / "looked"))
    checked = tfrecorder.check_tfrecords(f"{tmp_path}/train*", 2, str(tmp_path / "checked"))
    for folder in (looked, checked):
        pixels = np.asarray(PIL.Image.open(f"{folder}/b.png"))
        np.testing.assert_array_equal(pixels, np.arange(12).reshape(2, 2, 3))


def test_a_folder_without_records_is_no_dataset(tmp_path):
    write_as_tfrecorder(tmp_path, {"train": []}, "tfrecord.gz")
    with pytest.raises(FileNotFoundError, match="there are no records"):
        tfrecorder.load(tmp_path)
    (tmp_path / "train-00000-of-00001.tfrecord.gz").unlink()
    with pytest.raises(FileNotFoundError, match="no files with the names that tfrecorder gives them"):
        tfrecorder.load(tmp_path)


def test_features_that_records_may_lack_are_loaded_with_their_default(tmp_path):
    features = {
        "age": {"type": "int64", "optional": True},
        "size": {"type": "float32", "shape": [2], "optional": True},
        "name": {"type": "string"},
    }
    hr.prepare([{"name": "bare"}], tmp_path / "data", schema={"id": "name", "features": features})
    (row,) = tfrecorder.load(tmp_path / "data")["train"].as_numpy_iterator()
    assert (row["name"], row["age"], row["size"].tolist()) == (b"bare", 0, [0.0, 0.0])


def test_images_of_one_name_are_all_written(tmp_path):
    rows = []
    for label, color in (("cat", 10), ("dog", 200)):
        (tmp_path / label).mkdir()
        PIL.Image.new("L", (3, 2), color).save(tmp_path / label / "0.png")
        rows.append(("TRAIN", str(tmp_path / label / "0.png"), label))
    made = tfrecorder.convert(
        pd.DataFrame(rows, columns=["split", "image_uri", "label"]), str(tmp_path / "o")
    )
    folder = tfrecorder.inspect(made["tfrecord_dir"], num_records=2, output_dir=str(tmp_path / "i"))
    colors = {PIL.Image.open(f"{folder}/{name}.png").getpixel((0, 0)) for name in ("0", "0-2")}
    assert colors == {10, 200}


def test_other_columns_are_stored_as_their_types_say(tmp_path):
    import tensorflow as tf

    frame = pd.DataFrame(
        {
            "part": ["TRAIN", "TRAIN", "VALIDATION", "DISCARD"],
            "count": [3, 2**53 + 1, -1, 0],
            "size": [0.1, 2.5, -3.0, 0.0],
            "note": ["a, b", "new\nline", 'a "quote"', "x"],
            "class": [7, 8, 7, 9],
            "unused": [1, 2, 3, 4],
        }
    )
    schema = input_schema.Schema(
        {
            "part": types.SplitKey,
            "count": types.IntegerInput,
            "size": types.FloatInput,
            "note": types.StringInput,
            "class": types.IntegerLabel,
        }
    )
    result = frame.tensorflow.to_tfr(output_dir=str(tmp_path), schema=schema)
    assert result["metrics"] == {"rows": 4, "good_images": None, "bad_images": None}
    read = tfrecorder.load(result["tfrecord_dir"])
    rows = [*read["train"].as_numpy_iterator(), *read["validation"].as_numpy_iterator()]
    found = {row["count"]: row for row in rows}
    for expected in frame[:3].itertuples():
        row = found[expected.count]
        assert (row["part"], row["note"]) == (expected.part.encode(), expected.note.encode())
        assert row["size"] == np.float32(expected.size) and row["class"] == expected[5]
    assert read["train"].element_spec["class"] == tf.TensorSpec([], tf.int64)


def test_conversions_of_one_second_have_folders_of_their_own(frame, tmp_path, monkeypatch):
    class Clock(datetime.datetime):
        calls = 0

        @classmethod
        def now(cls, tz=None):
            cls.calls += 1
            return cls(2026, 1, 2, 3, 4, 5, cls.calls, tz)

    monkeypatch.setattr(datetime, "datetime", Clock)
    made = [tfrecorder.convert(part, str(tmp_path / "out")) for part in (frame, frame[:6])]
    assert [result["metrics"]["rows"] for result in made] == [9, 6]
    folders = [result["tfrecord_dir"] for result in made]
    assert len({*folders}) == 2
    looked = {tfrecorder.inspect(folder, output_dir=str(tmp_path / "looked")) for folder in folders}
    assert len(looked) == 2


def test_schema_map_may_be_a_dict(frame, tmp_path):
    frame["kind"] = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    columns = {"split": types.SplitKey, "image_uri": types.ImageUri, "kind": types.IntegerLabel}
    made = frame.tensorflow.to_tfr(str(tmp_path / "out"), schema_map=columns)["tfrecord_dir"]
    kinds = sorted(row["kind"] for row in tfrecorder.load(made)["train"].as_numpy_iterator())
    assert kinds == [1, 2, 3, 4, 5, 6]


def test_images_that_cannot_be_used_are_counted(frame, tmp_path):
    pathlib.Path(frame["image_uri"][0]).unlink()
    pathlib.Path(frame["image_uri"][1]).write_bytes(b"no image")
    whole = pathlib.Path(frame["image_uri"][2]).read_bytes()
    pathlib.Path(frame["image_uri"][2]).write_bytes(whole[: len(whole) // 2])
    result = tfrecorder.convert(frame, str(tmp_path / "out"))
    assert result["metrics"] == {"rows": 9, "good_images": 5, "bad_images": 3}
    check_folder(result["tfrecord_dir"], frame[3:])


def test_one_label_is_enough(frame, tmp_path):
    frame["label"] = "cat"
    assert tfrecorder.convert(frame, str(tmp_path / "out"))["metrics"]["good_images"] == 8


def test_ids_are_those_of_tensorflow_transform(frame, tmp_path):
    frame["label"] = ["b", "a", "c", "c", "b", "z", "only here", "a", "discarded"]
    made = tfrecorder.convert(frame, str(tmp_path / "out"))["tfrecord_dir"]
    assert hr.open(made).labels == ["c", "b", "z", "a", "only here"]


def test_local_images_go_to_a_store_and_are_read_there(frame, s3_url, tmp_path):
    result = tfrecorder.convert(frame, s3_url)
    assert result["metrics"]["good_images"] == 8
    datasets = tfrecorder.load(result["tfrecord_dir"])
    assert sum(1 for _ in datasets["train"]) == len(LABELS)
    pattern = f"{result['tfrecord_dir']}/train*.tfrecord.gz"
    check_written(tfrecorder.check_tfrecords(pattern, 4, str(tmp_path / "check")), frame, 4)


def test_a_table_in_a_store_names_images_beside_it_and_no_files_of_this_machine(frame, s3_url, tmp_path):
    store = hr.store(s3_url)
    rows = []
    for row in frame[:-1].itertuples():
        key = f"images/{pathlib.Path(row.image_uri).name}"
        store.write(key, pathlib.Path(row.image_uri).read_bytes())
        rows.append((row.split, key, row.label))
    rows.append(("TRAIN", frame["image_uri"][0], "cat"))
    text = io.StringIO()
    pd.DataFrame(rows, columns=frame.columns).to_csv(text, index=False)
    store.write("data.csv", text.getvalue().encode())
    result = tfrecorder.convert(f"{s3_url}/data.csv", f"{s3_url}/out")
    assert result["metrics"] == {"rows": 9, "good_images": 8, "bad_images": 1}
    here = tfrecorder.convert(f"{s3_url}/data.csv", str(tmp_path / "out"))
    assert here["metrics"] == result["metrics"]


def test_errors_are_of_the_classes_of_old(frame, tmp_path):
    with pytest.raises(AttributeError, match="no column 'label'; it has"):
        tfrecorder.convert(frame.drop(columns="label"), str(tmp_path))
    with pytest.raises(AttributeError, match="runner is 'FlinkRunner'; it must be one of"):
        tfrecorder.convert(frame, str(tmp_path), runner="FlinkRunner")
    with pytest.raises(AttributeError, match="needs project and region; they are 'p' and None"):
        tfrecorder.convert(frame, str(tmp_path), runner="DataflowRunner", project="p")
    for source in (42, str(tmp_path / "nothing"), "table.parquet"):
        with pytest.raises(ValueError, match="a path that ends in .csv, or a folder"):
            tfrecorder.convert(source, str(tmp_path))
    with pytest.raises(ValueError, match='"gzip" or None'):
        tfrecorder.convert(frame, str(tmp_path), compression="zlib")
    with pytest.raises(ValueError, match="no row with split TRAIN has a label"):
        tfrecorder.convert(frame[6:], str(tmp_path))
    with pytest.raises(FileNotFoundError):
        tfrecorder.convert(str(tmp_path / "missing.csv"), str(tmp_path))
    assert not list(tmp_path.glob("tfrecorder-*"))


def test_schemas_that_make_no_record_are_refused():
    with pytest.raises(AttributeError, match="no column is a split; add one"):
        input_schema.Schema({"image_uri": types.ImageUri})
    with pytest.raises(ValueError, match="exactly one column must be a types.SplitKey; there are"):
        input_schema.Schema({"split": types.SplitKey, "part": types.SplitKey})
    with pytest.raises(ValueError, match="it must be a class of headrace.tfrecorder.types"):
        input_schema.Schema({"split": "SplitKey"})
    with pytest.raises(ValueError, match="adds a feature image_name; rename"):
        input_schema.Schema({"split": types.SplitKey, "uri": types.ImageUri, "image_name": types.StringInput})


def test_a_schema_has_the_attributes_of_old():
    import tensorflow as tf

    schema = input_schema.Schema(schema_map=input_schema.image_csv_schema_map)
    assert schema.get_input_keys() == schema.input_schema_map.keys() == {"split", "image_uri", "label"}
    assert (schema.split_key, schema.image_uri_key, schema.label_key) == ("split", "image_uri", "label")
    assert input_schema.Schema({"part": types.SplitKey}).label_key is None
    dtypes = {
        types.ImageUri: tf.string,
        types.SplitKey: tf.string,
        types.StringLabel: tf.string,
        types.IntegerLabel: tf.int64,
        types.FloatInput: tf.float32,
    }
    for of, dtype in dtypes.items():
        assert issubclass(of, types.SupportedType)
        assert of.feature_spec == tf.io.FixedLenFeature([], dtype)
    assert types.SplitKey.allowed_values == ["TRAIN", "VALIDATION", "TEST", "DISCARD"]
    assert types.FloatInput.allowed_values == []


def test_dataflow_is_a_runner_of_prepare(frame, tmp_path, monkeypatch):
    asked = {}

    def prepare(source, to, **options):
        asked.update(options, source=source, to=to)

    monkeypatch.setattr(tfrecorder._convert, "prepare", prepare)
    with pytest.warns(UserWarning, match="tfrecorder_wheel is ignored"):
        result = frame.tensorflow.to_tfr(
            output_dir="gs://bucket/out",
            runner="DataFlowRunner",
            project="my-project",
            region="us-central1",
            tfrecorder_wheel="/path/to/my/tfrecorder.whl",
            dataflow_options={"num_workers": 3},
        )
    assert asked["runner"] == "beam:DataflowRunner" and isinstance(asked["source"], pd.DataFrame)
    arguments = arguments_of({name: asked[name] for name in ("runner", "runner_options")}, None)
    assert "--runner-option=project=my-project" in arguments
    assert "--runner-option=temp_location=gs://bucket/out/tmp" in arguments
    assert "--runner-option=num_workers=3" in arguments
    assert result["tfrecord_dir"] == asked["to"] == f"gs://bucket/out/{result['job_id']}"
    with pytest.raises(ValueError, match="^runner_options is for runner ray and beam"):
        hr.prepare(frame, tmp_path / "out", runner="local", runner_options={"project": "p"})
    assert "us-central1" in result["dataflow_url"] and "my-project" in result["dataflow_url"]


@pytest.mark.parametrize(
    "program", [["headrace.tfrecorder"], pytest.param(["headrace", "tfrecorder"], marks=pytest.mark.soak)]
)
@pytest.mark.exhaustive
def test_the_command_line_takes_the_options_of_old(frame, table, tmp_path, program):
    def run(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", *program, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout or done.stderr

    result = json.loads(run("create-tfrecords", f"--input_data={table}", f"--output_dir={tmp_path}/out"))
    assert result["metrics"]["good_images"] == 8
    check_folder(result["tfrecord_dir"], frame)
    pattern = f"{result['tfrecord_dir']}/train*.tfrecord.gz"
    checked = run(
        "check-tfrecords", f"--file_pattern={pattern}", "--num_records=5", f"--output_dir={tmp_path}/check"
    )
    check_written(json.loads(checked), frame, 5)
    looked = run("inspect", f"--tfrecord-dir={result['tfrecord_dir']}", f"--output_dir={tmp_path}/inspect")
    check_written(json.loads(looked), frame, 1)
    frame.to_csv(tmp_path / "bare.csv", header=False, index=False)
    bare = ["--source", str(tmp_path / "bare.csv"), "--header=None", "--names=split,image_uri,label"]
    made = json.loads(run("convert", *bare, "--compression=None", f"--output_dir={tmp_path}/bare"))
    assert len(list(pathlib.Path(made["tfrecord_dir"]).glob("train-*.tfrecord"))) == 1
    assert "a path that ends in .csv" in run("convert", "--source=nothing", code=1)


def test_the_native_program_says_where_the_command_is(headrace):
    done = headrace("tfrecorder", "create-tfrecords", check=False)
    assert done.returncode == 2 and "python -m headrace tfrecorder" in done.stderr


def test_compat_of_the_command_lays_tables_and_folders_out_so(headrace, frame, table, tmp_path):
    from prepared_support import examples

    made = headrace("prepare", table, tmp_path / "table", "--compat", "tfrecorder", "--json").stdout
    assert json.loads(made)["counts"]["written"] == 8
    rows = {row["image_name"][0].decode(): row for row in examples(tmp_path / "table", "train")}
    uris = {file_name(uri): uri for uri in frame[frame["split"] == "TRAIN"]["image_uri"]}
    assert set(rows) == set(uris)
    for name, row in rows.items():
        uri = uris[name]
        assert set(row) == set(specification())
        np.testing.assert_array_equal(
            decoded({name: value[0] for name, value in row.items()}), as_stored(uri)
        )
    for label in ("a", "b"):
        (tmp_path / "folder" / label).mkdir(parents=True)
        picture("RGB", 3).save(tmp_path / "folder" / label / "0.png")
    headrace("prepare", tmp_path / "folder", tmp_path / "data", "--compat", "tfrecorder")
    named = sorted(
        (row["image_name"][0], row["split"][0], row["label"][0])
        for row in examples(tmp_path / "data", "train")
    )
    assert named == [(b"0.png", b"TRAIN", 0), (b"0.png", b"TRAIN", 1)]
    shown = headrace("prepare", table, "x", "--compat", "tfrecorder", "--print-schema").stdout
    assert 'encode = "raw-base64"' in shown and 'type = "image-channels"\nimage = "image"' in shown
