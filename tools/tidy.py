"""The rules of STYLE.md and ARCHITECTURE.md that a program can check: `./dev python tools/tidy.py`.

Looks at the files that git tracks. Prints one line per finding, `path:line: rule: what to do`, and exits with
1 if there is one. A rule is a function from the tree (path → text) to findings; RULES lists them all. Given a
file name, also writes the verdict there as XML, as pytest does.
"""

import ast
import io
import pathlib
import re
import subprocess
import sys
import tokenize
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Folders of headrace/, lowest first. A file includes its own folder and lower layers, nothing else.
LAYERS = [
    {"base"},
    {"os"},
    {"net"},
    {"store"},
    {"log"},
    {"record", "codec", "engine", "filesystem"},
    {"coordinate", "model", "page", "events"},
    {"stream", "track", "metrics"},
    {"artifact", "history", "prepare", "train", "evaluate", "statistics", "serve"},
    {"predict", "run_import", "run_index"},
    {"mlflow", "study", "sweep"},
    {"engine_process"},
    {"cli"},
]
LAYER_OF = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
# Folders within one of those, lowest first, with the same rule. A folder that is not listed includes no
# sibling.
INNER_ORDER = {
    "serve": [
        "signature",
        "batch",
        "protocol",
        "request_log",
        "version",
        "remote_engine",
        "live_model",
        "release",
        "configuration",
    ],
    "prepare": [
        "row",
        "schema",
        "table",
        "ignite",
        "archive",
        "source",
        "map",
        "sort",
        "plan",
        "extract",
        "arrange",
        "write",
        "execute",
    ],
}

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 70
MAX_LINE_CHARACTERS = 110
README_LINES = range(10, 41)

# Calls that belong to the entry points (cli/, bindings/) and to tests: name → (pattern, advice). A function
# that is passed counts as called. A clock is matched by its own name, even if a file uses an alias.
BANNED_CALLS = {
    "printing": (
        r"std::(?:cout|cerr|clog)\b|(?<![\w.>])(?:printf|puts|putchar)\s*\(|\bf(?:printf|puts)\s*\(\s*std",
        "return the text; cli/ prints",
    ),
    "exit": (
        r"(?<![\w.>])(?:std::)?(?:abort|exit|_exit|quick_exit|terminate)\s*\(|"
        r"\bstd::(?:abort|\w*exit|terminate)\b",
        "return a Status",
    ),
    "environment": (r"\b(?:secure_)?getenv\b|\benviron\b", "take an Environment"),
    "wall-clock": (
        r"\b(?:system|high_resolution|utc|tai|gps|file)_clock::now\b|\b(?:gettimeofday|clock_gettime)\b|"
        r"(?<![\w.>:])(?:std::|::)?time\s*\(|\bstd::time\b",
        "take Environment::now",
    ),
    "clock": (
        r"(?:\bsteady_clock|::clock)::now\b",
        "take the time as an argument, or add the file to ALLOWED_CALLS",
    ),
    "random": (
        r"(?<![\w.>])s?rand\s*\(|\bstd::s?rand\b|\brandom_device\b",
        "take a seed; siphash() or a seeded generator",
    ),
    "catch-all": (r"\bcatch\s*\(\s*\.\.\.\s*\)", "name the exceptions the library documents"),
}
# Where a banned call is right: path prefix → reason.
ALLOWED_CALLS = {
    "environment": {"headrace/base/process_environment.cc": "makes an Environment"},
    "wall-clock": {"headrace/base/environment.h": "makes an Environment"},
    "exit": {
        "headrace/base/process_environment": "the system's random bytes cannot fail",
        "headrace/base/result.cc": "a value was taken from an error",
    },
    "clock": {
        "headrace/net/": "deadlines of requests",
        "headrace/os/": "deadlines of children and locks; when a background task is due",
        "headrace/store/": "deadlines of calls",
        "headrace/engine/tensorflow/watchdog.cc": "deadlines of the engine's calls",
        "headrace/track/console_log.h": "when a piece is due; tests pass another clock",
        "headrace/log/segment_log.": "when a segment is due; tests pass another clock",
        "headrace/events/event_writer.": "when events are due; tests pass another clock",
        "headrace/events/log_folder.cc": "how long one reading may take",
        "headrace/coordinate/task_claims.": "when another worker's claim is stale; tests pass another clock",
        "headrace/prepare/execute/task_runner.": "how long it waits for others; tests pass another clock",
        "headrace/stream/pipeline.": "when a wait is reported; statistics. No batch depends on either",
        "headrace/stream/block_reader.cc": "statistics",
        "headrace/stream/loader_trace.": "statistics",
        "headrace/train/native_loop.cc": "statistics",
        "headrace/train/step_loop.": "statistics",
        "headrace/serve/batch/batcher.": "deadlines of requests; tests pass another clock",
        "headrace/serve/request_log/request_log.": "when a log that closes has had its time",
        "headrace/serve/request_log/model_log.cc": "when to write what waits",
        "headrace/serve/remote_engine/remote_engine.cc": "how long a process may take",
        "headrace/serve/live_model/warm_up.cc": "how long a warm-up may take",
        "headrace/serve/release/canary.": "how long requests take; tests pass another clock",
        "headrace/serve/release/shadow.cc": "deadlines of its requests",
        "headrace/serve/live_model/live_model.cc": "when to look again; deadlines of requests that wait",
    },
}
ENTRY_POINTS = ("headrace/cli/", "bindings/")
TEST_CODE = re.compile(
    r"_test\.(?:cc|h)$|/testing/|(?:_|/)test_\w+\.(?:cc|h)$|/conformance\.(?:cc|h)$|^(?:tests|bench|fuzz)/"
)

