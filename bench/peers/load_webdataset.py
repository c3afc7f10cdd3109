"""Shuffled batches from tars with the webdataset library, without decoding files:

python load_webdataset.py FOLDER REPEATS
"""

import pathlib
import sys

from repeating import repeat

BATCH_SIZE = 128


def main() -> None:
    import webdataset as wds

    folder, repeats = sys.argv[1:]
    files = sorted(map(str, pathlib.Path(folder).glob("*.tar")))

    def work() -> int:
        dataset = wds.WebDataset(files, shardshuffle=len(files)).shuffle(1000).to_tuple("jpg", "cls")
        return sum(len(images) for images, _ in dataset.batched(BATCH_SIZE, partial=False))

    repeat(work, int(repeats))


if __name__ == "__main__":
    main()
