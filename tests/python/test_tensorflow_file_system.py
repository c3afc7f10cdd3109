"""TensorFlow's own operations on files, over stores: each gives what it gives on a local disk."""

import hashlib
import importlib
import json
import os
import tempfile
import threading
import time
import uuid

import boto3
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_support import summaries_below, told

import headrace as hr
from headrace import tensorflow as paths

gfile = tf.io.gfile


def write(path: str, text: str = "text") -> None:
    with gfile.GFile(path, "w") as file:
        file.write(text)


def outcome_of(work) -> object:
    """The result of `work`, or the class of TensorFlow's error."""
    try:
        return work()
    except tf.errors.OpError as error:
        return type(error).__name__


# ---- Files and folders: each function works in a folder and tells what it saw -------------------


def reads_and_positions(root):
    write(f"{root}/a.txt", "one\ntwo\nthree")
    seen = []
    with gfile.GFile(f"{root}/a.txt") as file:
        seen += [file.readline(), file.tell(), file.read(2), file.size()]
        file.seek(1)
        seen += [file.readlines(), file.read()]
    with gfile.GFile(f"{root}/a.txt", "rb") as file:
        seen += [file.read(), list(gfile.GFile(f"{root}/a.txt"))]
    return seen


def binary_of_every_size(root):
    seen = []
    for size in (0, 1, 65_535, 65_536, 65_537, 3_000_000, 20_000_000):
        data = np.random.default_rng(size).bytes(size)
        with gfile.GFile(f"{root}/{size}", "wb") as file:
            file.write(b"")
            for start in range(0, size, 999_999):
                file.write(data[start : start + 999_999])
        with gfile.GFile(f"{root}/{size}", "rb") as file:
            seen.append((file.size(), file.read() == data))
    return seen


def appending(root):
    for text in ("one", " two", "", " three"):
        with gfile.GFile(f"{root}/a", "a") as file:
            file.write(text)
    with gfile.GFile(f"{root}/a", "a+") as file:
        file.write(" four")
    return gfile.GFile(f"{root}/a").read()


def empty_event_files(root):
    for name in ("events.out.tfevents.1", "events.out.tfevents.1", "events.out.tfevents.2"):
        tf.io.write_file(f"{root}/{name}", b"")
    write(f"{root}/events.out.tfevents.2", "text")
    tf.io.write_file(f"{root}/events.out.tfevents.2", b"")
    return [(name, gfile.stat(f"{root}/{name}").length) for name in sorted(gfile.listdir(root))]


def overwriting(root):
    write(f"{root}/a", "a long text")
    write(f"{root}/a", "short")
    return gfile.GFile(f"{root}/a").read()


def event_files_written_anew(root):
    name = f"{root}/events.out.tfevents.1"
    seen = []

    def look():
        seen.append((gfile.GFile(name).read(), sorted(gfile.listdir(root))))

    write(name, "a long text")
    write(name, "short")
    look()
    write(f"{root}/other", "copied")
    outcome = outcome_of(lambda: gfile.copy(f"{root}/other", name))
    gfile.copy(f"{root}/other", name, overwrite=True)
    look()
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/local", "from a disk")
        gfile.copy(f"{folder}/local", name, overwrite=True)
    look()
    return [outcome, seen]


def a_file_that_nobody_closes(root):
    file = gfile.GFile(f"{root}/a", "w")
    file.write("text")
    del file
    return gfile.GFile(f"{root}/a").read()


def folders(root):
    return [
        outcome_of(lambda: gfile.mkdir(f"{root}/x")),
        outcome_of(lambda: gfile.mkdir(f"{root}/x")),
        outcome_of(lambda: gfile.makedirs(f"{root}/x/y/z")),
        outcome_of(lambda: gfile.makedirs(f"{root}/x/y/z")),
        gfile.isdir(f"{root}/x"),
        gfile.isdir(f"{root}/x/"),
        gfile.exists(f"{root}/x/y"),
        gfile.isdir(f"{root}/none"),
        gfile.listdir(f"{root}/x"),
        gfile.listdir(f"{root}/x/y/z"),
        gfile.stat(f"{root}/x").is_directory,
        outcome_of(lambda: gfile.listdir(f"{root}/none")),
    ]


