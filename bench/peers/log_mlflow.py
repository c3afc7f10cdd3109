"""mlflow.log_metric, one call after the other, and the end of the run:

python log_mlflow.py headrace|nothing|files|sqlite FOLDER COUNT REPEATS
"""

import os
import sys
import uuid

os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}

import mlflow  # noqa: E402
from mlflow.entities import Experiment, Run, RunData, RunInfo  # noqa: E402
from mlflow.store.tracking.abstract_store import AbstractStore  # noqa: E402
from mlflow.tracking._tracking_service.utils import _tracking_store_registry  # noqa: E402
from repeating import repeat  # noqa: E402


class Nothing(AbstractStore):
    """A tracking store that stores nothing: MLflow's own Python code is the limit."""

    def __init__(self, store_uri: str, artifact_uri: str | None = None):
        super().__init__()

    def get_experiment(self, experiment_id):
        return Experiment(experiment_id, "Default", "", "active")

    def create_run(self, experiment_id, user_id, start_time, tags, run_name):
        return self.get_run("0" * 32)

    def get_run(self, run_id):
        return Run(RunInfo(run_id, "0", "", "RUNNING", 0, None, "active", "", "nothing"), RunData())

    def update_run_info(self, run_id, run_status, end_time, run_name):
        return self.get_run(run_id).info

    def log_metric(self, run_id, metric):
        pass


def place(who: str, folder: str) -> str:
    if who == "headrace":
        import headrace.mlflow

        headrace.mlflow.register()
        return f"headrace+file://{folder}"
    if who == "sqlite":
        os.makedirs(folder)
        return f"sqlite:///{folder}/mlflow.db"
    _tracking_store_registry.register("nothing", Nothing)
    return "nothing://" if who == "nothing" else f"file://{folder}"


def log(count: int) -> int:
    with mlflow.start_run():
        for step in range(count):
            mlflow.log_metric("loss", 0.5, step=step)
    return count


def main() -> None:
    who, folder, count, repeats = sys.argv[1:]
    os.environ["XDG_STATE_HOME"] = f"{folder}/state"
    mlflow.set_tracking_uri(place(who, f"{folder}/{uuid.uuid4().hex}"))
    with mlflow.start_run():  # creates everything that the store needs
        pass
    repeat(lambda: log(int(count)), int(repeats))


if __name__ == "__main__":
    main()
