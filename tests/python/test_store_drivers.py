"""Texts that cannot be computed from the registry agree with its drivers."""

import re
import typing

from headrace._src.store_options import StoreOptions, option_names

from headrace import _headrace


def test_the_options_for_type_checkers_are_those_of_the_drivers():
    assert set(option_names()) == set(typing.get_type_hints(StoreOptions))
    booleans = {
        name.replace("-", "_")
        for driver in _headrace.store_drivers()
        for name, is_boolean, _ in driver["options"]
        if is_boolean
    }
    hints = typing.get_type_hints(StoreOptions)
    assert booleans == {name for name, kind in hints.items() if kind is bool}


def test_the_page_of_variables_has_those_of_the_drivers_and_no_others(root, headrace):
    page = (root / "docs" / "environment.md").read_text()
    names = r"\b(?:AWS|S3|IGNITE(?!_DATASET)|IGFS|HEADRACE_S3|HEADRACE_IGNITE)_[A-Z0-9_]+\b"
    told = set(re.findall(names, page))
    known = set(re.findall(names, headrace("stores", "s3").stdout + headrace("stores", "igfs").stdout))
    assert told == known


def test_the_page_of_variables_has_all_that_the_code_reads(root):
    told = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", (root / "docs" / "environment.md").read_text()))
    read = set(re.findall(r'"([A-Z][A-Z0-9_]+)"', (root / "headrace" / "cli" / "rank.cc").read_text()))
    by_name = r'(?:environment\.(?:get|is_on)\(|\.variable = )"(\w+)"'
    for path in (root / "headrace").rglob("*.cc"):
        if not path.stem.endswith("_test") and not path.name.startswith("conformance"):
            read.update(re.findall(by_name, path.read_text()))
    in_python = r'os\.environ(?:\.\w+\(|\[)"(\w+)"|"(\w+)" in os\.environ'
    for path in (root / "python" / "headrace").rglob("*.py"):
        read.update(name for found in re.findall(in_python, path.read_text()) for name in found if name)
    assert {"HOME", "AWS_REGION", "SLURM_PROCID", "HEADRACE_BUILD"} <= read
    assert sorted(read - told) == []