def trees(root):
    for name in ("b/c/1.txt", "b/2.txt", "3.txt"):
        gfile.makedirs(os.path.dirname(f"{root}/{name}"))
        write(f"{root}/{name}", name)
    walked = [(top, sorted(below), sorted(files)) for top, below, files in gfile.walk(root)]
    upwards = [top for top, _, _ in gfile.walk(root, topdown=False)]
    return [sorted(walked), upwards[-1], sorted(gfile.listdir(root)), sorted(gfile.listdir(f"{root}/b"))]


def globs(root):
    gfile.makedirs(f"{root}/d/e")
    for name in ("d/1.txt", "d/2.txt", "d/e/3.txt", "d/[4].txt"):
        write(f"{root}/{name}")
    patterns = [
        "d/*.txt",
        "d/?.txt",
        "*/*.txt",
        "d/[12].txt",
        "d/e",
        "*",
        "none*",
        "none/*",
        "d/*/*",
        "d/1.txt",
    ]
    several = sorted(gfile.glob([f"{root}/d/1*", f"{root}/d/e/*"]))
    return [sorted(gfile.glob(f"{root}/{pattern}")) for pattern in patterns] + [several]


def stats(root):
    write(f"{root}/a", "12345")
    of_file = gfile.stat(f"{root}/a")
    return [
        of_file.length,
        of_file.is_directory,
        outcome_of(lambda: gfile.stat(f"{root}/b")),
    ]


def removing(root):
    gfile.makedirs(f"{root}/d/e")
    write(f"{root}/d/a")
    return [
        outcome_of(lambda: gfile.remove(f"{root}/none")),
        outcome_of(lambda: gfile.remove(f"{root}/d/a")),
        gfile.exists(f"{root}/d/a"),
        gfile.exists(f"{root}/d"),
        outcome_of(lambda: gfile.rmtree(f"{root}/d")),
        gfile.exists(f"{root}/d"),
        outcome_of(lambda: gfile.rmtree(f"{root}/d")),
    ]


def renaming(root):
    write(f"{root}/a", "a")
    write(f"{root}/b", "b")
    gfile.makedirs(f"{root}/d/e")
    write(f"{root}/d/e/c", "c")
    return [
        outcome_of(lambda: gfile.rename(f"{root}/a", f"{root}/b")),
        outcome_of(lambda: gfile.rename(f"{root}/a", f"{root}/b", overwrite=True)),
        gfile.GFile(f"{root}/b").read(),
        gfile.exists(f"{root}/a"),
        outcome_of(lambda: gfile.rename(f"{root}/none", f"{root}/x")),
        outcome_of(lambda: gfile.rename(f"{root}/d", f"{root}/f")),
        gfile.exists(f"{root}/d"),
        gfile.GFile(f"{root}/f/e/c").read(),
    ]


def copying(root):
    write(f"{root}/a", "a")
    write(f"{root}/b", "b")
    return [
        outcome_of(lambda: gfile.copy(f"{root}/a", f"{root}/b")),
        outcome_of(lambda: gfile.copy(f"{root}/a", f"{root}/b", overwrite=True)),
        outcome_of(lambda: gfile.copy(f"{root}/none", f"{root}/c")),
        gfile.GFile(f"{root}/b").read(),
        gfile.GFile(f"{root}/a").read(),
    ]


def what_is_not_there(root):
    return [
        outcome_of(lambda: gfile.GFile(f"{root}/none").read()),
        outcome_of(lambda: gfile.GFile(f"{root}/none").size()),
        gfile.exists(f"{root}/none"),
        outcome_of(lambda: tf.io.read_file(f"{root}/none")),
        outcome_of(lambda: tf.train.load_checkpoint(f"{root}/none")),
        tf.train.latest_checkpoint(f"{root}/none"),
    ]


# ---- Data, checkpoints, models ------------------------------------------------------------------


def tensors_in_files(root):
    tf.io.write_file(f"{root}/deep/a.bin", b"\0\1\2")
    matching = tf.io.matching_files(f"{root}/deep/*")
    return [tf.io.read_file(f"{root}/deep/a.bin").numpy(), [name.decode() for name in matching.numpy()]]


def records(root):
    seen = []
    for kind in ("", "GZIP", "ZLIB"):
        paths = [f"{root}/{kind}-{shard}.tfrecord" for shard in range(3)]
        for shard, path in enumerate(paths):
            with tf.io.TFRecordWriter(path, kind) as writer:
                for i in range(500):
                    writer.write(f"{shard} {i} ".encode() * 20)
        for at_once in (None, 4, tf.data.AUTOTUNE):
            data = tf.data.TFRecordDataset(paths, compression_type=kind, num_parallel_reads=at_once)
            seen.append(hash(tuple(sorted(record.numpy() for record in data))))
    listed = tf.data.Dataset.list_files(f"{root}/*.tfrecord", shuffle=False)
    seen.append([name.numpy().decode() for name in listed])
    return seen


