"""Bad input of every kind: the command fails, says what, where and what to do, and publishes nothing."""

import gzip
import importlib.util
import io
import json
import os
import pathlib
import random
import resource
import shlex
import shutil
import struct
import subprocess
import sys
import tarfile

import kill_support
import published_support
import pytest
from test_cli import sealed

REVIEWS = kill_support.reviews(400)
ENCODER = ("--encoder", "hash:16")


@pytest.fixture
def archive(tmp_path) -> pathlib.Path:
    return kill_support.write_archive(tmp_path / "raw.tar.gz", REVIEWS)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of traced models, one for all tests here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def manifests(folder: pathlib.Path) -> list[pathlib.Path]:
    """The manifests of all that is published, except for traces of models, which are made before the first
    step.
    """
    return [
        path
        for inner in {path.parent.parent for path in folder.rglob("_headrace/manifest-*")}
        if inner != folder / "run" / "model"
        for path in published_support.manifests(inner)
    ]


@pytest.fixture
def fails(headrace, tmp_path):
    """Runs a command that has to fail, with a message that holds every one of `words`, and publish nothing
    new. Returns the message."""

    def run(*arguments, words: list[str], env: dict[str, str] | None = None, code: int = 1, **options) -> str:
        before = manifests(tmp_path)
        done = headrace(*arguments, check=False, env=env, **options)
        assert done.returncode == code, done.stdout + done.stderr
        message = done.stderr.rpartition("headrace: ")[2]
        for word in words:
            assert word in message, message
        assert manifests(tmp_path) == before
        return message

    return run


# The archive


def test_an_archive_that_is_missing(fails, tmp_path):
    fails("prepare", tmp_path / "no.tar.gz", tmp_path / "out", *ENCODER, words=["no.tar.gz", "check the URL"])


def test_an_archive_that_is_empty(fails, tmp_path):
    (tmp_path / "raw.tar.gz").touch()
    fails("prepare", tmp_path / "raw.tar.gz", tmp_path / "out", *ENCODER, words=["raw.tar.gz is empty"])


def test_a_file_that_is_no_archive(fails, tmp_path):
    (tmp_path / "raw.tar.gz").write_bytes(b"<html>404 Not Found</html>" * 100)
    fails(
        "prepare",
        tmp_path / "raw.tar.gz",
        tmp_path / "out",
        *ENCODER,
        words=["not a tar or zip", "fetch the archive"],
    )


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.9999])
def test_an_archive_that_is_cut(fails, archive, tmp_path, part):
    data = archive.read_bytes()
    archive.write_bytes(data[: int(len(data) * part)])
    words = [str(archive), "cut", "fetch the archive again"]
    fails("prepare", archive, tmp_path / "out", *ENCODER, words=words)


def test_an_archive_with_an_altered_byte(fails, archive, tmp_path):
    data = archive.read_bytes()
    draw = random.Random(44)
    for position in (*(draw.randrange(20, len(data)) for _ in range(20)), len(data) - 6, len(data) - 2):
        archive.write_bytes(data[:position] + bytes([data[position] ^ 0x40]) + data[position + 1 :])
        words = [str(archive), "damaged", "fetch the archive again"]
        fails("prepare", archive, tmp_path / f"out-{position}", *ENCODER, words=words)


