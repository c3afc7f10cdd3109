"""Folders of photo-like JPEGs of about 400 × 300 and 40 kB, laid out like pictures of two classes."""

import pathlib
import shutil
import subprocess

from . import DATA, build, cores

LABELS = {"cat": 44, "dog": 45}  # label → seed of its pictures


def folder(count: int) -> pathlib.Path:
    """<label>/<number>.jpg: half of the pictures for each label. Made once."""
    target = DATA / f"classes-{count}"
    if not target.exists():
        parts = target.with_suffix(".making")
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir(parents=True)
        program = build("headrace_bench_decode_images")
        writers = [
            subprocess.Popen(
                ["taskset", "-c", str(core), program, "write", parts / label, str(count // 2), str(seed)]
            )
            for core, (label, seed) in zip(cores(), LABELS.items(), strict=True)
        ]
        if any([writer.wait() for writer in writers]):
            raise SystemExit(f"bench: cannot write {parts}")
        parts.rename(target)
    return target
