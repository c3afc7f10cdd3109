"""Artifacts: hr.Artifact, run.log_artifact, run.use, `headrace artifacts`, and lineage through them."""

import json
import pathlib
import subprocess
import sys

import pytest

import headrace as hr
from headrace import errors


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def images(s3_url) -> str:
    store = hr.store(f"{s3_url}/raw")
    for name in ("a.jpg", "b.jpg", "deep/c.jpg"):
        store.write(name, name.encode())
    return f"{s3_url}/raw"


@pytest.fixture
def files(tmp_path) -> pathlib.Path:
    folder = tmp_path / "files"
    (folder / "in").mkdir(parents=True)
    (folder / "labels.csv").write_text("a,cat\n")
    (folder / "in/copy.csv").write_text("a,cat\n")
    return folder


def cats(images: str | None = None, files: pathlib.Path | None = None) -> hr.Artifact:
    artifact = hr.Artifact("cats-and-dogs", type="dataset", metadata={"license": "mit"})
    if images:
        artifact.add_reference(images, "images")
    if files:
        artifact.add_dir(files)
    return artifact


def test_what_is_logged_is_used_and_downloaded(headrace, s3_url, images, files, tmp_path):
    with hr.init(s3_url, name="label") as run:
        logged = run.log_artifact(cats(images, files), aliases=["reviewed"])
        assert (logged.version, logged.run, len(logged)) == ("v1", run.id, 5)
        assert run.log_artifact(cats(images, files)).digest == logged.digest, "the same is not a new version"
    with hr.init(s3_url, name="train") as run:
        used = run.use("cats-and-dogs:latest")
        assert run.use("cats-and-dogs:reviewed").digest == used.digest == logged.digest
    assert used.metadata == {"license": "mit"}
    assert [entry.path for entry in used.entries] == [
        "images/a.jpg",
        "images/b.jpg",
        "images/deep/c.jpg",
        "in/copy.csv",
        "labels.csv",
    ]
    assert used.path("images/a.jpg") == f"{images}/a.jpg"
    kept, name = used.path("labels.csv").rsplit("/", 1)
    assert hr.store(kept).read(name) == b"a,cat\n"
    folder = pathlib.Path(used.download(tmp_path / "copy"))
    assert (folder / "images/deep/c.jpg").read_text() == "deep/c.jpg"
    assert (folder / "in/copy.csv").read_text() == "a,cat\n"
    used.download(folder)  # what is there stays
    (folder / "labels.csv").write_text("mine")
    with pytest.raises(errors.FailedPreconditionError):
        used.download(folder)
    assert (folder / "labels.csv").read_text() == "mine"
    got = json.loads(headrace("artifacts", "get", s3_url, "cats-and-dogs", tmp_path / "got", "--json").stdout)
    assert got["digest"] == logged.digest
    assert (tmp_path / "got/labels.csv").read_text() == "a,cat\n"


def nodes(tree: dict, inner: str) -> list[tuple[str, str]]:
    """Kind and end of the URL of every artifact in a tree of lineage, and the names of the runs."""
    found = []
    for run in tree["runs"]:
        found.append(("run", run["start"]["parameters"].get("name", run["start"]["command"])))
        for node in run[inner]:
            found.append((node["kind"], node["url"].rsplit("/", 1)[-1]))
            found += nodes(node, inner)
    return found


def test_lineage_goes_through_artifacts_both_ways(headrace, s3_url, images):
    with hr.init(s3_url, name="label") as run:
        run.log_artifact(cats(images))
    hr.store(images).write("d.jpg", b"new")
    with hr.init(s3_url, name="label again") as run:
        assert run.log_artifact(cats(images)).version == "v2"
    model = f"{s3_url}/models"
    with hr.init(s3_url, name="train") as run:
        run.use("cats-and-dogs:v1")
        hr.store(model).write("m", b"weights")
        run.made(f"{model}/m")
    made = json.loads(headrace("lineage", f"{model}/m", "--json").stdout)
    assert nodes(made["upstream"], "inputs") == [
        ("run", "train"),
        ("artifact", "cats-and-dogs"),
        ("run", "label"),
        ("folder", "raw"),
    ]
    read = json.loads(headrace("lineage", images, "--json").stdout)
    assert ("object", "m") in nodes(read["downstream"], "outputs")
    assert "from cats-and-dogs:v1  artifact at" in headrace("lineage", f"{model}/m").stdout


