"""tools/report: one page that holds what the JSON says and asks nothing of the network."""

import html.parser
import json
import re
import subprocess
import sys

import pytest

RESULTS = {
    "title": "Reviews",
    "summary": "A <test> & more",
    "created": "2026-11-21T04:10:00Z",
    "stages": [
        {"name": "prepare", "records": 10568, "shards": 23, "seconds": 17.23, "records_per_s": 613.3},
        {"name": "train", "records": 76032, "seconds": 3.9, "records_per_s": 19495, "mb_per_s": 40.3},
    ],
    "epochs": [
        {"loss": 0.672, "accuracy": 0.58, "val_loss": 0.61, "val_accuracy": 0.69},
        {"loss": 0.6, "accuracy": 0.67, "val_loss": 0.56, "val_accuracy": 0.715},
    ],
    "confusion": {"labels": ["pos", "neg"], "counts": [[776, 271], [290, 783]]},
    "test": {
        "accuracy": 0.7354,
        "classes": [{"label": "pos", "precision": 0.728, "recall": 0.741, "f1": 0.7345}],
    },
    "layers": [
        {"type": "Dense", "detail": "256, relu", "parameters": 131328},
        {"type": "Dropout", "detail": "0.5"},
    ],
    "predictions": [
        {
            "text": "<b>good</b>",
            "label": "pos",
            "probabilities": {"pos": 0.97, "neg": 0.03},
            "expected": "pos",
        },
        {"text": "not good", "label": "pos", "probabilities": {"pos": 0.52, "neg": 0.48}, "expected": "neg"},
    ],
    "commands": ["headrace prepare A B"],
}


class Elements(html.parser.HTMLParser):
    """Texts, and the names and attributes of elements; checks that every element is closed."""

    VOID = {"meta", "i/"}

    def __init__(self):
        super().__init__()
        self.open, self.names, self.attributes, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def make_page(root, tmp_path, results):
    (tmp_path / "results.json").write_text(json.dumps(results))
    command = [
        sys.executable,
        root / "tools/report/page.py",
        tmp_path / "results.json",
        tmp_path / "report.html",
    ]
    subprocess.run(command, check=True)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def page(root, tmp_path):
    return make_page(root, tmp_path, RESULTS)


def test_the_page_is_well_formed_and_shows_every_figure(page):
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    for expected in (
        "73.5 %",
        "10,568",
        "17.23",
        "19,495",
        "40.3",
        "776",
        "74.1 %",
        "131,328",
        "0.741",
        "97 %",
    ):
        assert expected in elements.text
    assert elements.names.count("polyline") == 4


def test_the_page_needs_nothing_from_elsewhere(page):
    elements = Elements()
    elements.feed(page)
    assert not {"script", "link", "img", "iframe"} & set(elements.names)
    assert not [name for name, _ in elements.attributes if name in ("src", "href", "onload")]
    assert not re.search(r"url\(|@import|https?://", page)


def test_texts_are_shown_as_they_are_never_as_markup(page):
    assert "A &lt;test&gt; &amp; more" in page
    assert "&lt;b&gt;good&lt;/b&gt;" in page


def test_right_and_wrong_answers_are_marked(page):
    verdicts = re.findall(r'class="verdict (\w+)"', page)
    assert verdicts == ["right", "wrong"]


def test_one_epoch_without_validation_makes_a_page_too(root, tmp_path):
    page = make_page(root, tmp_path, {**RESULTS, "epochs": [{"loss": 0.5, "accuracy": 0.5}]})
    assert page.count("<polyline") == 2
    assert "nan" not in page
