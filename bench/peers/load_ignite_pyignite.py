"""Batches of 128 rows of a cache of Apache Ignite from pyignite, scanned as its documentation shows:

python load_ignite_pyignite.py ADDRESSES CACHE REPEATS PAGE_ROWS
"""

import sys

import numpy as np
from pyignite import Client
from repeating import repeat

BATCH = 128


def main() -> None:
    addresses, cache_name, repeats, page_rows = sys.argv[1:]
    nodes = [(host, int(port)) for host, port in (each.split(":") for each in addresses.split(","))]
    client = Client()
    with client.connect(nodes):
        cache = client.get_cache(cache_name)

        def read() -> int:
            rows, batch = 0, []
            with cache.scan(page_size=int(page_rows)) as cursor:
                for _, value in cursor:
                    batch.append((value.vector, value.id, value.metadata.label))
                    rows += 1
                    if len(batch) == BATCH:
                        hand_over(batch)
                        batch = []
            return rows

        repeat(read, int(repeats))


def hand_over(rows: list) -> None:
    vectors, ids, labels = zip(*rows, strict=True)
    np.array(vectors, np.float32)
    np.array(ids, np.int64)
    np.array(labels, np.int64)


if __name__ == "__main__":
    main()
