"""How long does a chart of 20 series and 2,000 columns of 10⁶ to 10⁹ points take? Charts 200 random ranges of
steps, from 2,000 steps to all (run_chart.cc). Warm: the process has opened the log, and the files are in the
machine's page cache; two threads. Cold: from MinIO on this machine, listing and footers included. For
comparison, with 10⁶ points: reading all points, and MLflow's own history of sampled points in SQLite
(peers/chart_mlflow.py), which may lose a spike.

    ./dev bench run_chart --json bench/results/<date>/run_chart.json
    ./dev bench run_chart --most 1000000000    needs 6 GB of disk, and minutes; default: 10⁸
"""

import pathlib
import shutil
import statistics
import tempfile

import measuring
from measuring import object_store, peers

LIMITS_MS = {10**6: 5, 10**7: 8, 10**8: 20, 10**9: 50}
MOST_PEERS = 10**6
ZOOMS, COLD_ZOOMS, PEER_ZOOMS = 200, 40, 20
THREADS = 2


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def log_of(points: int, program: pathlib.Path) -> pathlib.Path:
    """A log with that many points; made once."""
    folder = measuring.DATA / f"chart-{points}"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        measuring.run([program, "write", f"file://{unfinished}", points], measuring.cores())
        unfinished.rename(folder)
    return folder


def measure_warm(points: int, program: pathlib.Path) -> dict:
    log, cores = log_of(points, program), measuring.cores()
    read = [program, "read", f"file://{log}", ZOOMS, THREADS]
    measuring.run(read, cores)  # fills the page cache
    answer = measuring.run_json(read, cores)
    answer["stored_bytes"] = sum(file.stat().st_size for file in log.iterdir())
    return answer


def measure_peers(points: int, program: pathlib.Path) -> dict:
    cores = measuring.cores()
    with tempfile.TemporaryDirectory(dir=measuring.WORK) as folder:
        return {
            "all points": measuring.run_json([program, "points", f"file://{log_of(points, program)}"], cores),
            "mlflow": peers.run_own(
                "chart_mlflow", folder, points, PEER_ZOOMS, on=cores, environment="mlflow"
            ),
        }


def measure_cold(points: int, program: pathlib.Path) -> dict:
    """Reads from a running MinIO."""
    cores, url = measuring.cores(), f"s3://{object_store.BUCKET}/chart-{points}"
    measuring.run([measuring.headrace(), "cp", "-r", "-q", log_of(points, program), url], cores)
    return measuring.run_json([program, "cold", url, COLD_ZOOMS, THREADS], cores)


def measure(most: int) -> dict:
    program = measuring.build("headrace_bench_run_chart")
    measuring.DATA.mkdir(parents=True, exist_ok=True)
    chosen = [points for points in LIMITS_MS if points <= most]
    answers: dict = {points: {"warm": measure_warm(points, program)} for points in chosen}
    with object_store.minio():
        for points in chosen:
            answers[points]["cold"] = measure_cold(points, program)
    answers[MOST_PEERS] |= measure_peers(MOST_PEERS, program)
    return answers


def in_words(points: int, answer: dict) -> str:
    warm = answer["warm"]["zooms"]
    words = [
        f"median {percentile(warm['wall_s'], 0.5) * 1e3:.2g} ms",
        f"CPU p95 {percentile(warm['cpu_s'], 0.95) * 1e3:.2g} ms",
        f"{statistics.median(answer['warm']['bytes']) / 1e6:.2g} MB read",
        f"{answer['warm']['stored_bytes'] / points:.3g} B a point",
    ]
    if "cold" in answer:
        cold = answer["cold"]["zooms"]["wall_s"]
        words.append(f"cold from MinIO p50 {percentile(cold, 0.5) * 1e3:.3g} ms")
        words.append(f"p95 {percentile(cold, 0.95) * 1e3:.3g} ms")
        words.append(f"{2 + max(answer['cold']['rounds'])} rounds")
    if "all points" in answer:
        words.append(f"all points {answer['all points']['wall_s'][0] * 1e3:.3g} ms")
    if isinstance(answer.get("mlflow"), dict):
        words.append(f"MLflow p95 {percentile(answer['mlflow']['wall_s'], 0.95) * 1e3:.3g} ms")
    return ", ".join(words)


def summarise(answers: dict) -> tuple[dict, dict]:
    summary, compared = {}, {}
    for points, answer in answers.items():
        exponent = len(str(points)) - 1
        key = f"chart of 10^{exponent} points, warm, p95, ms (must be <= {LIMITS_MS[points]})"
        summary[key] = percentile(answer["warm"]["zooms"]["wall_s"], 0.95) * 1e3
        compared[key] = in_words(points, answer)
    return summary, compared


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=1)
    parser.add_argument("--most", type=int, default=10**8, choices=LIMITS_MS)
    arguments = parser.parse_args()
    answers = measure(arguments.most)
    summary, compared = summarise(answers)
    measuring.report(arguments.json, summary, answers, compared)


if __name__ == "__main__":
    main()
