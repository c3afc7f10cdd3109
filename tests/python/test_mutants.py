"""tools/mutants: which changes it makes, and what it counts."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/mutants"))

import folders  # noqa: E402
import mutants  # noqa: E402
from operators import changes  # noqa: E402


def changed(text: str) -> list[tuple[str, str]]:
    """Operator and new text of each change, without those that only wrap or drop a whole line."""
    whole = ("condition negated", "condition always", "condition never", "statement left out")
    return [(each.operator, each.after.strip()) for each in changes(text) if each.operator not in whole]


@pytest.mark.parametrize(
    "text",
    [
        "// a comment: 1 < 2 && true",
        "#include <vector>",
        '  doing = "a < b, 1 + 1 and true";',
        "std::map<int, std::vector<bool>> names;",
        "constexpr int kMostAttempts = 5;",
        'text = R"(1 < 2)";',
    ],
)
def test_comments_literals_templates_and_named_constants_stay(text: str):
    assert changed(text) == []


@pytest.mark.parametrize(
    ("text", "operator", "after"),
    [
        ("while (at < end) {", "comparison", "while (at <= end) {"),
        ("return a && b;", "and, or", "return a || b;"),
        ("return !read;", "negation left out", "return read;"),
        ("end = begin + size;", "arithmetic", "end = begin - size;"),
        ("return at + 12;", "number", "return at + 13;"),
        ("over_ = true;", "truth", "over_ = false;"),
        ("at = std::min(at, end);", "bound", "at = std::max(at, end);"),
        ("return Error{Code::kAborted, text};", "error code", "return Error{Code::kUnknown, text};"),
        ("copy(key, {.if_version = seen, .call = call});", "field left out", "copy(key, {.call = call});"),
        ("return found ? *found : 0;", "choice negated", "return !(found) ? *found : 0;"),
        ("at(f(a), is_b(c) ? 1 : 0);", "choice negated", "at(f(a), !(is_b(c)) ? 1 : 0);"),
        ("const int n = a.b(c) ? d : e;", "choice negated", "const int n = !(a.b(c)) ? d : e;"),
    ],
)
def test_one_thing_in_a_line_is_changed(text: str, operator: str, after: str):
    assert (operator, after) in changed(text)


def test_conditions_are_negated_without_what_they_declare():
    after = {each.operator: each.after for each in changes("if (const int n = f(); n != 0) return n;")}
    assert after["condition negated"] == "if (const int n = f(); !(n != 0)) return n;"
    assert after["condition never"] == "if (const int n = f(); false && (n != 0)) return n;"
    declared = changes("if (const auto found = f()) return *found;")
    assert not [each for each in declared if each.operator.startswith("condition")]


def test_statements_are_left_out_but_no_variables_locks_or_parts_of_statements():
    text = "\n".join(
        [
            "{",
            "  HEADRACE_CHECK(check(key));",
            "  HEADRACE_TRY(const Bytes data, read(key));",
            "  const std::lock_guard lock(mutex_);",
            "  call(first,",
            "       second);",
            "  forget();",
            "}",
        ]
    )
    left_out = [each.before.strip() for each in changes(text) if each.operator == "statement left out"]
    assert left_out == ["HEADRACE_CHECK(check(key));", "forget();"]


def test_a_seed_gives_the_same_mutants_each_time_and_another_seed_others():
    first = mutants.mutants_of("coordinate", 7)
    assert first == mutants.mutants_of("coordinate", 7)
    assert first != mutants.mutants_of("coordinate", 8)


def test_every_folder_has_its_least_number():
    assert min(mutants.shares(60, folders.FOLDERS).values()) >= mutants.LEAST


def test_equivalent_mutants_are_changes_of_lines_that_are_there():
    for source, before, after in mutants.equivalent_mutants(mutants.EQUIVALENT.read_text()):
        text = (ROOT / source).read_text()
        assert (before, after) in {(each.before.strip(), each.after.strip()) for each in changes(text)}


def test_an_equivalent_mutant_without_a_reason_is_refused():
    with pytest.raises(SystemExit, match="reason"):
        mutants.equivalent_mutants("headrace/a.cc\n- a < b\n+ a <= b\n")


def test_listed_mutants_count_as_equivalent_and_the_share_is_of_the_others():
    def record(index: int, outcome: str) -> dict:
        return {
            "folder": "os",
            "index": index,
            "file": "f",
            "before": "b",
            "after": f"a{index}",
            "outcome": outcome,
        }

    outcomes = [mutants.CAUGHT, mutants.CAUGHT, mutants.SURVIVED, mutants.SURVIVED, mutants.EQUAL]
    records = {("os", index): record(index, outcome) for index, outcome in enumerate(outcomes)}
    text = mutants.table(records, {("f", "b", "a2"): "nobody can see it"})
    assert text.splitlines()[-1].split() == ["all", "2", "0", "1", "1", "1", "0", "66.7"]
