"""The files to mutate, and the tests that must catch the mutants."""

import pathlib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Sources:
    folder: str  # its name in results
    pattern: str  # of files, below headrace/
    tests: tuple[str, ...]  # the folder's own test programs, without headrace_ and _test
    more_tests: tuple[str, ...] = ()  # tests of higher folders, run if the folder's own tests notice nothing


SOURCES = [
    Sources("store", "store/*.cc", ("store",), ("store_transfer", "store_layers")),
    Sources("store", "store/memory/*.cc", ("store",), ("store_layers",)),
    Sources("store", "store/file/*.cc", ("store_file", "store"), ("store_transfer", "log")),
    Sources("store", "store/layers/*.cc", ("store_layers",), ("log",)),
    Sources("store", "store/transfer/*.cc", ("store_transfer",)),
    Sources("store/s3", "store/s3/*.cc", ("store_s3",)),
    Sources("store/s3", "store/s3/credentials/*.cc", ("store_s3_credentials",), ("store_s3",)),
    Sources("net", "net/*.cc", ("net",), ("net_http",)),
    Sources("net", "net/http/*.cc", ("net_http",), ("net", "store_s3")),
    Sources("os", "os/*.cc", ("os",), ("store_file", "prepare_map")),
    Sources("record", "record/*.cc", ("record",), ("coordinate",)),
    Sources("log", "log/*.cc", ("log",)),
    Sources("stream", "stream/order.cc", ("stream",)),
    Sources("stream", "stream/data_order.cc", ("stream",)),
    Sources("stream", "stream/batch_plan.cc", ("stream",)),
    Sources("prepare", "prepare/plan/*.cc", ("prepare_plan",), ("prepare_write", "prepare_execute")),
    Sources("prepare", "prepare/write/*.cc", ("prepare_write",), ("prepare_execute",)),
    Sources("track", "track/stage_output.cc", ("track",), ("prepare_write", "prepare_execute")),
    Sources("track", "track/published_folder.cc", ("track",), ("prepare_write", "prepare_execute")),
    Sources("train", "train/checkpoint.cc", ("train",)),
    Sources("coordinate", "coordinate/*.cc", ("coordinate",), ("track", "prepare_write")),
]
FOLDERS = list(dict.fromkeys(sources.folder for sources in SOURCES))
# Files that are linked only into tests.
TEST_CODE = re.compile(r"_test\.cc$|/conformance\w*\.cc$|_test_server\.cc$")


def files_of(root: pathlib.Path, folder: str) -> dict[str, Sources]:
    """Path below `root` → the folder that it belongs to."""
    return {
        str(path.relative_to(root)): sources
        for sources in SOURCES
        if sources.folder == folder
        for path in sorted((root / "headrace").glob(sources.pattern))
        if not TEST_CODE.search(str(path))
    }
