"""Batches of a dataset from Headrace's own loader, as Python sees them:

    python load_headrace.py WHAT URL THREADS REPEATS [going]

WHAT: examples   shuffled batches of 128 of the float and integer columns
      images     shuffled batches of 400 of one column of bytes
      webdataset shuffled batches of 128 of samples' bytes and labels
      pixels     shuffled batches of 32 images, decoded and resized to 150 × 150
      augmented  the same, flipped and cropped to 128 × 128
      scaled     as pixels, from JPEGs that are decoded at 4/8
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
    "pixels": {"image": hr.image(150, 150), "label": hr.int64},
    "augmented": {"image": hr.image(150, 150), "label": hr.int64},
    "scaled": {"image": hr.image(150, 150, scaled=True), "label": hr.int64},
}
BATCHES = {"images": 400, "pixels": 32, "augmented": 32, "scaled": 32}


def main() -> None:
    what, url, threads, repeats, *going = sys.argv[1:]
    data = hr.open(url)
    columns = COLUMNS[what]
    seed = iter(range(1 << 30))

    def loader(epochs: int) -> hr.Loader:
        return data.loader(
            batch_size=BATCHES.get(what, 128),
            columns=columns,
            augment=[hr.flip(), hr.crop(128, 128)] if what == "augmented" else [],
            seed=next(seed),
            shuffle=True,
            threads=int(threads),
            drop_remainder=True,
            epochs=epochs,
        )

    def count(batches) -> int:
        return sum(len(batch[next(iter(columns))]) for batch in batches)

    if going:
        one = loader(int(repeats) + 2)  # an extra epoch, because less is read ahead in the last one
        batches = iter(one)
        repeat(lambda: count(itertools.islice(batches, one.batches_per_epoch)), int(repeats))
    else:
        repeat(lambda: count(loader(1)), int(repeats))


if __name__ == "__main__":
    main()
