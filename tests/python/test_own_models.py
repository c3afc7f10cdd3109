"""Models and data of one's own through all stages: tables with several inputs, images, numbers; and answers
to raw rows, which must be those to the same rows prepared."""

import concurrent.futures
import csv
import gzip
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pandas
import PIL.Image
import pyarrow.parquet
import pytest
import tensorflow as tf
from headrace._src.program import find_program

import headrace as hr

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

JOBS = ["cook", "pilot", "smith"]
SCHEMA = """
    id = "name"
    [features.name]
    type = "string"
    [features.age]
    type = "float32"
    [features.hours]
    type = "int64"
    [features.job]
    type = "label"
    vocabulary = ["cook", "pilot", "smith"]
    [features.about]
    type = "vector"
    encoder = "hash:16"
    default = ""
    [features.rich]
    type = "label"
    vocabulary = ["no", "yes"]
    [features.wage]
    type = "float32"
"""
MODELS = """
    import keras
    from keras import layers

    def _body():
        inputs = {
            "age": keras.Input((1,), name="age"),
            "hours": keras.Input((1,), name="hours", dtype="int64"),
            "job": keras.Input((), name="job", dtype="int64"),
            "text": keras.Input((16,), name="text"),
        }
        job = layers.Embedding(3, 2)(inputs["job"])
        hours = layers.Rescaling(1 / 40)(inputs["hours"])
        joined = layers.Concatenate()([inputs["age"], hours, job, inputs["text"]])
        return inputs, layers.Dense(8, "relu")(layers.BatchNormalization()(joined))

    def income():
        inputs, body = _body()
        model = keras.Model(inputs, layers.Dense(1, "sigmoid", name="rich")(body))
        model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
        return model

    def both():
        inputs, body = _body()
        outputs = {"rich": layers.Dense(2, "softmax", name="rich")(body),
                   "wage": layers.Dense(1, name="wage")(body)}
        model = keras.Model(inputs, outputs)
        model.compile(keras.optimizers.Adam(0.02), {"rich": "sparse_categorical_crossentropy", "wage": "mse"})
        return model

    def cnn(classes):
        model = keras.Sequential([
            keras.Input((12, 12, 3)), layers.Rescaling(1 / 255), layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(), layers.Dense(classes, "softmax"),
        ])
        model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model
"""


def answers_to(headrace, run: pathlib.Path, data: pathlib.Path, *options) -> list[dict]:
    """The predictions of a run for data, in the order of their ids."""
    to = run.with_name(f"{run.name}-{data.stem}-answers")
    headrace("predict", run, "--data", data, "--to", to, *options)
    return predictions(to)


def people(count: int, seed: int) -> list[dict]:
    """Rows whose wage and wealth are functions of the rest."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        age, hours, job = round(draw.uniform(0, 1), 3), draw.randrange(60), draw.choice(JOBS)
        wage = 2 * age + hours / 40 + JOBS.index(job)
        about = draw.choice(["likes boats", "owns a house", ""])
        rich = "yes" if wage > 2.5 else "no"
        row = {"name": f"p{seed}-{number}", "age": age, "hours": hours, "job": job, "about": about}
        rows.append(row | {"rich": rich, "wage": round(wage, 3)})
    return rows


def write_table(path: pathlib.Path, rows: list[dict], without: tuple[str, ...] = ()) -> None:
    names = [name for name in rows[0] if name not in without]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def predictions(folder: pathlib.Path) -> list[dict]:
    """The answers in all objects, in the order of their ids."""
    lines = [
        json.loads(line)
        for path in sorted(folder.glob("predictions-*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    return sorted(lines, key=lambda line: line["id"])


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory):
    """A table of 600 people, prepared; another 80 without what is to be predicted; models.py."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    (folder / "models.py").write_text(textwrap.dedent(MODELS), encoding="utf-8")
    write_table(folder / "people.csv", people(600, 1))
    new = people(80, 2)
    write_table(folder / "new.csv", new, without=("rich", "wage"))
    write_table(folder / "known.csv", new)
    schema = ["--schema", folder / "schema.toml"]
    headrace("prepare", folder / "people.csv", folder / "data", *schema, "--split", "train=0.8,test=0.2")
    headrace("prepare", folder / "known.csv", folder / "known", *schema)
    return folder


