"""The wheel that `./dev wheel` built: installed alone, as a user does, and looked into."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

pytestmark = pytest.mark.exhaustive

# The libraries that any Linux of 2022 has; everything else must be in the wheel.
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"}
SYSTEM_VERSIONS = re.compile(r"@(?:GLIBC|GLIBCXX|CXXABI|GCC)_[\d.]+$")
PYTHON_SYMBOLS = re.compile(r"_?Py[A-Z_]\w*")
# Weak references that nobody need define: the compiler's, and, in the programs alone, hooks of Zstandard,
# initialisers of thread-local variables that need none, and the C++ library's for transactional memory.
OPTIONAL_SYMBOLS = {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
HOOKS = re.compile(r"ZSTD_trace_\w+|_ZTH\w+|_ITM_\w+|_ZGTt\w+")


def output_of(*command, **options) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root) -> pathlib.Path:
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheels = list((root / "build" / "wheels").glob(f"*-{tag}-*.whl"))
    assert len(wheels) == 1, "there is no wheel in build/wheels: ./dev wheel"
    return wheels[0]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> pathlib.Path:
    """A virtual environment with nothing in it but the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    output_of(sys.executable, "-m", "venv", folder)
    output_of(folder / "bin" / "pip", "install", "--disable-pip-version-check", "--quiet", wheel)
    return folder


@pytest.fixture(scope="module")
def package(installed) -> pathlib.Path:
    (package,) = installed.glob("lib/python*/site-packages/headrace")
    return package


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> dict:
    """How to run the installed command: no PYTHONPATH, no compiler on PATH, a home of its own."""
    home = tmp_path_factory.mktemp("home")
    return {"env": {"PATH": "/nonexistent", "HOME": str(home), "TMPDIR": str(home)}, "cwd": home}


def binaries(package: pathlib.Path) -> list[pathlib.Path]:
    (module,) = package.glob("_headrace*.so")
    programs = ("headrace", "headrace-server", "headrace-server-grpc", "headrace-tensorboard-data")
    return [module, *(package / "bin" / program for program in programs)]


@pytest.fixture(scope="module")
def bundled(package) -> dict[str, set[str]]:
    """The libraries that the wheel brings along, and the symbols of each: of the servers alone."""
    libraries = list((package.parent / "headrace.libs").glob("*.so*"))
    assert [library.name.partition("-")[0] for library in libraries] == ["libsimdjson"]
    return {
        library.name: {
            line.split()[-1].partition("@")[0]
            for line in output_of("nm", "-D", "--defined-only", library).splitlines()
        }
        for library in libraries
    }


def test_the_name_says_that_systems_of_2022_can_use_it(wheel):
    tags = re.findall(r"manylinux_2_(\d+)_", wheel.name)
    assert tags and min(map(int, tags)) <= 34


def test_auditwheel_agrees_with_the_name(wheel):
    shown = output_of(sys.executable, "-m", "auditwheel", "show", wheel)
    assert re.search(r'platform\s+tag:\s+"manylinux_2_(?:[12]\d|3[0-4])_', shown), shown


