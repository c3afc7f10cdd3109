"""Models of features that have any number of values, and of features that may be missing: what fills rows up,
masks, and answers to raw rows."""

import functools
import gzip
import json
import os
import pathlib
import random
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

SCHEMA = """
    id = "name"
    [features.name]
    type = "string"
    [features.tokens]
    type = "int64"
    shape = "ragged"
    [features.words]
    type = "string"
    shape = "ragged"
    [features.age]
    type = "float32"
    optional = true
    [features.label]
    type = "label"
    vocabulary = ["without", "with"]
"""
MODELS = """
    import keras
    from keras import layers, ops

    def _compiled(inputs, body):
        model = keras.Model(inputs, layers.Dense(1, "sigmoid")(body))
        model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
        return model

    def masked():
        tokens = keras.Input((None,), name="tokens", dtype="int32")
        mask = keras.Input((None,), name="tokens_mask")
        age = keras.Input((), name="age")
        known = keras.Input((), name="known", dtype="bool")
        vectors = layers.Embedding(20, 8)(tokens) * ops.expand_dims(mask, -1)
        mean = ops.sum(vectors, 1) / ops.maximum(ops.sum(mask, 1, keepdims=True), 1.0)
        numbers = ops.stack([age, ops.cast(known, "float32")], -1)
        return _compiled([tokens, mask, age, known], layers.Concatenate()([mean, numbers]))

    def cut():
        tokens = keras.Input((4,), name="tokens", dtype="int32")
        return _compiled(tokens, layers.Flatten()(layers.Embedding(20, 4)(tokens)))

    def words():
        words = keras.Input((None,), name="w", dtype="string")
        hashed = layers.Hashing(50)(words)
        return _compiled(words, layers.GlobalAveragePooling1D()(layers.Embedding(50, 4)(hashed)))

    def each():
        tokens = keras.Input((None,), name="tokens", dtype="int32")
        model = keras.Model(tokens, layers.Dense(1)(layers.Embedding(20, 4)(tokens)))
        model.compile("adam", "mse")
        return model
"""


def rows(count: int, seed: int) -> list[dict]:
    """Rows of 0 to 9 tokens; the label says whether 7 is among them, the age is often missing."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        tokens = [draw.randrange(1, 20) for _ in range(draw.randrange(10))]
        if number % 2:
            tokens = [token for token in tokens if token != 7]
        elif 7 not in tokens:
            tokens.insert(draw.randrange(len(tokens) + 1), 7)
        row = {"name": f"{seed}-{number}", "tokens": tokens, "words": [f"w{token}" for token in tokens]}
        if draw.random() < 0.5:
            row["age"] = round(draw.uniform(0, 1), 3)
        made.append(row | {"label": "with" if 7 in tokens else "without"})
    return made


def write_lines(path: pathlib.Path, lines: list[dict], without: tuple[str, ...] = ()) -> None:
    kept = ({key: value for key, value in line.items() if key not in without} for line in lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")


def answers(folder: pathlib.Path) -> dict[str, float]:
    """The probability of yes, by id."""
    found = {}
    for path in sorted(folder.glob("predictions-*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            answer = json.loads(line)
            found[answer["id"]] = answer["probability"]
    return found


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ragged")
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    (folder / "models.py").write_text(textwrap.dedent(MODELS), encoding="utf-8")
    write_lines(folder / "rows.jsonl", rows(600, 1))
    write_lines(folder / "new.jsonl", rows(60, 2), without=("label",))
    write_lines(folder / "labelled.jsonl", rows(60, 2))
    prepare = ("--schema", folder / "schema.toml")
    headrace("prepare", folder / "rows.jsonl", folder / "data", *prepare)
    headrace("prepare", folder / "labelled.jsonl", folder / "new", "--split", "test=1", *prepare)
    return folder


def train(headrace, folder, name: str, *options) -> dict:
    model = f"{folder / 'models.py'}:{name.split('-')[0]}"
    return json.loads(
        headrace(
            *("train", folder / "data", folder / name, "--model", model),
            *("--epochs", "12", "--batch-size", "32", "--json", *options),
        ).stdout
    )


@pytest.fixture(scope="module")
def masked(headrace, folder):
    """`masked("native")`: trains with that loop, once, and predicts the raw rows; (result of training, run,
    answers by id)."""

    @functools.cache
    def trained(loop: str) -> tuple[dict, pathlib.Path, dict[str, float]]:
        run, to = folder / f"masked-{loop}", folder / f"raw-{loop}"
        result = train(headrace, folder, run.name, "--loop", loop, "--features", "known=age:mask")
        headrace("predict", run, "--data", folder / "new.jsonl", "--to", to)
        return result, run, answers(to)

    return trained


@pytest.mark.exhaustive
@pytest.mark.parametrize("loop", ["native", pytest.param("keras", marks=pytest.mark.soak)])
def test_masks_tell_a_model_what_is_there(headrace, folder, masked, loop):
    result, run, raw = masked(loop)
    assert result["history"][-1]["accuracy"] > 0.9
    headrace("predict", run, "--data", folder / "new", "--split", "test", "--to", folder / f"made-{loop}")
    assert raw == pytest.approx(answers(folder / f"made-{loop}"), abs=1e-6), "whatever else is in its batch"
    assert len(raw) == 60
    evaluated = json.loads(
        headrace("evaluate", run, "--data", folder / "new", "--split", "test", "--json").stdout
    )
    assert evaluated["targets"][0]["accuracy"] > 0.9


@pytest.mark.soak
def test_both_loops_fill_rows_alike(masked):
    native, keras = masked("native")[2], masked("keras")[2]
    assert len(native) == 60
    assert native == pytest.approx(keras, abs=1e-3)


def test_the_mapping_is_shown(headrace, folder):
    shown = headrace(
        *("train", folder / "data", folder / "shown", "--model", f"{folder / 'models.py'}:cut"),
        *("--epochs", "1", "--features", "tokens"),
    ).stderr
    assert "the model takes tokens int64[any number, filled up or cut to 4]" in shown


@pytest.mark.exhaustive
def test_what_is_cut_has_to_be_named(headrace, folder):
    """The input is called tokens, so nothing has to be said; under another name it does."""
    models = folder / "other.py"
    models.write_text((folder / "models.py").read_text().replace('name="tokens"', 'name="t"'))
    arguments = ("train", folder / "data", folder / "cut", "--model", f"{models}:cut", "--epochs", "1")
    failed = headrace(*arguments, check=False)
    assert "nothing fits t int32[4]" in failed.stderr
    assert "tokens int64[any number]" in failed.stderr
    headrace(*arguments, "--features", "t=tokens")


@pytest.mark.exhaustive
def test_lists_of_texts_are_taken(headrace, folder):
    assert train(headrace, folder, "words", "--features", "words")["history"][-1]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--features", "known=label:mask"), "label has no mask: every record has all of its values"),
        (("--labels", "tokens"), "a label needs the same number in all"),
    ],
)
@pytest.mark.exhaustive
def test_what_cannot_be_is_told(headrace, folder, options, message):
    model = f"{folder / 'models.py'}:masked"
    failed = headrace("train", folder / "data", folder / "never", "--model", model, *options, check=False)
    assert message in failed.stderr


@pytest.mark.exhaustive
def test_an_output_for_each_value_has_no_label(headrace, folder):
    model = f"{folder / 'models.py'}:each"
    failed = headrace("train", folder / "data", folder / "never", "--model", model, check=False)
    assert "has as many values as its input" in failed.stderr
