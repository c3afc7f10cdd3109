"""Batches of a data set from Headrace's own loader, as Python sees them:

    python load_headrace.py WHAT URL THREADS REPEATS [going]

WHAT: examples   shuffled batches of 128 of the float and integer columns
      images     shuffled batches of 400 of one column of bytes
      webdataset shuffled batches of 128 of samples' bytes and labels
THREADS: 0 for as many as the loader takes by itself
going: the epochs of one loader, whose buffers are there from the second one on; else a loader for each
"""

import itertools
import sys

from repeating import repeat

import headrace as hr

COLUMNS = {
    "examples": {"sentence": hr.float32[512], "label": hr.int64[2]},
    "images": {"image": hr.bytes_},
    "webdataset": {"jpg": hr.bytes_, "cls": hr.int64},
}


def main() -> None:
    what, url, threads, repeats, *going = sys.argv[1:]
    data = hr.open(url)
    columns = COLUMNS[what]
    seed = iter(range(1 << 30))

    def loader(epochs: int) -> hr.Loader:
        return data.loader(
            batch_size=400 if what == "images" else 128,
            columns=columns,
            seed=next(seed),
            shuffle=True,
            threads=int(threads),
            drop_remainder=True,
            epochs=epochs,
        )

    def count(batches) -> int:
        return sum(len(batch[next(iter(columns))]) for batch in batches)

    if going:
        one = loader(int(repeats) + 2)  # no repeat is the last epoch, in which less is read ahead
        batches = iter(one)
        repeat(lambda: count(itertools.islice(batches, one.batches_per_epoch)), int(repeats))
    else:
        repeat(lambda: count(loader(1)), int(repeats))


if __name__ == "__main__":
    main()
