"""Programs of other projects, in separate environments below build/bench, made from the files of bench/peers:
`peers` from requirements.txt, `peers-ray` from requirements-ray.txt and so on, for packages that cannot be
installed together. A peer that cannot be installed is left out, and reported with the reason.
"""

import functools
import json
import pathlib
import subprocess
import sys

from . import ROOT, WORK, run

PROGRAMS = ROOT / "bench" / "peers"
_REASON_CHARACTERS = 200


def _folder(environment: str) -> pathlib.Path:
    return WORK / f"peers{environment and '-'}{environment}"


def _requirements(environment: str) -> pathlib.Path:
    return PROGRAMS / f"requirements{environment and '-'}{environment}.txt"


def python(environment: str = "") -> pathlib.Path:
    """The interpreter of an environment that is installed."""
    return _folder(environment) / "bin" / "python"


@functools.cache
def install(environment: str = "") -> dict[str, str]:
    """Packages of the requirements that are missing: name → reason. The environment is rebuilt when that file
    or the interpreter changes."""
    folder, requirements = _folder(environment), _requirements(environment)
    stamp = folder / "stamp.json"
    state = [sys.version, str(folder), requirements.read_text()]
    if stamp.exists():
        made = json.loads(stamp.read_text())
        if made["state"] == state:
            return made["missing"]
    print(f"installing the packages of {requirements.relative_to(ROOT)} into {folder.relative_to(ROOT)}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    missing = {}
    for line in state[2].splitlines():
        if line and not line.startswith("#"):
            command = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", line]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                missing[line] = f"does not install: {_last_line(done.stderr)}"
    stamp.write_text(json.dumps({"state": state, "missing": missing}))
    return missing


def installed(environment: str = "") -> list[str]:
    """The installed lines of the requirements: names with versions."""
    lines = _requirements(environment).read_text().splitlines()
    missing = install(environment)
    return [line for line in lines if line and not line.startswith("#") and line not in missing]


def account(failed: dict[str, str], *environments: str) -> dict:
    """The part of a result that describes the peers: missing peers with the reason, which may be that a
    program `failed`; and the versions of the other peers.
    """
    chosen = environments or ("",)
    missing = {line: reason for environment in chosen for line, reason in install(environment).items()}
    packages = [line for environment in chosen for line in installed(environment)]
    return {"missing": missing | failed, "installed_peers": packages}


def run_own(name: str, *arguments, on: list[int], environment: str = "") -> dict | str:
    """Runs bench/peers/<name>.py in the peers' environment; returns the JSON that it prints, or why it
    failed."""
    install(environment)
    return _run(python(environment), name, arguments, on)


def run_project(name: str, *arguments, on: list[int]) -> dict | str:
    """The same in the project's environment, which has TensorFlow and boto3."""
    return _run(sys.executable, name, arguments, on)


def _run(python: pathlib.Path | str, name: str, arguments: tuple, on: list[int]) -> dict | str:
    try:
        done = run([python, PROGRAMS / f"{name}.py", *arguments], on)
    except SystemExit as failed:
        return _last_line(str(failed))
    return json.loads(done.output.splitlines()[-1])


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:_REASON_CHARACTERS]
