"""The programs of fuzz/, for a while each and with a new seed: part of `./dev soak`."""

import gzip
import os
import pathlib
import random
import struct
import subprocess
import zlib

import pytest

SECONDS = 120
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.cc"))

# Inputs to start from, where chance would take long to find the way in.
SEEDS = {
    "fuzz_tfrecord": [bytes(range(60))],
    "fuzz_example": [bytes.fromhex("0a170a150a01611210120e0a0c0000803f0000004000004040"), b""],
    "fuzz_index": [b"HRINDEX\0" + struct.pack("<IIQIIQ", 1, 1, 84, 0xE3069283, 2, 2) + b"*\x13*\x15\6\4"],
    "fuzz_inflate": [gzip.compress(b"headrace " * 50) * 2 + bytes(5), zlib.compress(b"headrace " * 50)],
}


@pytest.fixture(scope="module")
def fuzz_build(root):
    """Their own build folder, made by clang."""
    folder = root / "build" / "fuzz"
    flags = ["-DCMAKE_C_COMPILER=clang-14", "-DCMAKE_CXX_COMPILER=clang++-14", "-DCMAKE_BUILD_TYPE=Sanitize",
             "-DHEADRACE_SANITIZE=fuzzer-no-link,address,undefined", "-DHEADRACE_FUZZ=ON"]
    subprocess.run(["cmake", "-S", root, "-B", folder, "-G", "Ninja", *flags], check=True, timeout=300)
    subprocess.run(["ninja", "-C", folder, "headrace_fuzz"], check=True, timeout=1800)
    return folder


@pytest.mark.soak
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_input_breaks(fuzz_build, tmp_path, program):
    for number, seed in enumerate(SEEDS.get(program, [])):
        (tmp_path / f"seed-{number}").write_bytes(seed)
    run_seed = os.environ.get("HEADRACE_SOAK_SEED") or random.randrange(1, 2**31)
    done = subprocess.run(
        [fuzz_build / "bin" / program, tmp_path, f"-seed={run_seed}", f"-max_total_time={SECONDS}",
         "-max_len=4096", f"-artifact_prefix={tmp_path}/finding-"],
        capture_output=True, text=True, errors="replace", timeout=SECONDS + 300, check=False)
    assert done.returncode == 0, f"seed {run_seed}\n{done.stderr[-5000:]}"
