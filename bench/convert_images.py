"""How fast do JPEGs of about 400 × 300, 40 kB each, become shards of JPEGs of 150 × 150? The competitors are
libjpeg-turbo, which decodes them and encodes pictures of that size in memory, without resizing, on one pinned
core; and Pillow, which writes files, in two processes on two cores. Figures are per second of CPU time; the
programs take turns.

    ./dev bench convert_images --json bench/results/<date>/convert_images.json

`headrace prepare` is measured from start to exit; the others after their files are read or their libraries
are imported. All encode with quality 90 and colour at half the resolution.
"""

import pathlib
import tempfile

import measuring
from measuring import peers, photos, preparing

IMAGES = 4_000
SIDE = 150
INNER_REPEATS = 1
OPTIONS = ("--compression", "none", "--resize", f"{SIDE}x{SIDE}")
ALONE, TWO = "headrace", "headrace, 2 workers"


def measure(images: int, repeats: int) -> tuple[dict, dict]:
    program, source = measuring.build("headrace_bench_decode_images"), photos.folder(images)
    cores = measuring.cores()
    with tempfile.TemporaryDirectory(dir=measuring.DATA) as folder:
        ours, theirs = pathlib.Path(folder, "ours"), pathlib.Path(folder, "theirs")

        def prepare(on: list[int]) -> dict:
            return preparing.prepare(source, ours, images, *OPTIONS, "--workers", len(on), on=on)

        programs = {
            ALONE: lambda: prepare(cores[:1]),
            TWO: lambda: prepare(cores),
            "libjpeg-turbo": lambda: measuring.run_json(
                [program, "libjpeg-convert", source, INNER_REPEATS], cores[:1]
            ),
            "Pillow": lambda: peers.run_project(
                "convert_pillow", source, theirs, SIDE, len(cores), INNER_REPEATS, on=cores
            ),
        }
        return measuring.take_turns(programs, repeats)


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=5)
    parser.add_argument("--images", type=int, default=IMAGES)
    arguments = parser.parse_args()
    raw, failed = measure(arguments.images, arguments.repeats)
    rates, speeds = preparing.rates(raw, "cpu_s"), preparing.rates(raw, "wall_s")
    what, unit = "JPEGs to JPEGs of 150 × 150", "images/CPU-s"
    summary, compared = preparing.compare(rates, what, unit, {"libjpeg-turbo": 0.85})
    of_two = {"headrace": rates[TWO]} | {name: rates[name] for name in rates if name == "Pillow"}
    more, in_words = preparing.compare(of_two, f"{what}, on two cores", unit, {"Pillow": 1.4})
    summary |= more
    compared |= in_words
    summary |= {f"{name}: images per CPU-second": rate for name, rate in rates.items()}
    summary |= {f"{name}: images per second": rate for name, rate in speeds.items()}
    measuring.report(arguments.json, summary, raw, compared, missing=failed)


if __name__ == "__main__":
    main()
