"""Scans a TFRecord file with the package tfrecord, which does not verify checksums:

python scan_tfrecord.py FILE REPEATS
"""

import sys

from repeating import repeat
from tfrecord.reader import tfrecord_iterator


def main() -> None:
    file, repeats = sys.argv[1:]
    repeat(lambda: sum(1 for _ in tfrecord_iterator(file)), int(repeats))


if __name__ == "__main__":
    main()