def write_special(path: pathlib.Path, entry: tarfile.TarInfo, data: bytes = b"") -> None:
    """The reviews, and one entry more."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, text in {**REVIEWS, entry.name: data}.items():
            this = entry if name == entry.name else tarfile.TarInfo(name)
            this.size = len(text)
            archive.addfile(this, io.BytesIO(text))


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


SPECIAL = {
    "traversal": tarfile.TarInfo("aclImdb/../../train/pos/9999_9.txt"),
    "absolute": tarfile.TarInfo("/aclImdb/train/pos/9999_9.txt"),
    "symbolic link": link("aclImdb/train/pos/9999_9.txt", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": link("aclImdb/train/pos/9999_9.txt", tarfile.LNKTYPE, "aclImdb/train/pos/1_8.txt"),
    "device": link("aclImdb/train/pos/9999_9.txt", tarfile.CHRTYPE, ""),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_paths_that_leave_the_archive_and_links_in_it(fails, headrace, tmp_path, kind):
    archive = tmp_path / "raw.tar.gz"
    write_special(archive, SPECIAL[kind])
    reason = "path leaves the archive" if kind in ("traversal", "absolute") else "a link or device"
    words = ["9999_9.txt", str(archive), "row 401", reason, "--max-rejects"]
    fails("prepare", archive, tmp_path / "out", *ENCODER, words=words)
    options = ("--max-rejects", "1", "--json")
    made = json.loads(headrace("prepare", archive, tmp_path / "allowed", *ENCODER, *options).stdout)
    assert made["counts"] == {"in": 401, "written": 400, "rejected": 1, "dropped": 0, "ignored": 0}
    assert [name for name in made["reasons"] if reason in name]


def test_a_split_without_files(fails, tmp_path):
    train_only = {name: text for name, text in REVIEWS.items() if "/train/" in name}
    archive = kill_support.write_archive(tmp_path / "raw.tar.gz", train_only)
    words = ["test split", str(archive), "is empty"]
    fails("prepare", archive, tmp_path / "out", *ENCODER, words=words)


def test_one_class_only(fails, tmp_path):
    positive = {name: text for name, text in REVIEWS.items() if "/pos/" in name}
    archive = kill_support.write_archive(tmp_path / "raw.tar.gz", positive)
    words = ["train split", str(archive), "only one class, pos"]
    fails("prepare", archive, tmp_path / "out", *ENCODER, words=words)


@pytest.mark.slow
def test_a_text_of_200_mb(fails, headrace, tmp_path):
    with (tmp_path / "large").open("wb") as large:
        large.truncate(200_000_000)
    archive = kill_support.write_archive(tmp_path / "small.tar.gz", REVIEWS)
    with tarfile.open(tmp_path / "raw.tar.gz", "w:gz", compresslevel=1) as raw:
        with tarfile.open(archive) as small:
            for entry in small:
                raw.addfile(entry, small.extractfile(entry))
        raw.add(tmp_path / "large", "aclImdb/train/pos/9999_9.txt")
    raw = tmp_path / "raw.tar.gz"
    words = ["9999_9.txt", "row 401", "larger than --max-cell", "--max-rejects"]
    fails("prepare", raw, tmp_path / "out", *ENCODER, words=words)
    made = headrace("prepare", raw, tmp_path / "allowed", *ENCODER, "--max-rejects", "1", "--json")
    assert json.loads(made.stdout)["counts"]["rejected"] == 1


# Published data


@pytest.fixture
def dataset(headrace, archive, tmp_path) -> pathlib.Path:
    """In plain shards of some 50 records: 7 of train, 2 of test."""
    options = ("--shard-records", "50", "--compression", "none")
    headrace("prepare", archive, tmp_path / "data", *ENCODER, *options)
    return tmp_path / "data"


def shard(dataset: pathlib.Path, number: int) -> pathlib.Path:
    return next(dataset.glob(f"train-*-{number:05}-of-*.tfrecord"))


def flip(path: pathlib.Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def record_offset(path: pathlib.Path, record: int) -> int:
    data, offset = path.read_bytes(), 0
    for _ in range(record):
        offset += 16 + struct.unpack_from("<Q", data, offset)[0]
    return offset


def record_count(path: pathlib.Path) -> int:
    manifest = published_support.manifest(path.parent)
    return next(
        part["records"] for part in json.loads(manifest.read_text())["parts"] if part["key"] == path.name
    )


def train(dataset: pathlib.Path, run: pathlib.Path, *options: str) -> tuple[str, ...]:
    usual = {"--epochs": "1", "--batch-size": "32"}
    missing = [word for name, value in usual.items() if name not in options for word in (name, value)]
    return ("train", dataset, run, *missing, *options)


@pytest.mark.exhaustive
def test_a_record_that_fails_its_checksum(fails, headrace, dataset, tmp_path):
    damaged = shard(dataset, 2)
    offset = record_offset(damaged, 7)
    flip(damaged, offset + 60)
    words = [str(damaged), "record 7", str(offset), "--on-corrupt"]
    fails(*train(dataset, tmp_path / "run"), words=words)
    policies = {"skip-record": 1, "skip-shard": record_count(damaged) - 7}
    for policy, count in policies.items():
        options = ("--on-corrupt", policy, "--json")
        done = headrace(*train(dataset, tmp_path / policy, *options))
        assert json.loads(done.stdout)["corrupt_records"] == count
        assert str(damaged) in done.stderr
    fails("verify", dataset, words=[str(dataset), "1 bad", "lineage"])


@pytest.mark.slow
def test_a_damaged_record_is_reported_once_however_many_epochs_meet_it(headrace, dataset, tmp_path):
    damaged = shard(dataset, 2)
    flip(damaged, record_offset(damaged, 7) + 60)
    options = ("--epochs", "3", "--batch-size", "32", "--on-corrupt", "skip-record", "--json")
    done = headrace("train", dataset, tmp_path / "run", *options)
    assert json.loads(done.stdout)["corrupt_records"] == 1
    assert done.stderr.count(str(damaged)) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("harm", ["missing", "cut"])
def test_a_shard_that_is_missing_or_cut_since_publication(fails, headrace, dataset, tmp_path, harm):
    harmed = shard(dataset, 3)
    size = harmed.stat().st_size
    if harm == "cut":
        os.truncate(harmed, size // 2)
        words = [str(harmed), str(size), str(size // 2), "skip-shard"]
    else:
        harmed.unlink()
        words = [str(harmed), "is missing", "skip-shard"]
    fails(*train(dataset, tmp_path / "run"), words=words)
    fails(*train(dataset, tmp_path / "run", "--on-corrupt", "skip-record"), words=words)
    done = headrace(*train(dataset, tmp_path / "skipped", "--on-corrupt", "skip-shard", "--json"))
    assert json.loads(done.stdout)["corrupt_records"] == record_count(harmed)
    assert str(harmed) in done.stderr
    verdict = headrace("verify", dataset, "--json", check=False)
    assert verdict.returncode == 1
    assert [bad["url"] for bad in json.loads(verdict.stdout)["bad"]] == [f"file://{harmed}"]


@pytest.mark.slow
def test_a_damaged_record_of_the_validation_part_is_counted(headrace, dataset, tmp_path):
    damaged = shard(dataset, 6)
    flip(damaged, record_offset(damaged, 19) + 60)
    done = headrace(*train(dataset, tmp_path / "run", "--on-corrupt", "skip-record", "--json"))
    assert json.loads(done.stdout)["corrupt_records"] == 1
    assert str(damaged) in done.stderr


def test_a_manifest_that_was_altered(fails, dataset, tmp_path):
    manifest = published_support.manifest(dataset)
    manifest.write_bytes(manifest.read_bytes().replace(b'"seed":44', b'"seed":45'))
    fails(*train(dataset, tmp_path / "run"), words=[str(manifest), "checksum"])


def test_a_foreign_data_set_whose_last_shard_lacks_compression_and_prefix(headrace, archive, tmp_path):
    headrace("prepare", archive, tmp_path / "data", *ENCODER, "--shard-records", "50")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    shards = sorted((tmp_path / "data").glob("train-*.tfrecord.gz"))
    for number, path in enumerate(shards[:-1]):
        shutil.copy(path, foreign / f"train-{number:05}.tfrecord")
    (foreign / "6.tfrecord").write_bytes(gzip.decompress(shards[-1].read_bytes()))
    done = headrace("inspect", foreign, "--json")
    seen = json.loads(done.stdout)
    assert sum(split["records"] for split in seen["splits"].values()) == 320
    assert seen["features"]["sentence"] == "float32[16]"
    assert any("6.tfrecord" in warning and "compression none" in warning for warning in seen["warnings"])
    assert done.stderr.count("6.tfrecord") == 2


def test_training_on_a_folder_that_is_not_published(fails, dataset, tmp_path):
    shutil.rmtree(dataset / "_headrace")
    fails(*train(dataset, tmp_path / "run"), words=[str(dataset), "not a dataset", "headrace prepare"])


# Data and model that do not fit


def test_a_feature_that_the_data_lack(fails, dataset, tmp_path):
    words = [str(dataset), "nope", "sentence"]
    fails(*train(dataset, tmp_path / "run", "--features", "nope"), words=words)


def test_a_split_that_the_data_lack(fails, dataset, tmp_path):
    words = [str(dataset), "no split valid", "test, train"]
    fails(*train(dataset, tmp_path / "run", "--split", "valid"), words=words)


@pytest.mark.exhaustive
def test_records_of_another_width_than_published(fails, dataset, tmp_path):
    path = published_support.manifest(dataset)
    manifest = json.loads(path.read_bytes())
    del manifest["zz_crc32c"]
    manifest["attributes"]["features"]["sentence"]["shape"] = [17]
    path.write_bytes(sealed(manifest))
    words = [str(dataset), "record", "sentence", "16", "17"]
    fails(*train(dataset, tmp_path / "run"), words=words)


@pytest.mark.slow
@pytest.mark.soak
def test_going_on_from_a_run_on_other_features(fails, headrace, archive, dataset, tmp_path):
    headrace(*train(dataset, tmp_path / "first"))
    headrace("prepare", archive, tmp_path / "wider", "--encoder", "hash:24")
    words = [f"{tmp_path}/first", "16", "24"]
    fails(*train(tmp_path / "wider", tmp_path / "run", "--init-from", f"{tmp_path}/first"), words=words)
    words = ["--init-from", f"{tmp_path}/nothing"]
    fails(*train(dataset, tmp_path / "run2", "--init-from", f"{tmp_path}/nothing"), words=words)


MODELS = '''
import keras

def network(classes, optimizer="adam"):
    return keras.Sequential([keras.Input((16,)), keras.layers.Dense(classes, activation="softmax")])

def not_compiled():
    return network(2)

def no_model():
    return {"layers": 3}

def raises():
    raise ValueError("my own fault")

def three_classes():
    model = network(3)
    model.compile(optimizer="adam", loss="categorical_crossentropy")
    return model

def explodes(update):
    """Sound until that update, counted from 0, which makes the weights useless."""
    model = network(2)
    optimizer = keras.optimizers.SGD(Explosion(update))
    model.compile(optimizer=optimizer, loss="categorical_crossentropy", metrics=["accuracy"])
    return model

class Explosion(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, update):
        self.update = update

    def __call__(self, step):
        return keras.ops.where(step < self.update, 1e-3, float("inf"))

    def get_config(self):
        return {"update": self.update}

def explodes_within_the_third_epoch():
    return explodes(21)

def explodes_at_the_end_of_the_second_epoch():
    return explodes(17)
'''

MISFITS = {
    "nowhere:build": ["no Python module 'nowhere'", "PYTHONPATH"],
    "headrace.models:dens_classifier": ["dens_classifier"],
    "{file}:missing": ["missing"],
    "{file}:not_compiled": ["not_compiled", "compile"],
    "{file}:no_model": ["no_model", "dict"],
    "{file}:raises": ["ValueError", "my own fault"],
    "{file}:three_classes": ["three_classes", "3", "2"],
    "{broken}:build": ["broken.py", "line 2"],
    "no-colon": ["no-colon", "MODULE:FUNCTION"],
}


@pytest.fixture
def models(tmp_path) -> dict[str, str]:
    (tmp_path / "mine.py").write_text(MODELS)
    (tmp_path / "broken.py").write_text("import keras\ndef build(:\n")
    return {"file": f"{tmp_path}/mine.py", "broken": f"{tmp_path}/broken.py"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(model, marks=[] if model == "{file}:not_compiled" else pytest.mark.exhaustive)
        for model in MISFITS
    ],
)
def test_a_model_that_cannot_be_trained(fails, dataset, models, tmp_path, model):
    named = model.format(**models)
    fails(*train(dataset, tmp_path / "run", "--model", named), words=MISFITS[model])


@pytest.mark.parametrize(
    ("model", "kept", "options"),
    [
        ("explodes_within_the_third_epoch", 2, ()),
        ("explodes_at_the_end_of_the_second_epoch", 1, ()),
        pytest.param(
            "explodes_at_the_end_of_the_second_epoch",
            1,
            ("--validation", "0", "--batch-size", "36"),
            marks=pytest.mark.soak,
        ),
    ],
)
@pytest.mark.exhaustive
def test_a_loss_that_is_no_number_keeps_the_last_good_checkpoint(
    headrace, dataset, models, tmp_path, model, kept, options
):
    named = f"{models['file']}:{model}"
    command = train(dataset, tmp_path / "run", "--model", named, "--epochs", "5", *options)
    for _ in range(2):  # the same command meets the same end
        done = headrace(*command, check=False)
        assert done.returncode == 1
        words = [f"in epoch {kept + 1}; ", f"the checkpoint after epoch {kept} is kept", "--learning-rate"]
        for word in words:
            assert word in done.stderr
        assert len(published_support.manifests(tmp_path / "run/checkpoints")) == kept
        assert published_support.manifests(tmp_path / "run/export") == []
    headrace("verify", tmp_path / "run")


@pytest.mark.slow
def test_an_absurd_learning_rate_before_any_checkpoint(fails, dataset, tmp_path):
    words = ["in epoch 1", "no checkpoint was written yet", "smaller --learning-rate"]
    fails(*train(dataset, tmp_path / "run", "--learning-rate", "1e38"), words=words)


# The machine and the stores


def program(path: pathlib.Path, lines: str) -> pathlib.Path:
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


def test_tensorflow_that_is_not_installed(fails, dataset, tmp_path):
    bare = program(tmp_path / "python3", f'exec "{sys.base_prefix}/bin/python3" -I -S "$@"')
    words = ["TensorFlow is not installed", str(bare), "pip install tensorflow-cpu"]
    fails(*train(dataset, tmp_path / "run"), words=words, env={"HEADRACE_PYTHON": str(bare)})
    words = ["TensorFlow is not at", str(tmp_path / "nowhere"), "HEADRACE_TENSORFLOW"]
    env = {"HEADRACE_TENSORFLOW": str(tmp_path / "nowhere")}
    fails(*train(dataset, tmp_path / "run"), words=words, env=env)
    words = ["HEADRACE_PYTHON", str(tmp_path / "no-python")]
    fails(
        *train(dataset, tmp_path / "run"), words=words, env={"HEADRACE_PYTHON": str(tmp_path / "no-python")}
    )


def test_a_python_whose_tensorflow_is_not_the_engine_s(fails, dataset, tmp_path):
    versions = '{"tensorflow": "2.3.1", "keras": "2.3.1", "python": "3.8"}'
    other = program(tmp_path / "python3", f"echo '{{\"versions\": {versions}}}'")
    tensorflow = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    env = {"HEADRACE_PYTHON": str(other), "HEADRACE_TENSORFLOW": str(tensorflow)}
    words = [str(other), "TensorFlow 2.3.1", "the engine runs 2.", "HEADRACE_PYTHON"]
    fails(*train(dataset, tmp_path / "run"), words=words, env=env)


UNREACHABLE = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
WRONG_SECRET = {"AWS_SECRET_ACCESS_KEY": "canary-wrong-secret"}
WRONG_KEY = {"AWS_ACCESS_KEY_ID": "canary-wrong-key"}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (WRONG_SECRET, ["AWS_SECRET_ACCESS_KEY"]),
        (WRONG_KEY, ["AWS_ACCESS_KEY_ID"]),
        pytest.param(UNREACHABLE, ["127.0.0.1:1", "AWS_ENDPOINT_URL_S3"], marks=pytest.mark.exhaustive),
    ],
)
def test_a_store_that_cannot_be_reached(fails, headrace, archive, s3_url, env, words):
    message = fails("prepare", archive, f"{s3_url}/out", *ENCODER, words=words, env=env)
    assert "canary-wrong-secret" not in message
    assert headrace("ls", "-r", s3_url, check=False).stdout == ""
    headrace("cp", archive, f"{s3_url}/raw.tar.gz")
    fails("prepare", f"{s3_url}/raw.tar.gz", archive.parent / "out", *ENCODER, words=words, env=env)


def test_a_bucket_that_is_not_there(fails, archive, tmp_path):
    words = ["s3://headrace-no-such-bucket", "bucket"]
    fails("prepare", archive, "s3://headrace-no-such-bucket/out", *ENCODER, words=words)
    fails("prepare", "s3://headrace-no-such-bucket/raw.tar.gz", tmp_path / "out", *ENCODER, words=words)


def limit_files_to(size: int):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_file_that_may_not_grow(fails, headrace, archive, dataset, tmp_path):
    """The limit of a process stands for any write that fails midway."""
    options = ("prepare", archive, tmp_path / "out", *ENCODER, "--compression", "none")
    words = [f"writing file://{tmp_path}/out/t", "ulimit -f"]
    fails(*options, words=words, preexec_fn=limit_files_to(20_000))
    headrace(*options)


@pytest.mark.exhaustive
def test_a_run_whose_files_may_not_grow(fails, headrace, dataset, tmp_path):
    headrace(*train(dataset, tmp_path / "warm"))
    words = [f"writing file://{tmp_path}/run/", "ulimit -f"]
    env = {"TMPDIR": str(tmp_path / "tmp")}
    fails(*train(dataset, tmp_path / "run"), words=words, preexec_fn=limit_files_to(20_000), env=env)
    assert not list((tmp_path / "tmp").rglob("headrace-staged-*"))
    headrace(*train(dataset, tmp_path / "run"))


def test_a_disk_that_is_full(build, archive, tmp_path):
    """A small file system where one may be mounted, in a name space that goes with the command; elsewhere a
    limit of file sizes."""
    small = tmp_path / "small"
    small.mkdir()
    unshare = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    mount = ["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", str(small)]
    mounts = subprocess.run([*unshare, *mount], capture_output=True, check=False).returncode == 0
    script = f"{shlex.join(mount) if mounts else 'ulimit -f 50'} && " + (
        '"$@"; code=$?; grep -l headrace.manifest -r "$0" --include "manifest-*"; exit $code'
    )
    command = [build / "bin" / "headrace", "prepare", archive, small / "out", "--encoder", "hash:512"]
    done = subprocess.run(
        [*(unshare if mounts else []), "sh", "-c", script, small, *command, "--compression", "none"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "manifest-" not in done.stdout
    assert f"writing file://{small}/out/" in done.stderr
    assert ("free some space" if mounts else "ulimit -f") in done.stderr


# The command line


def test_a_misspelt_option(fails, archive, tmp_path):
    words = ["--encodr", "did you mean --encoder"]
    fails("prepare", archive, tmp_path / "out", "--encodr", "hash:16", words=words, code=2)
    words = ["--lerning-rate", "did you mean --learning-rate"]
    fails("train", archive, tmp_path / "out", "--lerning-rate", "1", words=words, code=2)


def test_an_encoder_that_does_not_exist(fails, archive, tmp_path):
    words = ["hsh:16", "hash:N", "use-multilingual-v3"]
    fails("prepare", archive, tmp_path / "out", "--encoder", "hsh:16", words=words)


def test_a_prepared_folder_is_refused_to_other_options(fails, headrace, archive, dataset):
    options = ("prepare", archive, dataset, *ENCODER, "--shard-records", "50", "--compression", "none")
    words = ["seed was 44 and is now 45", "--overwrite"]
    fails(*options, "--seed", "45", words=words)
    write_special(archive, tarfile.TarInfo("aclImdb/train/pos/9999_9.txt"), b"one more")
    fails(*options, words=["input size was", "input version was", "--overwrite"])
    headrace(*options, "--overwrite")


@pytest.mark.slow
def test_a_run_is_refused_to_other_options_and_other_data(fails, headrace, archive, dataset, tmp_path):
    headrace(*train(dataset, tmp_path / "run"))
    options = ("--seed", "45", "--batch-size", "16")
    words = ["seed was 44 and is now 45", "batch-size was 32 and is now 16", "--overwrite"]
    fails(*train(dataset, tmp_path / "run", *options), words=words)
    headrace("prepare", archive, dataset, *ENCODER, "--overwrite")
    fails(*train(dataset, tmp_path / "run"), words=["data manifest was", "--overwrite"])
    headrace(*train(dataset, tmp_path / "run", "--overwrite"))


@pytest.mark.exhaustive
def test_training_anew_removes_nothing_but_a_run(fails, headrace, dataset, tmp_path):
    run = tmp_path / "run"
    mine = run / "model" / "weights.h5"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    words = ["is not an output that headrace train began", str(mine)]
    fails(*train(dataset, run, "--overwrite"), words=words)
    assert mine.read_text() == "mine"

    mine.unlink()
    headrace(*train(dataset, run))
    mine.write_text("mine")
    fails(*train(dataset, run, "--overwrite", "--model", "no_such:model"), words=["no_such"])
    fails(*train(dataset, run, "--overwrite", "--init-from", run), words=["--init-from", str(run)])
    headrace(*train(dataset, run, "--overwrite", "--seed", "45"))
    assert mine.read_text() == "mine"
