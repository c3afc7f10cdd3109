"""Ray Data turns pictures in folders named by their labels, or a CSV table, into TFRecord files on two cores.
Measured by bench/pack_images.py and bench/prepare_table.py; prints JSON, see repeating.py. CPU seconds are
those of the driver only.

    python write_ray.py images|table SOURCE OUT REPEATS
"""

import pathlib
import sys

import ray
import ray.data
import repeating
import writing

CORES = 2


def read_images(source: str) -> ray.data.Dataset:
    def with_label(row: dict) -> dict:
        return {"image": row["bytes"], "label": pathlib.Path(row["path"]).parent.name}

    return ray.data.read_binary_files(source, include_paths=True).map(with_label)


def main() -> None:
    what, source, out, repeats = *sys.argv[1:3], pathlib.Path(sys.argv[3]), int(sys.argv[4])
    ray.init(num_cpus=CORES, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def write() -> int:
        rows = read_images(source) if what == "images" else ray.data.read_csv(source)
        rows.write_tfrecords(str(out))
        writing.sync(out)
        return count

    count = len(writing.pictures(source)) if what == "images" else ray.data.read_csv(source).count()
    repeating.repeat(write, repeats, lambda: writing.empty(out))
    ray.shutdown()


if __name__ == "__main__":
    main()
