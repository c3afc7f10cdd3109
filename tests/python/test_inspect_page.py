"""`headrace inspect --html`, `--statistics` and `--parquet`: what is said of a dataset that was prepared."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from browser_support import chromium
from page_support import Elements
from PIL import Image

HOSTILE = (
    "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\">"
)
LABELS = {"cat": (200, 30, 30), "dog": (30, 30, 200)}


def picture(color: tuple[int, int, int], side: int) -> bytes:
    pixels = np.full((side, side + 8, 3), color, np.uint8)
    pixels[: side // 2] //= 2
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    return data.getvalue()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of images, texts and numbers, some of whose rows are bad."""
    folder = tmp_path_factory.mktemp("table")
    rows = []
    for number in range(120):
        label = "cat" if number % 3 else "dog"
        split = "TEST" if number % 4 == 0 else "TRAIN"
        path = folder / f"{number}.png"
        path.write_bytes(picture(LABELS[label], 20 + number % 7) if number != 7 else b"no image")
        text = f"{HOSTILE} {number}" if number == 10 else f"text {number % 50}"
        rows.append((split, path.name, label, text, number / 4, 1))
    rows.append(("TRAIN", "missing.png", "cat", HOSTILE, 1.5, 1))
    names = ["split", "image", "label", "text", "weight", "constant"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


@pytest.fixture(scope="module")
def data(table, headrace, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "set"
    headrace("prepare", table, folder, "--max-rejects", "2", "--seed", "44")
    return folder


def statistics_of(headrace, url, *options) -> dict:
    return json.loads(headrace("inspect", url, "--json", "--statistics", *options).stdout)["statistics"]


def test_statistics_are_those_of_the_table(data, table, headrace):
    told = statistics_of(headrace, data)
    rows = pd.read_csv(table).drop([7, 120])
    for split in ("train", "test"):
        here = rows[rows["split"] == split.upper()]
        found = told["splits"][split]
        assert found["records"] == found["read"] == len(here)
        weight = found["features"]["weight"]["numbers"]
        assert weight["mean"] == pytest.approx(here["weight"].mean())
        assert weight["standard_deviation"] == pytest.approx(here["weight"].std(ddof=0))
        assert (weight["minimum"], weight["maximum"]) == (here["weight"].min(), here["weight"].max())
        assert weight["quantiles"]["0.5"] == pytest.approx(here["weight"].median(), abs=1)
        assert weight["zeros"] == (here["weight"] == 0).sum()
        assert sum(weight["histogram"]) == pytest.approx(1)
        assert found["features"]["label"]["values"] == here["label"].value_counts().to_dict()
        images = found["features"]["image"]["images"]
        assert images["formats"] == {"PNG": len(here)}
        assert (images["height"]["minimum"], images["height"]["maximum"]) == (20, 26)
        assert images["width"]["maximum"] == 34
    assert "2 rows were rejected" in told["warnings"]
    assert "train: constant is the same in all records" in told["warnings"]
    reported = [(each["status"], each["rows"]) for each in told["reported"]]
    assert reported == [("rejected", 1), ("rejected", 1)]
    assert all(each["examples"][0]["source"].endswith("table.csv") for each in told["reported"])
    assert {each["examples"][0]["row"] for each in told["reported"]} == {9, 122}


def test_fewer_records_are_read_on_request(data, headrace):
    assert statistics_of(headrace, data, "--limit", "10")["splits"]["train"]["read"] == 10
    found = statistics_of(headrace, data, "--sample", "0.5")["splits"]["train"]
    assert found["read"] == (found["records"] + 1) // 2


@pytest.mark.exhaustive
def test_a_browser_shows_the_page_and_runs_nothing_of_the_data(data, headrace, tmp_path):
    page = tmp_path / "report.html"
    headrace("inspect", data, "--html", page)
    content = page.read_text(encoding="utf-8")
    elements = Elements(content)
    assert "script" not in elements.names
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert all(value.startswith("data:image/jpeg") for name, value in elements.attributes if name == "src")
    assert not [name for name, _ in elements.attributes if name == "href"]
    with chromium(tmp_path) as browser:
        browser.open(page.as_uri())
        browser.wait_for("h2", "Records of train")
        browser.wait_for("h2", "Records of test")
        assert "2 rows were rejected" in browser.texts(".warnings li")
        assert browser.texts(".feature h2") == ["constant", "image", "label", "text", "weight"]
        assert "taken over" not in browser.driver.title
        pictures = browser.pixels("figure img")
        assert len(pictures) == len(browser.texts("figure")) > 16
        labels = [text[:3] for text in browser.texts("figcaption")]
        for pixels, label in zip(pictures, labels, strict=True):
            assert np.abs(pixels[-3:, :, :3].mean((0, 1)) - LABELS[label]).max() < 12
        assert browser.errors() == []
        browser.keep("inspect-page")
        browser.driver.set_window_size(500, 900)
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


def test_hostile_text_stands_in_the_page_as_text(headrace, tmp_path):
    (tmp_path / "texts.jsonl").write_text(
        "".join(
            json.dumps({"text": f"{HOSTILE} {i}", "label": f"{HOSTILE} {i % 2}"}) + "\n" for i in range(9)
        ),
        encoding="utf-8",
    )
    headrace("prepare", tmp_path / "texts.jsonl", tmp_path / "set")
    headrace("inspect", tmp_path / "set", "--html", tmp_path / "report.html")
    content = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;document.title" in content
    assert Elements(content).names.count("script") == 0
    with chromium(tmp_path) as browser:
        browser.open((tmp_path / "report.html").as_uri())
        browser.wait_for("figcaption", HOSTILE)
        assert browser.driver.title == (tmp_path / "set").as_uri()
        assert browser.errors() == []


def test_files_without_a_manifest_have_a_page_too(data, headrace, tmp_path):
    shard = next(data.glob("train-*.tfrecord.gz"))
    told = statistics_of(headrace, shard, "--html", tmp_path / "report.html")
    assert told["splits"]["all"]["features"]["weight"]["dtype"] == "float32"
    assert "Records of all" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_goes_to_any_store(data, headrace, s3_url):
    headrace("inspect", data, "--html", f"{s3_url}/report.html", "--no-checksums")
    assert headrace("cat", f"{s3_url}/report.html").stdout.startswith("<!DOCTYPE html>")


@pytest.mark.usefixtures("all_packages")
def test_the_report_becomes_parquet(data, table, headrace, tmp_path):
    headrace("inspect", data, "--parquet", tmp_path / "rejected.parquet")
    rejected = pd.read_parquet(tmp_path / "rejected.parquet")
    assert list(rejected["status"]) == ["rejected", "rejected"]
    assert set(rejected["row"]) == {9, 122}
    headrace("prepare", table, tmp_path / "all", "--max-rejects", "2", "--report", "all")
    headrace("inspect", tmp_path / "all", "--parquet", tmp_path / "all.parquet")
    rows = pd.read_parquet(tmp_path / "all.parquet").set_index("row").sort_index()
    assert len(rows) == 121
    assert rows["status"].value_counts().to_dict() == {"written": 119, "rejected": 2}
    assert (rows.loc[2, "height"], rows.loc[2, "width"], rows.loc[2, "channels"]) == (20, 28, 3)


def test_what_cannot_be_told_is_refused(data, headrace, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")  # without packages
    python.chmod(0o755)
    lacking = {"HEADRACE_PYTHON": str(python), "PYTHONPATH": ""}
    told = headrace("inspect", data, "--parquet", tmp_path / "x", check=False, env=lacking)
    assert told.returncode == 1
    assert "pip install pyarrow" in told.stderr
    (tmp_path / "good.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    headrace("prepare", tmp_path / "good.csv", tmp_path / "good")
    told = headrace("inspect", tmp_path / "good", "--parquet", tmp_path / "x", check=False)
    assert told.returncode == 1
    assert "--report all" in told.stderr
    shard = next(data.glob("train-*.tfrecord.gz"))
    told = headrace("inspect", shard, "--parquet", tmp_path / "x", check=False)
    assert "it has no report" in told.stderr
    assert not (tmp_path / "x").exists()
