"""Calls of the model registry that clients of MLflow 2 and 3 have, as a program makes them. Its arguments are
a tracking URI and an empty folder. Prints the version of the client."""

import json
import pathlib
import sys

import mlflow
from mlflow import MlflowClient, MlflowException

IS_MLFLOW_3 = int(mlflow.__version__.split(".")[0]) >= 3


def refused(code: str, call) -> None:
    try:
        call()
    except MlflowException as error:
        assert error.error_code == code, error
        return
    raise AssertionError(f"no {code}")


def files_of(uri: str, folder: pathlib.Path) -> str:
    folder.mkdir()
    there = mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(folder))
    return pathlib.Path(there, "weights").read_text()


def register_a_model_of_a_run(folder: pathlib.Path) -> str:
    (folder / "net").mkdir()
    (folder / "net/MLmodel").write_text("flavors: {}\n")
    (folder / "net/weights").write_text("1 2 3")
    mlflow.set_experiment("cats")
    with mlflow.start_run() as run:
        mlflow.log_artifacts(folder / "net", "net")
    version = mlflow.register_model(f"runs:/{run.info.run_id}/net", "cats & dogs", tags={"kind": "small"})
    assert (version.name, str(version.version), version.status) == ("cats & dogs", "1", "READY"), version
    assert version.run_id == run.info.run_id and version.tags == {"kind": "small"}, version
    assert files_of("models:/cats & dogs/1", folder / "first") == "1 2 3"
    return run.info.run_id


def change_it(run: str) -> None:
    client = MlflowClient()
    name = "cats & dogs"
    refused("RESOURCE_ALREADY_EXISTS", lambda: client.create_registered_model(name))
    refused("INVALID_PARAMETER_VALUE", lambda: client.create_registered_model("cats/dogs"))
    second = client.create_model_version(name, "s3://elsewhere/net", run, tags={"a": "b"}, description="d")
    assert (str(second.version), second.source, second.description) == ("2", "s3://elsewhere/net", "d")
    client.update_registered_model(name, "finds cats and dogs")
    client.update_model_version(name, "2", "from elsewhere")
    client.set_registered_model_tag(name, "team", "a")
    client.set_model_version_tag(name, "2", "reviewed", "yes")
    client.delete_model_version_tag(name, "2", "a")
    client.set_registered_model_alias(name, "best", "1")
    client.set_registered_model_alias(name, "other", "2")
    client.delete_registered_model_alias(name, "other")
    client.transition_model_version_stage(name, "1", "Production")
    moved = client.transition_model_version_stage(name, "2", "production", archive_existing_versions=True)
    assert moved.current_stage == "Production", moved
    model = client.get_registered_model(name)
    assert (model.description, model.tags) == ("finds cats and dogs", {"team": "a"}), model
    assert {alias: str(version) for alias, version in model.aliases.items()} == {"best": "1"}, model
    first = client.get_model_version_by_alias(name, "best")
    assert (str(first.version), first.current_stage, first.aliases) == ("1", "Archived", ["best"]), first
    found = client.get_model_version(name, "2")
    assert (found.description, found.tags) == ("from elsewhere", {"reviewed": "yes"}), found
    latest = client.get_latest_versions(name, ["Production"])
    assert [str(one.version) for one in latest] == ["2"], latest
    assert client.get_model_version_download_uri(name, "2") == "s3://elsewhere/net"
    client.delete_registered_model_tag(name, "team")
    assert client.get_registered_model(name).tags == {}


def search_it(run: str) -> None:
    client = MlflowClient()
    client.create_registered_model("birds", tags={"wings": "2"}, description="fly")

    def models(text: str, **options) -> list[str]:
        return [one.name for one in client.search_registered_models(text, **options)]

    def versions(text: str) -> list[str]:
        return [str(one.version) for one in client.search_model_versions(text)]

    assert models("") == ["birds", "cats & dogs"], models("")
    assert models("name LIKE 'cats%'") == ["cats & dogs"] and models("name ILIKE 'BIRD%'") == ["birds"]
    assert models("tags.wings = '2'") == ["birds"]
    assert models("", order_by=["name DESC"]) == ["cats & dogs", "birds"]
    page = client.search_registered_models(max_results=1)
    assert page.token and models("", max_results=1, page_token=page.token) == ["cats & dogs"]
    assert sorted(versions(f"run_id = '{run}'")) == ["1", "2"]
    assert versions("name = 'cats & dogs' and source_path = 's3://elsewhere/net'") == ["2"]
    assert versions("tags.reviewed = 'yes'") == ["2"]
    refused("INVALID_PARAMETER_VALUE", lambda: client.search_registered_models("nonsense = 1"))


def rename_and_remove_it(folder: pathlib.Path) -> None:
    client = MlflowClient()
    client.rename_registered_model("cats & dogs", "pets")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_registered_model("cats & dogs"))
    refused("RESOURCE_ALREADY_EXISTS", lambda: client.rename_registered_model("pets", "birds"))
    assert files_of("models:/pets@best", folder / "renamed") == "1 2 3"
    copy = client.copy_model_version("models:/pets/1", "copies")
    assert files_of(f"models:/copies/{copy.version}", folder / "copied") == "1 2 3"
    client.delete_model_version("pets", "1")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version("pets", "1"))
    refused("INVALID_PARAMETER_VALUE", lambda: client.get_model_version_by_alias("pets", "best"))
    client.delete_registered_model("birds")
    refused("RESOURCE_DOES_NOT_EXIST", lambda: client.delete_registered_model("birds"))
    assert [one.name for one in client.search_registered_models()] == ["copies", "pets"]


def register_a_logged_model(folder: pathlib.Path) -> None:
    client = MlflowClient()
    model = client.create_logged_model(client.get_experiment_by_name("cats").experiment_id, name="net")
    client.log_model_artifacts(model.model_id, str(folder / "net"))
    client.finalize_logged_model(model.model_id, "READY")
    version = mlflow.register_model(f"models:/{model.model_id}", "logged")
    assert version.source == f"models:/{model.model_id}", version
    client.set_registered_model_alias("logged", "best", version.version)
    assert files_of("models:/logged@best", folder / "logged") == "1 2 3"
    tags = client.get_logged_model(model.model_id).tags
    (link,) = json.loads(tags["mlflow.modelVersions"])
    assert link["name"] == "logged", tags


def main(uri: str, folder: str) -> None:
    if uri.startswith("headrace+"):
        import headrace.mlflow

        headrace.mlflow.register()
    mlflow.set_tracking_uri(uri)
    place = pathlib.Path(folder)
    run = register_a_model_of_a_run(place)
    change_it(run)
    search_it(run)
    rename_and_remove_it(place)
    if IS_MLFLOW_3:
        register_a_logged_model(place)
    print(mlflow.__version__)


if __name__ == "__main__":
    main(*sys.argv[1:])