def test_changed_references_and_damaged_bytes_are_told(headrace, s3_url, images, files):
    with hr.init(s3_url) as run:
        version = run.log_artifact(cats(images, files))
    assert "all as they were logged" in headrace("artifacts", "verify", s3_url).stdout
    hr.store(images).write("a.jpg", b"other")
    hr.store(images).remove("b.jpg")
    kept, name = version.path("labels.csv").rsplit("/", 1)
    hr.store(kept).write(name, b"a,dog\n")
    told = headrace("artifacts", "verify", s3_url, "cats-and-dogs:v1", "--json", check=False)
    assert told.returncode == 1
    bad = {entry["path"]: entry["problem"] for entry in json.loads(told.stdout.splitlines()[0])["bad"]}
    assert sorted(bad) == ["images/a.jpg", "images/b.jpg", "in/copy.csv", "labels.csv"]
    assert "has changed" in bad["images/a.jpg"]
    assert bad["images/b.jpg"] == "is gone"
    assert "was altered" in bad["labels.csv"]


def test_what_comes_after_the_end_is_refused(file_url, files):
    run = hr.init(file_url)
    artifact = cats(files=files)
    run.finish()
    for late in (
        lambda: run._native.log_artifact(artifact._native, []),  # as a thread that had begun it before
        lambda: run._native.add_output("model", file_url),
        lambda: run._native.add_media(),
    ):
        with pytest.raises(errors.FailedPreconditionError, match="has already finished"):
            late()


def test_traps_of_python_are_refused(file_url, files):
    with pytest.raises(errors.InvalidArgumentError, match="NaN"):
        hr.Artifact("a", "dataset", metadata={"loss": float("nan")})
    with hr.init(file_url) as run, pytest.raises(errors.InvalidArgumentError, match=r"\['stable'\]"):
        run.log_artifact(cats(files=files), aliases="stable")


def test_aliases_versions_and_what_was_published_are_listed(headrace, file_url, files):
    with hr.init(file_url) as run:
        run.log_artifact(cats(files=files))
        (files / "more").write_text("x")
        run.log_artifact(cats(files=files))
    headrace("artifacts", "alias", file_url, "cats-and-dogs:v1", "stable")
    listed = json.loads(headrace("artifacts", "ls", file_url, "--json").stdout)
    assert [(each["name"], each["version"]) for each in listed["artifacts"]] == [("cats-and-dogs", 2)]
    assert listed["artifacts"][0]["aliases"] == {"stable": 1}
    shown = json.loads(headrace("artifacts", "show", file_url, "cats-and-dogs", "--json").stdout)
    assert [version["aliases"] for version in shown["versions"]] == [["stable"], ["latest"]]
    one = json.loads(headrace("artifacts", "show", file_url, "cats-and-dogs:stable", "--json").stdout)
    assert [entry["path"] for entry in one["entries"]] == ["in/copy.csv", "labels.csv"]
    assert headrace("artifacts", "alias", file_url, "cats-and-dogs:v1", "v9", check=False).returncode == 1


def test_gc_removes_only_what_no_version_names(headrace, file_url, files):
    with hr.init(file_url) as run:
        version = run.log_artifact(cats(files=files))
    store = hr.store(file_url)
    orphan = f"_headrace/artifacts/content/{'0' * 64}.1"
    store.write(orphan, b"left by a killed writer")
    removed = json.loads(headrace("gc", "--older-than", "0s", file_url, "--json").stdout)
    assert (removed["removed_contents"], removed["removed_content_bytes"]) == (1, 23)
    with pytest.raises(errors.NotFoundError):
        store.read(orphan)
    assert hr.store(version.path("labels.csv").rsplit("/", 1)[0])
    headrace("artifacts", "verify", file_url)
    store.write("_headrace/artifacts/named/cats-and-dogs/_headrace/version-00000001", b"damaged")
    failed = headrace("gc", "--older-than", "0s", file_url, "--json", check=False)
    assert failed.returncode != 0
    assert json.loads(failed.stdout)["removed_contents"] == 0, "the summary is shown before the error"


@pytest.mark.parametrize("name", ["", "a/b", "x" * 65, "-a", "ü"])
def test_bad_names_are_refused(name):
    with pytest.raises(errors.InvalidArgumentError):
        hr.Artifact(name, type="dataset")


