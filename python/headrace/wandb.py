"""The calls of Weights & Biases' tutorials on Headrace's own record: no account, no server.

    import headrace.wandb as wandb

    wandb.init(project="cats-and-dogs", config={"lr": 1e-3})
    wandb.log({"loss": 0.3})
    wandb.finish()

Runs are recorded in the folder PROJECT below `$HEADRACE_RUNS`, a URL or a path, or below `runs` in the
current folder. `headrace runs` and `headrace artifacts` show them. `wandb.config`, `wandb.summary` and
`wandb.run` are those of the run that `init` has begun.
"""

from __future__ import annotations

from typing import Any

from headrace._src import wandb as _wandb
from headrace._src.wandb import (
    Artifact,
    Audio,
    Config,
    Histogram,
    Image,
    Run,
    Table,
    WandbCallback,
    WandbMetricsLogger,
    finish,
    init,
    log,
    log_artifact,
    use_artifact,
    watch,
)

__all__ = [
    "Artifact",
    "Audio",
    "Config",
    "Histogram",
    "Image",
    "Run",
    "Table",
    "WandbCallback",
    "WandbMetricsLogger",
    "finish",
    "init",
    "log",
    "log_artifact",
    "use_artifact",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name == "run":
        return _wandb._current
    if name in ("config", "summary"):
        return getattr(_wandb.current(), name)
    raise AttributeError(
        f"headrace.wandb has no {name}: it has only the calls that tutorials use; see headrace.init for "
        "all others"
    )
