"""A process ends, whatever TensorFlow holds or does with a loader by then."""

import concurrent.futures
import os
import subprocess
import sys
import textwrap

import pytest
import tfrecords

BEGIN = """
    import sys, threading
    import keras
    import headrace as hr

    data = hr.open(sys.argv[1])
    columns = {"vector": hr.float32[3], "number": hr.int64}
    dataset = data.loader(batch_size=1, columns=columns).as_tf_dataset("vector", "number")

    def model(shape):
        model = keras.Sequential([keras.Input(shape), keras.layers.Flatten(), keras.layers.Dense(1)])
        model.compile(loss="mse")
        return model
    def fit_damaged_images():
        columns = {"image": hr.image(4, 4), "label": hr.int64}
        images = hr.open(sys.argv[2]).loader(batch_size=2, columns=columns)
        try:
            model([4, 4, 3]).fit(images.as_tf_dataset(), verbose=0)
        finally:
            assert "image" in str(images.failure)
"""
# The end of the program, and its exit status.
ENDS = {
    "an iterator is kept": ("iterator = iter(dataset); next(iterator)", 0),
    "one that reads ahead is kept": ("iterator = iter(dataset.prefetch(5_000)); next(iterator)", 0),
    "one that reads ahead was dropped": (
        "iterator = iter(dataset.prefetch(5_000)); next(iterator); del iterator",
        0,
    ),
    "later epochs of two loaders are kept": (
        """
    for _ in range(2):
        for element in dataset: pass
    iterator = iter(dataset.prefetch(5_000)); next(iterator)
    other = iter(data.loader(batch_size=1, columns=columns).as_tf_dataset().prefetch(5_000)); next(other)
    """,
        0,
    ),
    "a daemon thread iterates": (
        """
    has_begun = threading.Event()
    def read():
        while True:
            for element in dataset.prefetch(4):
                has_begun.set()
    threading.Thread(target=read, daemon=True).start()
    has_begun.wait()
    """,
        0,
    ),
    "fit was left half-way": ("model([3]).fit(dataset, steps_per_epoch=3, epochs=2, verbose=0)", 0),
    "fit has failed, and its error is kept": (
        """
    try:
        fit_damaged_images()
    except Exception as error:
        kept = error
    """,
        0,
    ),
    "fit has failed": ("fit_damaged_images()", 1),
}


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    return tfrecords.write_numbered(tmp_path_factory.mktemp("ends") / "data", 3_000)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    examples = ({"image": [b"\x89PNG\r\n\x1a\n damaged"], "label": [number]} for number in range(40))
    tfrecords.write(folder / "a.tfrecord", examples)
    return folder


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "ways",
    [
        pytest.param(list(ENDS)[::3], id="every third"),
        pytest.param(list(ENDS) * 25, id="all", marks=pytest.mark.soak),
    ],
)
def test_a_process_ends_whatever_tensorflow_holds(numbered, damaged, ways):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def status_of(script: str) -> int | str:
        command = [sys.executable, "-c", textwrap.dedent(BEGIN) + textwrap.dedent(script), numbered, damaged]
        try:
            return subprocess.run(command, env=environment, capture_output=True, timeout=120).returncode
        except subprocess.TimeoutExpired:
            return "it does not end"

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as two_at_once:
        found = list(two_at_once.map(lambda way: status_of(ENDS[way][0]), ways))
    wrong = [(way, status) for way, status in zip(ways, found, strict=True) if status != ENDS[way][1]]
    assert wrong == []
