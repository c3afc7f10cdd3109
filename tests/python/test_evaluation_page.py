"""The page that `headrace evaluate` writes: charts and the worst records of every kind of target."""

import io
import json
import os
import textwrap

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pandas as pd
import pytest
from browser_support import chromium
from page_support import Elements
from PIL import Image

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tracing_environment")]

HOSTILE = (
    "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\">"
)
COLORS = {"cat": (200, 30, 30), "dog": (30, 30, 200), HOSTILE: (30, 200, 30)}
SCHEMA = """
    [features.image]
    type = "image"
    uri = true
    [features.text]
    type = "string"
    [features.size]
    type = "float32"
    [features.animal]
    type = "label"
    [features.big]
    type = "label"
    vocabulary = ["no", "yes"]
    [features.tags]
    type = "int64"
    shape = [2]
    columns = ["soft", "loud"]
    [features.weight]
    type = "float32"
"""
MODELS = """
    import keras
    from keras import layers

    def four():
        size = keras.Input((1,), name="size")
        outputs = {
            "animal": layers.Dense(3, "softmax", name="animal")(size),
            "big": layers.Dense(1, "sigmoid", name="big")(size),
            "tags": layers.Dense(2, "sigmoid", name="tags")(size),
            "weight": layers.Dense(1, name="weight")(size),
        }
        model = keras.Model(size, outputs)
        losses = {"animal": "categorical_crossentropy", "big": "binary_crossentropy",
                  "tags": "binary_crossentropy", "weight": "mse"}
        model.compile("adam", losses)
        return model
"""


def picture(color: tuple[int, int, int]) -> bytes:
    data = io.BytesIO()
    Image.fromarray(np.full((24, 32, 3), color, np.uint8)).save(data, "PNG")
    return data.getvalue()


@pytest.fixture(scope="module")
def folder(headrace, tmp_path_factory):
    """A table with a picture, a text and labels of every kind; a run of an epoch, which is often wrong."""
    folder = tmp_path_factory.mktemp("animals")
    rows = []
    for number in range(160):
        animal = list(COLORS)[number % 3]
        image = folder / f"{number}.png"
        image.write_bytes(picture(COLORS[animal]))
        big = "yes" if number % 5 < 2 else "no"
        text = f"{HOSTILE} {number} " + "long " * (5000 if number % 7 == 0 else 3)
        rows.append((image.name, text, number / 160, animal, big, number % 2, number % 4 < 1, number * 2.5))
    names = ["image", "text", "size", "animal", "big", "soft", "loud", "weight"]
    table = pd.DataFrame(rows, columns=names)
    table.assign(loud=table["loud"].astype(int)).to_csv(folder / "table.csv", index=False)
    (folder / "schema.toml").write_text(textwrap.dedent(SCHEMA), encoding="utf-8")
    (folder / "models.py").write_text(textwrap.dedent(MODELS), encoding="utf-8")
    words = ["--schema", folder / "schema.toml", "--split", "train=0.5,test=0.5"]
    headrace("prepare", folder / "table.csv", folder / "data", *words)
    model = [
        "--model",
        f"{folder}/models.py:four",
        "--features",
        "size",
        "--labels",
        "animal,big,tags,weight",
    ]
    headrace("train", folder / "data", folder / "run", *model, "--epochs", "1")
    return folder


def evaluate(headrace, folder, *options) -> dict:
    words = ["evaluate", folder / "run", "--data", folder / "data", "--json"]
    return json.loads(headrace(*words, *options).stdout)


