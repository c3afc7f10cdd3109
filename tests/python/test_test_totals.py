"""tools/test_totals.py: the closing line of `./dev test` counts every case, and what crashed too."""

import subprocess
import sys

GOOGLETEST = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S"><failure message="x"/></testcase>
<testcase name="DISABLED_C" status="notrun" result="suppressed" classname="S"/>
</testsuite></testsuites>"""
PYTEST = """<testsuites><testsuite>
<testcase classname="t" name="a"/><testcase classname="t" name="b"><skipped/></testcase>
</testsuite></testsuites>"""


def totals(root, folder, *options):
    command = [sys.executable, root / "tools" / "test_totals.py", folder, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_failed_and_skipped_cases_are_counted(root, tmp_path):
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "store_test.xml").write_text(GOOGLETEST)
    (tmp_path / "pytest.xml").write_text(PYTEST)
    assert totals(root, tmp_path) == (
        1,
        ["failed  release/store_test: S.B: x", "2 passed, 1 failed, 2 skipped"],
    )


def test_all_passed_gives_exit_code_0(root, tmp_path):
    (tmp_path / "pytest.xml").write_text('<testsuite><testcase classname="t" name="a"/></testsuite>')
    assert totals(root, tmp_path) == (0, ["1 passed, 0 failed"])


def test_a_phase_that_failed_without_a_case_counts_as_one_failure(root, tmp_path):
    (tmp_path / "pytest.xml").write_text('<testsuite><testcase classname="t" name="a"/></testsuite>')
    assert totals(root, tmp_path, "--failed-phases", "1") == (1, ["1 passed, 1 failed"])


def test_half_written_results_count_as_a_failure(root, tmp_path):
    (tmp_path / "a.xml").write_text("<testsuite><testcase")
    code, lines = totals(root, tmp_path)
    assert (code, lines[-1]) == (1, "0 passed, 1 failed")


def test_no_test_at_all_is_not_success(root, tmp_path):
    assert totals(root, tmp_path) == (1, ["0 passed, 0 failed"])


def test_cases_of_five_seconds_and_more_are_listed_slowest_first(root, tmp_path):
    times = {"a": 4.9, "b": 5.2, "c": 61.4}
    cases = "".join(f'<testcase classname="t" name="{name}" time="{s}"/>' for name, s in times.items())
    (tmp_path / "pytest.xml").write_text(f"<testsuite>{cases}</testsuite>")
    assert totals(root, tmp_path) == (0, ["61 s  pytest: t.c", "5 s  pytest: t.b", "3 passed, 0 failed"])
