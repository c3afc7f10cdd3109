"""How fast is the encoder use-multilingual-v3? Compares it with the better of OpenBLAS' and oneDNN's sgemm,
in the same run, at the 3.41 MFLOP per token of the network's definition; tokenisation included; on one pinned
core. Then two threads against one, and texts of the Large Movie Review Dataset's lengths.

    ./dev bench use_encoder --json bench/results/<date>/use_encoder.json
"""

import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys

import measuring

sys.path.insert(0, str(measuring.ROOT / "tools"))
import reviews  # noqa: E402

MFLOP_PER_TOKEN = 3.41
REVIEWS = 50_000


def weights() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    return os.environ.get("HEADRACE_USE_WEIGHTS") or f"{cache}/headrace/encoders/use-multilingual-v3"


def measure(program: pathlib.Path, mode: str, cores: list[int], repeats: int, texts: list[bytes]) -> dict:
    frames = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = ["taskset", "-c", ",".join(map(str, cores)), program, mode, weights(), str(repeats)]
    done = subprocess.run(command, input=frames, stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(done.stdout)


def summarise(core: dict, cores: dict, long: dict) -> tuple[dict, dict]:
    products = {
        f"{library} {shape}": statistics.median(values)
        for library in ("openblas", "onednn")
        for shape, values in core[f"{library}_gflops"].items()
    }
    best = max(products, key=products.get)
    encode_s = statistics.median(core["encode_cpu_s"])
    gflops = core["tokens"] * MFLOP_PER_TOKEN / 1e3 / encode_s
    wall, cpu = (
        {threads: statistics.median(cores[f"{clock}_s_{threads}"]) for threads in (1, 2)}
        for clock in ("wall", "cpu")
    )
    review_cpu_s = statistics.median(long["cpu_s_2"]) / long["texts"]
    review_s = statistics.median(long["wall_s_2"]) / long["texts"]
    over_sgemm = "USE encoder over the best sgemm, one core (must be >= 0.6)"
    summary = {
        "USE encoder, snippets per CPU-second": core["texts"] / encode_s,
        "USE encoder, tokens per CPU-second": core["tokens"] / encode_s,
        "USE encoder, GFLOP/s": gflops,
        f"best sgemm ({best}), GFLOP/s": products[best],
        over_sgemm: gflops / products[best],
        "USE encoder, two threads over one, wall (must be >= 1.8)": wall[1] / wall[2],
        "the same by CPU time, were both cores free": 2 * cpu[1] / cpu[2],
        "reviews, mean bytes": long["bytes"] / long["texts"],
        f"USE encoder, minutes for {REVIEWS:,} reviews, by {long['texts']:,} (must be <= 8)": review_s
        * REVIEWS
        / 60,
        "those minutes by CPU time, were both cores free": review_cpu_s * REVIEWS / 2 / 60,
        "USE encoder, CPU-seconds to load": core["load_cpu_s"],
    }
    return summary, {over_sgemm: f"{products[best]:.4g} GFLOP/s, {best}; Headrace {gflops:.4g}"}


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--reviews", type=int, default=2000, help="long texts; the rest is extrapolated")
    arguments = parser.parse_args()
    program, cores = measuring.build("headrace_bench_use_encoder"), measuring.cores()
    snippets = reviews.read_snippets(reviews.fetch_source())
    texts = [snippet.text for snippet in snippets]
    long_files = reviews.synthetic_files(snippets, arguments.reviews, measuring.SYNTHETIC_SEED)
    long_texts = [text for _, text in long_files]
    raw = {
        "core": measure(program, "core", cores[:1], arguments.repeats, texts),
        "cores": measure(program, "cores", cores, arguments.repeats, texts),
        "long": measure(program, "cores", cores, 3, long_texts),
    }
    summary, peers = summarise(**raw)
    measuring.report(arguments.json, summary, raw, peers)


if __name__ == "__main__":
    main()
