"""webdataset's ShardWriter turns pictures in folders named by their labels into tars. Measured by
bench/pack_images.py; prints JSON, see repeating.py.

    python pack_webdataset.py SOURCE OUT REPEATS
"""

import pathlib
import sys

import repeating
import webdataset
import writing


def main() -> None:
    source, out, repeats = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    files = writing.pictures(source)
    labels = {name: number for number, name in enumerate(sorted({file.parent.name for file in files}))}

    def pack() -> int:
        with webdataset.ShardWriter(str(out / "train-%06d.tar"), maxcount=10_000, verbose=0) as shards:
            for number, file in enumerate(files):
                label = labels[file.parent.name]
                shards.write({"__key__": f"{number:08}", "jpg": file.read_bytes(), "cls": label})
        writing.sync(out)
        return len(files)

    repeating.repeat(pack, repeats, lambda: writing.empty(out))


if __name__ == "__main__":
    main()
