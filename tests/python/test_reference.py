"""The reference that `./dev docs` makes tells of everything that is public."""

import os
import re
import subprocess
import sys

import pytest

import headrace


@pytest.mark.exhaustive
def test_the_reference_has_every_public_name_and_command(root, build, tmp_path):
    command = [sys.executable, root / "tools" / "reference.py", tmp_path]
    env = {**os.environ, "HEADRACE_BUILD": str(build), "PYTHONPATH": str(root / "python")}
    subprocess.run(command, check=True, env=env)
    page = (tmp_path / "python" / "headrace.html").read_text()
    for name in ["open", *headrace.__all__]:
        is_module = (tmp_path / "python" / "headrace" / f"{name}.html").exists()
        assert is_module or f'id="{name}"' in page, name
    index = (tmp_path / "index.html").read_text()
    for linked in re.findall(r'href="([^"]+)"', index):
        assert (tmp_path / linked).exists(), linked
    files = (tmp_path / "python" / "headrace" / "fsspec.html").read_text()
    assert all(
        f'id="{name}"' in files for name in ("S3FileSystem", "FileFileSystem", "HeadraceFileSystem.cat")
    )
    commands = (tmp_path / "commands.html").read_text()
    for name in ("prepare", "train", "evaluate", "predict", "runs show", "lineage", "cp"):
        assert f'id="headrace-{name.replace(" ", "-")}"' in commands, name
    assert "--on-corrupt" in commands
    assert "AWS_ENDPOINT_URL_S3" in (tmp_path / "stores.html").read_text()


def test_what_is_public_says_what_it_is():
    for name in ["open", *headrace.__all__]:
        assert (getattr(headrace, name).__doc__ or "").strip(), name
