"""litdata's optimize turns pictures in folders named by their labels into chunks, in two processes. Measured
by bench/pack_images.py; prints JSON, see repeating.py.

    python pack_litdata.py SOURCE OUT REPEATS
"""

import contextlib
import os
import pathlib
import sys

import litdata
import repeating
import writing

PROCESSES = 2


def read(file: str) -> dict:
    path = pathlib.Path(file)
    return {"image": path.read_bytes(), "label": path.parent.name}


def main() -> None:
    source, out, repeats = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    files = [str(file) for file in writing.pictures(source)]

    def pack() -> int:
        with open(os.devnull, "w") as silent, contextlib.redirect_stdout(silent):
            litdata.optimize(read, files, str(out), num_workers=PROCESSES, chunk_bytes="64MB", verbose=False)
        writing.sync(out)
        return len(files)

    repeating.repeat(pack, repeats, lambda: writing.empty(out))


if __name__ == "__main__":
    main()
