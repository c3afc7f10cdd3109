"""SavedModels that Headrace did not write: their answers and evaluations are TensorFlow's own."""

import gzip
import hashlib
import json
import os
import random
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from PIL import Image

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
    type = "string"
    [features.member]
    type = "int64"
    [features.rich]
    type = "label"
    vocabulary = ["no", "yes"]
    [features.wage]
    type = "float32"
"""


class Foreign(tf.Module):
    """Types that no record has, names that no dataset has, and an output whose rank is open."""

    def __init__(self):
        super().__init__()
        self.rank = tf.Variable(2)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 1], tf.float64, "age"),
            tf.TensorSpec([None], tf.int32, "work_hours"),
            tf.TensorSpec([None], tf.string, "about"),
            tf.TensorSpec([None], tf.bool, "member"),
        ]
    )
    def score(self, age, work_hours, about, member):
        length = tf.cast(tf.strings.length(about), tf.float64)
        wage = age[:, 0] * 2 + tf.cast(work_hours, tf.float64) / 40 + tf.cast(member, tf.float64)
        return {
            "rich": tf.ensure_shape(tf.sigmoid(wage - 2), [None]),
            "open": tf.reshape(tf.stack([wage, length], 1), tf.concat([tf.shape(wage), [2]], 0)[: self.rank]),
            "text": tf.strings.upper(about),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float16, "age")])
    def wage(self, age):
        return {"wage": age * 3}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    draw = random.Random(5)
    rows = []
    for number in range(300):
        age, hours, job = round(draw.uniform(0, 1), 3), draw.randrange(60), draw.choice(JOBS)
        member = draw.randrange(2)
        wage = round(2 * age + hours / 40 + member, 3)
        about = draw.choice(["likes boats", "owns a house", "é"])
        rich = "yes" if wage + draw.uniform(-0.5, 0.5) > 2 else "no"
        rows.append((f"p{number:03}", age, hours, job, about, member, rich, wage))
    return pd.DataFrame(
        rows, columns=["name", "age", "hours", "job", "about", "member", "rich", "wage"]
    ).set_index("name")


@pytest.fixture(scope="module")
def folder(people, headrace, tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    people.to_csv(folder / "people.csv")
    words = ["--schema", folder / "schema.toml", "--split", "test=1"]
    headrace("prepare", folder / "people.csv", folder / "data", *words)
    module = Foreign()
    signatures = {"serving_default": module.score, "wages": module.wage}
    tf.saved_model.save(module, str(folder / "module"), signatures=signatures)
    inputs = [keras.Input((1,), name="age"), keras.Input((1,), name="hours", dtype="int32")]
    joined = keras.layers.Concatenate()([inputs[0], keras.ops.cast(inputs[1], "float32")])
    keras.utils.set_random_seed(3)
    model = keras.Model(inputs, keras.layers.Dense(3, "softmax")(joined))
    model.export(str(folder / "keras"), verbose=False)
    return folder


FEATURES = ["--features", "work_hours=hours"]


def answers(folder, to) -> dict[str, dict]:
    lines = [
        json.loads(line)
        for path in sorted((folder / to).glob("predictions-*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    return {line["id"]: line["outputs"] for line in lines}


def expected(folder, people) -> dict[str, np.ndarray]:
    score = tf.saved_model.load(str(folder / "module")).signatures["serving_default"]
    out = score(
        age=tf.constant(people["age"].to_numpy(np.float32).astype(np.float64)[:, None]),
        work_hours=tf.constant(people["hours"].to_numpy(np.int32)),
        about=tf.constant(people["about"].tolist()),
        member=tf.constant(people["member"].to_numpy() != 0),
    )
    return {name: value.numpy() for name, value in out.items()}


def test_a_module_answers_records_and_raw_rows_as_tensorflow_has_it(headrace, folder, people):
    module = [folder / "module", *FEATURES]
    told = headrace("predict", *module, "--data", folder / "data", "--to", folder / "of-data")
    assert "the model takes hours int64[] as work_hours" in told.stderr
    rows = folder / "people.csv"
    headrace("predict", *module, "--data", rows, "--like", folder / "data", "--to", folder / "of-like")
    schema = ["--schema", folder / "schema.toml"]
    headrace("predict", *module, "--data", rows, *schema, "--to", folder / "of-schema")
    wanted = expected(folder, people)
    of_data = answers(folder, "of-data")
    assert len(of_data) == len(people)
    for number, name in enumerate(people.index):
        outputs = of_data[name]
        assert set(outputs) == {"open", "rich"}, "texts are not answers"
        assert outputs["rich"]["value"] == pytest.approx(float(wanted["rich"][number]), rel=1e-5)
        assert outputs["open"]["value"] == pytest.approx(wanted["open"][number].tolist(), rel=1e-5)
    assert answers(folder, "of-like") == answers(folder, "of-schema") == of_data


def test_raw_rows_need_a_schema_or_a_dataset(headrace, folder):
    words = ["predict", folder / "module", *FEATURES, "--data", folder / "people.csv"]
    told = headrace(*words, "--to", folder / "none", check=False)
    assert told.returncode == 1
    assert "--schema" in told.stderr and "--like" in told.stderr


def test_an_evaluation_measures_the_outputs_and_has_no_loss(headrace, folder, people):
    words = ["evaluate", folder / "module", *FEATURES, "--data", folder / "data", "--labels", "rich"]
    done = headrace(*words, "--json", "--track", folder)
    evaluated = json.loads(done.stdout)
    assert "output rich is compared with rich int64[] (binary)" in done.stderr
    assert evaluated["loss"] is None and evaluated["metrics"] == {}
    (target,) = evaluated["targets"]
    scores, truth = expected(folder, people)["rich"], (people["rich"] == "yes").to_numpy()
    assert (target["kind"], target["confusion"]["labels"]) == ("binary", ["no", "yes"])
    assert target["accuracy"] == pytest.approx(((scores > 0.5) == truth).mean())
    wins = (scores[truth][:, None] > scores[~truth]).mean() + (
        scores[truth][:, None] == scores[~truth]
    ).mean() / 2
    assert target["area_under_roc"] == pytest.approx(wins, abs=2e-3)
    names = sorted(
        str(path.relative_to(folder / "module"))
        for path in (folder / "module").rglob("*")
        if path.is_file() and "evaluations" not in path.parts
    )
    lines = "".join(
        f"{hashlib.sha256((folder / 'module' / name).read_bytes()).hexdigest()}  {name}\n" for name in names
    )
    assert evaluated["model_digest"] == hashlib.sha256(lines.encode()).hexdigest()
    lineage = headrace("lineage", evaluated["url"].removeprefix("file://"), "--json").stdout
    assert evaluated["model_digest"] in lineage and (folder / "data").as_uri() in lineage
    again = json.loads(headrace(*words, "--json", "--track", folder).stdout)
    assert again["model_digest"] == evaluated["model_digest"], "evaluations beside it are not of the model"


def test_a_keras_export_has_its_classes_named_by_the_vocabulary(headrace, folder, people):
    words = ["evaluate", folder / "keras", "--data", folder / "data", "--labels", "job", "--json"]
    (target,) = json.loads(headrace(*words).stdout)["targets"]
    signature = tf.saved_model.load(str(folder / "keras")).signatures["serving_default"]
    (scores,) = signature(
        age=tf.constant(people[["age"]].to_numpy(np.float32)),
        hours=tf.constant(people[["hours"]].to_numpy(np.int32)),
    ).values()
    assert target["kind"] == "classes" and target["confusion"]["labels"] == JOBS
    counts = np.zeros((3, 3), int)
    np.add.at(counts, ([JOBS.index(job) for job in people["job"]], scores.numpy().argmax(1)), 1)
    assert target["confusion"]["counts"] == counts.tolist()


class WithStates(tf.Module):
    """Has a signature of Headrace's own, as an export without its manifest, and fails at negative ages."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "age")])
    def wage(self, age):
        with tf.control_dependencies([tf.debugging.assert_non_negative(age)]):
            return {"wage": age * 3}

    @tf.function(input_signature=[])
    def reset_metrics(self):
        return {"auc_states": tf.zeros([4])}

    @tf.function(input_signature=[tf.TensorSpec([4], tf.float32, "auc_states")])
    def metric_results(self, auc_states):
        return {"auc": tf.reduce_sum(auc_states)}


