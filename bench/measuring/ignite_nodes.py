"""Real nodes of Apache Ignite for the programs of bench/, and Java programs with their libraries."""

import contextlib
import json
import shlex
import subprocess
import tempfile
from collections.abc import Iterator

from . import ROOT, WORK, cores, run

_SCRIPT = ROOT / "tools" / "servers" / "ignite.sh"


@contextlib.contextmanager
def nodes(count: int, region_mib: int) -> Iterator[str]:
    """A cluster with the given number of nodes and memory for data on each node; yields their addresses,
    separated by commas."""
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK, prefix="ignite-") as folder:
        command = [_SCRIPT, "start", folder, "--nodes", str(count)]
        command += ["--region-mib", str(region_mib), "--optimized"]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        try:
            words = dict(word.split("=", 1) for word in shlex.split(lines) if "=" in word)
            yield words["HEADRACE_IGNITE_ADDRESSES"]
        finally:
            subprocess.run([_SCRIPT, "stop", folder], check=True)


def java(source: str, *arguments) -> dict:
    """The JSON that bench/peers/<source>.java prints."""
    command = [_SCRIPT, "java", ROOT / "bench" / "peers" / f"{source}.java", *arguments]
    return json.loads(run(command, cores()).output)