def children() -> set[int]:
    """The processes that answer for a model of this one."""
    found = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in found if b"predict" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()}


def train(headrace, folder: pathlib.Path, run: str, model: str, *options) -> dict:
    words = ["--model", f"{folder}/models.py:{model}", "--epochs", "25", "--batch-size", "32", "--json"]
    done = headrace("train", folder / "data", folder / run, *words, *options)
    return json.loads(done.stdout) | {"notes": done.stderr}


@pytest.fixture(scope="module")
def income(headrace, folder):
    trained = train(headrace, folder, "income", "income", "--features", "text=about", "--labels", "rich")
    evaluated = json.loads(
        headrace("evaluate", folder / "income", "--data", folder / "data", "--json").stdout
    )
    return trained, evaluated


@pytest.mark.exhaustive
def test_inputs_go_where_their_names_and_the_user_say_and_it_is_shown(income):
    trained, _ = income
    assert "the model takes about float32[16] as text" in trained["notes"]
    assert "the model takes job int64[] as job" in trained["notes"]
    assert "the model learns rich int64[] (binary)" in trained["notes"]


def test_a_binary_target_is_learnt_and_measured(income):
    _, evaluated = income
    (target,) = evaluated["targets"]
    assert (target["output"], target["label"], target["kind"]) == ("rich", "rich", "binary")
    assert target["accuracy"] == evaluated["metrics"]["accuracy"] > 0.8
    assert target["area_under_roc"] > 0.9
    assert target["confusion"]["labels"] == ["no", "yes"]
    assert sum(map(sum, target["confusion"]["counts"])) == evaluated["records"]
    assert sum(part["records"] for part in target["calibration"]) == evaluated["records"]


def test_a_model_that_says_what_it_takes_is_not_told_otherwise(headrace, folder, income):
    done = headrace(
        "evaluate", folder / "income", "--data", folder / "data", "--features", "age=hours", check=False
    )
    assert done.returncode == 1
    assert "--features is for a SavedModel that Headrace did not write" in done.stderr


def test_raw_rows_are_answered_as_the_same_rows_prepared(headrace, folder, income):
    raw = answers_to(headrace, folder / "income", folder / "new.csv")
    prepared = answers_to(headrace, folder / "income", folder / "known", "--split", "train")
    assert len(raw) == 80
    assert [answer["id"] for answer in raw] == [answer["id"] for answer in prepared]
    for one, other in zip(raw, prepared, strict=True):
        assert one["probability"] == pytest.approx(other["probability"], rel=1e-5)
    truth = {row["name"]: row["rich"] for row in people(80, 2)}
    assert sum(truth[answer["id"]] == answer["label"] for answer in raw) > 64


