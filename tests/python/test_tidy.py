"""Every rule of tools/tidy.py fires on a sample that breaks it, and none on one that does not."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tidy  # noqa: E402

README = "line\n" * 12
CLEAN = {
    "headrace/base/README.md": README,
    "headrace/base/CMakeLists.txt": "headrace_library(base SOURCES text.cc TESTS text_test.cc)\n",
    "headrace/base/text.h": "#pragma once\n#include <string>\nnamespace headrace {\nint f(int x);\n}\n",
    "headrace/base/text.cc": '#include "headrace/base/text.h"\nint f(int x) {\n  return x;\n}\n',
    "headrace/base/text_test.cc": '#include "headrace/base/text.h"\nint g() { abort(); }\n',
    "headrace/store/README.md": README,
    "headrace/store/CMakeLists.txt": "headrace_library(store SOURCES store.cc TESTS store_test.cc)\n",
    "headrace/store/store.cc": '#include "headrace/base/text.h"\n// abort(); getenv("HOME")\nint h;\n',
    "headrace/store/conformance.h": "#pragma once\n#include <gtest/gtest.h>\n",
    "headrace/store/store_test.cc": '#include "headrace/store/conformance.h"\n'
    '#include "headrace/store/memory/memory_store.h"\nStoreConformance\n',
    "headrace/store/memory/README.md": README,
    "headrace/store/memory/memory_store.h": "#pragma once\n",
    "docs/formats/plan.md": "`_headrace/work/<plan>/` holds the spool; the sessions of a server.\n",
    "tools/tool.sh": "set -eu\nf() {\n  true\n}\n",
}

BAD = {
    "an upward include": (
        "layers",
        {"headrace/base/a.h": '#pragma once\n#include "headrace/store/store.h"\n'},
    ),
    "an include between folders of one layer": (
        "layers",
        {"headrace/train/a.h": '#pragma once\n#include "headrace/prepare/b.h"\n'},
    ),
    "an include between drivers": (
        "layers",
        {"headrace/store/s3/a.cc": '#include "headrace/store/memory/memory_store.h"\n'},
    ),
    "an include up the order of inner folders": (
        "layers",
        {"headrace/prepare/schema/a.cc": '#include "headrace/prepare/extract/extract.h"\n'},
    ),
    "a folder without a layer": ("layers", {"headrace/util/a.h": "#pragma once\n"}),
    "a long file": ("file size", {"headrace/base/long.cc": "int x;\n" * 801}),
    "a long line": ("line length", {"tools/a.py": f"x = '{'y' * 110}'\n"}),
    "a long C++ function": (
        "function size",
        {"headrace/base/a.cc": "namespace n {\nint f(int a,\n      int b) {\n" + "  ++a;\n" * 68 + "}\n}\n"},
    ),
    "a long method with a brace in a string": (
        "function size",
        {"headrace/base/a.cc": "struct S {\n  void f() {\n" + '    g("}");\n' * 69 + "  }\n};\n"},
    ),
    "a long Python function": ("function size", {"tools/a.py": "def f():\n" + "    pass\n" * 70}),
    "a long shell function": ("function size", {"tools/a.sh": "f() {\n" + "  true\n" * 69 + "}\n"}),
    "output": ("printing", {"headrace/base/a.cc": "void f() { std::cerr << 1; }\n"}),
    "output by printf": ("printing", {"headrace/base/a.cc": 'void f() { printf("x"); }\n'}),
    "an abort": ("exit", {"headrace/base/a.cc": "void f() { std::abort(); }\n"}),
    "reading the environment": ("environment", {"headrace/base/a.cc": 'auto x = std::getenv("HOME");\n'}),
    "reading the wall clock": (
        "wall-clock",
        {"headrace/net/a.cc": "auto x = std::chrono::system_clock::now();\n"},
    ),
    "reading a clock": ("clock", {"headrace/record/a.cc": "auto x = std::chrono::steady_clock::now();\n"}),
    "unseeded randomness": ("random", {"headrace/base/a.cc": "std::random_device device;\n"}),
    "a catch-all": ("catch-all", {"headrace/base/a.cc": "void f() { try { g(); } catch (...) {} }\n"}),
    "a third party's header in a header": (
        "header",
        {"headrace/net/a.h": "#pragma once\n#include <zlib.h>\n"},
    ),
    "a test library in a header": (
        "header",
        {"headrace/net/a.h": "#pragma once\n#include <gtest/gtest.h>\n"},
    ),
    "a header without a guard": ("header", {"headrace/base/a.h": "int x;\n"}),
    "two types of one name": (
        "name",
        {
            "headrace/base/a.h": "#pragma once\nstruct Row {\n};\n",
            "headrace/net/a.h": "#pragma once\nclass Row : public Base {\n};\n",
        },
    ),
    "a folder without a README": ("readme", {"headrace/net/a.h": "#pragma once\n"}),
    "a README that says nothing": ("readme", {"headrace/base/README.md": "# base\n"}),
    "a header that nobody includes": ("unused", {"headrace/base/a.h": "#pragma once\n"}),
    "a header that only its own source includes": (
        "unused",
        {"headrace/base/a.h": "#pragma once\n", "headrace/base/a.cc": '#include "headrace/base/a.h"\n'},
    ),
    "a source that nothing builds": ("unused", {"headrace/base/a.cc": "int x;\n"}),
    "a driver without the conformance suite": (
        "conformance",
        {"headrace/store/gcs/gcs_store.h": "#pragma once\n"},
    ),
    "a path of one machine": ("text", {"docs/a.md": "see /" + "work/main/dev\n"}),
    "a home folder": ("text", {"docs/a.md": "see /" + "root/.cache\n"}),
    "a folder outside the repository": ("text", {"docs/a.md": "see .." + "/shared/notes\n"}),
    "a number of the tracker": ("text", {"docs/a.md": "as iss" + "ue 12 asks\n"}),
    "a registry's host": ("text", {"requirements.in": "--index-url https://" + "pypi" + ".org/simple\n"}),
}


def test_a_clean_tree_has_no_findings():
    assert tidy.check(CLEAN) == []


@pytest.mark.parametrize("what", BAD)
def test_a_rule_fires_on(what):
    rule, files = BAD[what]
    findings = tidy.check({**CLEAN, **files})
    assert rule in {finding.rule for finding in findings if finding.path in files or finding.rule == "readme"}


def test_a_function_of_the_longest_length_is_no_finding():
    longest = {"headrace/base/text.cc": "int f(int x) {\n" + "  ++x;\n" * 68 + "}\n"}
    assert tidy.check({**CLEAN, **longest}) == []


def test_a_finding_names_its_place_and_what_to_do():
    tree = {**CLEAN, "headrace/base/text.cc": "int x;\nvoid f() { exit(1); }\n"}
    assert [str(finding) for finding in tidy.check(tree)] == [
        "headrace/base/text.cc:2: exit: return a Status"
    ]
