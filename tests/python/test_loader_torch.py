"""The loader under torch, which lives in the system's Python: its wheel is too large for the environment.

torch_loop.py is what runs there.
"""

import io
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import tfrecords
from PIL import Image

PYTHON = "/usr/bin/python3"  # with Debian's python3-torch


@pytest.fixture(scope="module")
def torch_loop(root):
    """Runs torch_loop.py with arguments: what it prints."""

    def run(*arguments):
        command = [PYTHON, pathlib.Path(__file__).with_name("torch_loop.py"), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(root / "python")}
        done = subprocess.run(
            list(map(str, command)),
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (
            f"{done.stderr}\n(torch is that of the system: apt-get install python3-torch)"
        )
        return json.loads(done.stdout)

    return run


def test_torch_shares_the_memory(torch_loop, tmp_path):
    found = torch_loop("share", tfrecords.write_numbered(tmp_path / "data", 300))
    assert found["shared"] == dict.fromkeys(["number", "vector", "tags", "offsets"], True)
    assert found["types"] == {
        "number": "torch.int64",
        "vector": "torch.float32",
        "tags": "torch.int64",
        "offsets": "torch.int64",
    }
    assert found["same values"]
    examples = [tfrecords.numbered_example(number) for number in found["numbers"]]
    assert len(examples) == 50
    assert found["tags"] == [example.get("tags", []) for example in examples]
    assert found["tags by EmbeddingBag"] == [len(example.get("tags", [])) for example in examples]


def test_images_are_tensors_of_bytes(torch_loop, tmp_path):
    file = io.BytesIO()
    Image.linear_gradient("L").save(file, "PNG")
    tfrecords.write(tmp_path / "a.tfrecord", [{"image": [file.getvalue()]}] * 3)
    found = torch_loop("pixels", tmp_path / "a.tfrecord")
    assert found == {"type": "torch.uint8", "shape": [3, 4, 6, 3], "same values": True}


@pytest.mark.exhaustive
def test_a_torch_loop_learns_from_real_reviews_and_resumes_half_way(torch_loop, real_reviews, tmp_path):
    whole = torch_loop("train", real_reviews, tmp_path / "whole.pt")
    assert len(whole["losses"]) == whole["steps"]
    assert np.isclose(whole["losses"][0], np.log(2), atol=0.05)
    assert np.mean(whole["losses"][-20:]) < 0.6
    assert whole["accuracy"] > 0.58
    half = whole["steps"] // 2 + 3
    first = torch_loop("train", real_reviews, tmp_path / "halves.pt", half)
    rest = torch_loop("train", real_reviews, tmp_path / "halves.pt")
    assert first["losses"] + rest["losses"] == whole["losses"]
    assert len(first["losses"]) == half
    assert rest["weights"] == whole["weights"] != first["weights"]