def test_rows_from_standard_input_are_answered_as_they_come(folder, income):
    """A line at a time: each answer comes before the next row is sent."""
    known = {answer["id"]: answer for answer in predictions(folder / "income-new-answers")}
    command = [find_program(), "predict", folder / "income", "--data", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        for row in people(80, 2)[:3]:
            child.stdin.write(json.dumps(row) + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
            assert answer["label"] == known[row["name"]]["label"]
            assert answer["probability"] == pytest.approx(known[row["name"]]["probability"], rel=1e-5)
        child.stdin.close()
        assert child.wait(60) == 0
    table = (folder / "new.csv").read_bytes()
    words = ["--layout", "csv", "--format", "csv"]
    done = subprocess.run([*command, *words], input=table, capture_output=True, check=True)
    lines = list(csv.DictReader(done.stdout.decode().splitlines()))
    assert {line["id"]: line["label"] for line in lines} == {i: a["label"] for i, a in known.items()}


@pytest.mark.usefixtures("all_packages")
def test_parquet_has_the_answers_with_their_types(headrace, folder, income):
    words = ["--data", folder / "new.csv", "--to", folder / "parquet", "--format", "parquet"]
    headrace("predict", folder / "income", *words)
    (path,) = (folder / "parquet").glob("predictions-*.parquet")
    table = pyarrow.parquet.read_table(path)
    assert {field.name: str(field.type) for field in table.schema} == {
        "id": "string", "row": "int64", "label": "string", "probability": "float",
    }  # fmt: skip
    rows = sorted(table.to_pylist(), key=lambda row: row["id"])
    known = predictions(folder / "income-new-answers")
    assert [row["label"] for row in rows] == [answer["label"] for answer in known]
    assert [row["row"] for row in rows] == [None] * 80
    for row, answer in zip(rows, known, strict=True):
        assert row["probability"] == pytest.approx(answer["probability"], rel=1e-5)


@pytest.fixture(scope="module")
def loaded(folder, income):
    with hr.load(folder / "income") as model:
        yield model


def test_python_gets_the_answers_of_the_command(folder, loaded):
    known = predictions(folder / "income-new-answers")
    rows = sorted(people(80, 2), key=lambda row: row["name"])
    answers = loaded.predict(rows)
    assert [answer["id"] for answer in answers] == [answer["id"] for answer in known]
    assert answers.labels == [answer["label"] for answer in known]
    scores = np.array([[answer["probability"]] for answer in known], np.float32)
    np.testing.assert_allclose(answers.array(), scores, rtol=1e-5)
    assert loaded.columns == ["about", "age", "hours", "job"]
    assert loaded.classes == {"rich": ["no", "yes"]} and loaded.outputs == {"rich": (1,)}
    frame = pandas.DataFrame(rows).drop(columns=["rich", "wage"])
    assert list(loaded.predict(frame)) == list(answers)
    assert len(loaded.predict(frame.iloc[:0])) == 0


def test_more_rows_than_a_pipe_holds_are_answered_in_their_order(loaded):
    rows = [{"age": i / 40_000, "hours": i % 60, "job": JOBS[i % 3]} for i in range(40_000)]
    scores = loaded.predict(rows).array()[:, 0]
    for place in (0, 16_383, 16_384, 39_999):
        assert loaded.predict(rows[place : place + 1]).array() == pytest.approx(scores[place], rel=1e-5)


def test_python_names_the_row_that_makes_no_input_and_goes_on(loaded):
    good = {"age": 1.0, "hours": 4, "job": "cook"}
    assert len(loaded.predict([good])) == 1
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"^row 3 is rejected: .*column job.*thief"):
        loaded.predict([good, good, {**good, "job": "thief"}, good])
    assert len(loaded.predict([good, good])) == 2
    with pytest.raises(hr.errors.InvalidArgumentError, match="takes the columns about, age"):
        loaded.predict(["a text"])
    with pytest.raises(hr.errors.InvalidArgumentError, match="give a list"):
        loaded.predict("a text")
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"model\.predict\(pandas\.read_parquet\(path\)\)"
    ):
        loaded.predict("people.parquet")


def test_threads_get_the_answers_to_their_own_rows(loaded):
    def ask(job: str) -> np.ndarray:
        rows = [{"age": i / 100, "hours": i % 60, "job": job} for i in range(100)]
        return np.stack([loaded.predict(rows).array() for _ in range(5)])

    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        together = list(threads.map(ask, JOBS))
    for job, answers in zip(JOBS, together, strict=True):
        np.testing.assert_allclose(answers, ask(job), rtol=1e-5)


def test_a_model_is_of_its_process_and_ends_its_child(folder, income):
    others = children()
    model = hr.load(folder / "income")
    row = {"age": 1.0, "hours": 4, "job": "cook"}
    (child,) = children() - others
    forked = os.fork()
    if forked == 0:
        try:
            model.predict([row])
        except hr.errors.FailedPreconditionError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(forked, 0)[1] == 0
    assert len(model.predict([row])) == 1
    os.kill(child, signal.SIGKILL)
    with pytest.raises(hr.errors.CancelledError):
        model.predict([row])
    assert len(model.predict([row])) == 1, "another child answers"
    with pytest.raises(hr.errors.InvalidArgumentError):
        model.predict([{**row, "job": "thief"}])
    model.close()
    assert children() == others
    with pytest.raises(hr.errors.FailedPreconditionError, match="closed"):
        model.predict([row])
    with pytest.raises(hr.errors.NotFoundError, match="no run"):
        hr.load(folder / "none")
    assert children() == others


