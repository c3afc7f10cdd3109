"""Headrace's stores as fsspec file systems, for pandas, pyarrow, dask and everything else that takes one.

    pd.read_parquet("hr+s3://bucket/table.parquet", storage_options={"timeout": 60})
    fs = fsspec.filesystem("hr+s3")
    fs.find("bucket/folder")

The installed package registers the names `hr+s3`, `hr+file` and `hr+memory`; in a checkout, importing this
module registers them. `storage_options` are the options of `headrace.store`. The module needs fsspec:
`pip install headrace[fsspec]`. docs/python-store.md says how folders, versions and writing behave.
"""

from __future__ import annotations

import fsspec

from headrace._src.file_system import HeadraceFileSystem

__all__ = [
    "FileFileSystem",
    "HeadraceFileSystem",
    "MemoryFileSystem",
    "S3FileSystem",
]


class S3FileSystem(HeadraceFileSystem):
    """S3 buckets. A path is "bucket/key"."""

    scheme = "s3"
    protocol = "hr+s3"


class MemoryFileSystem(HeadraceFileSystem):
    """Objects in this process's memory. A path is "name/key"."""

    scheme = "memory"
    protocol = "hr+memory"


class FileFileSystem(HeadraceFileSystem):
    """Files of this machine, written atomically. A path is absolute."""

    scheme = "file"
    protocol = "hr+file"
    root_marker = "/"


for _kind in (S3FileSystem, MemoryFileSystem, FileFileSystem):
    fsspec.register_implementation(_kind.protocol, _kind, clobber=True)
