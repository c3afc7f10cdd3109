"""Fixtures that the Python tests share: the built command, stores to run it on."""

import base64
import gc
import json
import os
import pathlib
import ssl
import subprocess
import sys
import uuid

import pytest
from warm_tracer import WarmTracer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools")]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left out of `./dev test --quick`")
    config.addinivalue_line(
        "markers",
        "exhaustive: only in `./dev test --all`: takes more than about three seconds, and another test of "
        "the same capability is not marked",
    )
    config.addinivalue_line("markers", "soak: only in `./dev soak`; its seed is HEADRACE_SOAK_SEED")


# The files that take longest. They begin first, so that none runs alone at the end.
LONGEST_FILES = (
    "test_mlflow",
    "test_tensorflow_file_system",
    "test_file_system_fsspec",
    "test_serve_configuration",
    "test_loader_resume",
    "test_own_models",
    "test_train_keras_loop",
    "test_bad_input",
    "test_tensorflow_processes",
    "test_kill",
    "test_serve",
    "test_learning_curve_runs",
    "test_prepare_runners",
    "test_run_tail",
    "test_ignite",
    "test_keras_weights",
    "test_stalled",
    "test_serve_log",
    "test_train_weights",
    "test_trace",
    "test_ignite_store",
    "test_prepare_map",
    "test_keras_models",
    "test_examples",
    "test_file_system",
    "test_serve_grpc",
    "test_serve_page",
    "test_run_events",
    "test_train_outputs",
    "test_ignite_objects",
    "test_tensorboard_browser",
    "test_copy_sync",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_collection_finish() -> None:
    """Leaves what TensorFlow, Keras, JAX and the like have made out of each later collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build folder under test: HEADRACE_BUILD, else build/release."""
    return pathlib.Path(os.environ.get("HEADRACE_BUILD") or ROOT / "build" / "release")


@pytest.fixture(scope="session")
def engines(root) -> pathlib.Path:
    """The Python that has Ray, Beam, Google's client and validators of manifests."""
    return root / ".venv-engines/bin/python"


@pytest.fixture(scope="session", autouse=True)
def warm_tracer(tmp_path_factory):
    """The command's Python is HEADRACE_PYTHON, else that of the tests, but imports TensorFlow once for all
    traces."""
    with pytest.MonkeyPatch.context() as patch:
        tracer = WarmTracer(
            os.environ.get("HEADRACE_PYTHON", sys.executable), tmp_path_factory.mktemp("python")
        )
        patch.setenv("HEADRACE_PYTHON", str(tracer.interpreter))
        yield
        tracer.close()


@pytest.fixture(scope="session")
def headrace(build):
    """Runs the built command: `headrace("ls", url)` → CompletedProcess with text output; fails on exit
    code ≠ 0 unless `check=False`. Other keywords go to subprocess.run; `env` is added to this process's
    environment."""
    command = build / "bin" / "headrace"

    def run(
        *arguments: str,
        check: bool = True,
        env: dict[str, str] | None = None,
        timeout: float = 300,
        **options,
    ):
        options = {"text": True, "encoding": "utf-8", "capture_output": True, **options}
        done = subprocess.run(
            [command, *map(str, arguments)],
            env={**os.environ, **(env or {})},
            timeout=timeout,
            check=False,
            **options,
        )
        if check and done.returncode:
            pytest.fail(
                f"headrace {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}"
            )
        return done

    return run


@pytest.fixture(scope="session")
def probe(build):
    """Runs the probe of record formats with JSON lines in and out."""

    def run(*arguments, lines=(), check=True):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run(
            [build / "bin" / "headrace_record_probe", *map(str, arguments)],
            input=text,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr
            return [json.loads(line) for line in done.stdout.splitlines()]
        return done

    return run


@pytest.fixture(scope="session")
def real_reviews(tmp_path_factory, headrace) -> pathlib.Path:
    """A published dataset of real reviews: its folder."""
    import reviews

    folder = tmp_path_factory.mktemp("reviews")
    snippets = reviews.read_snippets(reviews.fetch_source())
    reviews.write_archive(folder / "reviews.tar.gz", reviews.snippet_files(snippets))
    headrace("prepare", folder / "reviews.tar.gz", folder / "data", "--encoder", "hash:512")
    return folder / "data"


@pytest.fixture(scope="module")
def tracing_environment(tmp_path_factory):
    """A cache of traced models for all tests of a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def all_packages(monkeypatch):
    """The command's Python has pyarrow, pillow and the like, as some users' have."""
    monkeypatch.setenv("HEADRACE_PYTHON", sys.executable)


@pytest.fixture
def journals(tmp_path: pathlib.Path, monkeypatch) -> pathlib.Path:
    """Where the copies of this test keep their journals, instead of in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/headrace/transfers"


@pytest.fixture
def file_url(tmp_path: pathlib.Path) -> str:
    """An empty folder as a store."""
    return f"file://{tmp_path}/store"


@pytest.fixture
def s3_url(build):
    """A prefix of its own in the bucket `headrace-test` of the S3 server that `./dev test` started; the
    server's address and credentials are in the environment. It is emptied after the test, or all of them
    together would leave gigabytes."""
    url = f"s3://headrace-test/{uuid.uuid4().hex}"
    environment = dict(os.environ)  # before the test changes it
    yield url
    command = [build / "bin" / "headrace", "rm", "--recursive", "--yes", "--forget", url]
    subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)


@pytest.fixture(scope="session")
def ignite_node(root, tmp_path_factory) -> str:
    """host:port of one node of Apache Ignite, for all tests that need no more."""
    folder = tmp_path_factory.mktemp("ignite")
    script = root / "tools" / "servers" / "ignite.sh"
    started = subprocess.run(
        [script, "start", folder], capture_output=True, text=True, check=True, timeout=600
    )
    settings = dict(word.split("=", 1) for word in started.stdout.split() if "=" in word)
    yield settings["HEADRACE_IGNITE_ADDRESSES"]
    subprocess.run([script, "stop", folder], check=True, timeout=60)


@pytest.fixture
def ignite_url(build, ignite_node) -> str:
    """A prefix of its own in a store of that node; it is emptied after the test."""
    url = f"ignite://{ignite_node}/headrace-test/{uuid.uuid4().hex}"
    yield url
    command = [build / "bin" / "headrace", "rm", "--recursive", "--yes", "--forget", url]
    subprocess.run(command, capture_output=True, timeout=60, check=False)


@pytest.fixture(
    params=[
        pytest.param("s3", marks=pytest.mark.slow),
        pytest.param("hrfile", marks=pytest.mark.slow),
        pytest.param("ignite", marks=pytest.mark.exhaustive),
        "memory",
    ]
)
def remote(request, tmp_path) -> str:
    """A folder of a store, which is not there yet."""
    if request.param in ("s3", "ignite"):
        return request.getfixturevalue(f"{request.param}_url")
    return f"hrfile://{tmp_path}/store" if request.param == "hrfile" else f"memory://{uuid.uuid4().hex}/a"


@pytest.fixture(scope="session")
def certificate(root, tmp_path_factory) -> pathlib.Path:
    """PEM file of a certificate for this machine, which is its own authority."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run([root / "tools/servers/minio.sh", "certificate", folder], check=True, timeout=60)
    return folder / "public.crt"


@pytest.fixture(scope="session")
def tls_of_a_server(certificate) -> ssl.SSLContext:
    """The context by which a server in this process speaks TLS with that certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_name("private.key"))
    return context


@pytest.fixture(scope="session")
def server_over_tls(root, tmp_path_factory) -> dict[str, str]:
    """The environment of another S3 server, with a bucket `headrace-test`, which speaks TLS with a
    certificate of its own, and has a key to encrypt objects with."""
    folder = tmp_path_factory.mktemp("server")
    script = root / "tools" / "servers" / "minio.sh"
    key = base64.b64encode(bytes(range(32))).decode()
    started = subprocess.run(
        [script, "start", folder, "--tls", "--bucket", "headrace-test"],
        env={**os.environ, "MINIO_KMS_SECRET_KEY": f"test-key:{key}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    lines = [line for line in started.stdout.splitlines() if line.startswith("export ")]
    settings = [word.split("=", 1) for line in lines for word in line.split()[1:]]
    yield {name: value.strip("'") for name, value in settings}
    subprocess.run([script, "stop", folder], check=True, timeout=60)
