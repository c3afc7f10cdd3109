"""How fast do JPEGs of about 400 × 300, 40 kB each, become batches of 32 images of 150 × 150? The competitors
are libjpeg-turbo's decoding alone, in full and at 4/8, without resizing, and tf.data (decode_jpeg, resize,
batch). Figures are images per second of CPU time on one pinned core; each program is a separate process, and
they take turns.

    ./dev bench decode_images --json bench/results/<date>/decode_images.json
"""

import pathlib

import measuring
from measuring import peers

IMAGES = 512
INNER_REPEATS = 3
BATCH = 32
TARGET = 150


def write(program: pathlib.Path) -> pathlib.Path:
    folder = measuring.DATA / f"photos-{IMAGES}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        measuring.run([program, "write", folder, IMAGES], measuring.cores())
    return folder


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program, core = measuring.build("headrace_bench_decode_images"), measuring.cores()[0]
    folder = write(program)

    def ours(how: str) -> dict:
        return measuring.run_json([program, how, folder, INNER_REPEATS], [core])

    programs = {
        "libjpeg-turbo, full": lambda: ours("libjpeg"),
        "libjpeg-turbo, 4/8": lambda: ours("libjpeg-half"),
        "headrace, exact": lambda: ours("exact"),
        "headrace, scaled": lambda: ours("scaled"),
        "tf.data": lambda: peers.run_project(
            "decode_images_tf_data", folder, TARGET, BATCH, INNER_REPEATS, on=[core]
        ),
    }
    raw, missing = measuring.take_turns(programs, arguments.repeats)
    rates = {name: measuring.rate(answers, IMAGES) for name, answers in raw.items() if answers}
    summary, compared = {}, {}
    for name, peer, least in (
        ("headrace, exact", "libjpeg-turbo, full", 0.85),
        ("headrace, scaled", "libjpeg-turbo, 4/8", 0.85),
        ("headrace, exact", "tf.data", 1.1),
    ):
        if peer in rates:
            key = f"JPEG to 150 × 150: {name}, over {peer} (must be >= {least})"
            summary[key] = rates[name] / rates[peer]
            compared[key] = f"{rates[peer]:,.0f} images/CPU-s; Headrace {rates[name]:,.0f}"
    summary |= {f"{name}: images per CPU-second": rate for name, rate in rates.items()}
    summary["bytes of an image's file"] = raw["headrace, exact"][0]["file_bytes"]
    measuring.report(arguments.json, summary, raw, compared, missing=missing)


if __name__ == "__main__":
    main()