# Headers that headrace/*.h may include in angle brackets: C++'s own have no dot, these are C's and POSIX'.
SYSTEM_HEADER = re.compile(
    r"[a-z_0-9]+|(?:sys/|netinet/|arpa/)?(?:errno|fcntl|poll|signal|socket|stat|types|uio|unistd|"
    r"in|inet|netdb|pthread|time|stdint|stddef|immintrin)\.h"
)

# Headers of libraries that only these files include: prefix of the header's name → (files, advice for
# others).
WRAPPED_HEADERS = {
    "nlohmann/": (["headrace/base/json.cc"], 'slow to compile: include "headrace/base/json.h"'),
    "toml++/": (["headrace/base/toml.cc"], 'slow to compile: include "headrace/base/toml.h"'),
    "simdjson": (
        ["headrace/serve/protocol/json_document.cc", "headrace/mlflow/log_batch.cc"],
        'slow to compile: include "headrace/serve/protocol/json_document.h"',
    ),
    "boost/": (
        [
            f"headrace/cli/servers/serve/{name}.cc"
            for name in ("boost_sources", "event_loop", "request_parser")
        ],
        'slow to compile: include "headrace/cli/servers/serve/http_server.h"',
    ),
}

# Calls that import a module by its name as text; and the stub of the native module, which also imports
# modules.
IMPORTING_CALLS = ("importlib.import_module", "import_module", "__import__")
NATIVE_MODULE = "python/headrace/_headrace.pyi"

CODE = re.compile(r"\.(?:cc|h|py|pyi|sh|cmake|ts|css)$|(?:^|/)CMakeLists\.txt$|^dev$|^\.ci/run$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')

Tree = dict[str, str]


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.advice}"


def is_cpp(path: str) -> bool:
    return path.endswith((".cc", ".h"))


def is_test(path: str) -> bool:
    return TEST_CODE.search(path) is not None


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def cpp_files(tree: Tree, under: str = "headrace/") -> Iterator[tuple[str, str]]:
    return ((path, text) for path, text in tree.items() if is_cpp(path) and path.startswith(under))


def includes(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, quoted name, name in angle brackets (one of the two is empty)."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1] or "", match[2] or ""


NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r'|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'  # strings
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'",  # characters, but not the marks in 1'000
    re.DOTALL,
)


