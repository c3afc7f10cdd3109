"""Writes mlflow.sql, a database of MLflow that tests import: tables of mlflow 3.17.2 as SQL.

Needs mlflow-skinny, sqlalchemy and alembic: python record_mlflow.py. The text @FOLDER@ stands for the folder
of the artifacts.
"""

import pathlib
import sqlite3
import tempfile

import mlflow

TABLES = ("experiments", "runs", "params", "tags", "metrics", "logged_models")


def log_runs(uri: str, artifacts: str) -> None:
    """One run of each status, a deleted one, and a logged model."""
    client = mlflow.MlflowClient(uri)
    experiment = client.create_experiment("cats", artifact_location=artifacts)
    first = client.create_run(experiment, run_name="first", tags={"team": "a b"}).info.run_id
    client.log_param(first, "lr", "0.001")
    client.log_param(first, "layers/0", "dense")
    values = [1.0, 0.5, 1 / 3, float("nan"), float("-inf")]
    for step, value in enumerate(values):
        client.log_metric(first, "loss", value, timestamp=1_700_000_000_000 + step, step=step)
    client.log_text(first, "hello", "notes/a.txt")
    client.create_logged_model(experiment, name="net", source_run_id=first)
    client.set_terminated(first, "FINISHED")
    name = (
        "second: with 'colon' # and a long name that a writer of YAML folds, as it has over eighty characters"
    )
    second = client.create_run(experiment, run_name=name).info.run_id
    client.log_metric(second, "acc/top 1", 0.5, step=1)
    client.set_terminated(second, "KILLED")
    client.create_run(experiment, run_name="going")
    gone = client.create_run(experiment, run_name="gone").info.run_id
    client.set_terminated(gone, "FAILED")
    client.delete_run(gone)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder, "mlflow.db")
        log_runs(f"sqlite:///{database}", f"file://{folder}/artifacts")
        connection = sqlite3.connect(database)
        lines = [
            line.replace(folder, "@FOLDER@")
            for line in connection.iterdump()
            if any(
                line.startswith((f'INSERT INTO "{t}"', f'CREATE TABLE "{t}"', f"CREATE TABLE {t} "))
                for t in TABLES
            )
        ]
    pathlib.Path(__file__).with_name("mlflow.sql").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
