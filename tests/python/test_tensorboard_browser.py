"""`headrace tensorboard` on a log folder in S3, as people see it: stock TensorBoard in a browser."""

import json
import re
import urllib.request
import uuid

import keras
import numpy as np
import pytest
import tensorflow as tf
from browser_support import Browser, chromium
from selenium.webdriver.common.keys import Keys
from tensorboard_support import PATIENCE_S, headrace_tensorboard, wait_until

import headrace as hr
from headrace import tensorflow as paths

pytestmark = pytest.mark.slow

TRIALS = {"reviews/narrow": (0.01, 64), "reviews/wide": (0.003, 256)}
STEPS = 5_000  # TensorBoard asks for 1,000 points of a curve
SPIKES = {2_345: 9.0, 3_210: -3.0}
HISTOGRAMS = 20
IMAGE_STEPS = range(0, 300, 100)
NODES = "tf-graph-scene >>> g.node"


def losses(run: str) -> np.ndarray:
    rate, units = TRIALS[run]
    noise = np.random.default_rng(units).normal(size=STEPS)
    values = 0.2 + 0.8 * np.exp(-rate / 10 * np.arange(STEPS)) + 0.02 * noise
    values[list(SPIKES)] = list(SPIKES.values())
    return values


def waves(run: str, step: int) -> np.ndarray:
    """48 × 64 pixels, other ones for each run and step."""
    _, units = TRIALS[run]
    y, x = np.mgrid[:48, :64]
    shades = [np.sin(x * units / 512 + step), np.cos(y / 5 + step), (x + y) / 112]
    return ((np.stack(shades, -1) + 1) * 127).astype(np.uint8)


def write_trial(url: str, run: str) -> None:
    rng = np.random.default_rng(1)
    rate, units = TRIALS[run]
    with tf.Graph().as_default() as graph:
        words = tf.compat.v1.placeholder(tf.float32, [None, 4], name="words")
        tf.nn.relu(words, name="hidden")
    with hr.summary.Writer(f"{url}/{run}") as writer:
        writer.hparams({"rate": rate, "optimizer": "adam", "is_frozen": False})
        writer.graph(graph.as_graph_def().SerializeToString())
        for step, loss in enumerate(losses(run)):
            writer.scalars({"training/loss": loss, "training/accuracy": np.exp(-abs(loss))}, step)
        for step in range(HISTOGRAMS):
            values = rng.normal(step / HISTOGRAMS, 1 - step / 40, size=3_000)
            writer.histogram("weights/dense", values, step * STEPS // HISTOGRAMS)
        for step in IMAGE_STEPS:
            writer.image("samples/waves", waves(run, step), step)
        writer.text("notes", f"# Of *{run}*\n\n| größe | units |\n|---|---|\n| a | {units} |", 0)
        writer.end_trial()


def train_with_keras(url: str) -> None:
    assert "s3" in paths.schemes()
    model = keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(8, name="hidden"),
            keras.layers.Dense(2, name="scores"),
        ],
        name="judge",
    )
    model.compile("adam", "mse")
    shown = keras.callbacks.TensorBoard(f"{url}/tuned", histogram_freq=1, write_graph=True)
    model.fit(np.ones((64, 4)), np.zeros((64, 2)), epochs=3, verbose=0, callbacks=[shown])


@pytest.fixture(scope="module")
def live_writer(logs):
    with hr.summary.Writer(f"{logs}/live") as writer:
        writer.scalar("live/loss", 0.5, 0)
        writer.flush()
        yield writer


@pytest.fixture(scope="module")
def logs() -> str:
    url = f"s3://headrace-test/{uuid.uuid4().hex}"
    for run in TRIALS:
        write_trial(url, run)
    train_with_keras(url)
    return url


@pytest.fixture(scope="module")
def tensorboard(build, logs, live_writer, tmp_path_factory):
    errors = tmp_path_factory.mktemp("tensorboard") / "errors"
    with headrace_tensorboard(build, logs, errors) as (process, address):

        def runs_with(plugin: str) -> set[str]:
            with urllib.request.urlopen(f"{address}data/plugin/{plugin}/tags", timeout=PATIENCE_S) as answer:
                return set(json.load(answer))

        # A page that was opened before shows the rest after its next reload only.
        wait_until(lambda: runs_with("text") == set(TRIALS), "what was written last of each trial")
        wait_until(lambda: runs_with("scalars") == {"live", *TRIALS, "tuned/train"}, "all runs")
        yield address
    assert process.returncode == 0, errors.read_text()


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(window, request):
    """The window; afterwards nothing may have gone wrong in it. Its final view is kept."""
    yield window
    window.keep(request.node.name.removeprefix("test_"))
    assert window.errors() == []
    assert window.texts("mat-snack-bar-container, paper-toast[opened], .no-data-warning") == []


