"""Headrace's stores as file systems of fsspec, for pandas, pyarrow, dask and whatever else takes one.

    pd.read_parquet("hr+s3://bucket/table.parquet", storage_options={"timeout": 60})
    fs = fsspec.filesystem("hr+s3")
    fs.find("bucket/folder")

The names `hr+s3`, `hr+file` and so on, one for each kind of store, come with the installed package; from a
checkout they are known once this module is imported. `storage_options` are the options of `headrace.store`.
Needs fsspec: `pip install headrace[fsspec]`. How folders, versions and writing behave: docs/python-store.md.
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
    """Buckets of S3: paths are "bucket/key"."""

    scheme = "s3"
    protocol = "hr+s3"


class MemoryFileSystem(HeadraceFileSystem):
    """Objects in this process's memory: paths are "name/key"."""

    scheme = "memory"
    protocol = "hr+memory"


class FileFileSystem(HeadraceFileSystem):
    """Files of this machine, written atomically: paths are absolute."""

    scheme = "file"
    protocol = "hr+file"
    root_marker = "/"


for _kind in (S3FileSystem, MemoryFileSystem, FileFileSystem):
    fsspec.register_implementation(_kind.protocol, _kind, clobber=True)