def test_what_is_not_there_is_told(file_url, files):
    with hr.init(file_url) as run:
        with pytest.raises(errors.NotFoundError, match="no artifact nothing"):
            run.use("nothing:latest")
        with pytest.raises(errors.NotFoundError):
            cats().add_file(files / "none")
        with pytest.raises(errors.FailedPreconditionError, match="no entries"):
            run.log_artifact(cats())
        with pytest.raises(errors.InvalidArgumentError, match="version"):
            run.log_artifact(cats(files=files), aliases=["v3"])
        assert run.use(files) is None
    with pytest.raises(errors.InvalidArgumentError, match="finished"):
        run.log_artifact(cats(files=files))


LOGGER = """
import sys
import headrace as hr

root, path, count = sys.argv[1:]
for number in range(int(count)):
    with hr.init(root) as run:
        artifact = hr.Artifact("shared", type="dataset", metadata={"by": path, "number": number})
        artifact.add_file(path)
        run.log_artifact(artifact)
"""


def test_processes_that_log_one_name_at_once_lose_no_version(headrace, s3_url, tmp_path):
    count, loggers = 5, []
    for number in range(3):
        (tmp_path / f"f{number}").write_text("same")
        command = [sys.executable, "-c", LOGGER, s3_url, str(tmp_path / f"f{number}"), str(count)]
        loggers.append(subprocess.Popen(command))
    assert [logger.wait(120) for logger in loggers] == [0, 0, 0]
    shown = json.loads(headrace("artifacts", "show", s3_url, "shared", "--json").stdout)["versions"]
    assert [version["version"] for version in shown] == list(range(1, 3 * count + 1))
    assert len({version["run"] for version in shown}) == 3 * count
    headrace("artifacts", "verify", s3_url)


def test_verify_finds_a_flipped_bit_in_each_object_of_the_record(headrace, file_url, files):
    with hr.init(file_url, config={"lr": 0.5}) as run:
        run.use(files)
        run.log({"loss": 0.5})
        run.log_artifact(cats(files=files), aliases=["reviewed"])
    done = headrace("verify", file_url)
    assert "recorded objects are as written" in done.stdout
    store = hr.store(file_url)
    keys = [each.key for each in store.list("_headrace/") if each.size_bytes]
    for part in ("/start", "/end", "/inputs/", "/outputs/", "/series/", "metrics/", "version-", "aliases-"):
        assert any(part in key for key in keys), part
    for key in keys:
        good = store.read(key)
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 4
        store.write(key, bytes(flipped))
        told = headrace("verify", file_url, "--json", check=False)
        assert told.returncode == 1, key
        store.write(key, good)
    headrace("verify", file_url)


def test_the_runs_are_told_as_events_of_openlineage(headrace, s3_url, images):
    with hr.init(s3_url, name="label") as run:
        run.log_artifact(cats(images))
    with hr.init(s3_url, name="train") as run:
        run.use("cats-and-dogs:v1")
    lines = headrace("lineage", s3_url, "cats-and-dogs", "--format", "openlineage").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert [(event["job"]["name"], event["eventType"]) for event in events] == [
        ("label", "START"),
        ("label", "COMPLETE"),
        ("train", "START"),
        ("train", "COMPLETE"),
    ]
    assert events[1]["outputs"][0]["name"] == events[3]["inputs"][0]["name"]
    assert events[1]["inputs"][0]["namespace"].startswith("s3://")


def test_what_headrace_published_is_an_artifact_and_its_copy_is_published(headrace, file_url, tmp_path):
    (tmp_path / "rows.csv").write_text("id,text,label\n1,a,x\n2,b,y\n")
    headrace("prepare", tmp_path / "rows.csv", f"{file_url}/data")
    published = json.loads(headrace("artifacts", "ls", file_url, "--json").stdout)["published"]
    assert [(each["url"], each["kind"]) for each in published] == [(f"{file_url}/data", "dataset")]
    artifact = hr.Artifact("rows", type="dataset")
    artifact.add_reference(f"{file_url}/data")
    with hr.init(file_url) as run:
        run.log_artifact(artifact).download(tmp_path / "copy")
    headrace("verify", tmp_path / "copy")
    made = json.loads(headrace("lineage", file_url, "rows", "--json").stdout)["upstream"]
    assert ("run", "prepare") in nodes(made, "inputs")
