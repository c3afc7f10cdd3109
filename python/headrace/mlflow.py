"""MLflow on Headrace's stores and records, without a server.

    mlflow.set_tracking_uri("headrace+s3://datasets/runs")

The installed package registers the schemes `headrace+s3`, `headrace+file` and so on with MLflow, one for each
kind of store. In a checkout, and for drivers from outside, call `headrace.mlflow.register()` first. This
needs mlflow or mlflow-skinny: `pip install headrace[mlflow]`. docs/how-to/mlflow.md says what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow.store.artifact.artifact_repo import ArtifactRepository
    from mlflow.store.model_registry.abstract_store import AbstractStore as AbstractRegistryStore
    from mlflow.store.tracking.abstract_store import AbstractStore

__all__ = ["artifact_repository", "model_registry_store", "register", "tracking_store"]


def tracking_store(store_uri: str, artifact_uri: str | None = None) -> AbstractStore:
    """MLflow calls this for a tracking URI that begins with `headrace+`."""
    _require_mlflow_3()
    from headrace._src.mlflow.tracking_store import TrackingStore

    return TrackingStore(store_uri, artifact_uri)


def model_registry_store(store_uri: str) -> AbstractRegistryStore:
    """MLflow calls this for a registry URI, by default the tracking URI, that begins with `headrace+`."""
    _require_mlflow_3()
    from headrace._src.mlflow.registry_store import ModelRegistryStore

    return ModelRegistryStore(store_uri)


def artifact_repository(
    artifact_uri: str, tracking_uri: str | None = None, registry_uri: str | None = None
) -> ArtifactRepository:
    """MLflow calls this for an artifact URI that begins with `headrace+`."""
    from headrace._src.mlflow.artifact_repository import Artifacts

    return Artifacts(artifact_uri, tracking_uri, registry_uri)


def _require_mlflow_3() -> None:
    import mlflow

    if int(mlflow.__version__.split(".", 1)[0]) < 3:
        raise mlflow.MlflowException(
            f"tracking URIs that begin with headrace+ need MLflow 3; this is {mlflow.__version__}. Install "
            "headrace[mlflow], or let this client log through `headrace serve-mlflow`"
        )


def register() -> None:
    """Registers the schemes of all store drivers of this build with MLflow. The call is idempotent."""
    from mlflow.store.artifact.artifact_repository_registry import _artifact_repository_registry
    from mlflow.tracking._model_registry.utils import _get_store_registry
    from mlflow.tracking._tracking_service.utils import _tracking_store_registry

    from headrace import _headrace

    for driver in _headrace.store_drivers():
        scheme = f"headrace+{driver['scheme']}"
        _tracking_store_registry.register(scheme, tracking_store)
        _get_store_registry().register(scheme, model_registry_store)
        _artifact_repository_registry.register(scheme, artifact_repository)
