"""Pillow resizes pictures in folders named by their labels, in several processes. Measured by
bench/convert_images.py; prints JSON, see repeating.py.

    python convert_pillow.py SOURCE OUT SIDE PROCESSES REPEATS
"""

import functools
import multiprocessing
import pathlib
import sys

import repeating
import writing
from PIL import Image

QUALITY = 90
CHUNK_FILES = 16


def convert(out: pathlib.Path, side: int, file: pathlib.Path) -> None:
    target = out / file.parent.name / file.name
    with Image.open(file) as image:
        resized = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
        resized.save(target, "JPEG", quality=QUALITY)


def main() -> None:
    source, out = sys.argv[1], pathlib.Path(sys.argv[2])
    side, processes, repeats = map(int, sys.argv[3:])
    files = writing.pictures(source)

    def convert_all() -> int:
        for label in {file.parent.name for file in files}:
            (out / label).mkdir()
        with multiprocessing.Pool(processes) as pool:
            for _ in pool.imap_unordered(functools.partial(convert, out, side), files, CHUNK_FILES):
                pass
            pool.close()
            pool.join()
        writing.sync(out)
        return len(files)

    repeating.repeat(convert_all, repeats, lambda: writing.empty(out))


if __name__ == "__main__":
    main()
