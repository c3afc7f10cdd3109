"""Functions that the programs here share to write datasets: an empty folder, and bytes that are on disk."""

import pathlib
import shutil
import subprocess


def empty(folder: pathlib.Path) -> None:
    """Removes the output of the previous repeat, on disk, too."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sync(folder)


def sync(folder: pathlib.Path) -> None:
    """Flushes the file system of this folder to disk."""
    subprocess.run(["sync", "--file-system", folder], check=True)


def pictures(source: str) -> list[pathlib.Path]:
    """<label>/<name>.jpg below the folder."""
    return sorted(pathlib.Path(source).glob("*/*.jpg"))