def test_states_of_metrics_are_left_alone_and_a_failure_names_the_model(headrace, folder, tmp_path):
    module = WithStates()
    signatures = {
        "serving_default": module.wage,
        "reset_metrics": module.reset_metrics,
        "metric_results": module.metric_results,
    }
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=signatures)
    words = ["evaluate", tmp_path / "model", "--labels", "wage"]
    result = headrace(*words, "--data", folder / "data", "--json")
    assert json.loads(result.stdout)["metrics"] == {}
    pd.DataFrame({"name": ["a"], "age": [-1.0], "wage": [1.0]}).to_csv(tmp_path / "odd.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        'id = "name"\n[features.name]\ntype = "string"\n[features.age]\ntype = "float32"\n'
        '[features.wage]\ntype = "float32"\n',
        encoding="utf-8",
    )
    schema = ["--schema", tmp_path / "schema.toml", "--split", "test=1"]
    headrace("prepare", tmp_path / "odd.csv", tmp_path / "odd", *schema)
    failed = headrace(*words, "--data", tmp_path / "odd", check=False)
    assert failed.returncode != 0
    (line,) = [line for line in failed.stderr.splitlines() if line.startswith("headrace:")]
    assert f"{tmp_path}/model" in line.split("assertion failed")[0], line


def test_a_signature_is_chosen_by_its_name(headrace, folder, people):
    words = ["evaluate", folder / "module", "--data", folder / "data", "--json"]
    done = headrace(*words, "--signature", "wages", "--labels", "wage")
    (target,) = json.loads(done.stdout)["targets"]
    assert target["kind"] == "regression"
    predicted = people["age"].to_numpy(np.float16).astype(np.float64) * 3
    errors = np.abs(predicted - people["wage"])
    assert target["numbers"][0]["mean_absolute_error"] == pytest.approx(errors.mean(), rel=2e-3)
    told = headrace(*words, "--signature", "wage", check=False)
    assert told.returncode == 1 and "it has serving_default, wages" in told.stderr


