"""The types of the package, as a type checker sees them."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

RIGHT = """
    import headrace as hr

    data = hr.open("s3://datasets/reviews", split="train")
    columns = {"sentence": hr.float32[512], "label": hr.int64[2], "tokens": hr.ragged(hr.int64)}
    photos = {"image": hr.image(150, 150, method="area", background=(0, 0, 0)), "label": hr.int64}
    augmented = data.loader(batch_size=8, columns=photos, augment=[hr.flip(), hr.crop(128, 128)])
    with data.loader(batch_size=128, seed=44, columns=columns, epochs=10, window="64MiB") as loader:
        for batch in loader:
            print(batch["sentence"])
    state: bytes = loader.state()
    rest: hr.Loader = data.part(0, 10).loader(batch_size=8, state=state, rank=1, world_size=2)
    mixed: hr.Loader = hr.mix({data: 0.7, hr.open(["a", "b"]): 0.3}, batch_size=8, seed=1)
    shard: str = data.shards[0].url
    names: list[str] = [place.url for place in mixed.where(3)]
    seconds: float = loader.stats().wait_seconds
    arrays = loader.as_jax().loader.step

    store: hr.Store = hr.store("s3://datasets", timeout=5, region="eu-west-3", anonymous=True)
    info: hr.ObjectInfo = store.write("a", b"data", if_absent=True)
    whole: bytes = store.read("a", version=info.version)
    several: list[bytes] = store.read_many(["a", ("a", 1), ("a", 1, 2), ("a", 0, None, info.version)])
    count: int = store.read_into("a", bytearray(3), offset=1)
    keys: list[str] = [found.key for found in store.list("a/", folders=True) if found.modified is not None]
    with store.upload("b", if_version=info.version) as upload:
        upload.write(memoryview(b"data"))
    store.remove("a", "b")

    rows = [{"n": 1}]
    made: hr.Prepared = hr.prepare(rows, "s3://datasets/n", splits={"train": 1.0}, schema={"id": "n"})
    written: int = hr.prepare("s3://raw/a.csv", "s3://datasets/a", max_rejects="0.1%").counts["written"]
    again: hr.Dataset = made.open(split="train")
    promised: bool = store.capabilities.strong_list
"""
WRONG = {
    "hr.opne('data')": "attr-defined",
    "data.loader(batch_siz=3)": "call-arg",
    "hr.mix({data: 1}, batch_size=1, bogus=2)": "call-arg",
    "hr.open('data').loader(batch_size='8')": "arg-type",
    "loader.stats().wait_second": "attr-defined",
    "data.length": "attr-defined",
    "hr.store('s3://b', regio='x')": "call-arg",
    "hr.image(150)": "call-arg",
    "data.loader(batch_size=8, augment=['flip'])": "list-item",
    "store.read('a', size='3')": "arg-type",
    "store.write('a')": "call-arg",
    "store.stat('a').size": "attr-defined",
    "hr.prepare('a', 'b', seeds=1)": "call-arg",
    "hr.prepare('a', 'b', seed='1')": "arg-type",
}


@pytest.fixture(scope="module")
def errors_of(root, tmp_path_factory):
    """Runs mypy, as strict as can be, over a program: [(line of it, code of the error)]."""
    folder = tmp_path_factory.mktemp("typing")

    def run(program: str) -> list[tuple[str, str]]:
        (folder / "program.py").write_text(program)
        options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports", "--no-color-output"]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *options, f"--cache-dir={folder}/cache", "program.py"],
            cwd=folder,
            env={**os.environ, "MYPYPATH": str(root / "python")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        found = re.findall(r"^program.py:(\d+): error: .* \[([a-z-]+)\]$", done.stdout, re.MULTILINE)
        return [(program.splitlines()[int(line) - 1], code) for line, code in found]

    return run


@pytest.mark.exhaustive
def test_right_use_passes_and_wrong_use_is_told(errors_of):
    program = textwrap.dedent(RIGHT)
    assert errors_of(program) == []
    assert errors_of(program + "\n".join(WRONG) + "\n") == list(WRONG.items())
