"""MLflow's model registry in Headrace's stores: uses MLflow's own REST client, but calls our module instead
of HTTP."""

from __future__ import annotations

import json
import warnings
from typing import Any

from mlflow.store.model_registry.rest_store import RestStore
from mlflow.utils.proto_json_utils import parse_dict

from headrace import _headrace
from headrace._src.mlflow.errors import as_mlflow_errors, unsupported
from headrace._src.mlflow.place import store_url

_API = "/api/2.0/"
_ARTIFACTS = "_headrace/mlflow/artifacts"


@as_mlflow_errors
class ModelRegistryStore(RestStore):
    """Threads may share it."""

    def __init__(self, store_uri: str):
        super().__init__(_no_server)
        uri = store_uri.rstrip("/")
        self._registry = _headrace.ModelRegistry(store_url(uri), f"{uri}/{_ARTIFACTS}")

    def _call_endpoint(
        self,
        api: Any,
        json_body: str | None,
        call_all_endpoints: bool = False,
        extra_headers: dict[str, str] | None = None,
    ) -> Any:
        endpoint, method = self._get_endpoint_from_method(api)
        text, remarks = self._registry.answer(method, endpoint.removeprefix(_API), json_body or "")
        for remark in remarks:
            warnings.warn(remark, stacklevel=4)
        response = self._get_response_from_method(api)
        parse_dict(json.loads(text), response)
        return response

    def _call_webhook_endpoint(self, api: Any, *_: Any, **__: Any) -> Any:
        raise unsupported(api.__name__)

    @property
    def supports_workspaces(self) -> bool:
        return False


def _no_server() -> Any:
    raise unsupported("a call of MLflow's REST API")
