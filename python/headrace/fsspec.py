"""Headrace's stores as fsspec file systems, for pandas, pyarrow, dask and everything else that takes one.

    pd.read_parquet("hr+s3://bucket/table.parquet", storage_options={"timeout": 60})
    fs = fsspec.filesystem("hr+s3")
    fs.find("bucket/folder")

The installed package registers the names `hr+s3`, `hr+file` and so on, one for each kind of store. Importing
this module registers the names of drivers from outside, and in a checkout all names. The class of `hr+s3` is
`S3FileSystem`, and so on. `storage_options` are the options of `headrace.store`. The module needs fsspec:
`pip install headrace[fsspec]`. docs/python-store.md says how folders, versions and writing behave.
"""

from __future__ import annotations

import fsspec

from headrace import _headrace
from headrace._src.file_system import HeadraceFileSystem

__all__ = ["HeadraceFileSystem"]


def __getattr__(name: str) -> type[HeadraceFileSystem]:
    """Tells type checkers that the module has more names than the ones written here."""
    raise AttributeError(f"headrace.fsspec has no {name!r}; it has {', '.join(__all__)}")


def _register(driver: _headrace.StoreDriver) -> None:
    scheme = driver["scheme"]
    name = "".join(part.capitalize() for part in scheme.replace("+", "-").split("-")) + "FileSystem"
    facts = {
        "__doc__": f"""{driver["summary"]}: "hr+{driver["example"]}".""",
        "__module__": __name__,
        "scheme": scheme,
        "protocol": f"hr+{scheme}",
        "root_marker": "/" if driver["may_lack_authority"] else "",
        "bucket_segments": 2 if driver["has_bucket_in_path"] else 1,
    }
    globals()[name] = type(name, (HeadraceFileSystem,), facts)
    __all__.append(name)
    fsspec.register_implementation(f"hr+{scheme}", globals()[name], clobber=True)


for _driver in _headrace.store_drivers():
    _register(_driver)
