"""How fast is the encoder use-multilingual-v3? Beside the better of OpenBLAS' and oneDNN's sgemm, in the same run,
over the 3.41 MFLOP that the network's definition takes for a token; tokenisation included; on one pinned core. Then
two threads against one, and texts of the Large Movie Review Dataset's lengths.

    ./dev bench use_encoder --json bench/results/2026-01-31/use_encoder.json
"""

import argparse
import itertools
import json
import os
import pathlib
import platform
import statistics
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import reviews  # noqa: E402

MFLOP_PER_TOKEN = 3.41
BUILD = ROOT / "build" / "bench"
REVIEWS = 50_000


def build() -> pathlib.Path:
    commands = [["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHEADRACE_BENCH=ON",
                 "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"],
                ["cmake", "--build", BUILD, "--target", "headrace_bench_use_encoder"]]
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return BUILD / "bin" / "headrace_bench_use_encoder"


def processor() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def weights() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    return os.environ.get("HEADRACE_USE_WEIGHTS") or f"{cache}/headrace/encoders/use-multilingual-v3"


def measure(program: pathlib.Path, mode: str, cores: list[int], repeats: int, texts: list[bytes]) -> dict:
    frames = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(["taskset", "-c", ",".join(map(str, cores)), program, mode, weights(), str(repeats)],
                          input=frames, stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(done.stdout)


def summarise(core: dict, cores: dict, long: dict) -> dict:
    products = {f"{library} {shape}": statistics.median(values)
                for library in ("openblas", "onednn") for shape, values in core[f"{library}_gflops"].items()}
    best = max(products, key=products.get)
    encode_s = statistics.median(core["encode_cpu_s"])
    gflops = core["tokens"] * MFLOP_PER_TOKEN / 1e3 / encode_s
    wall, cpu = ({threads: statistics.median(cores[f"{clock}_s_{threads}"]) for threads in (1, 2)}
                 for clock in ("wall", "cpu"))
    review_cpu_s = statistics.median(long["cpu_s_2"]) / long["texts"]
    review_s = statistics.median(long["wall_s_2"]) / long["texts"]
    return {
        "snippets_per_cpu_s": core["texts"] / encode_s,
        "tokens_per_cpu_s": core["tokens"] / encode_s,
        "encoder_gflops": gflops,
        "best_sgemm": best,
        "best_sgemm_gflops": products[best],
        "encoder_over_sgemm (must be >= 0.6)": gflops / products[best],
        "two_threads_over_one (must be >= 1.8)": wall[1] / wall[2],
        "the same by CPU time, were both cores free": 2 * cpu[1] / cpu[2],
        "reviews_mean_bytes": long["bytes"] / long["texts"],
        f"minutes_for_{REVIEWS}_reviews_on_two_cores (must be <= 8)": review_s * REVIEWS / 60,
        "minutes by CPU time, were both cores free": review_cpu_s * REVIEWS / 2 / 60,
        "load_cpu_s": core["load_cpu_s"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="where to write all values")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cores", type=int, nargs=2, default=sorted(os.sched_getaffinity(0))[:2])
    parser.add_argument("--reviews", type=int, default=2000, help=f"of {REVIEWS} long texts; the rest is extrapolated")
    parser.add_argument("--program", type=pathlib.Path, help="a built headrace_bench_use_encoder")
    arguments = parser.parse_args()
    program = arguments.program or build()
    snippets = reviews.read_snippets(reviews.fetch_source())
    texts = [snippet.text for snippet in snippets]
    long_texts = [text for _, text in itertools.islice(reviews.synthetic_files(snippets, arguments.reviews, 44), None)]
    raw = {
        "core": measure(program, "core", arguments.cores[:1], arguments.repeats, texts),
        "cores": measure(program, "cores", arguments.cores, arguments.repeats, texts),
        "long": measure(program, "cores", arguments.cores, 3, long_texts),
    }
    report = {"processor": processor(), "load_average": os.getloadavg(), "summary": summarise(**raw), "raw": raw}
    for name, value in report["summary"].items():
        print(f"{name:60} {value if isinstance(value, str) else format(value, '.4g')}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