def lines_and_fixed_records(root):
    write(f"{root}/a.csv", "x,y\n1,2\n3,4\n")
    return [
        [line.numpy() for line in tf.data.TextLineDataset(f"{root}/a.csv")],
        [record.numpy() for record in tf.data.FixedLengthRecordDataset(f"{root}/a.csv", 6)],
        [
            [x.numpy(), y.numpy()]
            for x, y in tf.data.experimental.CsvDataset(f"{root}/a.csv", [0, 0], header=True)
        ],
    ]


def data_sets_saved_and_cached(root):
    data = tf.data.Dataset.range(1_000).map(lambda x: {"x": x, "y": tf.strings.as_string(x)})
    gfile.makedirs(f"{root}/cache")  # a local disk wants it
    data.save(f"{root}/saved")
    loaded = [(int(one["x"]), one["y"].numpy()) for one in tf.data.Dataset.load(f"{root}/saved")]
    cached = data.cache(f"{root}/cache/c")
    seen = [len(list(cached)), len(list(cached)), sorted(gfile.listdir(f"{root}/cache"))]
    return [loaded, seen, len(list(data.snapshot(f"{root}/snapshot")))]


def checkpoints(root):
    variables = {f"v{i}": tf.Variable(tf.random.stateless_normal([300, i + 1], [i, 0])) for i in range(20)}
    large = tf.Variable(tf.random.stateless_uniform([6_000_000], [1, 2]))
    checkpoint = tf.train.Checkpoint(large=large, **variables)
    manager = tf.train.CheckpointManager(checkpoint, f"{root}/checkpoints", max_to_keep=2)
    for _ in range(3):
        large.assign_add(tf.ones_like(large))
        manager.save()
    wanted = large.numpy().copy()
    large.assign(tf.zeros_like(large))
    checkpoint.restore(manager.latest_checkpoint).assert_consumed()
    reader = tf.train.load_checkpoint(f"{root}/checkpoints")
    single = checkpoint.write(f"{root}/one/by/itself")
    return [
        bool((large.numpy() == wanted).all()),
        tf.train.latest_checkpoint(f"{root}/checkpoints"),
        sorted(gfile.listdir(f"{root}/checkpoints")),
        len(reader.get_variable_to_shape_map()),
        single,
        sorted(gfile.listdir(f"{root}/one/by")),
        sorted(name for name, _ in tf.train.list_variables(f"{root}/one/by/itself"))[:3],
    ]


def session_savers(root):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("v", initializer=tf.range(1000.0))
        for sharded in (False, True):
            saver = tf.compat.v1.train.Saver(sharded=sharded)
            gfile.makedirs(f"{root}/{sharded}")
            session.run(variable.initializer)
            path = saver.save(session, f"{root}/{sharded}/model", global_step=7)
            session.run(variable.assign(tf.zeros([1000])))
            saver.restore(session, path)
        total = float(session.run(tf.reduce_sum(variable)))
    return [total, sorted(gfile.listdir(f"{root}/True")), sorted(gfile.listdir(f"{root}/False"))]


def saved_models(root):
    class Module(tf.Module):
        def __init__(self):
            super().__init__()
            self.weights = tf.Variable(tf.range(5_000_000, dtype=tf.float32))
            with gfile.GFile(f"{root}/words.txt", "w") as words:
                words.write("a\nb\n")
            self.words = tf.saved_model.Asset(f"{root}/words.txt")

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def scaled_sum(self, factor):
            return factor * tf.reduce_mean(self.weights)

    module = Module()
    for _ in range(2):
        tf.saved_model.save(module, f"{root}/model", signatures={"sum": module.scaled_sum})
    loaded = tf.saved_model.load(f"{root}/model")
    return [
        float(loaded.scaled_sum(2.0)),
        sorted(gfile.listdir(f"{root}/model")),
        sorted(gfile.listdir(f"{root}/model/variables")),
        gfile.listdir(f"{root}/model/assets"),
        tf.saved_model.contains_saved_model(f"{root}/model"),
        tf.saved_model.contains_saved_model(f"{root}/none"),
    ]