def test_loading_a_model_imports_no_tensorflow(folder, income):
    program = (
        "import sys, headrace as hr\n"
        f"model = hr.load({str(folder / 'income')!r})\n"
        "answers = model.predict([{'age': 1.0, 'hours': 4, 'job': 'cook'}])\n"
        "assert answers.labels[0] in ('no', 'yes') and 'tensorflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_tensorflow_serves_it_under_the_models_own_names(folder, income):
    served = tf.saved_model.load(str(folder / "income" / "export")).signatures["serving_default"]
    assert set(served.structured_input_signature[1]) == {"age", "hours", "job", "text"}


@pytest.mark.exhaustive
def test_several_targets_have_an_evaluation_and_an_answer_each(headrace, folder):
    trained = train(headrace, folder, "both", "both", "--features", "text=about", "--labels", "rich,wage")
    assert "learns wage float32[] by wage (regression)" in trained["notes"]
    evaluated = json.loads(headrace("evaluate", folder / "both", "--data", folder / "data", "--json").stdout)
    by_output = {target["output"]: target for target in evaluated["targets"]}
    assert by_output["rich"]["kind"] == "classes" and by_output["rich"]["accuracy"] > 0.8
    (numbers,) = by_output["wage"]["numbers"]
    assert numbers["r_squared"] > 0.5
    assert 0 < numbers["mean_absolute_error"] <= numbers["root_mean_squared_error"]
    headrace("predict", folder / "both", "--data", folder / "new.csv", "--to", folder / "both-raw")
    answers = predictions(folder / "both-raw")
    assert set(answers[0]["outputs"]) == {"rich", "wage"}
    assert set(answers[0]["outputs"]["rich"]["probabilities"]) == {"no", "yes"}
    assert isinstance(answers[0]["outputs"]["wage"]["value"], float)


@pytest.mark.exhaustive
def test_both_loops_train_the_same_weights(headrace, folder):
    options = ["--features", "text=about", "--labels", "rich,wage", "--epochs", "2", "--validation", "0"]
    words = ["--model", f"{folder}/models.py:both", "--batch-size", "32"]
    for loop in ("native", "keras"):
        headrace("train", folder / "data", folder / f"loop-{loop}", *words, "--loop", loop, *options)
    native, keras_loop = (
        tf.saved_model.load(str(folder / f"loop-{loop}" / "export")).signatures["variables"]()
        for loop in ("native", "keras")
    )
    assert set(native) == set(keras_loop)
    for name, value in native.items():
        if "seed" not in name:
            np.testing.assert_allclose(value, keras_loop[name], rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
def test_gaps_in_a_table_are_zero_in_training_and_in_answers(headrace, folder, tmp_path, loop):
    schema = textwrap.dedent(SCHEMA).replace("[features.age]\n", "[features.age]\noptional = true\n")
    (tmp_path / "schema.toml").write_text(schema, encoding="utf-8")
    rows = people(60, 3)
    for row in rows[::3]:
        row["age"] = ""
    write_table(tmp_path / "gaps.csv", rows)
    write_table(tmp_path / "zeros.csv", [row | {"age": row["age"] or 0} for row in rows])
    headrace("prepare", tmp_path / "gaps.csv", tmp_path / "data", "--schema", tmp_path / "schema.toml")
    words = ["--model", f"{folder}/models.py:income", "--features", "text=about", "--labels", "rich"]
    options = ["--epochs", "1", "--batch-size", "32", "--validation", "0", "--loop", loop]
    trained = headrace("train", tmp_path / "data", tmp_path / "run", *words, *options)
    assert "the model takes age float32[] (0 where missing) as age" in trained.stderr
    answers = {}
    inputs = {"gaps": ["gaps.csv"], "zeros": ["zeros.csv"], "prepared": ["data", "--split", "train"]}
    for name, (data, *split) in inputs.items():
        headrace("predict", tmp_path / "run", "--data", tmp_path / data, "--to", tmp_path / name, *split)
        answers[name] = predictions(tmp_path / name)
    assert len(answers["gaps"]) == 60
    for gap, zero, prepared in zip(*answers.values(), strict=True):
        assert gap["id"] == zero["id"] == prepared["id"]
        assert gap["probability"] == pytest.approx(zero["probability"], rel=1e-5)
        assert gap["probability"] == pytest.approx(prepared["probability"], rel=1e-5)


@pytest.mark.exhaustive
def test_a_record_without_its_label_is_an_error_or_left_out(headrace, folder, tmp_path):
    schema = textwrap.dedent(SCHEMA).replace("[features.rich]\n", "[features.rich]\noptional = true\n")
    (tmp_path / "schema.toml").write_text(schema, encoding="utf-8")
    rows = people(60, 4)
    write_table(tmp_path / "people.csv", [row | {"rich": ""} if row is rows[7] else row for row in rows])
    headrace("prepare", tmp_path / "people.csv", tmp_path / "data", "--schema", tmp_path / "schema.toml")
    words = ["--model", f"{folder}/models.py:income", "--features", "text=about", "--labels", "rich"]
    train = ["train", tmp_path / "data", tmp_path / "run", *words, "--epochs", "1", "--validation", "0"]
    failed = headrace(*train, check=False)
    assert failed.returncode == 1
    assert "does not have it; leave such records out with --on-corrupt skip-record" in failed.stderr
    trained = headrace(*train, "--on-corrupt", "skip-record", "--overwrite")
    assert "1 corrupt records of each epoch were left out" in trained.stderr


@pytest.mark.exhaustive
def test_what_does_not_fit_is_told_with_both_sides(headrace, folder):
    words = ["--model", f"{folder}/models.py:income", "--labels", "rich"]
    some = ["--features", "age,hours,job"]
    done = headrace("train", folder / "data", folder / "none", *words, *some, check=False)
    assert done.returncode == 1
    assert "nothing fits text float32[16]" in done.stderr
    assert "age float32[]" in done.stderr and "hours int64[]" in done.stderr
    done = headrace("train", folder / "data", folder / "none", *words, "--features", "txt=about", check=False)
    assert "there is no txt" in done.stderr
    done = headrace("train", folder / "data", folder / "none", *words, "--augment", "flip", check=False)
    assert "--augment is for images" in done.stderr
    assert not (folder / "none").exists()


@pytest.mark.exhaustive
def test_a_model_that_wants_a_vector_of_numbers_is_told_how_to_make_one(headrace, folder):
    (folder / "pair.py").write_text(
        "import keras\n"
        "def build():\n"
        "    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, 'sigmoid')])\n"
        "    model.compile('sgd', 'binary_crossentropy')\n"
        "    return model\n",
        encoding="utf-8",
    )
    words = ["--model", f"{folder}/pair.py:build", "--labels", "rich"]
    some = ["--features", "age,hours"]
    done = headrace("train", folder / "data", folder / "none", *words, *some, check=False)
    assert done.returncode == 1
    assert "or make one vector from several columns, with columns = […] in the schema" in done.stderr
    alone = headrace("train", folder / "data", folder / "none", *words, "--features", "age", check=False)
    assert "nothing fits" in alone.stderr and "columns = " not in alone.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
def test_a_finished_run_goes_on_with_more_epochs_to_the_same_bits(headrace, folder, loop):
    words = ["--model", f"{folder}/models.py:income", "--features", "text=about", "--labels", "rich"]
    words += ["--batch-size", "32", "--loop", loop, "--json"]

    def trained(run: str, epochs: int) -> dict:
        done = headrace("train", folder / "data", folder / run, *words, "--epochs", epochs)
        return json.loads(done.stdout)

    def variables(run: str) -> dict:
        exported = tf.saved_model.load(str(folder / run / "export"))
        return {name: value.numpy() for name, value in exported.signatures["variables"]().items()}

    first = trained(f"more-{loop}", 2)
    more = trained(f"more-{loop}", 4)
    assert more["history"][:2] == first["history"] and len(more["history"]) == 4
    assert more["steps_done_now"] == first["steps"]
    again = trained(f"more-{loop}", 4)
    assert again["was_finished"] and again["history"] == more["history"]
    assert trained(f"at-once-{loop}", 4)["history"] == more["history"]
    wanted, found = variables(f"at-once-{loop}"), variables(f"more-{loop}")
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    fewer = headrace("train", folder / "data", folder / f"more-{loop}", *words, "--epochs", "3", check=False)
    assert fewer.returncode == 1 and "epochs" in fewer.stderr


def write_images(folder: pathlib.Path, count: int, seed: int) -> None:
    """Pictures of two kinds: red above, or blue above."""
    draw = np.random.default_rng(seed)
    for number in range(count):
        pixels = draw.integers(0, 80, (16, 20, 3), dtype=np.uint8)
        kind = number % 2
        pixels[:8, :, 2 * kind] += 150
        path = folder / ("red", "blue")[kind] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(pixels).save(path)


@pytest.fixture(scope="module", params=["native", pytest.param("keras", marks=pytest.mark.soak)])
def pictures(request, headrace, tmp_path_factory, folder):
    place = tmp_path_factory.mktemp("pictures")
    write_images(place / "in", 120, 1)
    write_images(place / "new", 20, 2)
    headrace("prepare", place / "in", place / "data", "--split", "train=0.8,test=0.2")
    headrace("prepare", place / "new", place / "known")
    words = [
        "--model",
        f"{folder}/models.py:cnn",
        "--epochs",
        "8",
        "--batch-size",
        "16",
        "--loop",
        request.param,
    ]
    words += ["--augment", "flip,crop=12x12,brightness=0.05", "--image-size", "14x14"]
    done = headrace("train", place / "data", place / "run", *words)
    assert "takes image image[12, 12, 3]" in done.stderr
    return place


@pytest.mark.exhaustive
def test_images_are_learnt_and_answered_raw_as_prepared(headrace, pictures):
    evaluated = json.loads(
        headrace("evaluate", pictures / "run", "--data", pictures / "data", "--json").stdout
    )
    assert evaluated["targets"][0]["accuracy"] == 1
    raw = answers_to(headrace, pictures / "run", pictures / "new")
    prepared = answers_to(headrace, pictures / "run", pictures / "known", "--split", "train")
    assert len(raw) == 20
    for one, other in zip(raw, prepared, strict=True):
        assert one["id"] == other["id"]
        assert one["label"] == pathlib.PurePath(one["id"]).parts[-2]
        assert one["probabilities"] == pytest.approx(other["probabilities"], rel=1e-5)


@pytest.mark.exhaustive
def test_an_image_is_answered_alone(headrace, pictures):
    red, blue = pictures / "new" / "red" / "0.png", pictures / "new" / "blue" / "1.png"
    answered = headrace("predict", pictures / "run", "--image", red, "--image", blue, "--json").stdout
    alone = json.loads(answered)["predictions"]
    assert [answer["label"] for answer in alone] == ["red", "blue"]
    assert alone[0]["image"] == str(red)
    with hr.load(pictures / "run") as model:
        of_python = model.predict([str(red), red.as_uri(), blue.read_bytes()])
        np.testing.assert_allclose(of_python.array()[0], list(alone[0]["probabilities"].values()), rtol=1e-5)
        assert of_python.labels == ["red", "red", "blue"]
        with pytest.raises(hr.errors.InvalidArgumentError, match=r"^row 2 is rejected: .*image"):
            model.predict([str(red), b"no image"])
    done = headrace("predict", pictures / "run", "--image", pictures / "none.png", check=False)
    assert done.returncode == 1 and "none.png" in done.stderr


@pytest.mark.soak
def test_a_model_for_images_of_any_size_wants_to_know_it(headrace, pictures, folder):
    (folder / "open.py").write_text(
        "import keras\n"
        "def build(classes):\n"
        "    model = keras.Sequential([keras.Input((None, None, 3)), keras.layers.GlobalAveragePooling2D(),\n"
        "                              keras.layers.Dense(classes, 'softmax')])\n"
        "    model.compile('adam', 'sparse_categorical_crossentropy')\n"
        "    return model\n",
        encoding="utf-8",
    )
    words = ["--model", f"{folder}/open.py:build", "--epochs", "1"]
    done = headrace("train", pictures / "data", pictures / "open", *words, check=False)
    assert done.returncode == 1 and "--image-size" in done.stderr
    done = headrace("train", pictures / "data", pictures / "open", *words, "--image-size", "10x9")
    assert "takes image image[10, 9, 3]" in done.stderr