@pytest.mark.exhaustive
def test_a_browser_shows_the_page_and_runs_nothing_of_the_data(headrace, folder, tmp_path):
    evaluated = evaluate(headrace, folder)
    page = folder / "run" / "evaluations" / f"{evaluated['run_id']}.html"
    assert evaluated["page"] == page.as_uri()
    content = page.read_text(encoding="utf-8")
    assert len(content.encode()) < 2 << 20
    elements = Elements(content)
    assert "script" not in elements.names
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert all(value.startswith("data:image/jpeg") for name, value in elements.attributes if name == "src")
    assert not [name for name, _ in elements.attributes if name == "href"]
    targets = {target["output"]: target for target in evaluated["targets"]}
    with chromium(tmp_path) as browser:
        browser.open(page.as_uri())
        browser.wait_for("h2", "weight: weight (regression)")
        assert "taken over" not in browser.driver.title
        titles = browser.texts("h3")
        for title in ("Confusion", "Scores", "Calibration", "Labels", "Answers and truths: weight"):
            assert title in titles
        assert f"ROC curve: area {targets['big']['area_under_roc']:.5g}" in titles
        shown = sum(len(target["worst"]) for target in targets.values())
        assert browser.count("figure.record") == shown >= 30
        pictures = browser.pixels("figure.record img")
        assert len(pictures) == shown
        names = [text.split()[0] for text in browser.texts("figure.record p b:first-of-type")]
        first = [np.round(pixels[12, 16, :3]) for pixels in pictures[: len(targets["animal"]["worst"])]]
        for pixels, name in zip(first, names, strict=False):
            color = COLORS.get(name, COLORS[HOSTILE])
            assert np.abs(pixels.astype(int) - color).max() < 12
        assert browser.errors() == []
        browser.keep("evaluation-page")
        browser.driver.set_window_size(500, 900)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_the_page_agrees_with_the_object(headrace, folder):
    evaluated = evaluate(headrace, folder)
    content = (folder / "run" / "evaluations" / f"{evaluated['run_id']}.html").read_text(encoding="utf-8")
    (numbers,) = next(target for target in evaluated["targets"] if target["output"] == "weight")["numbers"]
    assert len(numbers["sample"]) == evaluated["records"]
    truths = pd.read_csv(folder / "table.csv")["weight"]
    assert {truth for truth, _ in numbers["sample"]} <= set(truths)
    residuals = [predicted - truth for truth, predicted in numbers["sample"]]
    assert numbers["mean_absolute_error"] == pytest.approx(np.abs(residuals).mean(), rel=1e-5)
    assert content.count("<title>true ") == len(numbers["sample"])
    big = next(target for target in evaluated["targets"] if target["output"] == "big")
    (x, y) = np.array(big["roc"]).T
    assert np.trapezoid(y, x) == pytest.approx(big["area_under_roc"], abs=0.01)
    assert f"{evaluated['records']}</b><span>records" in content


def test_the_content_of_records_can_be_left_out(headrace, folder):
    evaluated = evaluate(headrace, folder, "--no-records")
    content = (folder / "run" / "evaluations" / f"{evaluated['run_id']}.html").read_text(encoding="utf-8")
    assert "data:image" not in content and "<dt>" not in content and "long long" not in content
    assert f"record {evaluated['targets'][0]['worst'][0]['record']} of " in content


def test_a_page_is_created_once_or_goes_where_it_is_asked_for(headrace, folder, s3_url):
    words = ["evaluate", folder / "run", "--data", folder / "data", "--run-id", "again"]
    told = headrace(*words).stdout
    page = folder / "run" / "evaluations" / "again.html"
    assert f"the page is {page.as_uri()}\n" in told
    before = page.read_bytes()
    headrace(*words)
    refused = headrace(*words, "--no-records", check=False)
    assert refused.returncode == 1 and "choose another --run-id" in refused.stderr
    assert page.read_bytes() == before
    elsewhere = json.loads(headrace(*words, "--html", f"{s3_url}/page.html", "--json").stdout)
    assert elsewhere["page"] == f"{s3_url}/page.html"
    assert headrace("cat", f"{s3_url}/page.html").stdout.encode() == before
    lineage = json.loads(headrace("lineage", page, "--json").stdout)
    assert (folder / "data").as_uri() in json.dumps(lineage)
