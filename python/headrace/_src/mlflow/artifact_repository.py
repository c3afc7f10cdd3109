"""MLflow's artifacts in Headrace's stores."""

from __future__ import annotations

import os
import posixpath
import shutil

from mlflow.entities import FileInfo
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.store.artifact.artifact_repo import ArtifactRepository, verify_artifact_path

from headrace._src.mlflow.errors import as_mlflow_errors
from headrace._src.mlflow.place import store_url
from headrace._src.store import Store

_PIECE_BYTES = 8 << 20


@as_mlflow_errors
class Artifacts(ArtifactRepository):
    """The artifacts of a run: objects below a folder of a store. Threads may share it."""

    def __init__(self, artifact_uri: str, tracking_uri: str | None = None, registry_uri: str | None = None):
        super().__init__(artifact_uri, tracking_uri, registry_uri)
        self._store = Store(store_url(artifact_uri))

    def log_artifact(self, local_file: str, artifact_path: str | None = None) -> None:
        verify_artifact_path(artifact_path)
        self._upload(local_file, posixpath.join(artifact_path or "", os.path.basename(local_file)))

    def log_artifacts(self, local_dir: str, artifact_path: str | None = None) -> None:
        verify_artifact_path(artifact_path)
        uploads = []
        for folder, _, files in os.walk(os.path.abspath(local_dir)):
            below = os.path.relpath(folder, local_dir)
            parts = [artifact_path or "", "" if below == "." else below.replace(os.sep, "/")]
            for name in files:
                key = posixpath.join(*parts, name)
                uploads.append(self.thread_pool.submit(self._upload, os.path.join(folder, name), key))
        for upload in uploads:
            upload.result()

    def list_artifacts(self, path: str | None = None) -> list[FileInfo]:
        folder = f"{path.strip('/')}/" if path and path.strip("/") else ""
        listed = self._store.list(folder, folders=True)
        return [
            FileInfo(
                one.key.rstrip("/"), one.key.endswith("/"), None if one.key.endswith("/") else one.size_bytes
            )
            for one in listed
        ]

    def _download_file(self, remote_file_path: str, local_path: str) -> None:
        info = self._store.stat(remote_file_path)
        with open(local_path, "wb") as file:
            for offset in range(0, info.size_bytes, _PIECE_BYTES):
                file.write(self._store.read(remote_file_path, offset, _PIECE_BYTES, info.version))

    def delete_artifacts(self, artifact_path: str | None = None) -> None:
        if not artifact_path:
            url = store_url(self.artifact_uri)
            raise MlflowException(
                f"`headrace rm --recursive {url}` removes all artifacts of a run", INVALID_PARAMETER_VALUE
            )
        path = artifact_path.strip("/")
        self._store.remove(path, *(one.key for one in self._store.list(f"{path}/")))

    def _upload(self, local_file: str, key: str) -> None:
        with open(local_file, "rb") as file, self._store.upload(key) as upload:
            shutil.copyfileobj(file, upload, _PIECE_BYTES)
