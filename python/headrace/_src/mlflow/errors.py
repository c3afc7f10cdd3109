"""Converts Headrace's errors to MLflow's, and refuses calls that Headrace's store does not support."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from mlflow.exceptions import MlflowException
from mlflow.protos import databricks_pb2 as codes
from mlflow.store.tracking.abstract_store import AbstractStore

from headrace import errors

Class = TypeVar("Class", bound=type)

_CODES = {
    errors.NotFoundError: codes.RESOURCE_DOES_NOT_EXIST,
    errors.AlreadyExistsError: codes.RESOURCE_ALREADY_EXISTS,
    errors.InvalidArgumentError: codes.INVALID_PARAMETER_VALUE,
    errors.PermissionDeniedError: codes.PERMISSION_DENIED,
    errors.UnauthenticatedError: codes.UNAUTHENTICATED,
    errors.ResourceExhaustedError: codes.RESOURCE_EXHAUSTED,
    errors.UnavailableError: codes.TEMPORARILY_UNAVAILABLE,
    errors.DeadlineExceededError: codes.TEMPORARILY_UNAVAILABLE,
    errors.FailedPreconditionError: codes.INVALID_STATE,
    errors.AbortedError: codes.ABORTED,
    errors.UnimplementedError: codes.NOT_IMPLEMENTED,
}
# Calls that MLflow implements with other calls of the store.
_INHERITED = {
    "search_runs",
    "log_metric_async",
    "log_param_async",
    "set_tag_async",
    "log_batch_async",
    "end_async_logging",
    "flush_async_logging",
    "shut_down_async_logging",
    "get_metric_history_bulk_interval",
    "get_metric_history_bulk_interval_from_steps",
    "filter_active_experiment_ids",
}


def as_mlflow_errors(store: Class) -> Class:
    """Wraps the class's own methods so that they raise MLflow's errors."""
    for name, member in list(vars(store).items()):
        if callable(member) and not name.startswith("__"):
            setattr(store, name, _translating(member))
    return store


def refuse_unsupported(store: Class) -> Class:
    """Makes calls of MLflow's class that `store` does not define raise an error that says what to do."""
    for name in dir(AbstractStore):
        member = getattr(AbstractStore, name)
        is_call = callable(member) and not name.startswith("_") and not isinstance(member, property)
        if is_call and getattr(store, name) is member and name not in _INHERITED:
            setattr(store, name, _refusing(name))
    return store


def _translating(method: Any) -> Any:
    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except errors.Error as error:
            code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), None)
            raise MlflowException(str(error), code or codes.INTERNAL_ERROR) from error

    return call


def _refusing(name: str) -> Any:
    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise unsupported(name)

    refuse.__name__ = name
    return refuse


def unsupported(what: str) -> MlflowException:
    return MlflowException(
        f"{what}: Headrace keeps MLflow's experiments, runs, logged models and registered models, nothing "
        "else. Keep traces, prompts, webhooks and so on with an MLflow server. See docs/how-to/mlflow.md",
        codes.NOT_IMPLEMENTED,
    )
