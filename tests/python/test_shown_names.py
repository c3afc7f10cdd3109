"""Names that others chose neither steer a terminal nor pretend to be other lines."""

import os
import pathlib
import pty
import subprocess

import pytest

NAMES = ["plain.txt", "two words", "it's", "line\nbreak", "red\x1b[31m", "turned\u202egpj.exe", "bell\x9bc"]
SHOWN_ON_A_TERMINAL = [
    "plain.txt",
    "'two words'",
    r"'it'\''s'",
    r"$'line\012break'",
    r"$'red\033[31m'",
    r"$'turned\342\200\256gpj.exe'",
    r"$'bell\302\233c'",
]
SHOWN_IN_A_PIPE = ["plain.txt", "two words", "it's", *SHOWN_ON_A_TERMINAL[3:]]


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    for name in NAMES:
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / name).write_bytes(b"x")
    return tmp_path / "files"


def on_a_terminal(build, *words) -> str:
    """The bytes that a terminal as standard output gets, as text."""
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        [build / "bin" / "headrace", *words], stdin=subprocess.DEVNULL, stdout=its_end, stderr=subprocess.PIPE
    ) as process:
        os.close(its_end)
        shown = b""
        try:
            while piece := os.read(terminal, 65536):
                shown += piece
        except OSError:  # the end, on Linux
            pass
        assert process.wait(timeout=30) == 0, process.stderr.read()
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n")


def names_of(listing: str) -> list[str]:
    """The names, which stand after size, date and time."""
    return [line[33:] for line in listing.splitlines()]


def test_ls_quotes_names_on_a_terminal_as_a_shell_reads_them(build, folder):
    shown = on_a_terminal(build, "ls", folder)
    assert sorted(names_of(shown)) == sorted(SHOWN_ON_A_TERMINAL)
    words = subprocess.run(
        ["bash", "-c", "printf '%s\\0' " + " ".join(names_of(shown))],
        capture_output=True,
        check=True,
        text=True,
    )
    assert sorted(words.stdout.split("\0")[:-1]) == sorted(NAMES)


def test_a_pipe_gets_names_as_they_are_where_each_is_one_line(headrace, folder):
    assert sorted(names_of(headrace("ls", folder).stdout)) == sorted(SHOWN_IN_A_PIPE)


def test_programs_get_urls_with_zero_bytes(build, headrace, folder):
    (folder / "deep").mkdir()
    (folder / "deep/er").write_bytes(b"y")
    *urls, end = headrace("ls", "-0", folder).stdout.split("\0")
    assert end == "" and sorted(urls) == sorted(f"file://{folder}/{name}" for name in [*NAMES, "deep/"])
    assert headrace("ls", "-r", "--null", f"{folder}/deep").stdout == f"file://{folder}/deep/er\0"
    read = subprocess.run(
        ["xargs", "-0", build / "bin" / "headrace", "cat"],
        input="\0".join(url for url in urls if not url.endswith("/")),
        capture_output=True,
        check=True,
        text=True,
    )
    assert read.stdout == "x" * len(NAMES)
    done = headrace("ls", "--null", "--du", folder, check=False)
    assert done.returncode == 2 and "--null and --du exclude each other" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["stat", "FOLDER/*"],
        ["cp", "FOLDER/*", "COPY"],
        ["cp", "-r", "FOLDER", "COPY"],
        ["sync", "FOLDER", "COPY"],
        ["sync", "--dry-run", "FOLDER", "COPY"],
        ["rm", "--yes", "FOLDER/*"],
        ["gc", "--older-than", "0s", "FOLDER"],
    ],
    ids=lambda words: "-".join(word.strip("-") for word in words if "/" not in word and word.islower()),
)
def test_other_commands_show_nothing_that_steers(build, headrace, folder, tmp_path, words):
    (folder / "a\x1b[2J\n").mkdir()
    (folder / "a\x1b[2J\n" / ".headrace-write-0123456789abcdef").write_bytes(b"x")
    words = [word.replace("FOLDER", str(folder)).replace("COPY", str(tmp_path / "copy")) for word in words]
    done = headrace(*words)
    for shown in (done.stdout, done.stderr):
        assert not set(shown) & {"\x1b", "\x9b", "\u202e"}
        assert not any(line.startswith("break") for line in shown.splitlines())
    if words[0] in ("stat", "cp", "sync"):
        assert "line\\012break" in done.stdout
