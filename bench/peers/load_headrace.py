"""Batches of a data set from Headrace's own loader, as Python sees them:

    python load_headrace.py WHAT URL THREADS REPEATS

WHAT: examples   shuffled batches of 128 of the float and integer columns
      images     shuffled batches of 400 of one column of bytes
      webdataset shuffled batches of 128 of samples' bytes and labels
THREADS: 0 for as many as the loader takes by itself
"""

import sys

from repeating import repeat

import headrace as hr

COLUMNS = {
    "examples": {"sentence": hr.float32[512], "label": hr.int64[2]},
    "images": {"image": hr.bytes_},
    "webdataset": {"jpg": hr.bytes_, "cls": hr.int64},
}


def main() -> None:
    what, url, threads, repeats = sys.argv[1:]
    data = hr.open(url)
    columns = COLUMNS[what]
    epoch = iter(range(1 << 30))

    def work() -> int:
        loader = data.loader(
            batch_size=400 if what == "images" else 128,
            columns=columns,
            seed=next(epoch),
            shuffle=True,
            threads=int(threads),
            drop_remainder=True,
        )
        return sum(len(batch[next(iter(columns))]) for batch in loader)

    repeat(work, int(repeats))


if __name__ == "__main__":
    main()
