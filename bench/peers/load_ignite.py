"""Batches of 128 rows of a cache of Apache Ignite from Headrace's own loader, as Python sees them:

python load_ignite.py ADDRESSES CACHE REPEATS
"""

import sys

from repeating import repeat

import headrace as hr

COLUMNS = {"val.vector": hr.float32[960], "val.id": hr.int64, "val.metadata.label": hr.int64}


def main() -> None:
    addresses, cache, repeats = sys.argv[1:]
    rows = hr.ignite.dataset(cache, addresses.split(","))

    def read() -> int:
        batches = rows.loader(batch_size=128, columns=COLUMNS, snapshot=False)
        return sum(len(batch["val.id"]) for batch in batches)

    repeat(read, int(repeats))


if __name__ == "__main__":
    main()
