"""cp -r and sync between folders of files and of an S3 server, and patterns in URLs.

HEADRACE_SOAK_SEED sets the seed of the moments at which commands are killed.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time

import kill_support
import pytest
from test_cli import on_a_terminal, publish

pytestmark = pytest.mark.usefixtures("journals")

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
KILLS = [pytest.param(4, id="4"), pytest.param(100, id="100", marks=pytest.mark.soak)]


@pytest.fixture(params=["file", "s3"])
def place(request) -> kill_support.Place:
    """An empty folder of files, or of the S3 server."""
    return kill_support.Place(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def source(tmp_path) -> pathlib.Path:
    """Files old enough for a journal."""
    files = {"a.txt": b"1", "deep/b.txt": b"22", "deep/er/c.bin": b"333"}
    folder = write_files(tmp_path / "source", files)
    for name in files:
        os.utime(folder / name, (time.time() - 3600,) * 2)
    return folder


def write_files(folder: pathlib.Path, files: dict[str, bytes]) -> pathlib.Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def counts(done: subprocess.CompletedProcess) -> tuple[int, int, int]:
    """Objects that were copied, were the same, and were removed."""
    totals = json.loads(done.stdout)
    return totals["objects"], totals["same_objects"], totals["removed_objects"]


# cp -r


def test_a_folder_of_small_and_large_objects_is_copied_there_and_back(headrace, place, tmp_path):
    sizes = [0, 1, 8 << 20, (8 << 20) + 1, 70_000_001, *range(100, 140)]
    draw = random.Random(SEED)
    files = {f"{i % 3}/{i}": draw.randbytes(size) for i, size in enumerate(sizes)}
    source = write_files(tmp_path / "source", files)
    assert counts(headrace("cp", "-r", "--verify", source, place.url, "--json")) == (len(files), 0, 0)
    assert place.objects() == files
    headrace("cp", "-r", "--verify", place.url, tmp_path / "back", "--jobs", "3")
    assert kill_support.objects_below(tmp_path / "back") == files


def test_within_an_s3_store_the_server_copies(headrace, source, s3_url):
    headrace("cp", "-r", source, f"{s3_url}/a")
    shown = headrace("cp", "-r", f"{s3_url}/a", f"{s3_url}/b").stdout
    assert "crc32c" not in shown, "which is of what was read"
    assert kill_support.s3_objects(f"{s3_url}/b") == kill_support.objects_below(source)
    assert counts(headrace("sync", f"{s3_url}/a", f"{s3_url}/b", "--json")) == (0, 3, 0)
    headrace("cp", "-r", "--verify", f"{s3_url}/a", f"{s3_url}/c")


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.exhaustive
def test_a_killed_copy_that_is_resumed_gives_the_same_folder(build, headrace, place, tmp_path, kills):
    draw = random.Random(SEED)
    parts = {f"part-{i:03}": draw.randbytes(30_000) for i in range(60)}
    parts["large"] = draw.randbytes(12_000_000)
    source = tmp_path / "source"
    publish(source, parts, "predictions", {})
    files = kill_support.objects_below(source)
    command = [build / "bin/headrace", "cp", "-r", "--resume", source, place.url]
    seconds = kill_support.seconds_of(command)
    headrace("rm", "-r", "--yes", "--forget", place.url)
    for was_killed in kill_support.Killer(command, SEED, seconds, {}, lambda: len(place.names())).kill(kills):
        there = place.objects()
        assert [name for name in there if there[name] != files[name]] == [], "each object is whole"
        if "_headrace/manifest-00000001" in there or not was_killed:
            assert sorted(there) == sorted(files), "who finds the manifest finds all of it"
            headrace("rm", "-r", "--yes", "--forget", place.url)


def test_a_killed_upload_of_one_object_goes_on_where_it_was(build, headrace, s3_url, tmp_path):
    content = random.Random(SEED).randbytes(120_000_000)
    local, url = tmp_path / "object", f"{s3_url}/object"
    local.write_bytes(content)
    command = [build / "bin/headrace", "cp", "--resume", local, url]

    def sent() -> int:
        listed = json.loads(headrace("gc", "--dry-run", "--older-than", "0s", "--json", url).stdout)
        return listed["removed_bytes"]

    process = subprocess.Popen(command)
    while process.poll() is None and sent() < 16_000_000:
        pass
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it was met before its end"
    assert json.loads(headrace("cp", "--resume", local, url, "--json").stdout)["objects"] == 1
    assert kill_support.s3_objects(s3_url) == {"object": content}
    assert sent() == 0, "what was begun was finished, not begun again"
    done = json.loads(headrace("cp", "--resume", local, url, "--json").stdout)
    assert (done["objects"], done["same_objects"]) == (0, 1)


def test_resume_copies_only_what_is_not_there(headrace, source, place):
    headrace("cp", "-r", source, place.url)
    headrace("rm", f"{place.url}/deep/b.txt")
    assert counts(headrace("cp", "-r", "--resume", source, place.url, "--json")) == (1, 2, 0)
    assert counts(headrace("cp", "-r", "--resume", source, place.url, "--json")) == (0, 3, 0)
    assert counts(headrace("cp", "-r", source, place.url, "--json")) == (3, 0, 0)


@pytest.mark.parametrize("remembers", [True, False])
def test_resume_copies_what_was_changed_and_kept_size_and_time(
    headrace, source, place, tmp_path, journals, remembers
):
    headrace("cp", "-r", source, place.url)
    times = (source / "a.txt").stat()
    (source / "a.txt").write_bytes(b"9")
    os.utime(source / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    other = write_files(tmp_path / "other", {"x": b"88"})
    headrace("cp", other / "x", f"{place.url}/deep/b.txt")
    if not remembers:
        shutil.rmtree(journals)
    assert counts(headrace("cp", "-r", "--resume", source, place.url, "--json")) == (2, 1, 0)
    assert place.objects() == kill_support.objects_below(source)


def test_without_a_cache_copies_are_compared_by_reading(headrace, source, place, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    done = headrace("cp", "-r", source, place.url, "--json")
    assert "copies will not be recorded in the journal" in done.stderr
    assert counts(headrace("sync", source, place.url, "--json")) == (0, 3, 0)


def test_what_is_replaced_while_it_is_copied_is_one_version(headrace, place, tmp_path):
    source = write_files(tmp_path / "source", {"x": b"a" * 30_000_000})
    ended = threading.Event()

    def replace() -> None:
        letter = 0
        while not ended.is_set():
            letter = (letter + 1) % 26
            (tmp_path / "next").write_bytes(bytes([97 + letter]) * 30_000_000)
            (tmp_path / "next").rename(source / "x")

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(5):
            done = headrace("cp", "-r", source, place.url, check=False)
            assert done.returncode == 0 or "keeps changing while it is copied" in done.stderr, done.stderr
            for data in place.objects().values():
                assert len(data) == 30_000_000 and data.count(data[:1]) == len(data)
    finally:
        ended.set()
        writer.join()


def test_an_interrupt_leaves_nothing_half_published(build, headrace, place, tmp_path):
    source = tmp_path / "source"
    publish(source, {f"part-{i:04}": bytes(2000) for i in range(600)}, "predictions", {})
    command = [build / "bin/headrace", "cp", "-r", source, place.url, "--jobs", "2"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pipesize=4096,  # which the lines of 600 objects do not fit into: it cannot end before it is read
    ) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "stopped" in errors
    there = place.objects()
    assert 0 < len(there) < 600
    assert set(there.values()) == {bytes(2000)}
    headrace("cp", "-r", "--resume", source, place.url)
    headrace("verify", place.url)


def test_failures_name_the_object_and_what_to_do(headrace, source, tmp_path):
    write_files(tmp_path / "copy", {"deep": b"in the way of deep/b.txt"})
    done = headrace("cp", "-r", source, tmp_path / "copy", check=False)
    assert done.returncode == 1
    assert f"file://{tmp_path}/copy/deep/" in done.stderr
    assert "a key cannot be a folder of another key" in done.stderr
    done = headrace("cp", "-r", "--no-replace", source, source.with_name("other"), check=True)
    done = headrace("cp", "-r", "--no-replace", source, source.with_name("other"), check=False)
    assert "already exists" in done.stderr
    done = headrace("sync", source / "a.txt", tmp_path / "x", check=False)
    assert "is an object; headrace cp copies objects" in done.stderr
    done = headrace("sync", tmp_path / "nothing", tmp_path / "x", check=False)
    assert "nothing to copy below" in done.stderr


# sync


def test_sync_copies_what_differs_and_a_second_time_nothing(headrace, source, place):
    assert counts(headrace("sync", source, place.url, "--json")) == (3, 0, 0)
    assert counts(headrace("sync", source, place.url, "--json")) == (0, 3, 0)
    assert counts(headrace("sync", "--checksum", source, place.url, "--json")) == (0, 3, 0)
    (source / "a.txt").write_bytes(b"longer")
    (source / "new").write_bytes(b"")
    shown = headrace("sync", source, place.url).stdout.splitlines()
    assert sorted(line.split()[0] for line in shown) == [f"{place.url}/a.txt", f"{place.url}/new"]
    assert place.objects() == kill_support.objects_below(source)


def test_sync_from_s3_reads_what_it_knows_nothing_of(headrace, source, s3_url, tmp_path):
    headrace("cp", "-r", source, s3_url)
    shutil.copytree(source, tmp_path / "copy")
    (tmp_path / "copy/a.txt").write_bytes(b"0")
    assert counts(headrace("sync", s3_url, tmp_path / "copy", "--json")) == (1, 2, 0)
    assert counts(headrace("sync", s3_url, tmp_path / "copy", "--json")) == (0, 3, 0)
    assert kill_support.objects_below(tmp_path / "copy") == kill_support.objects_below(source)


def test_sync_delete_removes_what_is_not_in_from(headrace, source, place, tmp_path):
    headrace("cp", "-r", write_files(tmp_path / "old", {"a.txt": b"0", "old/x": b"1", "z": b"2"}), place.url)
    headrace("sync", source, place.url)
    assert len(place.objects()) == 5, "nothing is removed unless asked for"
    before = place.objects()
    dry = headrace("sync", "--delete", "--dry-run", source, place.url)
    assert [line.split()[:3] for line in dry.stdout.splitlines()] == [
        ["would", "remove", f"{place.url}/old/x"],
        ["would", "remove", f"{place.url}/z"],
    ]
    refused = headrace("sync", "--delete", source, place.url, check=False, stdin=subprocess.DEVNULL)
    assert refused.returncode == 1 and "add --yes" in refused.stderr
    assert place.objects() == before
    assert counts(headrace("sync", "--delete", "--yes", source, place.url, "--json")) == (0, 3, 2)
    assert place.objects() == kill_support.objects_below(source)
    assert counts(headrace("sync", "--delete", "--yes", source, place.url, "--json")) == (0, 3, 0)


@pytest.mark.parametrize("leads_to", ["elsewhere", "nowhere"])
def test_sync_delete_keeps_copies_of_what_lies_behind_a_link(headrace, source, place, tmp_path, leads_to):
    headrace("cp", "-r", source, place.url)
    before = place.objects()
    (source / "deep").rename(tmp_path / "elsewhere")
    (source / "deep").symlink_to(tmp_path / leads_to)
    done = headrace("sync", "--delete", "--yes", source, place.url, check=False)
    assert done.returncode == 1 and f"{source}/deep is a symbolic link" in done.stderr
    assert place.objects() == before
    headrace("sync", "--delete", "--yes", "--exclude", "deep/**", source, place.url)
    assert place.objects() == before


def test_folders_that_lie_in_one_another_by_a_link_are_refused(headrace, source, tmp_path):
    (tmp_path / "link").symlink_to(source / "deep")
    before = kill_support.objects_below(source)
    for from_, to in [(tmp_path / "link", source), (source, tmp_path / "link/new")]:
        done = headrace("sync", "--delete", "--yes", from_, to, check=False)
        assert done.returncode == 1 and "lies in" in done.stderr
    assert kill_support.objects_below(source) == before


@pytest.mark.parametrize(("answer", "code", "stays"), [(b"n\n", 1, True), (b"y\n", 0, False)])
def test_sync_delete_asks_on_a_terminal(build, source, tmp_path, answer, code, stays):
    copy = write_files(tmp_path / "copy", {"old": b"1"})
    got, shown = on_a_terminal([build / "bin/headrace", "sync", "--delete", source, copy], answer)
    assert "Remove 1 objects (1 B) below" in shown
    assert got == code
    assert (copy / "old").exists() == stays
    assert (copy / "a.txt").exists()


def test_a_dry_run_changes_nothing(headrace, source, place, tmp_path):
    dry = headrace("sync", "--dry-run", source, place.url)
    assert dry.stdout.count("would copy  ") == 3
    assert place.objects() == {}
    assert not (tmp_path / "store").exists()


def test_an_empty_from_empties_nothing(headrace, source, place, tmp_path):
    headrace("cp", "-r", source, place.url)
    (tmp_path / "empty").mkdir()
    done = headrace("sync", "--delete", "--yes", tmp_path / "empty", place.url, check=False)
    assert done.returncode == 1 and "nothing to copy below" in done.stderr
    assert place.objects() == kill_support.objects_below(source)


def test_sync_includes_and_excludes_by_pattern(headrace, source, place):
    headrace("sync", "--include", "*.txt", "--exclude", "deep/**", source, place.url)
    assert set(place.objects()) == {"a.txt"}
    headrace("sync", "--include", "deep/*", source, place.url)
    assert set(place.objects()) == {"a.txt", "deep/b.txt"}
    headrace("sync", "--delete", "--yes", "--exclude", "*.txt", source, place.url)
    assert set(place.objects()) == {"a.txt", "deep/b.txt", "deep/er/c.bin"}, "excluded: not removed either"


def test_sync_of_a_published_folder_publishes_last_and_unpublishes_first(headrace, tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    publish(copy, {"a-part": b"old"}, "predictions", {}, number=1)
    publish(source, {"z-part": b"new"}, "predictions", {}, number=2)
    shown = headrace("sync", "--delete", "--yes", "--jobs", "1", source, copy).stdout
    assert [line.split("  ")[-3].rpartition("/")[2] for line in shown.splitlines()[:2]] == [
        "z-part",
        "manifest-00000002",
    ]
    assert [line.split()[1].rpartition("/")[2] for line in shown.splitlines()[2:]] == [
        "manifest-00000001",
        "a-part",
    ]
    headrace("verify", copy)


def refused(headrace, *words: object) -> str:
    done = headrace(*words, check=False)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    "words", [("cp", "-r"), ("sync",), ("sync", "--delete", "--yes"), ("sync", "--dry-run")]
)
def test_an_output_of_its_own_at_to_is_left_alone(headrace, place, tmp_path, words):
    for name in ("source", "other"):
        publish(tmp_path / name, {"deep/part": name.encode()}, "predictions", {})
    headrace("cp", "-r", tmp_path / "other", f"{place.url}/x")
    before = place.objects()
    said = refused(headrace, *words, tmp_path / "source", f"{place.url}/x")
    assert f"{place.url}/x is an output of its own" in said
    assert f"headrace rm -r --forget {place.url}/x" in said
    assert place.objects() == before
    headrace("rm", "-r", "--yes", "--forget", f"{place.url}/x")
    headrace("cp", "-r", tmp_path / "source", f"{place.url}/x")
    headrace("verify", place.url)


def test_published_parts_are_not_replaced_by_other_bytes(headrace, place, tmp_path):
    publish(tmp_path / "output", {"deep/part": b"old"}, "predictions", {})
    headrace("cp", "-r", tmp_path / "output", place.url)
    files = write_files(tmp_path / "files", {"deep/part": b"new"})
    for words in (("cp", "-r"), ("sync",)):
        said = refused(headrace, *words, files, place.url)
        assert f"{place.url}/deep/part is part of published data, or will be" in said
    write_files(files, {"deep/part": b"old", "deep/note": b"x"})
    assert counts(headrace("cp", "-r", files, place.url, "--json")) == (1, 1, 0)
    headrace("verify", place.url)


def test_a_manifest_is_published_only_with_its_parts(headrace, place, tmp_path):
    source = tmp_path / "source"
    publish(source, {"part": b"1", "other": b"2"}, "predictions", {})
    (source / "part").write_bytes(b"9")
    said = refused(headrace, "sync", source, place.url)
    assert "has other bytes than it says" in said and "run the same command again" in said
    (source / "part").unlink()
    headrace("rm", f"{place.url}/part")
    assert "part is not there" in refused(headrace, "sync", source, place.url)
    assert "part is not there" in refused(headrace, "sync", "--exclude", "part", source, place.url)
    assert set(place.objects()) == {"other"}
    (source / "part").write_bytes(b"1")
    headrace("sync", source, place.url)
    headrace("verify", place.url)


def test_delete_of_a_published_folder_leaves_one_tombstone(headrace, place, tmp_path):
    source = write_files(tmp_path / "source", {"note": b"x"})
    publish(source / "run", {"part": b"1"}, "predictions", {})
    headrace("sync", source, place.url)
    shutil.rmtree(source / "run")
    delete = ("sync", "--delete", "--yes", source, place.url, "--json")
    assert counts(headrace(*delete)) == (0, 1, 2)
    tombstone = "run/_headrace/manifest-00000002"
    assert set(place.objects()) == {"note", tombstone}
    assert json.loads(place.objects()[tombstone])["action"] == "remove"
    assert counts(headrace(*delete)) == (0, 1, 0)
    publish(source / "run", {"part": b"1"}, "predictions", {})
    assert "was removed by headrace sync" in refused(headrace, *delete)
    headrace("rm", "-r", "--yes", "--forget", f"{place.url}/run")
    headrace(*delete)
    assert place.objects() == kill_support.objects_below(source)


def test_a_removed_from_empties_nothing(headrace, place, tmp_path):
    source = tmp_path / "source"
    publish(source, {"part": b"1"}, "predictions", {})
    headrace("sync", source, place.url)
    before = place.objects()
    headrace("rm", "-r", "--yes", source)
    assert "nothing to copy below" in refused(headrace, "sync", "--delete", "--yes", source, place.url)
    assert place.objects() == before


# Patterns


@pytest.fixture
def tree(headrace, place, tmp_path) -> str:
    names = ["run-1/a.txt", "run-1/b.bin", "run-2/a.txt", "run-2/deep/a.txt", "other/a.txt", "top.txt"]
    source = write_files(tmp_path / "tree", {name: name.encode() for name in names})
    headrace("cp", "-r", source, place.url)
    return place.url


def listed(headrace, *words: str) -> list[str]:
    return [entry["url"] for entry in json.loads(headrace("ls", *words, "--json").stdout)["entries"]]


def test_ls_takes_patterns(headrace, tree):
    assert listed(headrace, f"{tree}/run-*/a.txt") == [f"{tree}/run-1/a.txt", f"{tree}/run-2/a.txt"]
    assert listed(headrace, f"{tree}/run-?") == [f"{tree}/run-1/", f"{tree}/run-2/"]
    assert listed(headrace, "-r", f"{tree}/[!o]*") == [
        f"{tree}/run-1/a.txt",
        f"{tree}/run-1/b.bin",
        f"{tree}/run-2/a.txt",
        f"{tree}/run-2/deep/a.txt",
        f"{tree}/top.txt",
    ]
    assert listed(headrace, f"{tree}/**/a.txt") == [
        f"{tree}/other/a.txt",
        f"{tree}/run-1/a.txt",
        f"{tree}/run-2/a.txt",
        f"{tree}/run-2/deep/a.txt",
    ]
    done = headrace("ls", f"{tree}/*.tfrecord", check=False)
    assert done.returncode == 1 and "no object matches" in done.stderr
    assert headrace("ls", f"{tree}/run-*/deep/*").stdout.split()[-1] == "run-2/deep/a.txt"


def test_ls_counts_what_lies_in_folders_and_in_all(headrace, tree):
    counted = json.loads(headrace("ls", "--du", f"{tree}/run-*", "--json").stdout)
    assert [(entry["objects"], entry["size_bytes"]) for entry in counted["entries"]] == [(2, 22), (2, 27)]
    assert (counted["objects"], counted["size_bytes"]) == (4, 49)
    assert headrace("ls", "-r", "--du", tree).stdout.endswith("\n67 B in 6 objects\n")


def test_cat_and_stat_take_patterns(headrace, tree):
    assert headrace("cat", f"{tree}/run-*/a.txt", f"{tree}/top.txt").stdout == "run-1/a.txtrun-2/a.txttop.txt"
    assert headrace("cat", "--offset", "4", "--bytes", "3", f"{tree}/run-*/a.txt").stdout == "1/a2/a"
    assert headrace("cat", "--offset", "11", f"{tree}/run-1/a.txt").stdout == ""
    assert "lies past its end" in headrace("cat", "--offset", "12", f"{tree}/run-1/a.txt", check=False).stderr
    matches = json.loads(headrace("stat", f"{tree}/[rt]*", "--json").stdout)["matches"]
    assert [(match["kind"], match["size_bytes"]) for match in matches] == [
        ("folder", 22),
        ("folder", 27),
        ("object", 7),
    ]


def test_cp_takes_patterns_and_keeps_names_below_their_folder(headrace, tree, tmp_path):
    headrace("cp", f"{tree}/run-*/*.txt", tmp_path / "objects")
    assert set(kill_support.objects_below(tmp_path / "objects")) == {"run-1/a.txt", "run-2/a.txt"}
    headrace("cp", "-r", f"{tree}/run-*", tmp_path / "folders/")
    assert set(kill_support.objects_below(tmp_path / "folders")) == {
        "run-1/a.txt",
        "run-1/b.bin",
        "run-2/a.txt",
        "run-2/deep/a.txt",
    }
    done = headrace("cp", f"{tree}/*.none", tmp_path / "nothing", check=False)
    assert done.returncode == 1 and "no object matches" in done.stderr


def test_rm_takes_patterns_and_asks(headrace, tree, place):
    done = headrace("rm", f"{tree}/run-*/*.txt", check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "would remove 2 objects" in done.stderr and "--yes" in done.stderr
    headrace("rm", "--yes", f"{tree}/run-*/*.txt")
    assert set(place.objects()) == {"run-1/b.bin", "run-2/deep/a.txt", "other/a.txt", "top.txt"}
    removed = json.loads(headrace("rm", "-r", "--yes", f"{tree}/run-*", "--json").stdout)
    assert removed == {"removed_objects": 2, "removed_bytes": 27, "tombstones": 0}
    assert set(place.objects()) == {"other/a.txt", "top.txt"}


def test_rm_wants_a_folder_of_the_machine_before_a_pattern(headrace):
    # None of these exists, should the refusal be gone.
    for pattern in ["/*-headrace-test-none", "/**-headrace-test-none", "/*-headrace-test-none/x"]:
        done = headrace("rm", "-r", "--yes", pattern, check=False)
        assert done.returncode == 1 and "name a folder of it" in done.stderr


def test_an_object_or_folder_of_just_that_name_is_no_pattern(headrace, tmp_path):
    files = {"a[1]": b"itself", "a1": b"match", "d*/x": b"inner", "dd/x": b"match"}
    folder = write_files(tmp_path / "files", files)
    assert headrace("cat", folder / "a[1]").stdout == "itself"
    assert listed(headrace, folder / "d*") == [f"file://{folder}/d*/x"]
    headrace("rm", folder / "a[1]")
    assert headrace("cat", folder / "a[1]").stdout == "match"
    refused = headrace("rm", "-r", "--yes", folder / "d*", check=False)
    assert refused.returncode == 1 and "something has exactly this name" in refused.stderr
    headrace("rm", "-r", "--yes", folder / "d\\*")
    assert set(kill_support.objects_below(folder)) == {"a1", "dd/x"}
