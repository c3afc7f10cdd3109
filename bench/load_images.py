"""How fast do JPEGs of about 400 × 300, 40 kB each, in TFRecord shards become shuffled batches of 32 images
of 150 × 150 in Python? The competitors are libjpeg-turbo's decoding alone, in full, without reading or
resizing, and tf.data (parse, decode_jpeg, resize, batch). Figures are images per second of CPU time on one
pinned core, from the page cache; each program is a separate process, and they take turns.

    ./dev bench load_images --json bench/results/<date>/load_images.json
"""

import pathlib

import measuring
from measuring import peers

IMAGES = 2048
SHARD_IMAGES = 256
INNER_REPEATS = 3
BATCH = 32
SIDE = 150


def write(program: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The files, and the same images in shards."""
    photos, shards = measuring.DATA / f"photos-{IMAGES}", measuring.DATA / f"photo-shards-{IMAGES}"
    photos.parent.mkdir(parents=True, exist_ok=True)
    if not photos.exists():
        measuring.run([program, "write", photos, IMAGES], measuring.cores())
    if not shards.exists():
        parts = shards.with_suffix(".making")
        parts.mkdir(exist_ok=True)
        write_shards(sorted(photos.iterdir()), parts)
        parts.rename(shards)
    return photos, shards


def write_shards(files: list[pathlib.Path], folder: pathlib.Path) -> None:
    import tensorflow as tf

    for first in range(0, len(files), SHARD_IMAGES):
        with tf.io.TFRecordWriter(str(folder / f"train-{first:06}.tfrecord")) as writer:
            for number, file in enumerate(files[first : first + SHARD_IMAGES], first):
                image = tf.train.BytesList(value=[file.read_bytes()])
                label = tf.train.Int64List(value=[number % 2])
                features = {
                    "image": tf.train.Feature(bytes_list=image),
                    "label": tf.train.Feature(int64_list=label),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


def main() -> None:
    arguments = measuring.arguments_of(__doc__, repeats=3).parse_args()
    program, core = measuring.build("headrace_bench_decode_images"), measuring.cores()[0]
    photos, shards = write(program)

    def ours(what: str) -> dict | str:
        return peers.run_project("load_headrace", what, f"file://{shards}", 1, INNER_REPEATS, on=[core])

    programs = {
        "libjpeg-turbo, full": lambda: measuring.run_json(
            [program, "libjpeg", photos, INNER_REPEATS], [core]
        ),
        "headrace": lambda: ours("pixels"),
        "headrace, augmented": lambda: ours("augmented"),
        "headrace, scaled": lambda: ours("scaled"),
        "tf.data": lambda: peers.run_project(
            "load_images_tf_data", shards, SIDE, BATCH, INNER_REPEATS, on=[core]
        ),
    }
    raw, missing = measuring.take_turns(programs, arguments.repeats)
    rates = {name: measuring.rate(answers, IMAGES) for name, answers in raw.items() if answers}
    summary, compared = {}, {}
    for peer, least in (("libjpeg-turbo, full", 0.8), ("tf.data", 1.1)):
        if peer in rates:
            key = f"JPEG shards to shuffled batches of 150 × 150, over {peer} (must be >= {least})"
            summary[key] = rates["headrace"] / rates[peer]
            compared[key] = f"{rates[peer]:,.0f} images/CPU-s; Headrace {rates['headrace']:,.0f}"
    summary |= {f"{name}: images per CPU-second": rate for name, rate in rates.items()}
    measuring.report(arguments.json, summary, raw, compared, missing=missing)


if __name__ == "__main__":
    main()
