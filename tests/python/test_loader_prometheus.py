"""Prometheus' text format, read as its page "Exposition formats" describes it."""

import re

import pytest
import tfrecords

import headrace as hr

COMMENT = re.compile(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"')
SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({LABEL.pattern}(?:,{LABEL.pattern})*)\}})? (\S+)")
ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

Samples = dict[tuple[str, frozenset], float]


def unescape(value: str) -> str:
    return re.sub(r"\\.", lambda match: ESCAPED[match[0]], value)


def samples_of(text: str) -> Samples:
    """Name and labels → value. Checks that the lines before a sample tell its type and meaning."""
    assert text.endswith("\n")
    samples: Samples = {}
    told: dict[tuple[str, str], str] = {}
    for line in text[:-1].split("\n"):
        if comment := COMMENT.fullmatch(line):
            assert comment.group(1, 2) not in told
            told[comment.group(1, 2)] = comment[3]
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert told["HELP", sample[1]]
        assert told["TYPE", sample[1]] == ("counter" if sample[1].endswith("_total") else "gauge")
        labels = frozenset((name, unescape(value)) for name, value in LABEL.findall(sample[2] or ""))
        assert (sample[1], labels) not in samples
        samples[sample[1], labels] = float(sample.groups()[-1])
    return samples


@pytest.fixture(scope="module")
def loader(tmp_path_factory):
    folder = tfrecords.write_numbered(tmp_path_factory.mktemp("prometheus") / "data", 1000, compress=True)
    return hr.open(folder).loader(batch_size=100, columns={"number": hr.int64})


@pytest.mark.parametrize("labels", [{}, {"run": 'a "b" \\ c\\nd\ne{f="g",} ü', "rank": "3"}])
def test_every_figure_is_a_sample_with_the_labels(loader, labels):
    held = [next(loader) for _ in range(3)]
    stats = loader.stats()
    samples = samples_of(stats.prometheus(labels))

    def value(name: str, **more: str) -> float:
        return samples.pop((f"headrace_loader_{name}", frozenset({**labels, **more}.items())))

    assert value("records_total") == stats.records == 100 * stats.batches > 0
    for name in (
        "batches",
        "fetched_bytes",
        "inflated_bytes",
        "decoded_bytes",
        "corrupt_records",
        "wait_seconds",
        "hand_over_seconds",
    ):
        assert value(f"{name}_total") == getattr(stats, name)
    for stage in ("fetch", "inflate", "check", "decode", "idle"):
        assert value("stage_seconds_total", stage=stage) == getattr(stats, f"{stage}_seconds")
    for name in ("threads", "ready_batches", "held_batches"):
        assert value(name) == getattr(stats, name)
    assert (samples, stats.held_batches) == ({}, len(held))


@pytest.mark.parametrize("name", ["stage", "1st", "__name", "a-b", "ü", ""])
def test_a_name_that_no_label_may_have_is_refused(name):
    with pytest.raises(hr.errors.InvalidArgumentError, match="cannot name a label"):
        hr.Stats().prometheus({name: "x"})
