"""examples/images.py: a network learns from images of folders, and of a table that names the same files."""

import re
import subprocess
import sys

import pytest

import headrace as hr

pytestmark = pytest.mark.slow


def run_example(root, folder, *arguments: str) -> tuple[int, float]:
    """How many images were held back, and the accuracy on them."""
    shown = subprocess.run(
        [sys.executable, root / "examples/images.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    told = re.search(
        r"^(\d+) images of (?:test|validation): .* accuracy (\d\.\d+)$", shown.stdout, re.MULTILINE
    )
    assert told, shown.stdout
    return int(told[1]), float(told[2])


def records(url: str, split: str) -> list[tuple[bytes, int]]:
    columns = {"image": hr.bytes_, "label": hr.int64}
    loader = hr.open(url, split).loader(batch_size=64, shuffle=False, columns=columns)
    return [pair for batch in loader for pair in zip(batch["image"], batch["label"].tolist(), strict=True)]


@pytest.mark.soak
def test_digits_are_learnt_the_same_from_folders_and_from_a_table(root, tmp_path):
    few = ("--epochs", "4", "--data", "digits")
    count, accuracy = run_example(root, tmp_path, *few, "--to", "folder")
    assert count == 359
    assert accuracy > 0.7  # a guess is right in 0.1
    count_of_table, accuracy_of_table = run_example(root, tmp_path, *few, "--to", "table", "--as", "csv")
    assert count_of_table == count
    assert accuracy_of_table > 0.7
    for split in ("train", "test"):
        assert records(tmp_path / "folder", split) == records(tmp_path / "table", split)


@pytest.mark.exhaustive
def test_drawn_cats_are_told_from_dogs(root, tmp_path):
    count, accuracy = run_example(
        root, tmp_path, "--generate-catsdogs", "drawn", "--to", "data", "--epochs", "12"
    )
    assert (tmp_path / "drawn/train/cats/cat.0.jpg").exists()
    assert (tmp_path / "drawn/validation/dogs/dog.2000.jpg").exists()
    assert count == 100
    assert accuracy > 0.75  # a guess is right in 0.5


@pytest.mark.soak
def test_digits_are_learnt_well(root, tmp_path):
    _, accuracy = run_example(root, tmp_path, "--data", "digits", "--to", "data")
    assert accuracy >= 0.97