def table_of(browser: Browser) -> dict[str, tuple[str, str]]:
    """Run → step and value, as the only time series card says them."""
    script = """
      const text = (cell) => cell.textContent.trim();
      return find('scalar-card-data-table tb-data-table').map((table) => [
        [...table.querySelectorAll('tb-data-table-header-cell')].map(text),
        ...[...table.querySelectorAll('tb-data-table-content-row')].map((row) =>
            [...row.querySelectorAll('tb-data-table-content-cell')].map(text))])"""
    tables = browser.run(script)
    if len(tables) != 1:
        return {}
    titles, *rows = tables[0]
    named = [dict(zip(titles, row, strict=True)) for row in rows]
    return {row["Run"]: (row["Step"], row["Value"]) for row in named}


def wait_for_table(browser: Browser, expected: dict[str, tuple[str, str]]) -> None:
    wait_until(lambda: table_of(browser) == expected, f"{expected} in the card's table")


def points_of(path: str) -> np.ndarray:
    """x and y of each corner of an SVG path of lines."""
    return np.array([pair.split(",") for pair in re.split("[ML]", path)[1:]], float)


# ---- scalars -----------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_time_series_lists_runs_and_shows_each_tag(browser, tensorboard):
    browser.open(f"{tensorboard}?tagFilter=^training#timeseries")
    runs = ["Run", "live", *TRIALS, "tuned/train"]
    wait_until(lambda: set(browser.texts("runs-data-table .cell")) - {""} == set(runs), "all runs")
    tags = ["training/accuracy", "training/loss"]
    wait_until(lambda: browser.attributes("scalar-card .tag", "title") == tags, "a card for each tag")

    def drawn() -> bool:
        charts = browser.pixels("scalar-card line-chart canvas")
        return len(charts) == len(tags) and all((chart[..., 3] > 0).sum() > 1_000 for chart in charts)

    wait_until(drawn, "curves")


@pytest.mark.exhaustive
def test_spikes_are_among_the_time_series(browser, tensorboard):
    browser.open(f"{tensorboard}?tagFilter=^training/loss#timeseries")
    last = {run: ("4,999", f"{losses(run)[-1]:.4g}") for run in TRIALS}
    wait_for_table(browser, last)
    for step, value in SPIKES.items():
        field = browser.wait_for("card-fob [contenteditable]")
        browser.run("arguments[0].focus(); getSelection().selectAllChildren(arguments[0])", field)
        field.send_keys(f"{step}{Keys.ENTER}")
        wait_for_table(browser, dict.fromkeys(TRIALS, (f"{step:,}", f"{value:.4g}")))


def test_the_drawn_curves_are_what_was_written(browser, tensorboard):
    browser.open(f"{tensorboard}#scalars&tagFilter=^training&_smoothingWeight=0")
    browser.click("#ignore-y-outlier")  # what is far outside of a chart is not drawn
    script = """return find('tf-scalar-card').filter((card) => card.tag == 'training/loss').flatMap(
        (card) => below(card, 'path.line').map((path) => path.getAttribute('d')).filter((path) => path))"""

    def drawn() -> bool:
        curves = [points_of(path) for path in browser.run(script)]
        return all(any(draws(curve, losses(run)) for curve in curves) for run in TRIALS)

    wait_until(drawn, "a curve of each run")


def draws(points: np.ndarray, values: np.ndarray) -> bool:
    """Whether a curve in pixels goes from the first to the last value, has the greatest and the least, and
    otherwise only values that are there."""
    x, y = points.T
    if not 500 < len(points) <= 1_000:
        return False
    steps = (x - x[0]) / (x[-1] - x[0]) * (len(values) - 1)
    nearest = steps.round().astype(int)
    scale = (values.max() - values.min()) / (y.min() - y.max())  # pixels count downwards
    shown = values.max() + (y - y.min()) * scale
    return np.allclose(steps, nearest, atol=1e-3) and np.allclose(shown, values[nearest], atol=1e-4)