def small_model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    return model


def keras_models(root):
    model = small_model()
    inputs = np.ones((3, 4), np.float32)
    wanted = model.predict(inputs, verbose=0)
    model.save(f"{root}/model.keras")
    model.save_weights(f"{root}/model.weights.h5")
    model.export(f"{root}/export", verbose=False)
    other = small_model()
    other.load_weights(f"{root}/model.weights.h5")
    served = tf.saved_model.load(f"{root}/export")
    return [
        np.allclose(keras.saving.load_model(f"{root}/model.keras").predict(inputs, verbose=0), wanted),
        np.allclose(other.predict(inputs, verbose=0), wanted),
        np.allclose(served.serve(inputs), wanted),
    ]


def keras_callbacks(root):
    model = small_model()
    callbacks = [
        keras.callbacks.ModelCheckpoint(f"{root}/checkpoints/{{epoch}}.weights.h5", save_weights_only=True),
        keras.callbacks.ModelCheckpoint(f"{root}/models/best.keras", monitor="loss", save_best_only=True),
        keras.callbacks.TensorBoard(f"{root}/logs", histogram_freq=1, write_graph=True),
        keras.callbacks.BackupAndRestore(f"{root}/backup", delete_checkpoint=False),
    ]
    for folder in ("checkpoints", "models"):
        gfile.makedirs(f"{root}/{folder}")  # a local disk wants them
    inputs, targets = np.ones((64, 4), np.float32), np.zeros((64, 2), np.float32)
    model.fit(inputs, targets, epochs=3, verbose=0, callbacks=callbacks)
    again = small_model()
    again.fit(
        inputs, targets, epochs=4, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(f"{root}/backup")]
    )
    return [
        sorted(gfile.listdir(f"{root}/checkpoints")),
        gfile.listdir(f"{root}/models"),
        sorted(gfile.listdir(f"{root}/logs")),
        len(again.history.history["loss"]),
    ]


SCENARIOS = [
    reads_and_positions,
    binary_of_every_size,
    appending,
    overwriting,
    empty_event_files,
    event_files_written_anew,
    a_file_that_nobody_closes,
    folders,
    trees,
    globs,
    stats,
    removing,
    renaming,
    copying,
    what_is_not_there,
    tensors_in_files,
    records,
    lines_and_fixed_records,
    data_sets_saved_and_cached,
    checkpoints,
    pytest.param(session_savers, marks=pytest.mark.slow),
    pytest.param(saved_models, marks=pytest.mark.slow),
    pytest.param(keras_models, marks=pytest.mark.slow),
    pytest.param(keras_callbacks, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_it_is_as_on_a_local_disk(scenario, remote, tmp_path):
    assert told(scenario, remote) == told(scenario, str(tmp_path / "local"))


# With everything else, in `./dev test --all`, too.
@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario",
    [reads_and_positions, appending, folders, renaming, copying, checkpoints],
    ids=lambda one: one.__name__,
)
@pytest.mark.parametrize("scheme", ["ignite", "igfs"])
def test_an_ignite_cluster_is_as_a_local_disk(scenario, scheme, ignite_url, tmp_path):
    name, _, prefix = ignite_url.removeprefix("ignite://").partition("/")
    url = ignite_url if scheme == "ignite" else f"igfs://{name}/{prefix}"
    assert told(scenario, url) == told(scenario, str(tmp_path / "local"))


# ---- What a local disk has not ------------------------------------------------------------------


def test_a_log_is_segments_that_never_change(remote):
    writer = tf.summary.create_file_writer(remote)
    versions = {}
    with writer.as_default():
        for step in range(4):
            tf.summary.scalar("loss", step / 2, step=step)
            writer.flush()
            for path in gfile.glob(f"{remote}/*tfevents*"):
                content = gfile.GFile(path, "rb").read()
                assert versions.setdefault(path, content) == content
    writer.close()
    assert summaries_below(remote) == [("loss", step, step / 2) for step in range(4)]
    names = sorted(gfile.listdir(remote))
    assert names[1:] == [f"{names[0]}.{number:06}" for number in range(1, len(names))]


def test_a_log_that_is_written_anew_loses_all_its_segments(remote):
    name = f"{remote}/events.out.tfevents.1"
    for text in ("one", "two", "three"):
        with gfile.GFile(name, "a") as file:
            file.write(text)
    assert len(gfile.listdir(remote)) == 3
    write(name, "new")
    assert [gfile.GFile(path, "rb").read() for path in gfile.glob(f"{remote}/*")] == [b"new"]


@pytest.mark.slow
@pytest.mark.parametrize("remote", ["s3", "hrfile"], indirect=True)
def test_files_have_the_time_of_their_last_write(remote):
    write(f"{remote}/a")
    assert abs(gfile.stat(f"{remote}/a").mtime_nsec / 1e9 - time.time()) < 60


def test_a_folder_outlives_what_was_in_it(remote):
    for name in ("models/1/a", "renamed/a", "moved/folder/a"):
        write(f"{remote}/{name}", "content")
    gfile.rmtree(f"{remote}/models/1")
    gfile.rename(f"{remote}/renamed/a", f"{remote}/b")
    gfile.rename(f"{remote}/moved/folder", f"{remote}/folder")
    for name in ("models", "renamed", "moved"):
        assert gfile.listdir(f"{remote}/{name}") == []


def test_a_writer_needs_no_folder(remote):
    write(f"{remote}/not/there/yet", "text")
    assert gfile.isdir(f"{remote}/not/there")


def test_an_operation_that_makes_a_folder_needs_none_above_it(remote):
    prefix = f"{remote}/not/there/yet/saved"
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant([1.0, 2.0])]
    )
    assert tf.train.load_checkpoint(prefix).get_tensor("a").tolist() == [1.0, 2.0]
    gfile.mkdir(f"{remote}/other/folder")
    assert gfile.isdir(f"{remote}/other")


