"""The program: python -m headrace._src.imports FORMAT PATH. The command that starts it reads its messages."""

from __future__ import annotations

import importlib
import sys

from headrace._src.channel import Channel
from headrace._src.imports.source_run import Problem, tell

_READERS = {
    "mlflow-files": "mlflow_files",
    "mlflow-database": "mlflow_database",
    "wandb": "wandb_files",
    "neptune": "neptune_export",
}


def main(arguments: list[str]) -> None:
    source_format, path = arguments
    channel = Channel()
    try:
        reader = importlib.import_module(f"headrace._src.imports.{_READERS[source_format]}")
        tell(channel, reader.runs(path))
    except (Problem, ImportError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
