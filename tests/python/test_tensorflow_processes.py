"""How processes come by TensorFlow's file systems over stores, and what becomes of them."""

import json
import os
import pathlib
import subprocess
import sys
import warnings

import keras
import pytest
import tensorflow as tf

from headrace import tensorflow as paths  # noqa: F401

SEED = int(os.environ.get("HEADRACE_SOAK_SEED", "44"))
KILLS = [pytest.param(4, id="4"), pytest.param(100, id="100", marks=pytest.mark.soak)]


def run(script: str, python: str | pathlib.Path = sys.executable, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [python, "-c", script], capture_output=True, text=True, timeout=120, check=False, **options
    )


@pytest.fixture
def environment(tmp_path) -> pathlib.Path:
    """The interpreter of a virtual environment that has TensorFlow, and not Headrace."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    (packages,) = folder.glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(others) + "\n")
    return folder / "bin" / "python"


@pytest.mark.exhaustive
def test_enabling_an_environment_needs_no_import_in_programs(headrace, environment, monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_PYTHON", str(environment))
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def state(command: str) -> bool:
        return json.loads(headrace("tensorflow", command, "--json").stdout)["enabled"]

    write = "import tensorflow as tf; tf.io.write_file('memory://a/b', b''); "
    use = write + "print(tf.io.gfile.listdir('memory://a'))"
    assert (state("status"), state("enable"), state("status")) == (False, True, True)
    assert run(use, environment, cwd=tmp_path).stdout.strip() == "['b']"
    probed = run("import importlib.util; importlib.util.find_spec('tensorflow'); " + use, environment)
    assert probed.stdout.strip() == "['b']", "asking whether it is there changes nothing"
    loaded = run(
        "import sys; print([name for name in ('tensorflow', 'numpy') if name in sys.modules])", environment
    )
    assert loaded.stdout.strip() == "[]", "nothing is imported before it is wanted"
    assert (state("disable"), state("disable")) == (False, False)
    assert "File system scheme 'memory' not implemented" in run(use, environment).stderr


def test_enabling_an_environment_without_tensorflow_is_refused(headrace, monkeypatch, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True, timeout=60)
    monkeypatch.setenv("HEADRACE_PYTHON", str(tmp_path / "bare/bin/python"))
    refused = headrace("tensorflow", "enable", check=False)
    assert refused.returncode == 1
    assert "has no TensorFlow: pip install tensorflow" in refused.stderr


@pytest.mark.slow
def test_a_program_without_python_has_a_library_of_its_own(build, tmp_path, s3_url):
    model = tf.Module()
    model.value = tf.Variable(1.0)
    model.get = tf.function(lambda: model.value.read_value(), input_signature=[])
    tf.saved_model.save(model, f"{s3_url}/model", signatures={"get": model.get})
    probe = [build / "bin/headrace_plugin_probe", pathlib.Path(tf.__file__).parent]
    plugin = build / "lib/libheadrace_tensorflow.so"
    for model_url, said in ((f"{s3_url}/model", "loaded"), (f"{s3_url}/none", "Could not find SavedModel")):
        done = subprocess.run([*probe, plugin, model_url], capture_output=True, text=True, timeout=120)
        assert said in done.stdout, done.stderr


@pytest.mark.exhaustive
def test_a_fork_opens_anew_and_refuses_what_its_parent_opened():
    script = """
import os, tensorflow as tf, headrace.tensorflow
tf.io.gfile.makedirs("memory://a")
with tf.io.gfile.GFile("memory://a/b", "w") as file: file.write("x" * 2_000_000)
file = tf.io.gfile.GFile("memory://a/b"); file.read(10)
child = os.fork()
if child == 0:
    try:
        file.seek(1_900_000); file.read(5_000)
    except tf.errors.FailedPreconditionError as error:
        print("forked" in error.message)
    with tf.io.gfile.GFile("memory://a/c", "w") as other: other.write("child")
    print(tf.io.gfile.GFile("memory://a/c").read(), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(file.read()), flush=True)
"""
    assert run(script).stdout.split() == ["True", "child", "0", "1999990"]


@pytest.mark.exhaustive
def test_a_log_that_nobody_closed_is_written_at_the_end_of_the_process(tmp_path):
    script = f"""
import tensorflow as tf, headrace.tensorflow
writer = tf.summary.create_file_writer("hrfile://{tmp_path}/logs")
with writer.as_default(): tf.summary.scalar("loss", 1.0, step=3)
"""
    done = run(script)
    assert done.returncode == 0, done.stderr
    sizes = [path.stat().st_size for path in (tmp_path / "logs").iterdir()]
    assert sum(sizes) > 100


def test_a_model_that_goes_to_a_local_folder_instead_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    with pytest.warns(UserWarning, match="memory://a/model.h5: HDF5 knows only local files"):
        model.save("memory://a/model.h5")
    assert (tmp_path / "memory:/a/model.h5").exists()


def test_sharded_weights_that_keras_would_lose_are_warned_of():
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    with pytest.warns(UserWarning, match=r"memory://a/m.weights.json: .* loses the weights.* as .weights.h5"):
        model.save_weights("memory://a/m.weights.json", max_shard_size=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.save_weights("memory://a/m.weights.h5")


@pytest.mark.exhaustive
def test_a_snapshot_in_small_shards_is_written_and_read(tmp_path):
    """TensorFlow begins the next shard once the size of the one that it is writing tells it to."""
    script = f"""
import tensorflow as tf, headrace.tensorflow
from tensorflow.python.data.experimental.ops.snapshot import legacy_snapshot
snapshot = legacy_snapshot("hrfile://{tmp_path}/snapshot", shard_size_bytes=200, compression="")
dataset = tf.data.Dataset.range(200).apply(snapshot)
print(sum(int(number) for number in dataset), sum(int(number) for number in dataset))
"""
    assert run(script).stdout.split() == ["19900", "19900"]
    assert len([path for path in tmp_path.rglob("*.snapshot")]) > 5


@pytest.mark.exhaustive
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("place", ["s3", pytest.param("hrfile", marks=pytest.mark.soak)])
def test_a_killed_save_leaves_what_was_saved_before(place, kills, request, root, tmp_path):
    folder = request.getfixturevalue("s3_url") if place == "s3" else f"hrfile://{tmp_path}/saved"
    program = root / "tests/python/saving_loop.py"
    done = subprocess.run(
        [sys.executable, program, folder, str(kills), str(SEED)],
        capture_output=True,
        text=True,
        timeout=3_600,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