@pytest.mark.parametrize(
    "options, told",
    [
        ([], ["it is not clear", "work_hours int32[?]", "hours int64[]"]),
        (["--features", "hours=hours"], ["there is no input hours", "work_hours int32[?]", "hours int64[]"]),
        (["--features", "work_hours=age"], ["do not fit", "age float32[]"]),
        (["--features", "work_hours=x"], ["no such feature", "age float32"]),
        ([*FEATURES, "--labels", "score=rich"], ["there is no score", "open [2]", "rich []"]),
        ([*FEATURES, "--labels", "job"], ["nothing fits job int64[]", "rich []"]),
    ],
)
def test_wrong_names_tell_both_lists(headrace, folder, options, told):
    labels = [] if "--labels" in options else ["--labels", "rich"]
    words = ["evaluate", folder / "module", "--data", folder / "data", *labels]
    done = headrace(*words, *options, check=False)
    assert done.returncode == 1
    for part in told:
        assert part in done.stderr


def test_a_number_that_does_not_fit_is_named(headrace, folder, tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        '{"name": "a", "age": 1, "hours": 5000000000, "about": "", "member": 0}\n', encoding="utf-8"
    )
    words = ["--data", tmp_path / "rows.jsonl", "--like", folder / "data", "--to", tmp_path / "to"]
    done = headrace("predict", folder / "module", *FEATURES, *words, check=False)
    assert done.returncode == 1
    assert "5000000000 of the input work_hours does not fit int32" in done.stderr


