"""MLflow's tracking store on Headrace's records of runs: docs/decisions/mlflow.md."""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mlflow.entities import (
    DatasetInput,
    Experiment,
    ExperimentTag,
    LifecycleStage,
    LoggedModelInput,
    LoggedModelOutput,
    Metric,
    Param,
    Run,
    RunInfo,
    RunStatus,
    RunTag,
    ViewType,
)
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import (
    INVALID_PARAMETER_VALUE,
    INVALID_STATE,
    RESOURCE_ALREADY_EXISTS,
    RESOURCE_DOES_NOT_EXIST,
)
from mlflow.store.entities.paged_list import PagedList
from mlflow.store.tracking import SEARCH_MAX_RESULTS_DEFAULT, SEARCH_MAX_RESULTS_THRESHOLD
from mlflow.store.tracking.abstract_store import AbstractStore
from mlflow.utils import validation
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_MODELS, MLFLOW_RUN_NAME
from mlflow.utils.name_utils import _generate_random_name
from mlflow.utils.search_utils import SearchExperimentsUtils, SearchUtils

from headrace._src.mlflow import entities
from headrace._src.mlflow.errors import as_mlflow_errors, refuse_unsupported
from headrace._src.mlflow.logged_models import LoggedModels
from headrace._src.mlflow.open_runs import OpenPart, OpenRuns, Point, is_later
from headrace._src.mlflow.place import store_url
from headrace._src.mlflow.records import Record, Records
from headrace._src.mlflow.state_log import Edit, State, StateLog, latest_states
from headrace._src.store import Store

_FOLDER = "_headrace/mlflow"
_RUN_STATES = f"{_FOLDER}/runs"
_READERS = 8
_ENDED = ("FINISHED", "FAILED", "KILLED")


