"""The built command on files: its frame, the commands over stores, published folders and records of runs.

Manifests, run records and TFRecord files are written here from their format pages alone, so that the command
is compared with the pages and not with itself.
"""

import gzip
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("journals")

COMMANDS = ["ls", "cat", "cp", "sync", "rm", "stat", "inspect", "verify", "repair"]
COMMANDS += [
    "runs ls",
    "runs show",
    "runs metrics",
    "runs tail",
    "runs console",
    "runs compare",
    "runs chart",
]
COMMANDS += ["runs export", "runs import", "runs repair", "runs curve", "lineage", "learning-curve"]
COMMANDS += ["serve-mlflow"]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def sealed(document: dict) -> bytes:
    """Canonical JSON with its checksum, as docs/formats/manifest.md and run-record.md have it."""

    def canonical(value: dict) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    return canonical({**document, "zz_crc32c": f"{crc32c(canonical(document)):08x}"})


def field(number: int, payload: bytes) -> bytes:
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload


def example(label: int, text: bytes) -> bytes:
    """A tf.Example with an int64 `label` and a bytes `text`."""
    features = {b"label": field(3, field(1, bytes([label]))), b"text": field(1, field(1, text))}
    entries = [field(1, field(1, name) + field(2, value)) for name, value in sorted(features.items())]
    return field(1, b"".join(entries))


def tfrecord(records: list[bytes]) -> bytes:
    framed = []
    for record in records:
        length = struct.pack("<Q", len(record))
        framed.append(length + struct.pack("<I", masked(crc32c(length))))
        framed.append(record + struct.pack("<I", masked(crc32c(record))))
    return b"".join(framed)


RECORDS = [example(1, b"good"), example(0, b"bad"), example(1, b"great")]


def publish(
    folder: pathlib.Path, parts: dict[str, bytes], kind: str, attributes: dict, number: int = 1
) -> None:
    entries = []
    for key, data in parts.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(data)
        part = {"key": key, "size_bytes": len(data), "crc32c": f"{crc32c(data):08x}", "role": "shard"}
        entries.append({**part, "split": "train", "records": len(RECORDS)} if kind == "dataset" else part)
    manifest = {
        "format": "headrace.manifest",
        "version": 1,
        "kind": kind,
        "created_by": "20261121-032600-1f2e3d4c",
        "plan": "0" * 64,
        "parts": entries,
        "attributes": attributes,
    }
    (folder / "_headrace").mkdir(parents=True, exist_ok=True)
    (folder / "_headrace" / f"manifest-{number:08}").write_bytes(sealed(manifest))


