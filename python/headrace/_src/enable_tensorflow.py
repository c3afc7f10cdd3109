"""Makes `import headrace.tensorflow` unnecessary in one Python environment, with a file that Python reads
when it starts (`site`, "path configuration files").

    python -m headrace._src.enable_tensorflow enable|disable|status FOLDER

FOLDER is the folder that holds this package.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import sysconfig
from pathlib import Path

_NAME = "headrace-tensorflow.pth"
# One line; no failure in it may keep Python from starting.
_LINE = (
    "import importlib.util; importlib.util.find_spec('headrace') and "
    "__import__('headrace._src.import_hook', fromlist=['enable']).enable()\n"
)


def _file() -> Path:
    return Path(sysconfig.get_path("purelib")) / _NAME


def _is_installed(package_folder: str) -> bool:
    """Whether this environment finds the package by itself, without options or variables of this start."""
    others = [path for path in sys.path if path and Path(path).resolve() != Path(package_folder).resolve()]
    return importlib.util.find_spec("headrace") is not None and any(
        (Path(path) / "headrace" / "__init__.py").exists() for path in others
    )


def main(arguments: list[str]) -> dict[str, str | bool]:
    """Runs the action and returns the resulting state."""
    action, package_folder = arguments
    file = _file()
    if action == "disable":
        file.unlink(missing_ok=True)
    if action == "enable":
        if importlib.util.find_spec("tensorflow") is None:
            raise SystemExit(
                f"{sys.executable} has no TensorFlow: pip install tensorflow, or set HEADRACE_PYTHON"
            )
        content = _LINE if _is_installed(package_folder) else f"{package_folder}\n{_LINE}"
        try:
            file.write_text(content)
        except OSError as error:
            raise SystemExit(
                f"{file} cannot be written: {error.strerror}; use a virtual environment"
            ) from None
    return {"python": sys.executable, "enabled": file.exists(), "file": str(file)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