def bare_code(text: str) -> str:
    """C++ without comments, literals and preprocessor lines; line numbers do not change."""

    def blank(match: re.Match[str]) -> str:
        return ('""' if '"' in match[0][:2] else " ") + "\n" * match[0].count("\n")

    lines = NOT_CODE.sub(blank, text).split("\n")
    continued = False
    for number, line in enumerate(lines):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        if directive:
            lines[number] = ""
    return "\n".join(lines)


# ---- rules ------------------------------------------------------------------------------------------


def may_include_inner(top: str, folder: str, other: str) -> bool:
    order = INNER_ORDER.get(top, [])
    if folder == other or folder not in order or other not in order:
        return folder == other
    return order.index(other) < order.index(folder)


def check_layers(tree: Tree) -> Iterator[Finding]:
    for path, text in cpp_files(tree):
        top, *inner = path.split("/")[1:-1] or [""]
        if top not in LAYER_OF:
            yield Finding(
                path, 1, "layers", f"folder '{top}' has no layer: add it to LAYERS in tools/tidy.py"
            )
            continue
        for line, name, _ in includes(text):
            parts = name.split("/")
            if parts[0] != "headrace" or len(parts) < 3:
                continue
            other = parts[1]
            if other != top and LAYER_OF.get(other, len(LAYERS)) >= LAYER_OF[top]:
                yield Finding(
                    path, line, "layers", f"{top} may not include {other}: it is not of a lower layer"
                )
            if other != top or not inner or len(parts) < 4 or is_test(path):
                continue
            if not may_include_inner(top, inner[0], parts[2]):
                yield Finding(
                    path, line, "layers", f"{top}/{inner[0]} may not include its sibling {top}/{parts[2]}"
                )


def check_sizes(tree: Tree) -> Iterator[Finding]:
    for path, text in tree.items():
        if not CODE.search(path):
            continue
        lines = text.splitlines()
        if len(lines) > MAX_FILE_LINES:
            yield Finding(
                path, len(lines), "file size", f"{len(lines)} lines; at most {MAX_FILE_LINES}: split it"
            )
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_LINE_CHARACTERS:
                yield Finding(
                    path, number, "line length", f"{len(line)} characters; at most {MAX_LINE_CHARACTERS}"
                )


