"""Scans a TFRecord file with Grain, which does not verify checksums: python scan_grain.py FILE REPEATS"""

import logging
import sys

from repeating import repeat

logging.disable(logging.WARNING)


def main() -> None:
    import grain

    file, repeats = sys.argv[1:]
    repeat(lambda: sum(1 for _ in grain.experimental.TFRecordIterDataset(file)), int(repeats))


if __name__ == "__main__":
    main()