@pytest.fixture
def dataset(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "data"
    attributes = {
        "compression": "gzip",
        "compression_level": 6,
        "features": {"label": {"dtype": "int64", "shape": []}, "text": {"dtype": "bytes", "shape": []}},
        "labels": ["pos", "neg"],
        "encoder": {"name": "", "weights_digest": "", "dimension": 0},
        "splits": {"train": {"records": 6, "labels": {"pos": 4, "neg": 2}}},
        "counts": {"in": 7, "written": 6, "rejected": 0, "dropped": 0, "ignored": 1},
        "reasons": {"not a text": 1},
        "inputs": [],
        "seed": 44,
    }
    shards = {f"train-{i:05}-of-00002.tfrecord.gz": gzip.compress(tfrecord(RECORDS)) for i in range(2)}
    publish(folder, shards, "dataset", attributes)
    return folder


def record_run(root: pathlib.Path, second: int, command: str, inputs: list[str], output: str, **end) -> str:
    run = f"20261121-0326{second:02}-1f2e3d4c"

    def artifact(url: str) -> dict:
        return {"url": url, "kind": "folder", "version": "", "manifest": 0, "digest": "", "size_bytes": 0}

    folder = root / "_headrace" / "runs" / run
    folder.mkdir(parents=True)
    start = {
        "format": "headrace.run.start",
        "version": 1,
        "run": run,
        "command": command,
        "command_line": ["headrace", command, *inputs, output],
        "parameters": {"seed": "44"},
        "versions": {"headrace": "0.1.0"},
        "host": {"cores": "2"},
        "inputs": [artifact(url) for url in inputs],
        "output": output,
        "started": f"2026-11-21T03:26:{second:02}.000Z",
        "resumed_from": "",
    }
    (folder / "start").write_bytes(sealed(start))
    if end:
        base = {
            "format": "headrace.run.end",
            "version": 1,
            "run": run,
            "error": "",
            "inputs": [],
            "counts": {},
            "versions": {},
        }
        base |= {"outputs": [artifact(output)], "metrics": {}, "seconds": 2.5, "ended": start["started"]}
        (folder / "end").write_bytes(sealed({**base, **end}))
    return run


# The frame.


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_usage_example_and_options(headrace, command):
    for words in (["help", *command.split()], [*command.split(), "--help"]):
        text = headrace(*words).stdout
        assert text.startswith(f"headrace {command} ")
        assert f"\n  headrace {command} " in text
        assert "--json" in text


def test_the_overview_names_every_command(headrace):
    text = headrace("help").stdout
    assert all(f"\n  {command} " in text for command in COMMANDS)
    assert headrace().stdout == text == headrace("--help").stdout


def test_version_is_one_line(headrace):
    assert headrace("--version").stdout.split()[0] == "headrace"


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["lss"], 'did you mean "ls"?'),
        (["runs", "lss", "x"], 'did you mean "runs ls"?'),
        (["ls", "x", "--recursiv"], "did you mean --recursive?"),
        (["verify", "x", "--job", "2"], "did you mean --jobs?"),
        (["cp", "x"], "TO is missing"),
        (["ls", "x", "y"], "one argument too many"),
        (["verify", "x", "--jobs", "0"], "from 1 to 64"),
        (["verify", "x", "--jobs"], "takes a value"),
        (["serve", "x", "--tls-client-ca", "ca.pem"], "needs --tls-certificate"),
        (["serve-mlflow", "x", "--tls-client-ca", "ca.pem"], "needs --tls-certificate"),
    ],
)
def test_a_wrong_command_line_is_explained_with_exit_code_2(headrace, words, suggestion):
    done = headrace(*words, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("headrace: ") and suggestion in done.stderr


def test_a_failure_is_explained_with_exit_code_1(headrace, tmp_path):
    takes_two = ("cp", "sync", "runs export", "runs import")
    takes_option = {"learning-curve": "--from ", "serve-mlflow": "ftp://host/"}
    commands = [
        f"{command} {takes_option.get(command, '')}nothing" + " copy" * (command in takes_two)
        for command in COMMANDS
    ]
    commands.append("ls ftp://host/x")
    for words in map(str.split, commands):
        done = headrace(*words, check=False, cwd=tmp_path)
        assert done.returncode == 1, words
        assert done.stderr.startswith("headrace: ") and done.stderr.count("\n") == 1, done.stderr


# Objects.


def test_what_is_copied_is_listed_read_and_removed(headrace, tmp_path, file_url):
    source = tmp_path / "source.bin"
    source.write_bytes(os.urandom(9_000_000) + b"end")
    copied = json.loads(headrace("cp", source, f"{file_url}/a/b.bin", "--json").stdout)
    assert copied["size_bytes"] == 9_000_003
    assert (tmp_path / "store/a/b.bin").read_bytes() == source.read_bytes()
    headrace("cp", source, f"{file_url}/c/")
    listed = json.loads(headrace("ls", "-r", file_url, "--json").stdout)
    assert [entry["url"] for entry in listed["entries"]] == [
        f"{file_url}/a/b.bin",
        f"{file_url}/c/source.bin",
    ]
    assert listed["size_bytes"] == 18_000_006
    assert headrace("cat", f"{file_url}/a/b.bin", text=False, encoding=None).stdout == source.read_bytes()
    headrace("rm", f"{file_url}/a/b.bin")
    assert headrace("cat", f"{file_url}/a/b.bin", check=False).returncode == 1


def test_the_checksum_of_a_copy_is_crc32c(headrace, tmp_path):
    (tmp_path / "x").write_bytes(b"123456789")
    copied = json.loads(headrace("cp", "x", "y", "--json", cwd=tmp_path).stdout)
    assert copied["crc32c"] == "e3069283"  # RFC 3720's check value


def test_ls_shows_folders_once_and_counts_them_on_request(headrace, tmp_path):
    for name in ("a/1", "a/2", "a/deep/3", "b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    names = [line.split()[-1] for line in headrace("ls", tmp_path).stdout.splitlines()]
    assert names == ["a/", "b"]
    counted = json.loads(headrace("ls", "--du", tmp_path, "--json").stdout)
    assert [entry["size_bytes"] for entry in counted["entries"]] == [15, 5]
    assert (counted["objects"], counted["size_bytes"]) == (4, 20)


def objects_below(folder) -> list[str]:
    """Their names, without folders."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_folder_is_copied_with_its_manifest_last_and_removed_with_it_first(headrace, dataset, tmp_path):
    done = headrace("cp", "-r", dataset, tmp_path / "copy", "--jobs", "1")
    assert [line.split()[0].rsplit("/", 1)[-1] for line in done.stdout.splitlines()][
        -1
    ] == "manifest-00000001"
    headrace("verify", tmp_path / "copy")
    headrace("rm", "-r", "--yes", tmp_path / "copy")
    assert objects_below(tmp_path / "copy") == ["manifest-00000002"], "the tombstone"
    headrace("rm", "-r", "--yes", "--forget", tmp_path / "copy")
    assert headrace("ls", tmp_path / "copy", check=False).returncode == 1


def test_a_folder_is_not_copied_over_itself(headrace, tmp_path):
    nested = tmp_path / "a/b/b"
    nested.mkdir(parents=True)
    (nested / "file").write_text("inner")
    (tmp_path / "a/b/file").write_text("outer")
    done = headrace("cp", "-r", "a/b", "a", check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "would replace objects of the source" in done.stderr
    assert (tmp_path / "a/b/file").read_text() == "outer"
    assert not (tmp_path / "a/file").exists()
    headrace("cp", "-r", "a/b/b", ".", cwd=tmp_path)  # into a folder above, where nothing coincides
    assert (tmp_path / "file").read_text() == "inner"


def test_objects_and_folders_do_not_replace_one_another(headrace, dataset, tmp_path):
    (tmp_path / "object").write_bytes(b"x")
    for words, reason in (
        (["cp", "object", "data"], "is a folder; end TO with '/'"),
        (["cp", "data", "copy"], "-r copies all objects below it"),
        (["cp", "-r", "data", "object"], "is an object; a folder cannot go there"),
        (["cp", "-r", "data", "data/inner"], "would contain itself"),
        (["cp", "object", "object"], "onto itself"),
        (["rm", "data"], "-r removes all objects below it"),
        (["rm", "-r", "data"], "add --yes"),
        (["cp", "object", "data/_headrace/manifest-00000001", "--no-replace"], "already exists"),
    ):
        done = headrace(*words, check=False, cwd=tmp_path, stdin=subprocess.DEVNULL)
        assert done.returncode == 1 and reason in done.stderr, done.stderr
    headrace("verify", dataset)


def test_texts_larger_than_readers_take_cannot_be_asked_for(headrace, tmp_path):
    words = ["prepare", tmp_path / "raw", tmp_path / "data", "--encoder", "hash:16", "--max-cell"]
    done = headrace(*words, "257MiB", check=False)
    assert done.returncode == 2 and "to 268.4 MB" in done.stderr
    done = headrace(*words, "256MiB", check=False)
    assert done.returncode == 1 and "there is nothing at" in done.stderr


def test_a_closed_pipe_ends_the_command_quietly(build, tmp_path):
    (tmp_path / "big").write_bytes(bytes(30_000_000))
    with subprocess.Popen(
        [build / "bin" / "headrace", "cat", tmp_path / "big"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == b""


def test_an_interrupt_stops_the_command_and_leaves_nothing_half_written(build, tmp_path):
    source = tmp_path / "pipe"
    source.mkdir()
    for i in range(2000):
        (source / f"{i:05}").write_bytes(bytes(2000))
    command = [build / "bin" / "headrace", "cp", "-r", source, tmp_path / "copy", "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "stopp" in errors
    copied = sorted((tmp_path / "copy").iterdir())
    assert 0 < len(copied) < 2000
    assert all(path.stat().st_size == 2000 and not path.name.startswith(".") for path in copied)


def on_a_terminal(command: list, answer: bytes = b"", while_it_asks=None) -> tuple[int, str]:
    """Runs it with standard input and error on a terminal: exit code, and what the terminal showed. It is
    answered at once, or after `while_it_asks` was called, when it has asked."""
    terminal, its_end = pty.openpty()
    shown = b""
    with subprocess.Popen(command, stdin=its_end, stdout=subprocess.DEVNULL, stderr=its_end) as process:
        if while_it_asks:
            while b"[y/N]" not in shown:
                assert select.select([terminal], [], [], 30)[0], shown
                shown += os.read(terminal, 65536)
            while_it_asks()
        os.write(terminal, answer)
        code = process.wait(timeout=30)
    os.close(its_end)
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # the end, on Linux
        pass
    os.close(terminal)
    return code, shown.decode()


@pytest.mark.parametrize(
    ("answer", "code", "stays"), [(b"n\n", 1, True), (b"\n", 1, True), (b"y\n", 0, False)]
)
def test_rm_asks_on_a_terminal(build, dataset, answer, code, stays):
    got, shown = on_a_terminal([build / "bin" / "headrace", "rm", "-r", dataset], answer)
    assert "Remove 3 objects" in shown and "[y/N]" in shown
    assert got == code
    assert any(dataset.rglob("train-*")) == stays


def test_rm_removes_what_it_has_shown(build, dataset):
    def write():
        (dataset / "later").write_bytes(b"1")

    command = [build / "bin" / "headrace", "rm", "-r", dataset]
    got, _ = on_a_terminal(command, b"y\n", while_it_asks=write)
    assert got == 0
    assert objects_below(dataset) == ["later", "manifest-00000002"], "and the tombstone"


def test_rm_removes_nothing_if_something_is_published_meanwhile(build, dataset):
    before = sorted(dataset.rglob("*"))
    published = dataset / "_headrace" / "manifest-00000009"

    def publish_again():
        published.write_bytes(b"{}")

    command = [build / "bin" / "headrace", "rm", "-r", dataset]
    got, shown = on_a_terminal(command, b"y\n", while_it_asks=publish_again)
    assert got == 1 and "manifest-00000009 was published meanwhile" in shown
    assert sorted(dataset.rglob("*")) == sorted([*before, published])


def test_progress_is_drawn_on_a_terminal_and_not_when_quiet(build, tmp_path):
    (tmp_path / "big").write_bytes(bytes(30_000_000))
    command = [build / "bin" / "headrace", "cp", tmp_path / "big", tmp_path / "copy"]
    _, shown = on_a_terminal(command)
    assert "\rcopying  30.0 MB of 30.0 MB  100 %" in shown
    assert on_a_terminal([*command, "--quiet"]) == (0, "")


# Published folders.


def test_verify_accepts_what_was_published(headrace, dataset):
    verdict = json.loads(headrace("verify", dataset, "--json").stdout)
    assert verdict["ok"] and verdict["parts"] == 2 and verdict["bad"] == []


def test_verify_names_each_altered_missing_and_cut_part(headrace, dataset):
    first, second = sorted(dataset.glob("train-*"))
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 1
    first.write_bytes(data)
    done = headrace("verify", dataset, "--json", check=False)
    assert done.returncode == 1
    assert "1 bad parts or manifests" in done.stderr
    bad = json.loads(done.stdout)["bad"]
    assert [part["url"] for part in bad] == [f"file://{first}"] and "was altered" in bad[0]["problem"]
    second.write_bytes(second.read_bytes()[:-1])
    assert (
        "bytes; "
        in json.loads(headrace("verify", dataset, "--json", check=False).stdout)["bad"][1]["problem"]
    )
    second.unlink()
    assert (
        json.loads(headrace("verify", dataset, "--json", check=False).stdout)["bad"][1]["problem"]
        == "missing"
    )


def test_verify_follows_the_published_folders_below(headrace, tmp_path):
    run = tmp_path / "run"
    publish(run / "checkpoints", {"step-1/variables": b"old"}, "checkpoint", {"step": 1}, number=1)
    publish(run / "checkpoints", {"step-2/variables": b"new"}, "checkpoint", {"step": 2}, number=2)
    publish(run / "export", {"saved_model.pb": b"graph"}, "saved_model", {})
    (run / "checkpoints/step-1/variables").unlink()  # of a manifest that was followed by another
    verdict = json.loads(headrace("verify", run, "--latest", "--json").stdout)
    assert [(folder["kind"], folder["manifest"]) for folder in verdict["published"]] == [
        ("checkpoint", 2),
        ("saved_model", 1),
    ]
    done = headrace("verify", run, check=False)
    assert done.returncode == 1 and "step-1/variables" in done.stdout
    (run / "export/saved_model.pb").write_bytes(b"grape")
    done = headrace("verify", run, check=False)
    assert done.returncode == 1 and "export/saved_model.pb" in done.stdout


def test_verify_and_inspect_report_a_damaged_manifest(headrace, dataset):
    manifest = dataset / "_headrace/manifest-00000001"
    manifest.write_bytes(manifest.read_bytes().replace(b'"seed":44', b'"seed":45'))
    for command in ("verify", "inspect"):
        done = headrace(command, dataset, check=False)
        assert done.returncode == 1
        assert "checksum does not match" in done.stdout + done.stderr


def test_a_manifest_cannot_name_parts_outside_its_folder(headrace, tmp_path):
    (tmp_path / "secret").write_bytes(b"x")
    publish(tmp_path / "data", {}, "predictions", {})
    manifest = json.loads((tmp_path / "data/_headrace/manifest-00000001").read_bytes())
    del manifest["zz_crc32c"]
    manifest["parts"] = [
        {"key": "../secret", "size_bytes": 1, "crc32c": f"{crc32c(b'x'):08x}", "role": "shard"}
    ]
    (tmp_path / "data/_headrace/manifest-00000001").write_bytes(sealed(manifest))
    assert headrace("verify", tmp_path / "data", check=False).returncode == 1


def test_inspect_shows_a_published_data_set(headrace, dataset):
    seen = json.loads(headrace("inspect", dataset, "--json").stdout)
    assert seen["kind"] == "dataset" and seen["ok"]
    assert seen["splits"] == {"train": {"records": 6, "labels": {"pos": 4, "neg": 2}}}
    assert seen["features"] == {"label": "int64", "text": "bytes"}
    assert seen["objects"] == {"train shard": 2}
    assert seen["first_records"][0] == 'train 0: {"label": 1, "text": "good"}'
    text = headrace("inspect", dataset).stdout
    assert "train: 6 (2 neg, 4 pos)" in text and "all right" in text


def test_inspect_reads_foreign_files_each_as_it_is_and_warns_of_the_odd_one(headrace, tmp_path):
    for i in range(3):
        (tmp_path / f"train-{i}.tfrecord").write_bytes(gzip.compress(tfrecord(RECORDS)))
    (tmp_path / "3.tfrecord").write_bytes(tfrecord(RECORDS[:1]))
    (tmp_path / "README.txt").write_bytes(b"this is not a TFRecord file at all")
    done = headrace("inspect", tmp_path, "--json")
    seen = json.loads(done.stdout)
    assert seen["splits"]["train"] == {"records": 9, "labels": {"1": 6, "0": 3}}
    assert seen["splits"]["(no split)"]["records"] == 1
    assert seen["objects"] == {"gzip files": 3, "none files": 1, "other (left out)": 1}
    assert len(seen["warnings"]) == 2 and all("3.tfrecord" in warning for warning in seen["warnings"])
    assert done.stderr.count("headrace: warning: ") == 2
    assert seen["features"] == {"label": "int64", "text": "bytes"}


def test_inspect_names_object_record_and_offset_of_damage_and_reads_on(headrace, tmp_path):
    good = tfrecord(RECORDS)
    damaged = bytearray(good)
    damaged[-6] ^= 1
    (tmp_path / "train-0.tfrecord").write_bytes(damaged)
    (tmp_path / "train-1.tfrecord").write_bytes(good[:-3])
    (tmp_path / "train-2.tfrecord").write_bytes(good)
    done = headrace("inspect", tmp_path, "--json", check=False)
    assert done.returncode == 1
    seen = json.loads(done.stdout)
    assert [part["url"].rsplit("/", 1)[-1] for part in seen["bad"]] == [
        "train-0.tfrecord",
        "train-1.tfrecord",
    ]
    offset = len(tfrecord(RECORDS[:2]))
    assert all("record 2" in part["problem"] and str(offset) in part["problem"] for part in seen["bad"])
    assert seen["splits"]["train"]["records"] == 2 + 2 + 3


def test_inspect_of_one_file_shows_as_many_records_as_wanted(headrace, tmp_path):
    (tmp_path / "x.tfrecord").write_bytes(tfrecord(RECORDS))
    seen = json.loads(headrace("inspect", tmp_path / "x.tfrecord", "--records", "2", "--json").stdout)
    assert len(seen["first_records"]) == 2
    assert seen["splits"] == {"(no split)": {"records": 3, "labels": {"1": 2, "0": 1}}}


# Records of runs.


@pytest.fixture
def project(tmp_path: pathlib.Path) -> dict[str, str]:
    urls = {name: f"file://{tmp_path}/{name}" for name in ("raw.tar.gz", "data", "runs/1", "predictions")}
    record_run(tmp_path, 1, "prepare", [urls["raw.tar.gz"]], urls["data"], status="finished")
    record_run(
        tmp_path, 2, "train", [urls["data"]], urls["runs/1"], status="finished", metrics={"accuracy": 0.75}
    )
    record_run(tmp_path, 3, "predict", [urls["runs/1"], urls["data"]], urls["predictions"], status="finished")
    record_run(tmp_path, 4, "train", [urls["data"]], f"file://{tmp_path}/runs/2")
    return {**urls, "root": f"file://{tmp_path}"}


def test_runs_ls_lists_all_runs_of_a_root_and_those_of_one_output(headrace, project):
    listed = json.loads(headrace("runs", "ls", project["root"], "--json").stdout)["runs"]
    assert [run["start"]["command"] for run in listed] == ["prepare", "train", "predict", "train"]
    assert [run["status"] for run in listed] == ["finished", "finished", "finished", "running or killed"]
    (one,) = json.loads(headrace("runs", "ls", project["runs/1"], "--json").stdout)["runs"]
    assert one["end"]["metrics"] == {"accuracy": 0.75}
    below = headrace("runs", "ls", project["root"] + "/runs").stdout.splitlines()
    assert len(below) == 2 and "accuracy 0.75" in below[0] and "running or killed" in below[1]


def test_runs_ls_and_show_find_the_records_in_folders_below(headrace, tmp_path):
    record_run(tmp_path / "elsewhere", 4, "train", [], f"file://{tmp_path}/far/model", status="finished")
    record_run(tmp_path / "projects/a", 2, "prepare", [], f"file://{tmp_path}/projects/a/data")
    record_run(tmp_path / "projects/b", 2, "prepare", [], f"file://{tmp_path}/projects/b/data")
    record_run(tmp_path / "projects/b", 3, "train", [], f"file://{tmp_path}/projects/b/run")

    def outputs(place, *words):
        listed = json.loads(headrace("runs", "ls", tmp_path / place, "--json", *words).stdout)["runs"]
        return [run["start"]["output"].removeprefix(f"file://{tmp_path}/") for run in listed]

    assert outputs("projects") == ["projects/a/data", "projects/b/data", "projects/b/run"]
    assert outputs(".") == ["projects/a/data", "projects/b/data", "projects/b/run", "far/model"]
    assert outputs(".", "--limit", "2") == ["projects/b/run", "far/model"]
    # The records above are shown together with those below.
    record_run(tmp_path, 1, "prepare", [], f"file://{tmp_path}/projects/old")
    record_run(tmp_path, 5, "prepare", [], f"file://{tmp_path}/other")
    assert outputs("projects") == ["projects/old", "projects/a/data", "projects/b/data", "projects/b/run"]
    assert len(outputs(".")) == 6
    assert "20261121-032604" in headrace("runs", "show", tmp_path / "elsewhere").stdout
    assert "20261121-032603" in headrace("runs", "show", tmp_path / "projects").stdout
    two = headrace("runs", "show", tmp_path, "20261121-032602-1f2e3d4c", check=False)
    assert two.returncode == 1 and f"file://{tmp_path}/projects/b/data" in two.stderr
    none = headrace("runs", "ls", tmp_path / "far/nothing", check=False)
    assert none.returncode == 1 and "wrote to" in none.stderr


def test_a_folder_whose_records_are_all_damaged_says_so(headrace, tmp_path):
    record_run(tmp_path, 1, "prepare", [], f"file://{tmp_path}/data")
    (start,) = (tmp_path / "_headrace/runs").glob("*/start")
    start.write_bytes(b"{}")
    for command in ("ls", "show"):
        done = headrace("runs", command, tmp_path, check=False)
        assert done.returncode == 1 and "can be read; see the warnings" in done.stderr


def test_runs_show_takes_the_newest_run_or_the_one_named(headrace, project):
    text = headrace("runs", "show", project["runs/1"]).stdout
    assert "20261121-032602-1f2e3d4c" in text and "accuracy = 0.75" in text and "seed = 44" in text
    shown = json.loads(headrace("runs", "show", project["root"], "20261121-032601", "--json").stdout)
    assert shown["start"]["command"] == "prepare"
    assert headrace("runs", "show", project["root"], "20261121", check=False).returncode == 1
    assert headrace("runs", "show", project["root"], "2020", check=False).returncode == 1


def test_a_damaged_record_is_warned_of_and_hides_no_other(headrace, project, tmp_path):
    start = next((tmp_path / "_headrace/runs").glob("20261121-032601-*/start"))
    start.write_bytes(start.read_bytes().replace(b"prepare", b"propose"))
    done = headrace("runs", "ls", project["root"])
    assert len(done.stdout.splitlines()) == 3
    assert "20261121-032601" in done.stderr


def test_lineage_answers_both_ways(headrace, project):
    tree = json.loads(headrace("lineage", project["runs/1"], "--json").stdout)
    (made_by,) = tree["upstream"]["runs"]
    assert made_by["start"]["command"] == "train"
    (data,) = made_by["inputs"]
    (prepared_by,) = data["runs"]
    assert prepared_by["inputs"][0]["url"] == project["raw.tar.gz"]
    (used_by,) = tree["downstream"]["runs"]
    assert used_by["outputs"][0]["url"] == project["predictions"]
    text = headrace("lineage", project["raw.tar.gz"]).stdout
    assert text.splitlines()[0] == project["raw.tar.gz"] + "  folder"
    assert [line.strip().split()[2] for line in text.splitlines() if "used by" in line] == [
        "prepare",
        "train",
        "predict",
        "predict",
        "train",
    ]


def test_lineage_finds_new_runs_by_the_catalog_and_says_where_it_was_lost(headrace, tmp_path):
    raw, data = tmp_path / "raw", tmp_path / "data"
    raw.mkdir()
    (raw / "rows.jsonl").write_text('{"text": "good"}\n')
    headrace("prepare", raw, data, "--run-id", "first-try")
    assert (tmp_path / "_headrace/runs/v2/first-try").is_dir()
    made = headrace("lineage", data)
    assert "made by prepare  first-try  finished" in made.stdout and not made.stderr
    shutil.rmtree(tmp_path / "_headrace/runs/catalog")
    lost = headrace("lineage", data)
    assert lost.stdout == made.stdout and "headrace runs repair" in lost.stderr
    assert "entries of the catalog were missing" in headrace("runs", "repair", data).stdout
    assert json.loads(headrace("runs", "repair", data, "--json").stdout)["created"] == 0
    assert headrace("lineage", data).stderr == made.stderr
    shown = json.loads(headrace("runs", "show", data, "--json").stdout)
    assert shown["start"]["host"].keys() == {
        "cores",
        "processor",
        "instruction_sets",
        "tensorflow_kernels",
    }


def test_a_run_that_continues_on_another_kind_of_processor_says_so(headrace, tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "rows.jsonl").write_text('{"text": "good"}\n{"text": \n')
    words = ("prepare", raw, tmp_path / "data", "--run-id", "mine")
    fewer = {"ONEDNN_MAX_CPU_ISA": "SSE41"}
    first = headrace(*words, check=False)
    assert first.returncode == 1 and "rejected" in first.stderr
    assert "another kind of processor" not in headrace(*words, check=False).stderr
    moved = headrace(*words, check=False, env=fewer)
    told = "tensorflow_kernels oneDNN, now oneDNN, at most SSE41"
    assert "another kind of processor" in moved.stderr and told in moved.stderr
    assert "another kind of processor" not in headrace(*words, check=False, env=fewer).stderr
    (remark,) = json.loads(headrace("runs", "show", tmp_path, "mine", "--json").stdout)["start"]["remarks"]
    assert told in remark, "the record keeps what an earlier attempt was told"


def test_a_run_id_that_is_another_runs_is_refused(headrace, tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "rows.jsonl").write_text('{"text": "good"}\n')
    headrace("prepare", raw, tmp_path / "data", "--run-id", "mine")
    other = headrace("prepare", raw, tmp_path / "other", "--run-id", "mine", check=False)
    assert other.returncode == 1 and "give this run another id" in other.stderr
    headrace("prepare", raw, tmp_path / "other", "--run-id", "mine-2")
    shown = headrace("runs", "show", tmp_path, "mine", "--json").stdout
    assert json.loads(shown)["id"] == "mine", "an id that begins another one names its own run"
    wrong = headrace("prepare", raw, tmp_path / "other", "--run-id", "a/b", check=False)
    assert wrong.returncode == 1 and "cannot name a run" in wrong.stderr


def test_lineage_of_a_part_of_what_was_made(headrace, project):
    assert "made by prepare" in headrace("lineage", project["data"] + "/train-00000.tfrecord").stdout


def test_lineage_reads_other_roots_when_told(headrace, project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    made = f"file://{elsewhere}/model"
    record_run(elsewhere, 9, "train", [project["data"]], made, status="finished")
    assert "elsewhere" not in headrace("lineage", project["data"]).stdout
    assert made in headrace("lineage", project["data"], "--track", elsewhere).stdout
    # Upstream, the roots of the inputs are found by themselves.
    assert project["raw.tar.gz"] in headrace("lineage", made).stdout
