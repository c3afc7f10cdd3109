"""Makes MLflow's experiments and runs from states and records: docs/how-to/mlflow.md."""

from __future__ import annotations

import math
from typing import Any

from mlflow.entities import (
    Dataset,
    DatasetInput,
    Experiment,
    ExperimentTag,
    InputTag,
    LifecycleStage,
    LoggedModelInput,
    LoggedModelOutput,
    Metric,
    Param,
    Run,
    RunData,
    RunInfo,
    RunInputs,
    RunOutputs,
    RunTag,
)
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME, MLFLOW_SOURCE_TYPE

from headrace._src.mlflow.open_runs import Point
from headrace._src.mlflow.records import Record
from headrace._src.mlflow.state_log import State

DEFAULT_EXPERIMENT = "0"
STATUS_OF_RECORD = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
_NUMBERS_OUTSIDE_JSON = {math.inf: "Infinity", -math.inf: "-Infinity"}


def experiments_of(state: State | None) -> dict[str, dict[str, Any]]:
    """The experiments by id. The default experiment exists without being created."""
    default = {"name": "Default", "created": 0, "updated": 0}
    return {DEFAULT_EXPERIMENT: default, **(state or {}).get("experiments", {})}


def experiment_to_mlflow(key: str, facts: dict[str, Any], artifacts: str) -> Experiment:
    tags = [ExperimentTag(name, value) for name, value in facts.get("tags", {}).items()]
    return Experiment(
        key,
        facts["name"],
        facts.get("artifact_location") or f"{artifacts}/{key}",
        LifecycleStage.DELETED if facts.get("is_deleted") else LifecycleStage.ACTIVE,
        tags=tags,
        creation_time=facts["created"],
        last_update_time=facts["updated"],
    )


def number_to_json(value: float) -> float | str:
    return value if math.isfinite(value) else _NUMBERS_OUTSIDE_JSON.get(value, "NaN")


def points_to_json(points: dict[str, Point]) -> dict[str, list[Any]]:
    return {key: [step, time, number_to_json(value)] for key, (step, time, value) in points.items()}


def points_from_json(points: dict[str, list[Any]]) -> dict[str, Point]:
    return {key: (step, time, float(value)) for key, (step, time, value) in points.items()}


def name_of(state: State, record: Record) -> str:
    return state.get("name") or record.parameters.get("name") or record.id


def status_of(state: State, record: Record) -> str:
    """MLflow's status, if it was set; otherwise the status in the record."""
    return state.get("status") or STATUS_OF_RECORD.get(record.status, "RUNNING")


def params_of(state: State, record: Record) -> dict[str, str]:
    """A run that MLflow created has its params in the states; the record repeats them."""
    return (
        state.get("params", {})
        if state.get("is_mlflow")
        else {**record.parameters, **state.get("params", {})}
    )


def tags_of(state: State, record: Record) -> dict[str, str]:
    if state.get("is_mlflow"):
        return state.get("tags", {})
    tags = {
        MLFLOW_RUN_NAME: name_of(state, record),
        MLFLOW_SOURCE_NAME: record.command_line,
        MLFLOW_SOURCE_TYPE: "LOCAL",
        "headrace.command": record.command,
    }
    if record.error:
        tags["headrace.error"] = record.error
    tags |= {f"headrace.input.{name or 'data'}": url for name, url in record.inputs}
    tags |= {f"headrace.output.{name or 'output'}": url for name, url in record.outputs}
    tags |= {f"headrace.version.{name}": version for name, version in record.versions.items()}
    return {**tags, **state.get("tags", {})}


def run_to_mlflow(
    state: State, record: Record, points: dict[str, Point], lifecycle: str, artifact_uri: str
) -> Run:
    info = RunInfo(
        run_id=record.id,
        experiment_id=state.get("experiment", DEFAULT_EXPERIMENT),
        user_id=state.get("user", ""),
        status=status_of(state, record),
        start_time=state.get("started") or record.started_ms,
        end_time=state.get("ended", record.ended_ms),
        lifecycle_stage=lifecycle,
        artifact_uri=artifact_uri,
        run_name=name_of(state, record),
    )
    data = RunData(
        [
            Metric(key, value, time, step, run_id=record.id)
            for key, (step, time, value) in sorted(points.items())
        ],
        [Param(key, value) for key, value in sorted(params_of(state, record).items())],
        [RunTag(key, value) for key, value in sorted(tags_of(state, record).items())],
    )
    inputs = RunInputs(
        dataset_inputs=_inputs_of(state),
        model_inputs=[LoggedModelInput(model) for model in state.get("input_models", [])],
    )
    outputs = [LoggedModelOutput(model, step) for model, step in state.get("output_models", {}).items()]
    return Run(info, data, inputs, RunOutputs(model_outputs=outputs))


def input_to_json(one: DatasetInput) -> dict[str, Any]:
    return {"dataset": one.dataset.to_dictionary(), "tags": {tag.key: tag.value for tag in one.tags or []}}


def _inputs_of(state: State) -> list[DatasetInput]:
    return [
        DatasetInput(
            Dataset.from_dictionary(one["dataset"]),
            [InputTag(key, value) for key, value in one["tags"].items()],
        )
        for one in state.get("inputs", [])
    ]
