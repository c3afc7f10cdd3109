"""Headrace's stores as file systems of fsspec, for pandas, pyarrow, dask and whatever else takes one.

    pd.read_parquet("hr+s3://bucket/table.parquet", storage_options={"timeout": 60})
    fs = fsspec.filesystem("hr+s3")
    fs.find("bucket/folder")

The names `hr+s3`, `hr+file` and so on, one for each kind of store, come with the installed package; those of
drivers from outside, and in a checkout all, are known once this module is imported. The class of `hr+s3` is
`S3FileSystem`, and so on. `storage_options` are the options of `headrace.store`. Needs fsspec:
`pip install headrace[fsspec]`. How folders, versions and writing behave: docs/python-store.md.
"""

from __future__ import annotations

import fsspec

from headrace import _headrace
from headrace._src.file_system import HeadraceFileSystem

__all__ = ["HeadraceFileSystem"]


def __getattr__(name: str) -> type[HeadraceFileSystem]:
    """For type checkers: there are more names than those written here."""
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
    }
    globals()[name] = type(name, (HeadraceFileSystem,), facts)
    __all__.append(name)
    fsspec.register_implementation(f"hr+{scheme}", globals()[name], clobber=True)


for _driver in _headrace.store_drivers():
    _register(_driver)
