"""What does a second worker gain on CPU-bound work: JPEGs of about 400 × 300 to shards of JPEGs of 150 × 150?
Figures are per second of wall time, from start to exit, on the same two cores; the runs take turns.

    ./dev bench prepare_workers --json bench/results/<date>/prepare_workers.json
"""

import pathlib
import tempfile

import measuring
from measuring import photos, preparing

IMAGES = 20_000
OPTIONS = ("--compression", "none", "--resize", "150x150")


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--images", type=int, default=IMAGES)
    arguments = parser.parse_args()
    source = photos.folder(arguments.images)
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:

        def prepare(workers: int) -> dict:
            out = pathlib.Path(folder, "out")
            return preparing.prepare(source, out, arguments.images, *OPTIONS, "--workers", workers)

        raw, _ = measuring.take_turns({"1": lambda: prepare(1), "2": lambda: prepare(2)}, arguments.repeats)
    rates = preparing.rates(raw, "wall_s")
    key = "prepare, two workers over one (must be >= 1.8)"
    compared = {key: f"{rates['1']:,.0f} images/s; {rates['2']:,.0f}"}
    summary = {key: rates["2"] / rates["1"]}
    summary |= {f"{workers} workers: images per second": rate for workers, rate in rates.items()}
    measuring.report(arguments.json, summary, raw, compared)


if __name__ == "__main__":
    main()