def test_what_is_written_meanwhile_appears(browser, tensorboard, live_writer):
    browser.open(f"{tensorboard}?tagFilter=^live/loss#timeseries")
    wait_for_table(browser, {"live": ("0", "0.5")})
    for step, value in ((1, 0.25), (2, 0.125)):
        live_writer.scalar("live/loss", value, step)
        live_writer.flush()
        expected = {"live": (str(step), f"{value:.4g}")}

        def shown(expected=expected) -> bool:
            if table_of(browser) == expected:
                return True
            if not browser.count("button.reload-button.loading"):
                browser.click("button.reload-button")
            return False

        wait_until(shown, f"step {step}")


# ---- everything else ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "runs", "count"),
    [("weights/dense", list(TRIALS), HISTOGRAMS), ("judge/hidden/kernel/histogram", ["tuned/train"], 3)],
    ids=["summary", "keras"],
)
def test_histograms(browser, tensorboard, tag, runs, count):
    browser.open(f"{tensorboard}#histograms&tagFilter=^{tag}")
    script = """return find('tf-histogram-loader').filter((card) => card.tag == arguments[0]).map(
        (card) => [card.run, below(card, 'path.outline').length])"""

    def drawn() -> list[list]:
        return [card for card in browser.run(script, tag) if card[1]]  # a closed group has cards, too

    wait_until(lambda: drawn()[: len(runs)] == [[run, count] for run in runs], "histograms")


def test_distributions(browser, tensorboard):
    browser.open(f"{tensorboard}#distributions&tagFilter=dense")
    areas = """return find('tf-distribution-loader').filter((card) => card.tag == 'weights/dense').filter(
        (card) => below(card, 'path.area').some((area) => area.getAttribute('d'))).map((card) => card.run)"""
    wait_until(lambda: set(browser.run(areas)) == set(TRIALS), "the distributions of both runs")


@pytest.mark.parametrize(
    ("page", "image"),
    [("#images", "tf-image-loader >>> img"), ("?tagFilter=^samples#timeseries", "image-card img")],
    ids=["images", "time-series"],
)
def test_images_have_the_written_pixels(browser, tensorboard, page, image):
    browser.open(tensorboard + page)
    wait_until(lambda: len(browser.pixels(image)) == len(TRIALS), "an image of each run")
    for shown, run in zip(browser.pixels(image), TRIALS, strict=True):
        np.testing.assert_array_equal(shown[..., :3], waves(run, IMAGE_STEPS[-1]))


def test_text_is_rendered_as_markdown(browser, tensorboard):
    browser.open(f"{tensorboard}#text")
    wait_until(
        lambda: browser.texts("tf-markdown-view >>> h1") == [f"Of {run}" for run in TRIALS], "headings"
    )
    assert browser.texts("tf-markdown-view >>> th") == ["größe", "units"] * len(TRIALS)
    assert browser.texts("tf-markdown-view >>> td") == ["a", "64", "a", "256"]


def test_hyperparameters_are_rows_of_a_table(browser, tensorboard):
    titles = ["rate", "is_frozen", "optimizer", "training/accuracy", "training/loss"]
    wanted = ["Trial ID", "Show Metrics", *titles]
    for run, (rate, _) in TRIALS.items():
        loss = losses(run)[-1]
        wanted += [run, f"{rate:#.5g}", "false", "adam", f"{np.exp(-loss):#.5g}", f"{loss:#.5g}"]
    browser.open(f"{tensorboard}#hparams")
    wait_until(lambda: [text for text in browser.texts("vaadin-grid-cell-content") if text] == wanted, wanted)


def test_graph_of_operations(browser, tensorboard):
    browser.open(f"{tensorboard}#graphs")
    wait_until(lambda: sorted(browser.attributes(NODES, "data-name")) == ["hidden", "words"], "two nodes")
    heights = "return find(arguments[0]).map((node) => node.getBoundingClientRect().height)"
    wait_until(lambda: min(browser.run(heights, NODES)) > 20, "nodes of a size that can be read")


@pytest.mark.exhaustive
def test_graph_of_a_keras_model(browser, tensorboard):
    browser.open(f"{tensorboard}#graphs")
    browser.click("tf-graph-controls >>> .run-dropdown")
    browser.click("tf-graph-controls >>> .run-dropdown paper-item", "tuned/train")
    browser.click("tf-graph-controls >>> paper-radio-button", "Conceptual")
    wait_until(lambda: browser.attributes(NODES, "data-name") == ["judge"], "the model's node")