def test_an_output_belongs_to_one_way_of_calling_a_model(headrace, folder, people, tmp_path):
    words = ["predict", folder / "module", *FEATURES, "--data", folder / "data", "--to", tmp_path / "to"]
    headrace(*words)
    assert "was published before" in headrace(*words).stdout
    other = headrace(*words, "--labels", "rich=rich", check=False)
    assert other.returncode == 1 and "contract" in other.stderr
    headrace(*words, "--labels", "rich=rich", "--overwrite")
    named = answers(tmp_path, "to")
    assert {answer["rich"]["label"] for answer in named.values()} == {"no", "yes"}


def test_a_model_of_pixels_takes_images_in_its_size(headrace, tmp_path):
    class Colors(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 6, 4, 3], tf.float32, "pixels")])
        def mean(self, pixels):
            return {"color": tf.reduce_mean(pixels, [1, 2])}

    module = Colors()
    tf.saved_model.save(module, str(tmp_path / "colors"), signatures=module.mean)
    colors = {"red": (250, 0, 0), "blue": (0, 0, 250)}
    for name, color in colors.items():
        (tmp_path / "images" / name).mkdir(parents=True)
        Image.new("RGB", (12, 18), color).save(tmp_path / "images" / name / "one.png")
    headrace("prepare", tmp_path / "images", tmp_path / "data", "--split", "test=1")
    words = ["predict", tmp_path / "colors"]
    told = headrace(*words, "--data", tmp_path / "data", "--to", tmp_path / "to")
    assert "image[6, 4, 3] as pixels" in told.stderr
    image = ["--image", tmp_path / "images" / "red" / "one.png", "--like", tmp_path / "data", "--json"]
    (answer,) = json.loads(headrace(*words, *image).stdout)["predictions"]
    assert answer["value"] == pytest.approx(colors["red"], abs=3)


def test_python_asks_it_about_rows(folder, people):
    options = {"features": {"work_hours": "hours"}, "labels": {"rich": "rich"}, "like": folder / "data"}
    with hr.load(folder / "module", **options) as model:
        told = model.predict(people.reset_index())
        scores = expected(folder, people)["rich"]
        np.testing.assert_allclose(told.array("rich").ravel(), scores, rtol=1e-5)
        assert told.labels == ["yes" if score > 0.5 else "no" for score in scores]
    with pytest.raises(hr.errors.FailedPreconditionError, match="like"):
        hr.load(folder / "keras")


@pytest.mark.parametrize(
    "options, told",
    [
        ({}, "with schema, or name a dataset that was prepared from such rows with like"),
        ({"like": "nowhere"}, "^like file:.*nowhere: there is no dataset"),
        ({"like": True}, "Say which goes where: features={'about': 'about', 'age': 'age', .*: 'FEATURE'}$"),
        ({"like": True, "schema": "schema.toml"}, "^schema and like both say"),
    ],
)
def test_errors_of_python_name_its_arguments(folder, options, told):
    if options.get("like") is True:
        options = options | {"like": folder / "data"}
    with pytest.raises(hr.errors.Error, match=told) as failed:
        hr.load(folder / "module", **options)
    assert "--like" not in str(failed.value) and "--features" not in str(failed.value)


def test_names_that_are_no_dict_are_a_type_error(folder):
    for options in ({"labels": "rich"}, {"features": ["age"]}, {"labels": {"rich": 1}}):
        (argument,) = options
        with pytest.raises(TypeError, match=rf"^{argument} is .*; it takes a dict of names, such as \{{'"):
            hr.load(folder / "module", like=folder / "data", **options)
