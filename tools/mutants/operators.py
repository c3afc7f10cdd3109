"""The changes that a mutant may consist of: each replaces a piece of one line of C++.

They work on lines as clang-format lays them out, so that ` < ` is a comparison and `<` a template's bracket.
Comments, strings and preprocessor lines stay as they are.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    line: int  # counted from 0
    operator: str
    before: str  # the whole line
    after: str


# A literal or a comment, whichever begins first.
_OPAQUE = re.compile(
    r'R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)


def masked(text: str) -> str:
    """`text` with blanks in place of comments, preprocessor lines and the contents of literals."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] in "\"'R":
            return '"' + re.sub(r"[^\n]", "_", found[1:-1]) + '"'
        return re.sub(r"[^\n]", " ", found)

    return _OPAQUE.sub(blank, text)


# A change in one line: the text that replaces the characters from the first number to the second.
Edit = tuple[int, int, str]
Finder = Callable[[str], Iterator[list[Edit]]]  # a masked line → the changes that fit it


def _replaced(pattern: str, replacement: str | Callable[[str], str]) -> Finder:
    expression = re.compile(pattern)

    def find(code: str) -> Iterator[list[Edit]]:
        for match in expression.finditer(code):
            new = replacement if isinstance(replacement, str) else replacement(match.group())
            yield [(match.start(), match.end(), new)]

    return find


# A condition that declares a variable is not an expression.
_DECLARATION = re.compile(r"(?:const )?[\w:<>]+[ &*]+\w+ = ")


def _conditions(prefix: str) -> Finder:
    """Conditions of `if` and `while` that end on their line, without a declaration before them."""

    def find(code: str) -> Iterator[list[Edit]]:
        for match in re.finditer(r"\b(?:if|while) \(", code):
            depth, start = 1, match.end()
            for place in range(match.end(), len(code)):
                depth += {"(": 1, ")": -1}.get(code[place], 0)
                if code[place] == ";" and depth == 1:
                    start = place + 2
                if depth == 0:
                    if not _DECLARATION.match(code, start):
                        yield [(start, start, f"{prefix}("), (place, place, ")")]
                    break

    return find


def _operand_start(code: str, end: int) -> int:
    """The start of the operand that ends at `end`: after a bracket, a comma, `=` or `return`."""
    depth = 0
    for place in range(end - 1, -1, -1):
        depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(code[place], 0)
        outside = depth == 0 and (code[place] == "," or code[: place + 1].endswith((" = ", "return ")))
        if depth < 0 or outside:
            return place + 1 + (code[place] == ",")
    return len(code) - len(code.lstrip())


def _choices(code: str) -> Iterator[list[Edit]]:
    """Conditions of `… ? … : …`."""
    for match in re.finditer(r"(?<=\S) \? ", code):
        start = _operand_start(code, match.start())
        yield [(start, start, "!("), (match.start(), match.start(), ")")]


OPPOSITES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
OPPOSITES |= {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "+=": "-=", "-=": "+="}
OPPOSITES |= {"++": "--", "--": "++"}
OPPOSITES |= {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}
OPPOSITES |= {"break;": "continue;", "continue;": "break;"}


def _other_integer(digits: str) -> str:
    value = int(digits.replace("'", ""), 8 if re.fullmatch("0[0-7]+", digits) else 10)
    return str(1 - value if value < 2 else value + 1)


OPERATORS: dict[str, Finder] = {
    "comparison": _replaced(r"(?<= )(?:[<>]=?|[!=]=)(?= )", OPPOSITES.__getitem__),
    "and, or": _replaced(r"(?<= )(?:&&|\|\|)(?= )", OPPOSITES.__getitem__),
    "negation left out": _replaced(r"(?<![\w)\]!])!(?=[\w(*])", ""),
    "arithmetic": _replaced(r"(?<=[\w)\]] )(?:[-+]=?|[*/%])(?= )", OPPOSITES.__getitem__),
    "step": _replaced(r"\+\+|--", OPPOSITES.__getitem__),
    "number": _replaced(r"(?<![\w.'])\d[\d']*(?![\w.'])", _other_integer),
    "truth": _replaced(r"\b(?:true|false)\b", OPPOSITES.__getitem__),
    "bound": _replaced(r"\bstd::(?:min|max)\b(?=\()", OPPOSITES.__getitem__),
    "jump": _replaced(r"\b(?:break|continue);", OPPOSITES.__getitem__),
    "error code": _replaced(r"\bCode::k(?!Ok\b|Unknown\b)\w+", "Code::kUnknown"),
    "field left out": _replaced(r"(?<=[{ ])\.\w+ = (?:[^,{}()]|\([^()]*\)|\{\})+(?:, |(?=\}))", ""),
    "choice negated": _choices,
    "condition negated": _conditions("!"),
    "condition always": _conditions("true || "),
    "condition never": _conditions("false && "),
}

# Lines that only declare something.
_DECLARES = re.compile(r"^\s*(?:using|namespace|template|static_assert|class|struct|enum|friend)\b")


def _edited(line: str, edits: list[Edit]) -> str:
    for start, end, new in reversed(edits):
        line = line[:start] + new + line[end:]
    return line


# A variable, without which nothing compiles; or a lock, which ThreadSanitizer checks.
_VARIABLE = re.compile(
    r"(?:const|constexpr|static|auto|thread_local|mutable)\b|HEADRACE_TRY\([^,()]+ [^,()]*,"
    r"|(?:struct )?[A-Za-z_][\w:]*(?:<.*>)?[ &*]+\w+(?:;| = |\(|\{|\[)"
)


def _is_statement(code: list[str], number: int) -> bool:
    """Whether the line is one whole statement, or an `if` with one, and the code compiles without it."""
    line = code[number].strip()
    before = next((code[place].strip() for place in range(number - 1, -1, -1) if code[place].strip()), "")
    if not line.endswith(";") or line.startswith(("}", ":", "?", "break;", "continue;", "return ")):
        return False
    if any(line.count(left) != line.count(right) for left, right in ("()", "{}", "[]")):
        return False
    if line.endswith(("= delete;", "= default;")):
        return False
    if _VARIABLE.match(line) and not line.startswith(("if ", "delete ", "else ")):
        return False
    return before.endswith((";", "{", "}", ":"))


def changes(text: str) -> Iterator[Change]:
    """All changes of one file, in order."""
    lines = text.split("\n")
    code = masked(text).split("\n")
    for number, (line, visible) in enumerate(zip(lines, code, strict=True)):
        if not visible.strip() or _DECLARES.match(visible):
            continue
        for operator, find in OPERATORS.items():
            if operator == "number" and "constexpr" in visible:
                continue  # named sizes and times are tuned by measurements
            for edits in find(visible):
                yield Change(number, operator, line, _edited(line, edits))
        if _is_statement(code, number):
            yield Change(number, "statement left out", line, line[: len(line) - len(line.lstrip())] + ";")
