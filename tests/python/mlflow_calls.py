"""Calls that clients of MLflow 2 and 3 have, as a program makes them. Its arguments are a tracking URI and an
empty folder. Prints the version of the client and the id of the run."""

import math
import pathlib
import sys

import mlflow
from mlflow import MlflowClient, MlflowException
from mlflow.entities import Metric, Param, RunTag, ViewType


def log_a_run(folder: pathlib.Path) -> str:
    (folder / "notes").mkdir()
    (folder / "notes/a.txt").write_text("hello")
    mlflow.set_experiment("cats")
    with mlflow.start_run(run_name="first", tags={"team": "a"}) as run:
        mlflow.log_params({"lr": 0.1, "layers": [1, 2]})
        for step in range(5):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"accuracy": 0.5, "nan": math.nan, "inf": math.inf}, step=2)
        mlflow.log_artifacts(folder / "notes", "notes")
        mlflow.log_text("name,label", "labels.csv")
        mlflow.log_dict({"a": [1]}, "settings.json")
        with mlflow.start_run(run_name="child", nested=True):
            mlflow.log_metric("loss", 7)
    return run.info.run_id


def read_it(run_id: str, folder: pathlib.Path) -> None:
    client = MlflowClient()
    run = client.get_run(run_id)
    assert run.info.status == "FINISHED" and run.info.run_name == "first", run.info
    assert run.data.params == {"lr": "0.1", "layers": "[1, 2]"}, run.data.params
    assert run.data.metrics["loss"] == 0.2 and math.isnan(run.data.metrics["nan"]), run.data.metrics
    assert run.data.metrics["inf"] > 1e300 and run.data.tags["team"] == "a"
    history = client.get_metric_history(run_id, "loss")
    assert [(point.step, point.value) for point in history] == [(i, 1 / (i + 1)) for i in range(5)]
    assert [one.path for one in client.list_artifacts(run_id)] == ["labels.csv", "notes", "settings.json"]
    (one,) = client.list_artifacts(run_id, "notes")
    assert (one.path, one.is_dir, one.file_size) == ("notes/a.txt", False, 5)
    there = client.download_artifacts(run_id, "notes", folder)
    assert pathlib.Path(there, "a.txt").read_text() == "hello"
    assert mlflow.artifacts.load_dict(f"runs:/{run_id}/settings.json") == {"a": [1]}


def change_it(run_id: str) -> None:
    client = MlflowClient()
    client.log_batch(run_id, [Metric("late", 1.5, 1000, 0)], [Param("seed", "1")], [RunTag("team", "b")])
    client.delete_tag(run_id, "team")
    client.set_tag(run_id, "reviewed", "yes")
    try:
        client.log_param(run_id, "lr", 0.2)
        raise AssertionError("a param changed")
    except MlflowException as error:
        assert error.error_code == "INVALID_PARAMETER_VALUE", error
    experiment = client.get_experiment_by_name("cats")
    found = client.search_runs([experiment.experiment_id], "metrics.loss < 1 and tags.reviewed = 'yes'")
    assert [run.info.run_id for run in found] == [run_id]
    client.delete_run(run_id)
    hidden = client.search_runs([experiment.experiment_id], run_view_type=ViewType.DELETED_ONLY)
    assert [run.info.run_id for run in hidden] == [run_id]
    client.restore_run(run_id)
    client.set_terminated(run_id, "FINISHED")
    assert client.get_run(run_id).info.lifecycle_stage == "active"
    client.rename_experiment(experiment.experiment_id, "dogs")
    assert [each.name for each in client.search_experiments(filter_string="name = 'dogs'")] == ["dogs"]


def ask_for_what_is_not_there() -> None:
    try:
        MlflowClient().search_traces(["0"])
        raise AssertionError("there are no traces")
    except MlflowException as error:
        assert error.error_code == "NOT_IMPLEMENTED", error


def main(uri: str, folder: str) -> None:
    if uri.startswith("headrace+"):
        import headrace.mlflow

        headrace.mlflow.register()
    mlflow.set_tracking_uri(uri)
    run_id = log_a_run(pathlib.Path(folder))
    read_it(run_id, pathlib.Path(folder))
    change_it(run_id)
    ask_for_what_is_not_there()
    print(mlflow.__version__, run_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
