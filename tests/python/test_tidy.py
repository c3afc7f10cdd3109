"""Every rule of tools/tidy.py fires on a sample that breaks it, and none on one that does not."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tidy  # noqa: E402

README = "line\n" * 12
CLEAN = {
    "headrace/base/README.md": README,
    "headrace/base/CMakeLists.txt": "headrace_library(base SOURCES text.cc json.cc TESTS text_test.cc)\n",
    "headrace/base/text.h": "#pragma once\n#include <string>\nnamespace headrace {\nint f(int x);\n}\n",
    "headrace/base/text.cc": '#include "headrace/base/text.h"\nint f(int x) {\n  return x;\n}\n',
    "headrace/base/json.cc": "#include <nlohmann/json.hpp>\n",
    "headrace/base/text_test.cc": '#include "headrace/base/text.h"\nint g() { abort(); }\n',
    "headrace/store/README.md": README,
    "headrace/store/CMakeLists.txt": "headrace_library(store SOURCES store.cc TESTS store_test.cc)\n",
    "headrace/store/store.cc": '#include "headrace/base/text.h"\n// abort(); getenv("HOME")\nint h;\n',
    "headrace/store/conformance.h": "#pragma once\n#include <gtest/gtest.h>\n",
    "headrace/store/store_test.cc": '#include "headrace/store/conformance.h"\n'
    '#include "headrace/store/memory/memory_store.h"\nStoreConformance\n',
    "headrace/store/memory/README.md": README,
    "headrace/store/memory/memory_store.h": "#pragma once\n",
    "bindings/python/module.cc": '#include "headrace/store/memory/memory_store.h"\n',
    "docs/formats/plan.md": "A plan.\n",
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
    "reading a clock by an alias": (
        "clock",
        {"headrace/record/a.cc": "using Clock = std::chrono::steady_clock;\nauto x = Clock::now();\n"},
    ),
    "reading a clock by an alias of an alias": (
        "clock",
        {
            "headrace/record/a.cc": "typedef std::chrono::steady_clock Steady;\nusing Clock = Steady;\n"
            "auto x = Clock::now();\n"
        },
    ),
    "reading a clock by an alias of a header": (
        "clock",
        {
            "headrace/record/a.h": "#pragma once\nusing Clock =\n    std::chrono::steady_clock;\n",
            "headrace/record/b.h": '#pragma once\n#include "headrace/record/a.h"\n',
            "headrace/record/a.cc": '#include "headrace/record/b.h"\nauto x = Clock::now();\n',
        },
    ),
    "reading a clock by a time's type": (
        "clock",
        {"headrace/record/a.cc": "auto x = decltype(y)::clock::now();\n"},
    ),
    "passing a clock": ("clock", {"headrace/record/a.cc": "f(&std::chrono::steady_clock::now);\n"}),
    "reading the wall clock by an alias": (
        "wall-clock",
        {"headrace/net/a.cc": "using Clock = std::chrono::system_clock;\nauto x = Clock::now;\n"},
    ),
    "reading the wall clock as C does": (
        "wall-clock",
        {"headrace/net/a.cc": "auto x = std::time(nullptr);\n"},
    ),
    "passing a function that reads the environment": (
        "environment",
        {"headrace/net/a.cc": "f(&std::getenv);\n"},
    ),
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
    "a wrapped library beside its wrapper": (
        "wrapped",
        {"bench/a.cc": "#include <nlohmann/json_fwd.hpp>\n"},
    ),
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
    "a header that only tests include": (
        "unused",
        {
            "headrace/base/a.h": "#pragma once\n",
            "headrace/base/b_test.cc": '#include "headrace/base/a.h"\n',
            "headrace/base/CMakeLists.txt": "headrace_library(base TESTS b_test.cc)\n",
        },
    ),
    "a source that nothing builds": ("unused", {"headrace/base/a.cc": "int x;\n"}),
    "modules that import each other": (
        "import cycle",
        {
            "python/headrace/a.py": "from headrace.b import f\n",
            "python/headrace/b.py": "import headrace.a\n",
        },
    ),
    "a function that imports what imports its module": (
        "import cycle",
        {
            "python/headrace/a.py": "import headrace.b\n",
            "python/headrace/b.py": "def f():\n    from headrace import c\n",
            "python/headrace/c.py": "from headrace import a\n",
        },
    ),
    "an import for type checkers that closes a circle": (
        "import cycle",
        {
            "python/headrace/a.py": "import headrace.b\n",
            "python/headrace/b.py": "if TYPE_CHECKING:\n    from headrace.a import A\n",
        },
    ),
    "an import of the package in one of its modules": (
        "import cycle",
        {
            "python/headrace/__init__.py": "from headrace._src.a import A\n",
            "python/headrace/_src/a.py": "def f():\n    import headrace as hr\n",
        },
    ),
    "relative imports in a circle": (
        "import cycle",
        {
            "python/headrace/c/__init__.py": "from .a import A\n",
            "python/headrace/c/a.py": "from . import A\n",
        },
    ),
    "an import by name in a circle": (
        "import cycle",
        {
            "tools/a.py": "import b\n",
            "tools/b.py": "import importlib\nimportlib.import_module('a')\n",
        },
    ),
    "a native module that imports what imports it": (
        "import cycle",
        {
            "python/headrace/_headrace.pyi": "class A: ...\n",
            "python/headrace/a.py": "from headrace import _headrace\n",
            "bindings/python/a.cc": 'nb::module_::import_("headrace.a");\n',
        },
    ),
    "a driver without the conformance suite": (
        "conformance",
        {"headrace/store/gcs/gcs_store.h": "#pragma once\n"},
    ),
    "a layer that does not run the suite": (
        "conformance",
        {
            "headrace/store/layers/README.md": README,
            "headrace/store/layers/slow.h": "#pragma once\nstd::unique_ptr<Store> make_slow(int x);\n",
        },
    ),
    "a contract that begins with Of": (
        "sentence",
        {"headrace/base/a.cc": "/// Of a row; empty: all.\nint x;\n"},
    ),
    "a file's purpose that begins with What": (
        "sentence",
        {"headrace/base/a.cc": "/// \\file What a row is.\n"},
    ),
    "a docstring that begins with What": (
        "sentence",
        {"tools/a.py": 'def f():\n    """What it returns."""\n'},
    ),
    "a reason that begins with Whoever": (
        "sentence",
        {"headrace/base/a.cc": "// Locked. Whoever waits is woken.\nint x;\n"},
    ),
    "a page whose sentence begins with Who": (
        "sentence",
        {"docs/a.md": "# A page\n\nReads a row. Who\nwaits is told.\n"},
    ),
    "an item of a list that begins with Whose": (
        "sentence",
        {"docs/a.md": "* A row.\n* Whose row it is.\n"},
    ),
    "a comment of a script that begins with What": (
        "sentence",
        {"tools/tool.sh": "# What starts it.\nset -eu\n"},
    ),
    "a comment of CMake that begins with Of": (
        "sentence",
        {"cmake/a.cmake": "# Of all programs.\n"},
    ),
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


def test_what_is_called_now_need_not_be_a_clock():
    calls = (
        "using Clock = std::function<Time()>;\nusing Time = std::int64_t;\nauto x = Time::now() + now();\n"
    )
    assert tidy.check({**CLEAN, "headrace/base/text.cc": calls}) == []


def test_modules_may_import_what_lies_below_them_from_several_sides():
    modules = {
        "python/headrace/__init__.py": "from headrace import a, b\n",
        "python/headrace/a.py": "def f():\n    from headrace import b\n    import headrace.c\n",
        "python/headrace/b.py": "from headrace.c import x\nimport a\n",
        "python/headrace/c.py": "import json, numpy\n",
    }
    assert tidy.check({**CLEAN, **modules}) == []


def test_an_import_cycle_is_told_once_with_its_way_and_line():
    modules = {
        "python/headrace/a.py": "import json\nimport headrace.b\n",
        "python/headrace/b.py": "import headrace.a\n",
    }
    assert [str(finding) for finding in tidy.check({**CLEAN, **modules})] == [
        "python/headrace/a.py:2: import cycle: python/headrace/a.py → python/headrace/b.py → "
        "python/headrace/a.py: move what both need to a third module"
    ]


def test_a_sentence_is_found_at_its_line_wherever_the_comment_has_been_wrapped():
    files = {
        "headrace/base/text.cc": "// Reads a row. Of the\n// rest. What\n// is left is dropped.\nint x;\n",
        "tools/a.py": 'def f():\n    """Reads.\n\n    Args:\n        x: Of\n            y.\n    """\n',
    }
    advice = 'sentence: do not begin a sentence with "{}": name its subject first'
    assert [str(finding) for finding in tidy.check({**CLEAN, **files})] == [
        f"headrace/base/text.cc:1: {advice.format('Of')}",
        f"headrace/base/text.cc:2: {advice.format('What')}",
        f"tools/a.py:5: {advice.format('Of')}",
    ]


def test_questions_and_what_is_no_comment_may_begin_so():
    files = {
        "headrace/base/text.cc": 'auto a = "// What it is.";\n// What does it cost,\n// and why?\n',
        "tools/a.py": '"""What does it cost?\n\nA line. Whatever it says."""\n\nx = "Of a row."\n',
        "docs/a.md": "## What it costs\n\n```\nWhat x\n```\n\n| What | is |\n\n* Rows.\n* Who waits?\n",
        "tools/tool.sh": "set -eu\necho '# What starts it.'\n",
    }
    assert tidy.check({**CLEAN, **files}) == []


def test_a_finding_names_its_place_and_what_to_do():
    tree = {**CLEAN, "headrace/base/text.cc": "int x;\nvoid f() { exit(1); }\n"}
    assert [str(finding) for finding in tidy.check(tree)] == [
        "headrace/base/text.cc:2: exit: return a Status"
    ]