@pytest.mark.parametrize("compression", ["", pytest.param("GZIP", marks=pytest.mark.soak)])
@pytest.mark.exhaustive
def test_records_come_in_pieces_of_a_block(s3_url, compression):
    """tf.data asks for 127 MiB of s3:// at once, and takes what it gets."""
    path = f"{s3_url}/large.tfrecord"
    rng = np.random.default_rng(1)
    records = [rng.bytes(int(rng.integers(1, 3_000_000))) for _ in range(120)]
    with tf.io.TFRecordWriter(path, options=compression) as writer:
        for record in records:
            writer.write(record)
    assert gfile.stat(path).length > 127 << 20
    for readers in (None, 2):
        read = tf.data.TFRecordDataset([path] * (readers or 1), compression, num_parallel_reads=readers)
        digests = sorted(hashlib.sha256(record.numpy()).hexdigest() for record in read)
        wanted = sorted(hashlib.sha256(record).hexdigest() for record in records * (readers or 1))
        assert digests == wanted


@pytest.mark.exhaustive
@pytest.mark.parametrize("more", [0, 1, 5_000_000])
def test_what_happens_to_be_as_large_as_a_block_is_read_whole(s3_url, more):
    block = 127 << 20
    data = np.random.default_rng(more).bytes(block + more)
    tf.io.write_file(f"{s3_url}/whole", data)
    assert tf.io.read_file(f"{s3_url}/whole").numpy() == data
    with gfile.GFile(f"{s3_url}/whole", "rb") as file:
        assert file.read(block) == data[:block]
        assert file.read() == data[block:]


@pytest.mark.parametrize("blocks", [1, pytest.param(8, marks=pytest.mark.soak)])
@pytest.mark.exhaustive
def test_a_tensor_as_large_as_blocks_is_restored(s3_url, blocks):
    """TensorFlow reads large tensors in up to eight parts."""
    value = np.random.default_rng(blocks).integers(0, 256, blocks * (127 << 20), np.uint8)
    path = tf.train.Checkpoint(v=tf.Variable(value), after=tf.Variable(1.5)).write(f"{s3_url}/checkpoint")
    restored = {"v": tf.Variable(tf.zeros_like(value)), "after": tf.Variable(0.0)}
    tf.train.Checkpoint(**restored).read(path)
    assert np.array_equal(restored["v"].numpy(), value)
    assert restored["after"].numpy() == 1.5


def test_thirty_two_threads_read_one_file(remote):
    data = np.random.default_rng(1).bytes(8_000_000)
    with gfile.GFile(f"{remote}/a", "wb") as file:
        file.write(data)
    wrong = []

    def read(seed: int) -> None:
        draw = np.random.default_rng(seed)
        with gfile.GFile(f"{remote}/a", "rb") as file:
            for _ in range(20):
                start = int(draw.integers(len(data)))
                file.seek(start)
                if file.read(100_000) != data[start : start + 100_000]:
                    wrong.append(start)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_schemes_are_those_of_the_drivers():
    assert paths.schemes() == ["hrfile", "memory", "s3", "ignite", "igfs"]
    importlib.reload(paths)  # which does not register it twice


