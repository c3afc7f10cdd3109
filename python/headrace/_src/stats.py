"""What a loader did, and how long each stage took."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Mapping

from headrace.errors import InvalidArgumentError

# Metric, type, what it counts. Of "stage": a sample for each of _STAGES.
_METRICS = (
    ("records_total", "counter", "Records handed out in batches."),
    ("batches_total", "counter", "Batches handed out."),
    ("fetched_bytes_total", "counter", "Bytes read from the store."),
    ("inflated_bytes_total", "counter", "Bytes after decompression."),
    ("decoded_bytes_total", "counter", "Bytes of columns in batches that were made."),
    ("corrupt_records_total", "counter", "Damaged records that were met, in each epoch anew."),
    ("stage_seconds_total", "counter", "Seconds that each stage took, summed over the threads."),
    ("wait_seconds_total", "counter", "Seconds that the caller waited for batches."),
    ("threads", "gauge", "Threads that work at present."),
    ("ready_batches", "gauge", "Batches that are made and not yet taken."),
    ("held_batches", "gauge", "Batches that were taken and are still in use."),
)
_STAGES = ("fetch", "inflate", "check", "decode", "idle")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclasses.dataclass(frozen=True, repr=False)
class Stats:
    """Since the loader was made. Seconds are summed over its threads, but `wait_seconds`."""

    batches: int = 0
    records: int = 0
    fetched_bytes: int = 0
    inflated_bytes: int = 0
    corrupt_records: int = 0
    """Damaged ones that were met; in each epoch anew."""
    fetch_seconds: float = 0.0
    """Waiting for the store."""
    inflate_seconds: float = 0.0
    check_seconds: float = 0.0
    """Both checksums of each record."""
    decoded_bytes: int = 0
    """Of columns, in batches that were made."""
    decode_seconds: float = 0.0
    """From records to columns."""
    idle_seconds: float = 0.0
    """Of threads that had nothing to do."""
    wait_seconds: float = 0.0
    """The caller's, for a batch: if it is small, the data keeps up with the training."""
    threads: int = 0
    """That work at present."""
    ready_batches: int = 0
    """At present: made, not taken yet."""
    held_batches: int = 0
    """At present: taken, and still viewed by some array."""

    def plus(self, earlier: Stats) -> Stats:
        """With what was counted before added; what is said of the present stays."""
        present = ("threads", "ready_batches", "held_batches")
        names = [field.name for field in dataclasses.fields(self) if field.name not in present]
        return dataclasses.replace(
            self, **{name: getattr(self, name) + getattr(earlier, name) for name in names}
        )

    def rows(self) -> list[tuple[str, str]]:
        """What is counted and how much of it, for people."""
        return [
            ("batches", f"{self.batches:,}"),
            ("records", f"{self.records:,}"),
            ("corrupt records", f"{self.corrupt_records:,}"),
            ("fetched", f"{self.fetched_bytes / 1e6:,.1f} MB in {self.fetch_seconds:.3f} s"),
            ("inflated", f"{self.inflated_bytes / 1e6:,.1f} MB in {self.inflate_seconds:.3f} s"),
            ("checked", f"in {self.check_seconds:.3f} s"),
            ("decoded", f"{self.decoded_bytes / 1e6:,.1f} MB in {self.decode_seconds:.3f} s"),
            ("waited for batches", f"{self.wait_seconds:.3f} s"),
            ("threads", f"{self.threads}, idle for {self.idle_seconds:.3f} s"),
            ("batches now", f"{self.ready_batches} ready, {self.held_batches} held"),
        ]

    def prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """As Prometheus scrapes it: its text exposition format, version 0.0.4.

        Counters and gauges `headrace_loader_…`, to be served under your own /metrics or written for the node
        exporter's textfile collector.

        Args:
            labels: stand at every sample: {"rank": "3"}.

        Raises:
            InvalidArgumentError: a name that no label may have; `stage` is taken.
        """
        labels = dict(labels or {})
        for name in labels:
            if name == "stage" or not _LABEL_NAME.fullmatch(name):
                raise InvalidArgumentError(
                    f"{name!r} cannot name a label: letters, digits and _, no digit first, no __, not 'stage'"
                )
        lines = []
        for metric, kind, help_text in _METRICS:
            lines += [
                f"# HELP headrace_loader_{metric} {help_text}",
                f"# TYPE headrace_loader_{metric} {kind}",
            ]
            samples = [({}, metric.removesuffix("_total"))]
            if metric == "stage_seconds_total":
                samples = [({"stage": stage}, f"{stage}_seconds") for stage in _STAGES]
            for own, field in samples:
                pairs = [f'{key}="{value.translate(_ESCAPES)}"' for key, value in {**labels, **own}.items()]
                shown = f"{{{','.join(pairs)}}}" if pairs else ""
                lines.append(f"headrace_loader_{metric}{shown} {getattr(self, field)!r}")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.rows())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table>{cells}</table>"
