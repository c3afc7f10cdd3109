"""MLflow's logged models: states hold their facts, artifacts hold their files, and a run holds their
points."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

from mlflow.entities import (
    LifecycleStage,
    LoggedModel,
    LoggedModelParameter,
    LoggedModelStatus,
    LoggedModelTag,
    Metric,
)
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE, INVALID_STATE, RESOURCE_DOES_NOT_EXIST
from mlflow.store.entities.paged_list import PagedList
from mlflow.store.tracking import SEARCH_LOGGED_MODEL_MAX_RESULTS_DEFAULT
from mlflow.utils import validation
from mlflow.utils.name_utils import _generate_random_name
from mlflow.utils.search_utils import SearchLoggedModelsUtils

from headrace._src.mlflow.entities import DEFAULT_EXPERIMENT, number_to_json
from headrace._src.mlflow.errors import as_mlflow_errors
from headrace._src.mlflow.open_runs import is_later
from headrace._src.mlflow.state_log import Edit, State, StateLog, latest_states
from headrace._src.store import Store

_STATES = "_headrace/mlflow/models"


@as_mlflow_errors
class LoggedModels:
    """The calls of a tracking store that concern logged models. Threads may share it."""

    def __init__(self, store: Store):
        self._models_store = store
        self._models_lock = threading.Lock()
        self._model_states: dict[str, StateLog] = {}

    def get_experiment(self, experiment_id: str) -> Any:
        raise NotImplementedError  # implemented by the tracking store

    def create_logged_model(
        self,
        experiment_id: str = DEFAULT_EXPERIMENT,
        name: str | None = None,
        source_run_id: str | None = None,
        tags: list[LoggedModelTag] | None = None,
        params: list[LoggedModelParameter] | None = None,
        model_type: str | None = None,
    ) -> LoggedModel:
        validation._validate_logged_model_name(name)
        if self.get_experiment(experiment_id).lifecycle_stage != LifecycleStage.ACTIVE:
            raise MlflowException(f"The experiment {experiment_id} is deleted: restore it", INVALID_STATE)
        now = _now_ms()
        facts = {
            "experiment": str(experiment_id),
            "name": name or _generate_random_name(),
            "run": source_run_id,
            "type": model_type,
            "status": str(LoggedModelStatus.PENDING),
            "created": now,
            "updated": now,
            "tags": {tag.key: str(tag.value) for tag in tags or []},
            "params": _checked_params(params),
        }
        model_id = f"m-{uuid.uuid4().hex}"
        state = self._model_log(model_id).change(lambda state: state.update(facts))
        return self._model(model_id, state)

    def get_logged_model(self, model_id: str, allow_deleted: bool = False) -> LoggedModel:
        state = self._model_log(model_id).load()
        if state is None or (state.get("is_deleted") and not allow_deleted):
            raise _no_model(model_id)
        return self._model(model_id, state)

    def log_logged_model_params(self, model_id: str, params: list[LoggedModelParameter]) -> None:
        given = _checked_params(params)
        self._change_model(model_id, lambda state: state["params"].update(given))

    def finalize_logged_model(self, model_id: str, status: LoggedModelStatus) -> LoggedModel:
        given = {"status": str(LoggedModelStatus(status)), "updated": _now_ms()}
        return self._model(model_id, self._change_model(model_id, lambda state: state.update(given)))

    def set_logged_model_tags(self, model_id: str, tags: list[LoggedModelTag]) -> None:
        for tag in tags:
            validation._validate_tag_name(tag.key)
        given = {tag.key: str(tag.value) for tag in tags}
        self._change_model(model_id, lambda state: state["tags"].update(given))

    def delete_logged_model_tag(self, model_id: str, key: str) -> None:
        def remove(state: State) -> None:
            if key not in state["tags"]:
                raise MlflowException(f"There is no tag {key} of model {model_id}", RESOURCE_DOES_NOT_EXIST)
            del state["tags"][key]

        self._change_model(model_id, remove)

    def delete_logged_model(self, model_id: str) -> None:
        self._change_model(model_id, lambda state: state.update(is_deleted=True, updated=_now_ms()))

    def search_logged_models(
        self,
        experiment_ids: list[str],
        filter_string: str | None = None,
        datasets: list[Any] | None = None,
        max_results: int | None = None,
        order_by: list[dict[str, Any]] | None = None,
        page_token: str | None = None,
    ) -> PagedList:
        if datasets and not all(each.get("dataset_name") for each in datasets):
            raise MlflowException("each of datasets needs a dataset_name", INVALID_PARAMETER_VALUE)
        wanted = {str(key) for key in experiment_ids}
        found = []
        for model_id in latest_states(self._models_store, _STATES, self._model_log):
            state = self._model_log(model_id).known or {}
            if state.get("experiment") in wanted and not state.get("is_deleted"):
                found.append(self._model(model_id, state))
        found = SearchLoggedModelsUtils.filter_logged_models(found, filter_string, datasets)
        found = SearchLoggedModelsUtils.sort(found, order_by)
        limit = max_results or SEARCH_LOGGED_MODEL_MAX_RESULTS_DEFAULT
        return PagedList(*SearchLoggedModelsUtils.paginate(found, page_token, limit))

    def _log_model_points(self, run_id: str, metrics: Sequence[Metric]) -> None:
        """Stores the last point of each metric, run and dataset with the model that was measured."""
        for model_id in sorted({metric.model_id for metric in metrics if metric.model_id}):

            def add(state: State, model_id: str = model_id) -> None:
                points = state.setdefault("points", {})
                for metric in metrics:
                    if metric.model_id == model_id:
                        _keep_point(points, run_id, metric)

            self._change_model(model_id, add)

    def _change_model(self, model_id: str, edit: Edit) -> State:
        def change(state: State) -> None:
            if "experiment" not in state or state.get("is_deleted"):
                raise _no_model(model_id)
            edit(state)

        return self._model_log(model_id).change(change)

    def _model_log(self, model_id: str) -> StateLog:
        validation._validate_run_id(model_id)
        with self._models_lock:
            if model_id not in self._model_states:
                folder = f"{_STATES}/{model_id}"
                self._model_states[model_id] = StateLog(self._models_store, folder, "headrace.mlflow.model")
            return self._model_states[model_id]

    def _model(self, model_id: str, state: State) -> LoggedModel:
        location = self.get_experiment(state["experiment"]).artifact_location.rstrip("/")
        return LoggedModel(
            experiment_id=state["experiment"],
            model_id=model_id,
            name=state["name"],
            artifact_location=f"{location}/models/{model_id}/artifacts",
            creation_timestamp=state["created"],
            last_updated_timestamp=state["updated"],
            model_type=state["type"],
            source_run_id=state["run"],
            status=LoggedModelStatus(state["status"]),
            tags=dict(state["tags"]),
            params=dict(state["params"]),
            metrics=[_metric(model_id, each) for _, each in sorted(state.get("points", {}).items())],
        )


def _keep_point(points: dict[str, Any], run_id: str, metric: Metric) -> None:
    given = {
        "key": metric.key,
        "run": run_id,
        "step": int(metric.step or 0),
        "time": int(metric.timestamp),
        "value": number_to_json(float(metric.value)),
        "dataset": [metric.dataset_name, metric.dataset_digest],
    }
    identity = "\n".join(str(part) for part in (metric.key, run_id, *given["dataset"]))
    known = points.get(identity)
    if known is None or is_later(_point(given), _point(known)):
        points[identity] = given


def _point(one: dict[str, Any]) -> tuple[int, int, float]:
    return one["step"], one["time"], float(one["value"])


def _metric(model_id: str, one: dict[str, Any]) -> Metric:
    name, digest = one["dataset"]
    step, time_ms, value = _point(one)
    return Metric(one["key"], value, time_ms, step, model_id, name, digest, one["run"])


def _checked_params(params: list[LoggedModelParameter] | None) -> dict[str, str]:
    for param in params or []:
        validation._validate_param(param.key, param.value)
    return {param.key: str(param.value) for param in params or []}


def _no_model(model_id: str) -> MlflowException:
    return MlflowException(f"There is no logged model {model_id}", RESOURCE_DOES_NOT_EXIST)


def _now_ms() -> int:
    return round(time.time() * 1000)
