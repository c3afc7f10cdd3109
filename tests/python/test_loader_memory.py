"""A loader that is asked for more memory than any machine has."""

import pytest
import tfrecords

import headrace as hr


def test_more_memory_than_there_is_is_an_error(tmp_path):
    data = hr.open(tfrecords.write_numbered(tmp_path / "data", 30))
    columns = {"number": hr.int64, "absent": hr.float32[2**31 - 1].default(0)}
    loader = data.loader(batch_size=2**20, columns=columns, memory_budget=2**62)
    with pytest.raises(hr.Error, match="out of memory"):
        next(loader)
    with pytest.raises(hr.Error, match="out of memory"):
        next(loader)