def cpp_functions(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of every function, signature included; nested code counts as part of it."""
    scopes = []  # for each open brace: the signature's line if it opened a function, otherwise 0
    header, header_line, line = "", 1, 1
    for character in bare_code(text):
        if character == "\n":
            line += 1
        if character == "{":
            nested = any(scopes)
            plain = re.sub(r"\btemplate\s*<[^{]*?>\s*(?=struct|class|union)", "", header).strip()
            is_scope = re.match(
                r"(?:inline\s+)?namespace\b|struct\b|class\b|union\b|enum\b|extern\b\s*\"\"$", plain
            )
            scopes.append(0 if nested or is_scope or "(" not in plain else header_line)
            header = ""
        elif character == "}":
            start = scopes.pop() if scopes else 0
            if start:
                yield start, line
            header = ""
        elif character == ";":
            header = ""
        elif header or not character.isspace():
            header_line = line if not header else header_line
            header += character


def python_functions(text: str) -> Iterator[tuple[int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.end_lineno or node.lineno


def shell_functions(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\w+\(\) [{(]$", line):
            start = number
        elif start and line in ("}", ")"):
            yield start, number
            start = 0


def check_functions(tree: Tree) -> Iterator[Finding]:
    for path, text in tree.items():
        if is_cpp(path):
            functions = cpp_functions(text)
        elif path.endswith(".py"):
            functions = python_functions(text)
        elif path == "dev" or path.endswith(".sh"):
            functions = shell_functions(text)
        else:
            continue
        for first, last in functions:
            length = last - first + 1
            if length > MAX_FUNCTION_LINES:
                yield Finding(
                    path, first, "function size", f"{length} lines; at most {MAX_FUNCTION_LINES}: split it"
                )


TYPE_ALIAS = re.compile(
    r"\busing\s+(?P<new>\w+)\s*=\s*(?:typename\s+)?(?P<old>[\w:]+)\s*;"
    r"|\btypedef\s+(?P<of>[\w:]+)\s+(?P<to>\w+)\s*;"
)


def type_aliases(path: str, tree: Tree) -> dict[str, str]:
    """Alias → unqualified name of the type that it finally stands for, in a C++ file and its headers."""
    aliases: dict[str, str] = {}
    files = [path]
    for file in files:  # grows while it is walked
        for match in TYPE_ALIAS.finditer(tree[file]):
            old = match["old"] or match["of"]
            aliases.setdefault(match["new"] or match["to"], old.rpartition("::")[2])
        files += [name for _, name, _ in includes(tree[file]) if name in tree and name not in files]
    for name in aliases:
        for _ in aliases:  # no chain of aliases is longer
            aliases[name] = aliases.get(aliases[name], aliases[name])
    return aliases


def check_calls(tree: Tree) -> Iterator[Finding]:
    for path, text in cpp_files(tree):
        if path.startswith(ENTRY_POINTS) or is_test(path):
            continue
        code = bare_code(text)
        for name, meaning in type_aliases(path, tree).items():
            if meaning.endswith("_clock"):
                code = re.sub(rf"\b{name}::now\b", f"{meaning}::now", code)
        for number, line in enumerate(code.splitlines(), 1):
            for rule, (pattern, advice) in BANNED_CALLS.items():
                if re.search(pattern, line) and not path.startswith(tuple(ALLOWED_CALLS.get(rule, {}))):
                    yield Finding(path, number, rule, advice)


def check_headers(tree: Tree) -> Iterator[Finding]:
    for path, text in cpp_files(tree):
        if not path.endswith(".h"):
            continue
        if "#pragma once" not in text:
            yield Finding(path, 1, "header", "begin with #pragma once")
        for line, _, name in includes(text):
            if name and not is_test(path) and not SYSTEM_HEADER.fullmatch(name):
                yield Finding(path, line, "header", f"<{name}> is a third party's: include it in a .cc file")


def check_wrapped(tree: Tree) -> Iterator[Finding]:
    for path, text in cpp_files(tree, ""):
        for line, quoted, name in includes(text):
            for begin, (files, advice) in WRAPPED_HEADERS.items():
                if (quoted or name).startswith(begin) and path not in files:
                    yield Finding(path, line, "wrapped", f"<{quoted or name}> is {advice}")


def check_names(tree: Tree) -> Iterator[Finding]:
    """Types with the same name in two headers are an error: the linker would merge their functions."""
    seen: dict[str, str] = {}
    for path, text in sorted(cpp_files(tree)):
        if not path.endswith(".h"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            defined = re.match(r"(?:struct|class|enum class) (\w+)\b(?!;)", line)
            if defined and seen.setdefault(defined[1], path) != path:
                yield Finding(path, number, "name", f"{seen[defined[1]]} has a {defined[1]}, too: rename one")


def check_readmes(tree: Tree) -> Iterator[Finding]:
    for folder in sorted({folder_of(path) for path, _ in cpp_files(tree)}):
        readme = f"{folder}/README.md"
        if readme not in tree:
            yield Finding(
                readme, 1, "readme", "write it: purpose, nouns, example, promises, how to test, files"
            )
        elif len(tree[readme].splitlines()) not in README_LINES:
            yield Finding(readme, 1, "readme", f"{README_LINES.start} to {README_LINES.stop - 1} lines")


def check_unused(tree: Tree) -> Iterator[Finding]:
    included = {(name, path) for path, text in tree.items() if is_cpp(path) for _, name, _ in includes(text)}
    used = {
        name
        for name, path in included
        if name.removesuffix(".h") != path.removesuffix(".cc") and (is_test(name) or not is_test(path))
    }
    lists = " ".join(text for path, text in tree.items() if path.endswith("CMakeLists.txt"))
    built = set(re.findall(r"[\w./-]+\.cc\b", lists))
    for path, _ in cpp_files(tree):
        if path.endswith(".h") and path not in used:
            yield Finding(path, 1, "unused", "only tests, if any, include this header")
        elif path.endswith(".cc") and not any(path.endswith(f"/{name}") for name in built):
            yield Finding(path, 1, "unused", "no CMakeLists.txt builds this file")


def python_imports(path: str, tree: Tree) -> Iterator[tuple[int, str]]:
    """Line and file of every import of a tracked module, including imports in functions and for type
    checkers.

    A module is looked up in python/; for a script, which is elsewhere, beside the script first. The packages
    that contain a module do not count, although they are imported before it.
    """

    def file_of(name: str, roots: list[str]) -> str | None:
        stem = name.replace(".", "/")
        endings = (".py", ".pyi", "/__init__.py")
        return next((f for r in roots for e in endings if (f := f"{r}/{stem}{e}") in tree), None)

    for node in ast.walk(ast.parse(tree[path])):
        roots = ["python"] if path.startswith("python/") else [folder_of(path), "python"]
        names: list[tuple[str, ...]] = []  # the files that each import may mean, the closest first
        if isinstance(node, ast.Import):
            names = [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                roots = ["/".join(path.split("/")[: -node.level])]
            module = node.module or "__init__"
            names = [(f"{node.module or ''}.{alias.name}".lstrip("."), module) for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in IMPORTING_CALLS and node.args:
            names = [(str(node.args[0].value),)] if isinstance(node.args[0], ast.Constant) else []
        for meant in names:
            found = next((file for name in meant if (file := file_of(name, roots))), None)
            if found not in (None, path):
                yield node.lineno, found  # type: ignore[misc]


def native_imports(tree: Tree) -> Iterator[tuple[int, str]]:
    """Like python_imports, for the native module: the modules that its C++ code imports."""
    for path, text in tree.items():
        if path.startswith("bindings/python/") and is_cpp(path):
            for name in re.findall(r'\bimport_\("(headrace[\w.]*)"\)', text):
                yield 1, f"python/{name.replace('.', '/')}.py"


def way_back(start: str, graph: dict[str, dict[str, int]]) -> list[str]:
    """The shortest cycle of imports through a file; empty if there is none."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:  # grows while it is walked
        for imported in graph.get(way[-1], {}):
            if imported == start:
                return [*way, start]
            if imported not in seen:
                seen.add(imported)
                ways.append([*way, imported])
    return []


def check_import_cycles(tree: Tree) -> Iterator[Finding]:
    graph: dict[str, dict[str, int]] = {}
    for path in tree:
        if path.endswith((".py", ".pyi")):
            imports = [*python_imports(path, tree), *(native_imports(tree) if path == NATIVE_MODULE else [])]
            graph[path] = {file: line for line, file in reversed(imports)}
    told: set[str] = set()
    for path in sorted(graph):
        way = [] if path in told else way_back(path, graph)
        told.update(way)
        if way:
            circle = " → ".join(way)
            yield Finding(
                path, graph[path][way[1]], "import cycle", f"{circle}: move what both need to a third module"
            )


def check_conformance(tree: Tree) -> Iterator[Finding]:
    suites = [
        text
        for path, text in cpp_files(tree)
        if is_test(path) and "store/conformance.h" in text and "StoreConformance" in text
    ]
    for header, text in cpp_files(tree, "headrace/store/"):
        is_driver = len(header.split("/")) == 4 and header.endswith("store.h")
        makes_layer = r"^std::(?:unique|shared)_ptr<Store> make_\w+\("
        is_layer = re.search(r"/layers/.*\.h$", header) and re.search(makes_layer, text, re.MULTILINE)
        if (is_driver or is_layer) and not any(f'"{header}"' in text for text in suites):
            yield Finding(header, 1, "conformance", "no test runs StoreConformance on this driver or layer")


# A sentence that hides its verb, up to its end. It starts a paragraph, or follows the name of an argument or
# another sentence.
FRAGMENT = re.compile(r"(?:^|[.:?!] )(?=(?P<sentence>(?:Of|What|Who|Whose|Whoever) .*?(?:[.?!](?= |$)|$)))")
MARKDOWN_ITEM = re.compile(r"(?:(?:[-*>]|\d+\.) +)+")
DOXYGEN = re.compile(r"\\(?:file|return|(?:error|param) +\S+) +")


def cpp_comments(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every comment on a line of its own."""
    for match in NOT_CODE.finditer(text):
        before = text[: match.start()]
        if match[0].startswith("//") and not before.rpartition("\n")[2].strip():
            yield before.count("\n") + 1, match[0].lstrip("/").strip()


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """The same for Python; a string that is a statement, such as a docstring, counts as a comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            yield token.start[0], token.string.lstrip("#").strip()
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno - 1, ""
            yield from ((value.lineno + i, line.strip()) for i, line in enumerate(value.value.split("\n")))


def hash_comments(text: str) -> Iterator[tuple[int, str]]:
    """The same for shell, CMake and lists of packages."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            yield number, line.strip().lstrip("#").strip()


def markdown_prose(text: str) -> Iterator[tuple[int, str]]:
    """The same for a page, without its titles, tables and code. Each item of a list is a paragraph."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        is_fence = words.startswith("```")
        in_code ^= is_fence
        if is_fence or in_code or words.startswith(("#", "|")):
            words = ""
        item = MARKDOWN_ITEM.match(words)
        if item:
            yield number, ""
        yield number, words[item.end() :] if item else words


def comments_of(path: str, text: str) -> Iterator[tuple[int, str]]:
    name = pathlib.PurePosixPath(path).name
    if is_cpp(path):
        return cpp_comments(text)
    if name.endswith((".py", ".pyi")):
        return python_comments(text)
    if name.endswith(".md"):
        return markdown_prose(text)
    if name.endswith((".sh", ".cmake", ".in")) or name in ("dev", "CMakeLists.txt"):
        return hash_comments(text)
    return iter(())


def paragraphs(comments: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Consecutive lines, up to an empty line or a line that begins with a Doxygen command."""
    paragraph: list[tuple[int, str]] = []
    for line, words in comments:
        command = DOXYGEN.match(words)
        if paragraph and (not words or command or line != paragraph[-1][0] + 1):
            yield paragraph
            paragraph = []
        if words:
            paragraph.append((line, words[command.end() :] if command else words))
    if paragraph:
        yield paragraph


def check_sentences(tree: Tree) -> Iterator[Finding]:
    for path, text in tree.items():
        for paragraph in paragraphs(comments_of(path, text)):
            joined = " ".join(words for _, words in paragraph)
            line_at = [line for line, words in paragraph for _ in f"{words} "]  # of each character
            for match in FRAGMENT.finditer(joined):
                if not match["sentence"].endswith("?"):
                    first = match["sentence"].split()[0]
                    advice = f'do not begin a sentence with "{first}": name its subject first'
                    yield Finding(path, line_at[match.start("sentence")], "sentence", advice)


RULES: list[Callable[[Tree], Iterator[Finding]]] = [
    check_layers,
    check_sizes,
    check_functions,
    check_calls,
    check_headers,
    check_wrapped,
    check_names,
    check_readmes,
    check_unused,
    check_import_cycles,
    check_conformance,
    check_sentences,
]


def check(tree: Tree) -> list[Finding]:
    findings = [finding for rule in RULES for finding in rule(tree)]
    return sorted(findings, key=lambda finding: (finding.path, finding.line))


def read_tree(root: pathlib.Path) -> Tree:
    """Every tracked text file; a file that is not UTF-8 counts as binary."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout
    tree = {}
    for name in filter(None, listed.decode().split("\0")):
        path = root / name
        if path.is_file() and not path.is_symlink():
            try:
                tree[name] = path.read_bytes().decode()
            except UnicodeDecodeError:
                continue
    return tree


def write_results(path: pathlib.Path, findings: list[Finding]) -> None:
    """One test case per rule, in pytest's format."""
    suite = xml.Element("testsuite", name="tidy")
    case = xml.SubElement(suite, "testcase", classname="tidy", name="rules")
    if findings:
        xml.SubElement(case, "failure", message=f"{len(findings)} findings")
    xml.ElementTree(suite).write(path)


def main() -> int:
    findings = check(read_tree(pathlib.Path(__file__).resolve().parents[1]))
    for finding in findings:
        print(finding)
    if len(sys.argv) > 1:
        write_results(pathlib.Path(sys.argv[1]), findings)
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
