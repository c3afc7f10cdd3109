"""Programs of other people, in an environment of their own: build/bench/peers, made from
bench/peers/requirements.txt. What does not install is left out, and named with the reason.
"""

import functools
import json
import pathlib
import subprocess
import sys

from . import BUILD, ROOT, run

PROGRAMS = ROOT / "bench" / "peers"
_FOLDER = BUILD / "peers"
_REQUIREMENTS = PROGRAMS / "requirements.txt"
_REASON_CHARACTERS = 200


@functools.cache
def install() -> dict[str, str]:
    """Why packages of requirements.txt are missing: name → reason. Made anew when that file or the
    interpreter changes."""
    stamp = _FOLDER / "stamp.json"
    state = [sys.version, str(_FOLDER), _REQUIREMENTS.read_text()]
    if stamp.exists():
        made = json.loads(stamp.read_text())
        if made["state"] == state:
            return made["missing"]
    print(f"installing the packages of {_REQUIREMENTS.relative_to(ROOT)} into {_FOLDER.relative_to(ROOT)}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", _FOLDER], check=True)
    missing = {}
    for line in state[2].splitlines():
        if line and not line.startswith("#"):
            command = [_FOLDER / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", line]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                missing[line] = f"does not install: {_last_line(done.stderr)}"
    stamp.write_text(json.dumps({"state": state, "missing": missing}))
    return missing


def installed() -> list[str]:
    """The lines of requirements.txt that are not missing: names with versions."""
    lines = [line for line in _REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    return [line for line in lines if line not in install()]


def account(failed: dict[str, str]) -> dict:
    """What a result says of them: who is missing and why, be it for want of a package or since its program
    `failed`; and the others' versions."""
    return {"missing": install() | failed, "installed_peers": installed()}


def run_own(name: str, *arguments, on: list[int]) -> dict | str:
    """What bench/peers/<name>.py, in the environment of the peers, prints as JSON; or why it failed."""
    install()
    return _run(_FOLDER / "bin" / "python", name, arguments, on)


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
