"""The rules of STYLE.md and ARCHITECTURE.md that a program can check: `./dev python tools/tidy.py`.

Looks at the files that git tracks. Prints one line per finding, `path:line: rule: what to do`, and exits with
1 if there is one. A rule is a function from the tree (path → text) to findings; RULES lists them all. Given a
file name, also writes the verdict there as XML, as pytest does.
"""

import ast
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Folders of headrace/, lowest first. A file includes its own folder and lower layers, nothing else.
LAYERS = [
    {"base"},
    {"os"},
    {"net"},
    {"store"},
    {"record", "codec", "engine", "filesystem"},
    {"stream", "track", "events"},
    {"prepare", "train", "evaluate", "statistics", "serve"},
    {"cli"},
]
LAYER_OF = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
# Folders within one of those, lowest first, likewise. Of others none includes its sibling.
INNER_ORDER = {
    "prepare": [
        "row",
        "schema",
        "table",
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

# Calls that belong to the entry points (cli/, bindings/) and to tests: name → (pattern, advice).
BANNED_CALLS = {
    "printing": (
        r"std::(?:cout|cerr|clog)\b|(?<![\w.>])(?:printf|puts|putchar)\s*\(|\bf(?:printf|puts)\s*\(\s*std",
        "return the text; cli/ prints",
    ),
    "exit": (r"(?<![\w.>])(?:std::)?(?:abort|exit|_exit|quick_exit|terminate)\s*\(", "return a Status"),
    "environment": (r"\b(?:secure_)?getenv\s*\(|\benviron\b", "take an Environment"),
    "wall-clock": (
        r"\bsystem_clock::now\s*\(|(?<![\w.>:])(?:time|gettimeofday|clock_gettime)\s*\(",
        "take Environment::now",
    ),
    "clock": (r"\bsteady_clock::now\s*\(", "take the time as an argument, or add the file to ALLOWED_CALLS"),
    "random": (r"(?<![\w.>])s?rand\s*\(|\brandom_device\b", "take a seed; siphash() or a seeded generator"),
    "catch-all": (r"\bcatch\s*\(\s*\.\.\.\s*\)", "name the exceptions the library documents"),
}
# Where a banned call is right, by path prefix; the reason stands at the call.
ALLOWED_CALLS = {
    "environment": ["headrace/base/environment.cc"],
    "exit": ["headrace/base/environment.cc", "headrace/base/result.cc"],
    "clock": ["headrace/net/", "headrace/os/", "headrace/store/"],  # deadlines of requests
}
ENTRY_POINTS = ("headrace/cli/", "bindings/")
TEST_CODE = re.compile(
    r"_test\.cc$|(?:_|/)test_\w+\.(?:cc|h)$|/conformance\.(?:cc|h)$|^(?:tests|bench|fuzz)/"
)

# Headers that headrace/*.h may include in angle brackets: C++'s own have no dot, these are C's and POSIX'.
SYSTEM_HEADER = re.compile(
    r"[a-z_0-9]+|(?:sys/|netinet/|arpa/)?(?:errno|fcntl|poll|signal|socket|stat|types|uio|unistd|"
    r"in|inet|netdb|pthread|time|stdint|stddef|immintrin)\.h"
)

# What no tracked text may hold. The classes of one letter keep this file from finding itself.
BANNED_TEXT = {
    "a path of one machine": r"(?<!\w)/[w]ork/(?:main|shared)\b|(?<!\w)/[r]oot/|\.\./[s]hared\b",
    "a number of the tracker": r"\b(?:[i]ssue|[s]ession)\s+#?\d{1,3}\b",
    "a package registry's host": r"[p]ypi\.org|[p]ythonhosted\.org|[n]pmjs\.(?:org|com)|[p]roxy\.golang\.org|"
    r"[c]rates\.io|[r]epo\d*\.maven|[d]eb\.debian\.org|[m]aven\.org",
}

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
    """C++ without comments, literals and preprocessor lines; every line keeps its number."""

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
            elif other == top and inner and len(parts) > 3 and not is_test(path):
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
    """First and last line of every function body with its signature; what is inside counts with it."""
    scopes = []  # per open brace: the signature's line if it opened a function, 0 in a type or namespace
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


def check_calls(tree: Tree) -> Iterator[Finding]:
    for path, text in cpp_files(tree):
        if path.startswith(ENTRY_POINTS) or is_test(path):
            continue
        for number, line in enumerate(bare_code(text).splitlines(), 1):
            for rule, (pattern, advice) in BANNED_CALLS.items():
                if re.search(pattern, line) and not path.startswith(tuple(ALLOWED_CALLS.get(rule, ["\0"]))):
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


def check_names(tree: Tree) -> Iterator[Finding]:
    """Types of one name in two headers share functions: the linker takes those of either."""
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
    used = {name for name, path in included if name.removesuffix(".h") != path.removesuffix(".cc")}
    lists = " ".join(text for path, text in tree.items() if path.endswith("CMakeLists.txt"))
    built = set(re.findall(r"[\w./-]+\.cc\b", lists))
    for path, _ in cpp_files(tree):
        if path.endswith(".h") and path not in used:
            yield Finding(path, 1, "unused", "nobody includes this header")
        elif path.endswith(".cc") and not any(path.endswith(f"/{name}") for name in built):
            yield Finding(path, 1, "unused", "no CMakeLists.txt builds this file")


def check_conformance(tree: Tree) -> Iterator[Finding]:
    suites = [
        text
        for path, text in cpp_files(tree)
        if is_test(path) and "store/conformance.h" in text and "StoreConformance" in text
    ]
    for header, _ in cpp_files(tree, "headrace/store/"):
        parts = header.split("/")
        is_store = len(parts) == 4 and re.search(r"(?:store|layer)\.h$", header)
        if is_store and not any(f'"{header}"' in text for text in suites):
            yield Finding(header, 1, "conformance", "no test runs StoreConformance on this driver or layer")


def check_text(tree: Tree) -> Iterator[Finding]:
    for path, text in tree.items():
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in BANNED_TEXT.items():
                if re.search(pattern, line):
                    yield Finding(path, number, "text", f"holds {what}")


RULES: list[Callable[[Tree], Iterator[Finding]]] = [
    check_layers,
    check_sizes,
    check_functions,
    check_calls,
    check_headers,
    check_names,
    check_readmes,
    check_unused,
    check_conformance,
    check_text,
]


def check(tree: Tree) -> list[Finding]:
    findings = [finding for rule in RULES for finding in rule(tree)]
    return sorted(findings, key=lambda finding: (finding.path, finding.line))


def read_tree(root: pathlib.Path) -> Tree:
    """Every tracked text file; what is not UTF-8 is taken for binary."""
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
    """One test case a rule, as pytest writes them."""
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