def test_it_shares_the_stores_of_the_process():
    name = uuid.uuid4().hex
    hr.store(f"memory://{name}").write("a", b"text")
    assert gfile.GFile(f"memory://{name}/a").read() == "text"


@pytest.fixture
def as_a_limited_user(s3_url, monkeypatch):
    """A user that may list the bucket, and read the objects of its folder "readable"; nothing else."""
    bucket, prefix = s3_url.removeprefix("s3://").split("/", 1)
    allowed = [
        {"Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{bucket}"},
        {"Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/{prefix}/readable/*"},
    ]
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow"} | one for one in allowed]}
    service = boto3.client("sts", endpoint_url=os.environ["AWS_ENDPOINT_URL_S3"], region_name="us-east-1")
    keys = service.assume_role(
        RoleArn="arn:aws:iam::1:role/x", RoleSessionName="test", Policy=json.dumps(policy)
    )["Credentials"]

    def change() -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["SecretAccessKey"])
        monkeypatch.setenv("AWS_SESSION_TOKEN", keys["SessionToken"])

    return change


def test_what_a_user_may_not_do_is_refused_by_name(s3_url, as_a_limited_user):
    for name in ("readable/a", "secret/a"):
        gfile.GFile(f"{s3_url}/{name}", "w").write("content")
    as_a_limited_user()
    assert gfile.GFile(f"{s3_url}/readable/a").read() == "content"
    assert gfile.glob(f"{s3_url}/*/*") == [f"{s3_url}/readable/a", f"{s3_url}/secret/a"]
    refused = [
        lambda: gfile.GFile(f"{s3_url}/secret/a").read(),
        lambda: next(iter(tf.data.TFRecordDataset(f"{s3_url}/secret/a"))),
        lambda: tf.io.write_file(f"{s3_url}/secret/b", "other"),
        lambda: tf.train.Checkpoint(value=tf.Variable(1.0)).write(f"{s3_url}/secret/checkpoint"),
        lambda: gfile.remove(f"{s3_url}/secret/a"),
        lambda: gfile.rmtree(f"{s3_url}/secret"),
        lambda: gfile.rename(f"{s3_url}/readable/a", f"{s3_url}/secret/b"),
        lambda: gfile.copy(f"{s3_url}/readable/a", f"{s3_url}/secret/b"),
    ]
    for number, refuse in enumerate(refused):
        with pytest.raises(tf.errors.PermissionDeniedError, match=s3_url):
            refuse()
            pytest.fail(f"the attempt {number} was not refused")
    assert gfile.glob(f"{s3_url}/*/*") == [f"{s3_url}/readable/a", f"{s3_url}/secret/a"]


@pytest.mark.exhaustive
def test_errors_name_the_url_and_say_what_to_do(s3_url, monkeypatch):
    with pytest.raises(tf.errors.FailedPreconditionError, match='no bucket "none-of-that-name"'):
        gfile.GFile("s3://none-of-that-name/a").read()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(tf.errors.UnauthenticatedError, match=f"{s3_url}/a: .* AWS_SECRET_ACCESS_KEY"):
        gfile.GFile(f"{s3_url}/a").read()
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(tf.errors.UnauthenticatedError, match="AWS_ACCESS_KEY_ID"):
        gfile.GFile(f"{s3_url}/a").read()
    monkeypatch.undo()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    with pytest.raises(tf.errors.UnavailableError, match=s3_url):
        gfile.exists(f"{s3_url}/a")


def test_errors_name_paths_as_tensorflow_knows_them(tmp_path):
    path = f"hrfile://{tmp_path}/none"
    (tmp_path / "file").write_text("text")
    for work in (
        lambda: gfile.GFile(path).read(),
        lambda: gfile.remove(path),
        lambda: gfile.mkdir(f"hrfile://{tmp_path}/file/folder"),
        lambda: gfile.copy(path, f"{path}/other"),
    ):
        with pytest.raises(tf.errors.OpError, match=f"hrfile://{tmp_path}") as caught:
            work()
        assert " file://" not in caught.value.message
