"""headrace.prepare: frames of polars."""

import datetime

import polars
import pytest

import headrace as hr


def test_a_frame_of_polars_is_read_by_arrows_interface(file_url):
    frame = polars.DataFrame(
        {
            "n": [0, 1, 2],
            "text": ["a", None, "c"],
            "kind": polars.Series(["x", "y", "x"], dtype=polars.Categorical),
            "list": [[1.5], [], [2.0, 3.0]],
            "day": [datetime.date(2024, 1, 1)] * 3,
        }
    )
    made = frame.headrace.to_tfrecord(f"{file_url}/data")
    assert made.counts["written"] == 3
    columns = {
        "n": hr.int64,
        "text": hr.Column("bytes", fill=b"none"),
        "kind": hr.bytes_,
        "list": hr.ragged(hr.float32),
        "day": hr.bytes_,
    }
    with made.open(split="train").loader(batch_size=3, columns=columns, shuffle=False) as loader:
        batch = next(iter(loader))
    rows = {
        int(n): (text, kind, list(numbers), day)
        for n, text, kind, numbers, day in zip(*(batch[name] for name in columns), strict=True)
    }
    assert rows == {
        0: (b"a", b"x", [1.5], b"2024-01-01"),
        1: (b"none", b"y", [], b"2024-01-01"),
        2: (b"c", b"x", [2.0, 3.0], b"2024-01-01"),
    }
    with pytest.raises(hr.errors.InvalidArgumentError, match="collect"):
        hr.prepare(frame.lazy(), f"{file_url}/lazy")