@as_mlflow_errors
@refuse_unsupported
class TrackingStore(LoggedModels, AbstractStore):
    """Threads may share it. Other processes may write the same runs and experiments at the same time."""

    def __init__(self, store_uri: str, artifact_uri: str | None = None):
        AbstractStore.__init__(self)
        self._uri = store_uri.rstrip("/")
        self._artifacts = artifact_uri or f"{self._uri}/{_FOLDER}/artifacts"
        self._store = Store(store_url(self._uri))
        LoggedModels.__init__(self, self._store)
        self._records = Records(self._store)
        self._experiments = StateLog(self._store, f"{_FOLDER}/experiments", "headrace.mlflow.experiments")
        self._lock = threading.Lock()
        self._states: dict[str, StateLog] = {}
        self._open = OpenRuns(self._end_unfinished)

    # ---- experiments ---------------------------------------------------------------------------

    def search_experiments(
        self,
        view_type: int = ViewType.ACTIVE_ONLY,
        max_results: int = SEARCH_MAX_RESULTS_DEFAULT,
        filter_string: str | None = None,
        order_by: list[str] | None = None,
        page_token: str | None = None,
    ) -> PagedList:
        _require_page(max_results)
        stages = LifecycleStage.view_type_to_stages(view_type)
        found = [one for one in self._all_experiments() if one.lifecycle_stage in stages]
        found = SearchExperimentsUtils.sort(
            SearchExperimentsUtils.filter(found, filter_string),
            order_by or ["creation_time DESC", "experiment_id ASC"],
        )
        return PagedList(*SearchUtils.paginate(found, page_token, max_results))

    def create_experiment(
        self, name: str, artifact_location: str | None = None, tags: list[ExperimentTag] | None = None
    ) -> str:
        validation._validate_experiment_name(name)
        for tag in tags or []:
            validation._validate_experiment_tag(tag.key, tag.value)
        key = ""

        def add(state: State) -> None:
            nonlocal key
            known = entities.experiments_of(state)
            _require_new_name(name, known)
            key = str(max(map(int, known)) + 1)
            now = _now_ms()
            facts = {"name": name, "created": now, "updated": now}
            facts["tags"] = {tag.key: str(tag.value) for tag in tags or []}
            if artifact_location:
                facts["artifact_location"] = artifact_location
            state.setdefault("experiments", {})[key] = facts

        self._experiments.change(add)
        return key

    def get_experiment(self, experiment_id: str) -> Experiment:
        return self._to_mlflow(str(experiment_id), self._experiments.load())

    def get_experiment_by_name(self, experiment_name: str) -> Experiment | None:
        found = [one for one in self._all_experiments() if one.name == experiment_name]
        return found[0] if found else None

    def delete_experiment(self, experiment_id: str) -> None:
        if str(experiment_id) == entities.DEFAULT_EXPERIMENT:
            raise MlflowException("The default experiment cannot be deleted", INVALID_PARAMETER_VALUE)
        self._edit_experiment(experiment_id, lambda facts, _: facts.update(is_deleted=True), is_active=True)

    def restore_experiment(self, experiment_id: str) -> None:
        self._edit_experiment(experiment_id, lambda facts, _: facts.pop("is_deleted"), is_active=False)

    def rename_experiment(self, experiment_id: str, new_name: str) -> None:
        validation._validate_experiment_name(new_name)

        def rename(facts: State, known: dict[str, Any]) -> None:
            _require_new_name(new_name, known)
            facts["name"] = new_name

        self._edit_experiment(experiment_id, rename, is_active=True)

    def set_experiment_tag(self, experiment_id: str, tag: ExperimentTag) -> None:
        validation._validate_experiment_tag(tag.key, tag.value)

        def set_tag(facts: State, _: dict[str, Any]) -> None:
            facts.setdefault("tags", {})[tag.key] = str(tag.value)

        self._edit_experiment(experiment_id, set_tag, is_active=True)

    def delete_experiment_tag(self, experiment_id: str, key: str) -> None:
        def remove(facts: State, _: dict[str, Any]) -> None:
            if key not in facts.get("tags", {}):
                raise _no_such("tag", key, f"the experiment {experiment_id}")
            del facts["tags"][key]

        self._edit_experiment(experiment_id, remove, is_active=True)

    def _edit_experiment(
        self, experiment_id: str, edit: Callable[[State, dict[str, Any]], Any], is_active: bool
    ) -> None:
        key = str(experiment_id)

        def change(state: State) -> None:
            known = entities.experiments_of(state)
            if key not in known:
                raise _no_such("experiment", key, self._uri)
            facts = state.setdefault("experiments", {}).setdefault(key, dict(known[key]))
            if bool(facts.get("is_deleted")) == is_active:
                stage = LifecycleStage.DELETED if is_active else LifecycleStage.ACTIVE
                raise MlflowException(f"The experiment {key} is {stage}", INVALID_PARAMETER_VALUE)
            before = json.dumps(facts, sort_keys=True)
            edit(facts, known)
            if json.dumps(facts, sort_keys=True) != before:
                facts["updated"] = _now_ms()

        self._experiments.change(change)

    def _all_experiments(self) -> list[Experiment]:
        state = self._experiments.load()
        return [self._to_mlflow(key, state) for key in entities.experiments_of(state)]

    def _to_mlflow(self, key: str, state: State | None) -> Experiment:
        known = entities.experiments_of(state)
        if key not in known:
            raise _no_such("experiment", key, self._uri)
        return entities.experiment_to_mlflow(key, known[key], self._artifacts)

    # ---- runs ----------------------------------------------------------------------------------

    def create_run(
        self,
        experiment_id: str | None,
        user_id: str | None,
        start_time: int | None,
        tags: list[RunTag] | None,
        run_name: str | None,
    ) -> Run:
        experiment = self.get_experiment(experiment_id or entities.DEFAULT_EXPERIMENT)
        if experiment.lifecycle_stage != LifecycleStage.ACTIVE:
            raise MlflowException(
                f"The experiment {experiment.experiment_id} is deleted: restore it first", INVALID_STATE
            )
        given = {tag.key: str(tag.value) for tag in tags or []}
        if run_name and given.get(MLFLOW_RUN_NAME, run_name) != run_name:
            raise MlflowException(
                f"run_name is {run_name!r}, but the tag {MLFLOW_RUN_NAME} is {given[MLFLOW_RUN_NAME]!r}",
                INVALID_PARAMETER_VALUE,
            )
        name = run_name or given.get(MLFLOW_RUN_NAME) or _generate_random_name()
        part = OpenPart(self._store.url, "", {"name": name})
        self._open.add(part)
        facts = {
            "is_mlflow": True,
            "experiment": experiment.experiment_id,
            "user": user_id or "",
            "name": name,
            "status": "RUNNING",
            "started": int(start_time) if start_time else _now_ms(),
            "ended": None,
            "tags": {**given, MLFLOW_RUN_NAME: name},
            "params": {},
        }
        self._log_of(part.run).change(lambda state: state.update(facts))
        return self.get_run(part.run)

    def get_run(self, run_id: str) -> Run:
        record = self._records.one(run_id)
        state = self._log_of(run_id).load() or {}
        return self._run(record, state, self._experiments.load())

    def update_run_info(
        self, run_id: str, run_status: int | None, end_time: int | None, run_name: str | None
    ) -> RunInfo:
        status = RunStatus.to_string(run_status) if run_status else None
        part = self._open.find(run_id)
        if status and part is None:  # a part must record the new status
            self._change(run_id, lambda state: None)  # raises if the run is deleted
            part = self._open.open(run_id, lambda: self._start_part(run_id))
        if status in _ENDED and part is not None:
            part.publish()

        def update(state: State) -> None:
            if status:
                state["status"] = status
                state["ended"] = int(end_time) if end_time else None
            if run_name:
                state["name"] = run_name
                state.setdefault("tags", {})[MLFLOW_RUN_NAME] = run_name
            if status in _ENDED and part is not None:
                _add_points(state, part)

        state = self._change(run_id, update)
        if status in _ENDED and part is not None:
            self._finish(part, status, state)
            newest, _ = self._records.one(run_id).parts[0]
            if newest != part.name:  # the newest part records how the run has ended
                self._finish(self._start_part(run_id), status, state)
        return self.get_run(run_id).info

    def delete_run(self, run_id: str) -> None:
        self._change(run_id, lambda state: state.update(is_deleted=True), is_active=None)

    def restore_run(self, run_id: str) -> None:
        self._change(run_id, lambda state: state.update(is_deleted=False), is_active=None)

    def _search_runs(
        self,
        experiment_ids: list[str],
        filter_string: str | None,
        run_view_type: int,
        max_results: int,
        order_by: list[str] | None,
        page_token: str | None,
    ) -> tuple[list[Run], str | None]:
        _require_page(max_results)
        records = self._records.all()
        latest_states(self._store, _RUN_STATES, self._log_of)
        experiments = self._experiments.load()
        wanted = {str(key) for key in experiment_ids}
        stages = LifecycleStage.view_type_to_stages(run_view_type)
        chosen = []
        for run, record in records.items():
            state = self._log_of(run).known or {}
            is_wanted = state.get("experiment", entities.DEFAULT_EXPERIMENT) in wanted
            if is_wanted and _lifecycle(state, experiments) in stages:
                chosen.append((record, state, experiments))
        with ThreadPoolExecutor(_READERS) as readers:
            runs = list(readers.map(lambda one: self._run(*one), chosen))
        runs = SearchUtils.sort(SearchUtils.filter(runs, filter_string), order_by)
        return SearchUtils.paginate(runs, page_token, max_results)

    def _run(self, record: Record, state: State, experiments: State | None) -> Run:
        key = state.get("experiment", entities.DEFAULT_EXPERIMENT)
        location = self._to_mlflow(key, experiments).artifact_location
        return entities.run_to_mlflow(
            state,
            record,
            self._last_points(record, state),
            _lifecycle(state, experiments),
            f"{location.rstrip('/')}/{record.id}/artifacts",
        )

    # ---- what runs log -------------------------------------------------------------------------

    def log_metric(self, run_id: str, metric: Metric) -> None:
        validation._validate_metric(metric.key, metric.value, metric.timestamp, metric.step)
        self._log_metrics(run_id, [metric])

    def log_param(self, run_id: str, param: Param) -> None:
        self.log_batch(run_id, [], [param], [])

    def set_tag(self, run_id: str, tag: RunTag) -> None:
        validation._validate_tag(tag.key, tag.value)
        self._log_texts(run_id, [], [tag])

    def delete_tag(self, run_id: str, key: str) -> None:
        def remove(state: State) -> None:
            if key not in state.get("tags", {}):
                raise _no_such("tag", key, f"the run {run_id}")
            del state["tags"][key]

        self._change(run_id, remove)

    def log_batch(
        self, run_id: str, metrics: Sequence[Metric], params: Sequence[Param], tags: Sequence[RunTag]
    ) -> None:
        metrics, params, tags = validation._validate_batch_log_data(metrics, params, tags)
        validation._validate_batch_log_limits(metrics, params, tags)
        validation._validate_param_keys_unique(params)
        if params or tags:
            self._log_texts(run_id, params, tags)
        self._log_metrics(run_id, metrics)

    def record_logged_model(self, run_id: str, mlflow_model: Any) -> None:
        def add(state: State) -> None:
            tags = state.setdefault("tags", {})
            models = json.loads(tags.get(MLFLOW_LOGGED_MODELS, "[]"))
            tags[MLFLOW_LOGGED_MODELS] = json.dumps([*models, mlflow_model.get_tags_dict()])

        self._change(run_id, add)

    def log_inputs(
        self,
        run_id: str,
        datasets: list[DatasetInput] | None = None,
        models: list[LoggedModelInput] | None = None,
    ) -> None:
        given = [entities.input_to_json(one) for one in datasets or []]

        def add(state: State) -> None:
            known = state.setdefault("inputs", [])
            identities = {_identity(one) for one in known}
            known += [one for one in given if _identity(one) not in identities]
            used = {*state.get("input_models", []), *(model.model_id for model in models or [])}
            state["input_models"] = sorted(used)

        self._change(run_id, add)

    def log_outputs(self, run_id: str, models: list[LoggedModelOutput]) -> None:
        def add(state: State) -> None:
            for model in models:
                state.setdefault("output_models", {}).setdefault(model.model_id, model.step)

        self._change(run_id, add)

    def get_metric_history(
        self, run_id: str, metric_key: str, max_results: int | None = None, page_token: str | None = None
    ) -> PagedList:
        validation._validate_metric_name(metric_key)
        part = self._open.find(run_id)
        if part is not None:
            part.publish()
        record = self._records.one(run_id)
        points = self._records.history(record).points(metric_key) if record.has_series else []
        found = [Metric(metric_key, value, us // 1000, step, run_id=run_id) for step, us, value in points]
        if not found and metric_key in record.metrics:
            found = [Metric(metric_key, record.metrics[metric_key], record.ended_ms or 0, 0, run_id=run_id)]
        if max_results is None:
            return PagedList(found[SearchUtils.parse_start_offset_from_page_token(page_token) :], None)
        return PagedList(*SearchUtils.paginate(found, page_token, max_results))

    def _log_metrics(self, run_id: str, metrics: Sequence[Metric]) -> None:
        if not metrics:
            return
        known = self._log_of(run_id).known or {}
        if known.get("is_deleted"):
            raise MlflowException(f"The run {run_id} is deleted: restore it first", INVALID_PARAMETER_VALUE)
        part = self._open.find(run_id)
        for metric in metrics:
            _warn_of_links(metric)
            value, time_ms, step = float(metric.value), int(metric.timestamp), int(metric.step or 0)
            while part is None or not part.log(metric.key, value, time_ms, step):
                part = self._open.open(run_id, lambda: self._start_part(run_id))
        self._log_model_points(run_id, metrics)

    def _log_texts(self, run_id: str, params: Sequence[Param], tags: Sequence[RunTag]) -> None:
        def add(state: State) -> None:
            known = state.setdefault("params", {})
            for param in params:
                value = str(param.value)
                if known.setdefault(param.key, value) != value:
                    raise _changed_param(run_id, param.key, known[param.key], value)
            for tag in tags:
                state.setdefault("tags", {})[tag.key] = str(tag.value)
                if tag.key == MLFLOW_RUN_NAME:
                    state["name"] = str(tag.value)

        self._change(run_id, add)

    def _change(self, run_id: str, edit: Edit, is_active: bool | None = True) -> State:
        """Appends a state of the run. `is_active`: whether the run must not be deleted."""
        log = self._log_of(run_id)
        own = {} if (log.known or {}).get("is_mlflow") else self._records.one(run_id).parameters

        def change(state: State) -> None:
            if is_active and _lifecycle(state, self._experiments.known) != LifecycleStage.ACTIVE:
                raise MlflowException(
                    f"The run {run_id} is deleted: restore it first", INVALID_PARAMETER_VALUE
                )
            if not state.get("is_mlflow"):  # the params in the record must not change either
                state["params"] = {**own, **state.get("params", {})}
            edit(state)

        return log.change(change)

    # ---- parts of records ----------------------------------------------------------------------

    def _log_of(self, run_id: str) -> StateLog:
        validation._validate_run_id(run_id)
        with self._lock:
            if run_id not in self._states:
                folder = f"{_RUN_STATES}/{run_id}"
                self._states[run_id] = StateLog(self._store, folder, "headrace.mlflow.run")
            return self._states[run_id]

    def _start_part(self, run_id: str) -> OpenPart:
        """Starts a part for a run that another process, or an earlier part, has begun."""
        record = self._records.one(run_id)
        if record.command != "log":
            raise MlflowException(
                f"The run {run_id} is of `headrace {record.command}`: no other program logs into it. "
                "Its tags can be set; log into a run of your own",
                INVALID_PARAMETER_VALUE,
            )
        state = self._log_of(run_id).load() or {}
        params = entities.params_of(state, record)
        return OpenPart(self._store.url, run_id, {"name": entities.name_of(state, record), **params})

    def _finish(self, part: OpenPart, status: str, state: State) -> None:
        self._open.forget(part)
        experiment = state.get("experiment", entities.DEFAULT_EXPERIMENT)
        artifacts = f"{_FOLDER}/artifacts/{experiment}/{part.run}/artifacts"
        if next(iter(self._store.list(f"{artifacts}/")), None) is not None:
            part.add_output("artifacts", self._store.describe(artifacts))
        error = "" if status == "FINISHED" else f"MLflow's status is {status}"
        part.finish(error, status == "KILLED", state.get("params", {}))

    def _end_unfinished(self, part: OpenPart) -> None:
        """Ends a part when the program ends without a status of the run: MLflow's status stays."""
        part.publish()
        state = self._change(part.run, lambda state: _add_points(state, part), is_active=None)
        status = state.get("status") or "RUNNING"
        if status in _ENDED:
            return self._finish(part, status, state)
        self._open.forget(part)
        return part.finish("the program ended before the run was ended", True, state.get("params", {}))

    def _last_points(self, record: Record, state: State) -> dict[str, Point]:
        points = entities.points_from_json(state.get("last_points", {}))
        part = self._open.find(record.id)
        known = {*state.get("parts", []), part.name if part else ""}
        if record.has_series and any(name not in known for name, _ in record.parts):
            time_ms = record.ended_ms or record.started_ms
            for key, last in self._records.history(record).last_points.items():
                _keep_later(points, key, (last.step, time_ms, last.value))
        if not state.get("is_mlflow"):
            for key, value in record.metrics.items():
                points.setdefault(key, (0, record.ended_ms or 0, value))
        for key, point in (part.copy_last_points() if part else {}).items():
            _keep_later(points, key, point)
        return points


def _add_points(state: State, part: OpenPart) -> None:
    """Stores the last points of a part, and marks them as complete."""
    points = entities.points_from_json(state.get("last_points", {}))
    for key, point in part.copy_last_points().items():
        _keep_later(points, key, point)
    state["last_points"] = entities.points_to_json(points)
    state["parts"] = sorted({*state.get("parts", []), part.name})


def _keep_later(points: dict[str, Point], key: str, point: Point) -> None:
    if is_later(point, points.get(key)):
        points[key] = point


def _lifecycle(state: State, experiments: State | None) -> str:
    experiment = entities.experiments_of(experiments).get(state.get("experiment", "0"), {})
    is_deleted = state.get("is_deleted") or experiment.get("is_deleted")
    return LifecycleStage.DELETED if is_deleted else LifecycleStage.ACTIVE


def _require_page(max_results: int) -> None:
    if not isinstance(max_results, int) or not 1 <= max_results <= SEARCH_MAX_RESULTS_THRESHOLD:
        raise MlflowException(
            f"max_results is {max_results}; it is an integer from 1 to {SEARCH_MAX_RESULTS_THRESHOLD}",
            INVALID_PARAMETER_VALUE,
        )


def _require_new_name(name: str, known: dict[str, Any]) -> None:
    for key, facts in known.items():
        if facts["name"] == name:
            hint = ", and is deleted: restore it, or take another name" if facts.get("is_deleted") else ""
            raise MlflowException(
                f"Experiment(name={name}) already exists: its id is {key}{hint}", RESOURCE_ALREADY_EXISTS
            )


def _no_such(kind: str, name: str, place: str) -> MlflowException:
    return MlflowException(f"There is no {kind} {name} in {place}", RESOURCE_DOES_NOT_EXIST)


def _changed_param(run: str, key: str, known: str, given: str) -> MlflowException:
    return MlflowException(
        f"Changing param values is not allowed. Param with key='{key}' was already logged with "
        f"value='{known}' for run ID='{run}'. Attempted logging new value '{given}'.",
        INVALID_PARAMETER_VALUE,
    )


def _identity(one: dict[str, Any]) -> tuple[str, str]:
    return one["dataset"]["name"], one["dataset"]["digest"]


def _warn_of_links(metric: Metric) -> None:
    if metric.dataset_name and not metric.model_id:
        warnings.warn(
            f"the point of {metric.key} is stored, but not its dataset {metric.dataset_name}: "
            "log it with a model_id, or name the dataset with mlflow.log_input",
            stacklevel=2,
        )


def _now_ms() -> int:
    return round(time.time() * 1000)
