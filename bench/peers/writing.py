"""Functions that the programs here share to write datasets: an empty folder, bytes that are on the disk."""

import pathlib
import shutil
import subprocess


def empty(folder: pathlib.Path) -> None:
    """Removes what a repeat before has written, to the disk also."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sync(folder)


def sync(folder: pathlib.Path) -> None:
    """Writes back the file system of this folder."""
    subprocess.run(["sync", "--file-system", folder], check=True)


def pictures(source: str) -> list[pathlib.Path]:
    """<label>/<name>.jpg below the folder."""
    return sorted(pathlib.Path(source).glob("*/*.jpg"))
