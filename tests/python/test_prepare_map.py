"""prepare --map: a function of the user makes each row, whatever it does to its process."""

import csv
import io
import json
import os
import pathlib
import subprocess
import tarfile
import time

import published_support
import pytest
from test_prepare import examples, png, report

pytestmark = pytest.mark.usefixtures("tracing_environment")

MAPS = '''
"""Functions for --map, one for each thing that a user's function may do."""

import ctypes
import io
import os
import signal
import sys
import threading
import time

import numpy as np


def same(row):
    return row


def clean(row):
    if row["label"] == "bird":
        return None
    text = row["text"].strip().lower()
    return {"text": text, "length": len(text), "label": row["label"], "split": row["split"]}


def values(row):
    n = int(row["n"])
    return {
        "text": f"row {n}", "bytes": b"\\xff\\x00", "flag": n % 2 == 0, "whole": n, "part": n / 2,
        "list": [n, n + 1], "mixed": (n, 0.5), "array": np.array([[n, 1], [2, 3]], np.uint8),
        "scalar": np.float64(n),
        "none": None if n % 2 else "there", "empty": [],
    }


def misbehave(row):
    n = int(row["n"])
    if n == 3:
        raise ValueError("no good\\nat all")
    if n == 5:
        os._exit(3)
    if n == 7:
        os.kill(os.getpid(), signal.SIGSEGV)
    if n == 9:
        sys.exit("enough")
    if n == 11:
        return {"n": {1, 2}}
    if n == 13:
        return ["no", "dict"]
    if n == 15:
        return {"n": 2**63}
    if n == 17:
        return {n: 1}
    if n == 19:
        return None
    if n == 21:
        raise KeyboardInterrupt
    if n == 23:
        return {"n": "\\ud800"}
    if n == 25:
        return {"n": np.array([1j])}
    if n == 27:
        return {"n": 1e300}
    if n == 29:
        helper(n)
    return {"n": n}


def helper(n):
    return {}[n]


def hang(row):
    if row["n"] in ("2", "3"):
        ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock
    return row


def hang_in_another_group(row):
    if row["n"] in ("2", "3"):
        os.setpgid(0, os.getpgid(os.getppid()))
        ctypes.PyDLL(None).sleep(1000)
    return row


def leave_a_process(row):
    if row["n"] == "4":
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(9)
    return row


def speak(row):
    print("to standard output", row["n"])
    os.write(1, b"and by its number\\n")
    sys.stdout.flush()
    assert sys.stdin.read() == ""
    return row


def spoil(row):
    if row["n"] == "2":
        for number in range(3, 64):
            try:
                os.write(number, b"no frame of any kind" * 1000)
            except OSError:
                pass
    return row


def swell(row):
    n = int(row["n"])
    return {"n": n, "data": bytes([n]) * (8_000_000 if n < 4 else 70_000_000)}


def half(row):
    import PIL.Image

    image = PIL.Image.open(io.BytesIO(row["image"]))
    out = io.BytesIO()
    image.resize((image.width // 2, image.height // 2)).save(out, "png")
    return row | {"image": out.getvalue(), "width": image.width}


def types(row):
    return {"types": " ".join(f"{name}:{type(value).__name__}" for name, value in sorted(row.items()))}


def wait_forever(row):
    open(os.environ["STARTED"], "w").write(str(os.getpid()))
    ctypes.PyDLL(None).sleep(1000)


def wait_in_another_group(row):
    os.setpgid(0, os.getpgid(os.getppid()))
    wait_forever(row)


def wait_at_the_last(row):
    return wait_forever(row) if row["n"] == "39" and "STARTED" in os.environ else row


def noted(row):
    with open(os.environ["NOTES"], "a") as file:
        file.write(row["n"] + "\\n")
    return row
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    """The working folder of the tests, with the module `maps`."""
    folder = tmp_path_factory.mktemp("maps")
    (folder / "maps.py").write_text(MAPS)
    (folder / "broken.py").write_text("import no_such_module_at_all\n")
    (folder / "ends.py").write_text("raise SystemExit(4)\n")
    return folder


@pytest.fixture(scope="module")
def run(headrace, folder):
    """`headrace` where `maps` lies."""
    return lambda *arguments, **options: headrace(*arguments, cwd=folder, **options)


@pytest.fixture
def prepare(run, tmp_path):
    """Prepares `source` by a function of `maps`; gives the folder and what the command answered."""

    def prepare(source, function, *options, name="data", **keywords):
        options = ("--splits-as-they-are", *options)
        done = run(
            "prepare", source, tmp_path / name, "--map", f"maps:{function}", "--json", *options, **keywords
        )
        return tmp_path / name, json.loads(done.stdout)

    return prepare


def table(path: pathlib.Path, rows: list[dict]) -> pathlib.Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def numbers(tmp_path) -> pathlib.Path:
    return table(tmp_path / "numbers.csv", [{"n": n, "text": f"text {n}"} for n in range(40)])


@pytest.fixture
def number_schema(tmp_path) -> pathlib.Path:
    """Without it, the first rows are mapped once more, to infer one."""
    schema = tmp_path / "schema.toml"
    schema.write_text('[features.n]\ntype = "int64"\n')
    return schema


def content(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def reasons(folder: pathlib.Path) -> dict[int, tuple[str, str]]:
    """The reasons and details of the rows of `numbers`, by n."""
    return {line["row"] - 2: (line["reason"], line["detail"]) for line in report(folder)}


def test_rows_are_changed_and_dropped_and_the_schema_is_that_of_what_they_become(prepare, run, tmp_path):
    rows = [
        {"text": f"  Text {i} of Zürich ", "label": ["cat", "dog", "bird"][i % 3], "split": "train"}
        for i in range(60)
    ]
    data, made = prepare(table(tmp_path / "t.csv", rows), "clean")
    assert made["counts"] == {"in": 60, "written": 40, "rejected": 0, "dropped": 0, "ignored": 20}
    assert made["reasons"] == {"dropped by map": 20}
    assert made["splits"]["train"]["labels"] == {"cat": 20, "dog": 20}
    read = examples(data, "train")
    assert {row["text"][0] for row in read} == {
        f"text {i} of zürich".encode() for i in range(60) if i % 3 < 2
    }
    assert all(row["length"] == [len(row["text"][0].decode())] for row in read)
    run("verify", data)
    shown = run("prepare", tmp_path / "t.csv", tmp_path / "x", "--map", "maps:clean", "--print-schema").stdout
    assert "[features.length]" in shown and 'type = "label"' in shown


def test_values_of_every_type_are_stored(prepare, numbers):
    data, made = prepare(numbers, "values")
    assert made["counts"]["written"] == 40
    by_n = {row["whole"][0]: row for row in examples(data, "train")}
    assert by_n[6] == {
        "text": [b"row 6"],
        "bytes": [b"\xff\x00"],
        "flag": [1],
        "whole": [6],
        "part": [3.0],
        "list": [6, 7],
        "mixed": [6.0, 0.5],
        "array": [6, 1, 2, 3],
        "scalar": [6.0],
        "none": [b"there"],
        "empty": [],
    }
    assert "none" not in by_n[7]


def test_a_row_that_fails_is_rejected_and_the_others_are_written(prepare, numbers):
    data, made = prepare(numbers, "misbehave", "--max-rejects", "13")
    assert made["counts"] == {"in": 40, "written": 26, "rejected": 13, "dropped": 0, "ignored": 1}
    told = reasons(data)
    line = MAPS.splitlines().index('        raise ValueError("no good\\nat all")') + 1
    assert told[3][0] == "map failed"
    assert told[3][1].startswith("ValueError: no good") and told[3][1].endswith(f"(maps.py:{line})")
    assert told[5] == ("map's process died", "exit status 3")
    assert told[7][0] == "map's process died" and told[7][1].startswith("signal 11")
    assert told[9] == ("map's process died", "exit status 1")
    assert told[11][1].startswith("n: the value is set")
    assert told[13][1].startswith("it returned list")
    assert "does not fit into 64 bits" in told[15][1]
    assert told[17][1] == "17: the name of a feature is int; it must be str"
    assert told[21][0] == "map's process died"
    assert told[23][1].startswith("n: ") and "surrogates" in told[23][1]
    assert told[25][1].startswith("n: an array has the type complex128")
    assert told[27][1].startswith("n: float too large")
    assert told[29][1].startswith("KeyError: 29 (maps.py:")
    assert made["reasons"] == {"map failed": 9, "map's process died": 4, "dropped by map": 1}


@pytest.fixture
def hanging_options(number_schema) -> tuple:
    return ("--schema", number_schema, "--map-timeout", "2", "--max-rejects", "2")


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", ["hang", "hang_in_another_group"])
def test_a_function_that_hangs_costs_its_rows_alone(prepare, numbers, hanging_options, function):
    data, made = prepare(numbers, function, *hanging_options)
    assert made["counts"]["written"] == 38
    assert reasons(data) == {n: ("map took too long", "more than 2 s (--map-timeout)") for n in (2, 3)}


@pytest.mark.exhaustive
def test_a_process_that_dies_and_leaves_another_behind_is_noticed(prepare, numbers):
    data, made = prepare(numbers, "leave_a_process", "--max-rejects", "1")
    assert made["counts"]["written"] == 39
    assert reasons(data) == {4: ("map's process died", "exit status 9")}


def test_what_is_printed_goes_to_standard_error(run, numbers, tmp_path):
    options = ("--map", "maps:speak", "--splits-as-they-are", "--json")
    done = run("prepare", numbers, tmp_path / "data", *options)
    assert json.loads(done.stdout)["counts"]["written"] == 40
    assert "to standard output 7" in done.stderr and "and by its number" in done.stderr


def test_what_is_written_over_the_answers_costs_its_row_alone(prepare, numbers):
    data, made = prepare(numbers, "spoil", "--max-rejects", "1")
    assert made["counts"]["written"] == 39
    assert list(reasons(data)) == [2] and reasons(data)[2][0] == "map's process died"


def test_large_values_pass_and_those_beyond_the_limit_are_rejected(prepare, tmp_path):
    source = table(tmp_path / "t.csv", [{"n": n} for n in range(6)])
    data, made = prepare(source, "swell", "--max-rejects", "2", "--compression", "none")
    assert made["counts"]["written"] == 4
    assert {row["n"][0]: row["data"][0] for row in examples(data, "train")} == {
        n: bytes([n]) * 8_000_000 for n in range(4)
    }
    assert {reason for reason, _ in reasons(data).values()} == {"cell larger than the limit"}


@pytest.mark.soak
def test_many_rows_are_the_same_with_a_map_that_changes_nothing_and_however_many_workers(run, tmp_path):
    source = tmp_path / "parts"
    source.mkdir()
    for part in range(4):
        rows = [
            {"id": f"{part}-{i}", "split": "train", "label": "ab"[i % 2], "text": f"té{i}", "n": i}
            for i in range(5000)
        ]
        table(source / f"{part}.csv", rows)
    made = {}
    for name, *options in (
        ("none", "--workers", 2),
        *((w, "--workers", w, "--map", "maps:same") for w in (1, 4)),
    ):
        run("prepare", source, tmp_path / str(name), "--slice-size", "1kB", *options)
        made[name] = examples(tmp_path / str(name), "train")
    assert len(made[1]) == 20_000
    assert made[1] == made["none"]
    assert content(tmp_path / "1") == content(tmp_path / "4")


@pytest.mark.usefixtures("all_packages")
def test_images_in_folders_are_bytes_and_names_are_text(prepare, tmp_path):
    for split in ("test", "train"):
        for i, label in enumerate(("cat", "dog")):
            place = tmp_path / "images" / split / label
            place.mkdir(parents=True)
            for number in range(3):
                (place / f"{number}.png").write_bytes(png((90 * i, 40, 70)))
    data, made = prepare(tmp_path / "images", "half")
    assert made["splits"]["train"] == {"records": 6, "labels": {"cat": 3, "dog": 3}}
    assert made["splits"]["test"]["records"] == 6
    import PIL.Image

    for row in examples(data, "train"):
        assert PIL.Image.open(io.BytesIO(row["image"][0])).size == (4, 3) and row["width"] == [8]
    data, _ = prepare(tmp_path / "images", "types", name="types")
    assert {row["types"][0] for row in examples(data, "train")} == {b"id:str image:bytes label:str split:str"}


@pytest.mark.exhaustive
def test_a_folder_is_cut_into_slices_that_several_processes_map(run, prepare, tmp_path):
    for i in range(1500):
        place = tmp_path / "texts/train" / ("cat", "dog")[i % 2]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.txt").write_text(f"text {i}")
    made = {}
    for workers in (1, 3):
        made[workers], _ = prepare(tmp_path / "texts", "same", "--workers", workers, name=str(workers))
    assert content(made[1]) == content(made[3])
    assert sorted(row["text"][0] for row in examples(made[1], "train")) == sorted(
        f"text {i}".encode() for i in range(1500)
    )
    plan = run("plan", tmp_path / "texts", tmp_path / "plan", "--map", "maps:same", "--json")
    assert json.loads(plan.stdout)["read_tasks"] == 2


@pytest.mark.parametrize("compression", ["", "gz"])
def test_members_of_tars_are_bytes_or_text_by_their_names(prepare, tmp_path, compression):
    path = tmp_path / "samples.tar"
    with tarfile.open(path, f"w:{compression}") as archive:
        for i in range(3):
            for ending, data in (("png", png((i, 0, 0))), ("cls", b"1"), ("txt", b"a text")):
                entry = tarfile.TarInfo(f"{i}.{ending}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    data, _ = prepare(path, "types", "--layout", "webdataset")
    assert examples(data, "train")[0]["types"] == [b"__key__:str cls:int png:bytes txt:str"]


def test_features_of_records_are_bytes_and_numbers(prepare, numbers):
    first, _ = prepare(numbers, "values", name="first")
    data, made = prepare(first, "types")
    assert made["counts"]["written"] == 40
    assert b"array:ndarray" in examples(data, "train")[0]["types"][0]
    assert b"text:bytes" in examples(data, "train")[0]["types"][0]
    assert b"part:float scalar:float text:bytes whole:int" in examples(data, "train")[0]["types"][0]


def test_what_is_not_utf8_is_bytes(prepare, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b,c\nZ\xfcrich,Z\xc3\xbcrich,\n")
    data, _ = prepare(tmp_path / "t.csv", "types")
    assert examples(data, "train")[0]["types"] == [b"a:bytes b:str c:NoneType"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("no_such_maps:f", "there is no Python module 'no_such_maps'"),
        ("maps:smae", "module 'maps' has no function 'smae'; did you mean 'same'?"),
        ("broken:f", "module 'broken' cannot be imported: ModuleNotFoundError"),
        ("ends:f", "did not load it (exit status 4)"),
        ("maps", "not of the form MODULE:FUNCTION"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_named_before_anything_is_written(
    run, numbers, tmp_path, function, message
):
    for command in ("prepare", "plan"):
        done = run(command, numbers, tmp_path / "data", "--map", function, check=False)
        assert done.returncode == 1 and message in done.stderr and function in done.stderr
        assert not (tmp_path / "data").exists()


def test_a_file_may_name_the_function_and_its_version_is_part_of_the_plan(
    headrace, folder, numbers, tmp_path
):
    def prepare(version, check=True):
        options = ("--map", f"{folder}/maps.py:same", "--map-version", version, "--splits-as-they-are")
        return headrace("prepare", numbers, tmp_path / "data", *options, check=check)

    prepare("3")
    plan = published_support.configuration(tmp_path / "data")
    assert plan["map"] == f"{folder}/maps.py:same" and plan["map-version"] == "3"
    assert "was published before" in prepare("3").stdout
    other = prepare("4", check=False)
    assert other.returncode == 1 and "map-version" in other.stderr


def test_a_function_that_drops_every_row_is_named(run, numbers, number_schema, folder, tmp_path):
    (folder / "nothing.py").write_text("def drop(row):\n    return None\n")
    words = ("prepare", numbers, tmp_path / "data", "--map", "nothing:drop")
    without_schema = run(*words, check=False)
    assert "the function of --map drops all" in without_schema.stderr
    with_schema = run(*words, "--schema", number_schema, check=False)
    assert "dropped by map); check what the function nothing:drop returns" in with_schema.stderr


def test_options_that_do_not_go_with_a_map_are_refused(run, numbers, tmp_path):
    schema = tmp_path / "latin.toml"
    schema.write_text('encoding = "latin-1"\n[features.text]\ntype = "string"\n')
    for options, message in (
        (("--map-version", "2"), "--map-version needs --map"),
        (("--map", "maps:same", "--encoder", "hash:512"), "name a --schema"),
        (("--map", "maps:same", "--schema", schema), "does not go with --map"),
    ):
        done = run("prepare", numbers, tmp_path / "data", *options, check=False)
        assert done.returncode != 0 and message in done.stderr


@pytest.mark.exhaustive
def test_processes_that_execute_a_plan_make_the_same_bytes(run, prepare, numbers, hanging_options, tmp_path):
    expected, _ = prepare(numbers, "hang", *hanging_options, name="expected")
    run(
        "plan", numbers, tmp_path / "data", "--map", "maps:hang", "--splits-as-they-are", *hanging_options[:2]
    )
    options = hanging_options[2:]
    run("execute", tmp_path / "data", "--task", 0, *options)
    run("execute", tmp_path / "data", *options)
    run("publish", tmp_path / "data", *options[2:])
    assert content(tmp_path / "data") == content(expected)


def is_running(process: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def start_and_wait(command, folder, started: pathlib.Path) -> tuple[subprocess.Popen, int]:
    """The command, and the process of its function, which is at work."""
    headrace = subprocess.Popen(
        [*map(str, command)],
        cwd=folder,
        env={**os.environ, "STARTED": str(started)},
        stderr=subprocess.DEVNULL,
    )
    limit = time.monotonic() + 120
    while not (started.exists() and started.read_text()):
        assert headrace.poll() is None and time.monotonic() < limit
        time.sleep(0.01)
    return headrace, int(started.read_text())


@pytest.mark.parametrize("function", ["wait_forever", "wait_in_another_group"])
@pytest.mark.parametrize("signal", ["kill", "terminate"])
def test_no_process_is_left_when_headrace_is_killed_or_stopped(
    build, folder, numbers, number_schema, tmp_path, signal, function
):
    options = ("--map", f"maps:{function}", "--schema", number_schema, "--splits-as-they-are")
    headrace, process = start_and_wait(
        [build / "bin/headrace", "prepare", numbers, tmp_path / "data", *options],
        folder,
        tmp_path / "started",
    )
    assert is_running(process)
    getattr(headrace, signal)()
    headrace.wait(timeout=60)
    limit = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < limit, "the function's process lives on"
        time.sleep(0.01)


def test_killed_while_it_maps_the_same_command_goes_on(run, build, folder, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, n in enumerate((0, 20, 39)):
        table(parts / f"{number}.csv", [{"n": n - i, "text": f"text {i}"} for i in range(10)])
    schema = tmp_path / "schema.toml"
    schema.write_text('[features.n]\ntype = "int64"\n')
    options = (
        "--map",
        "maps:wait_at_the_last",
        "--schema",
        schema,
        "--splits-as-they-are",
        "--slice-size",
        "1",
    )
    options += ("--memory", "0", "--workers", "1")
    command = [build / "bin/headrace", "prepare", parts, tmp_path / "data", *options]
    headrace, _ = start_and_wait(command, folder, tmp_path / "started")
    headrace.kill()
    headrace.wait(timeout=60)
    work = next((tmp_path / "data/_headrace/work").iterdir())
    assert sorted(path.name for path in work.glob("slice-*")) == ["slice-00000", "slice-00001"]
    run("prepare", parts, tmp_path / "data", *options)
    run("prepare", parts, tmp_path / "undisturbed", *options)
    assert content(tmp_path / "data") == content(tmp_path / "undisturbed")


def test_rows_that_were_mapped_before_a_kill_are_not_mapped_again(run, numbers, number_schema, tmp_path):
    notes = tmp_path / "notes"
    environment = {"NOTES": str(notes)}
    options = ("--map", "maps:noted", "--schema", number_schema, "--splits-as-they-are")
    run("plan", numbers, tmp_path / "data", *options, env=environment)
    run("execute", tmp_path / "data", "--task", 0, env=environment)
    assert sorted(notes.read_text().split(), key=int) == [str(n) for n in range(40)]
    run("execute", tmp_path / "data", env=environment)
    run("publish", tmp_path / "data")
    assert len(notes.read_text().split()) == 40
    assert len(examples(tmp_path / "data", "train")) == 40