def test_nothing_is_wanted_from_outside_but_the_c_library_and_python(package, bundled):
    for binary in binaries(package):
        brought = bundled if binary.name.startswith("headrace-server") else {}
        needed = set(re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", binary)))
        assert needed <= SYSTEM_LIBRARIES | set(brought)
        for line in output_of("nm", "-D", "--undefined-only", binary).splitlines():
            name = line.split()[-1]
            known = SYSTEM_VERSIONS.search(name) or name in OPTIONAL_SYMBOLS
            known = known or any(name in symbols for symbols in brought.values())
            allowed = PYTHON_SYMBOLS if binary.suffix == ".so" else HOOKS
            assert known or allowed.fullmatch(name), f"{binary.name} wants {name} from outside"


def test_the_module_exports_its_init_functions_alone(package):
    module = binaries(package)[0]
    names = [line.split()[-1] for line in output_of("nm", "-D", "--defined-only", module).splitlines()]
    assert sorted(names) == ["PyInit__headrace", "TF_InitPlugin"]


def test_code_of_the_module_is_never_written_to(package):
    module = binaries(package)[0]
    assert "TEXTREL" not in output_of("objdump", "-p", module)


def test_numpy_is_the_only_dependency(wheel):
    with zipfile.ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = content.read(name).decode()
    required = re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    assert [line for line in required if "extra ==" not in line] == ["numpy"]
    assert any(line.startswith("tensorflow") and "extra ==" in line for line in required)


def test_fsspec_finds_our_file_systems_and_is_not_needed(installed, wheel):
    with zipfile.ZipFile(wheel) as content:
        (name,) = (name for name in content.namelist() if name.endswith(".dist-info/entry_points.txt"))
        entries = content.read(name).decode()
    assert "hr+s3=headrace.fsspec:S3FileSystem" in entries.replace(" ", "")
    script = (
        "import headrace as hr\n"
        "store = hr.store('memory://x')\n"
        "store.write('a', b'data')\n"
        "print(store.read('a'))\n"
        "try:\n    hr.fsspec\n"
        "except ImportError as error:\n    print(error.name)"
    )
    assert output_of(installed / "bin" / "python", "-I", "-c", script) == "b'data'\nfsspec\n"


def test_types_licence_and_every_module_of_the_checkout_are_in_it(wheel, root):
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    package = root / "python" / "headrace"
    sources = [path for suffix in ("py", "pyi", "typed") for path in package.rglob(f"*.{suffix}")]
    assert len(sources) > 15
    assert {f"headrace/{path.relative_to(package)}" for path in sources} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_version_is_one_everywhere(installed, bare, wheel, root):
    import headrace

    version = re.search(r"project\(headrace VERSION (\S+)", (root / "CMakeLists.txt").read_text())[1]
    assert headrace.__version__ == version == wheel.name.split("-")[1]
    assert version in output_of(installed / "bin" / "headrace", "--version", **bare)


def test_the_data_server_of_tensorboard_is_in_it(package, bare):
    shown = output_of(package / "bin" / "headrace-tensorboard-data", "--help", **bare)
    assert "--log-folder" in shown


def test_the_demo_runs_without_tensorflow_compiler_or_checkout(installed, bare):
    shown = output_of(installed / "bin" / "headrace", "demo", "--no-train", **bare)
    stages = [line.split()[:2] for line in shown.splitlines()]
    assert ["prepare", "8,000"] in stages
    assert ["stream", "32,000"] in stages
    refused = subprocess.run([installed / "bin" / "headrace", "demo"], capture_output=True, text=True, **bare)
    assert refused.returncode == 2
    assert "pip install 'headrace[tensorflow]'" in refused.stderr


def test_the_command_of_the_wheel_trains(installed, bare, tmp_path):
    environment = {**bare["env"], "HEADRACE_PYTHON": sys.executable}
    shown = output_of(installed / "bin" / "headrace", "demo", tmp_path, env=environment, cwd=tmp_path)
    accuracy = float(re.search(r"evaluate .*accuracy ([\d.]+)", shown)[1])
    assert accuracy > 0.85


def test_the_package_of_the_wheel_works_beside_tensorflow(package, tmp_path):
    script = """
import tensorflow, sys
import headrace as hr
assert hr.__file__.startswith(sys.argv[1]), hr.__file__
from headrace._src import demo
import pathlib
stage = demo._prepare(pathlib.Path(sys.argv[2]))
data = hr.open(pathlib.Path(sys.argv[2]) / "data")
elements = data.loader(batch_size=128, columns=["sentence", "label"]).as_tf_dataset()
print(stage.records, sum(int(labels.shape[0]) for _, labels in elements))
"""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    shown = output_of(sys.executable, "-c", script, package, tmp_path, env=environment, cwd=tmp_path)
    assert shown.split() == ["8000", "6400"]
