"""`headrace train --balance` and `--bucket`: both loops, continued to the same bits, on skewed data."""

import json
import os
import pathlib
import random
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import published_support
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

SCHEMA = """
    id = "id"
    [features.id]
    type = "string"
    [features.about]
    type = "vector"
    encoder = "hash:8"
    [features.steps]
    type = "int64"
    shape = "ragged"
    [features.label]
    type = "label"
    vocabulary = ["rare", "usual"]
"""


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory) -> pathlib.Path:
    """800 rows, 1 in 20 of them rare, in data/."""
    folder = tmp_path_factory.mktemp("skewed")
    draw = random.Random(1)
    lines = ["id,about,steps,label"]
    for number in range(800):
        is_rare = number % 20 == 3
        words = draw.choices(["red", "old"] if is_rare else ["blue", "new", "old"], k=3)
        steps = " ".join(["1"] * draw.randrange(1, 40))
        lines.append(f"r{number},{' '.join(words)},{steps},{'rare' if is_rare else 'usual'}")
    (folder / "rows.csv").write_text("\n".join(lines))
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA))
    headrace("prepare", folder / "rows.csv", folder / "data", "--schema", folder / "schema.toml")
    return folder


def train(headrace, folder: pathlib.Path, run: str, *options: str, **more) -> dict:
    words = ["train", folder / "data", folder / run, "--features", "about", "--batch-size", "32", "--json"]
    done = headrace(*map(str, [*words, *options]), **more)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def variables(run: pathlib.Path) -> bytes:
    return (run / "export/variables/variables.data-00000-of-00001").read_bytes()


@pytest.fixture(scope="module")
def balanced(headrace, folder) -> dict[str, dict]:
    """The answers of both loops for three epochs of balanced training: runs native/ and keras/."""
    options = ["--balance", "label", "--epochs", "3", "--loop"]
    return {loop: train(headrace, folder, loop, *options, loop) for loop in ("native", "keras")}


@pytest.mark.parametrize("loop", ["native", "keras"])
@pytest.mark.soak
def test_a_run_that_goes_on_has_the_bits_of_one_trained_at_once(headrace, folder, balanced, loop):
    options = ["--balance", "label", "--loop", loop, "--epochs"]
    train(headrace, folder, f"{loop}-again", *options, "1")
    train(headrace, folder, f"{loop}-again", *options, "3")
    assert variables(folder / f"{loop}-again") == variables(folder / loop)


@pytest.mark.exhaustive
def test_both_loops_train_on_the_same_batches(headrace, folder, balanced):
    words = ["--bucket", "steps", "--epochs", "1", "--loop"]
    bucketed = {loop: train(headrace, folder, f"{loop}-b", *words, loop) for loop in ("native", "keras")}
    for answers in (balanced, bucketed):
        first = answers["native"]["history"][0]
        assert first == pytest.approx(answers["keras"]["history"][0], rel=1e-3)
    for loop in ("native", "keras"):
        configurations = [published_support.configuration(folder / run) for run in (loop, f"{loop}-b")]
        assert [c.get("balance") for c in configurations] == ["label", None]
        assert [c.get("bucket") for c in configurations] == [None, "steps"]
        assert [c["stage"] for c in configurations] == ["train 3", "train 3"]


@pytest.mark.exhaustive
def test_balanced_training_finds_what_is_rare(headrace, folder, balanced):
    plain = train(headrace, folder, "plain", "--epochs", "3")
    assert published_support.configuration(folder / "plain")["stage"] == "train 2"
    assert plain["steps"] == balanced["native"]["steps"]
    recalls = []
    for run in ("native", "plain"):
        words = ["evaluate", folder / run, "--data", folder / "data", "--split", "train", "--json"]
        (target,) = json.loads(headrace(*words).stdout)["targets"]
        recalls += [each["recall"] for each in target["classes"] if each["label"] == "rare"]
    assert recalls[0] > 0.9
    assert recalls[1] < 0.1


@pytest.mark.exhaustive
def test_another_arrangement_is_another_configuration(headrace, folder, balanced):
    for options in ([], ["--bucket", "steps"]):
        refused = train(headrace, folder, "native", *options, "--epochs", "3", check=False)
        assert "balance" in refused["error"]


@pytest.mark.parametrize(
    "message, options",
    {
        "--balance and --bucket both say": ["--balance", "label", "--bucket", "steps"],
        "balance by lable: * has no such feature; did you mean label?": ["--balance", "lable"],
        "balance by about: it is float32[8] without a vocabulary": ["--balance", "about"],
        "bucket by about: it is float32[8], which has the same length": ["--bucket", "about"],
    }.items(),
)
def test_what_cannot_be_arranged_is_refused_before_anything_is_begun(headrace, folder, message, options):
    refused = train(headrace, folder, "refused", *options, check=False)
    assert all(part in refused["error"] for part in message.split(" * ")), refused["error"]
    assert not (folder / "refused/_headrace").exists()
