"""Statistics of a loader: how much it did, and how long each stage took."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Mapping

from headrace.errors import InvalidArgumentError

# Metric, type, help. `stage_seconds_total` has a sample for each of _STAGES.
_METRICS = (
    ("records_total", "counter", "Records handed out in batches."),
    ("batches_total", "counter", "Batches handed out."),
    ("fetched_bytes_total", "counter", "Bytes read from the store."),
    ("inflated_bytes_total", "counter", "Bytes after decompression."),
    ("decoded_bytes_total", "counter", "Bytes of columns in finished batches."),
    ("corrupt_records_total", "counter", "Damaged records that were found, counted again in each epoch."),
    ("stage_seconds_total", "counter", "Seconds that each stage took, summed over the threads."),
    ("wait_seconds_total", "counter", "Seconds that the caller waited for batches."),
    ("hand_over_seconds_total", "counter", "Seconds spent on converting batches to a framework's tensors."),
    ("threads", "gauge", "Threads that are working now."),
    ("ready_batches", "gauge", "Batches that are ready and not yet taken."),
    ("held_batches", "gauge", "Batches that were taken and are still in use."),
)
_STAGES = ("fetch", "inflate", "check", "decode", "idle")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclasses.dataclass(frozen=True, repr=False)
class Stats:
    """Statistics of a loader since it was made. Immutable.

    Seconds are summed over the loader's threads, except `wait_seconds` and `hand_over_seconds`, which are the
    caller's. The rest of the caller's time is its own work: the training.
    """

    batches: int = 0
    records: int = 0
    fetched_bytes: int = 0
    inflated_bytes: int = 0
    corrupt_records: int = 0
    """Damaged records that the loader found, counted again in each epoch."""
    fetch_seconds: float = 0.0
    """Time that threads waited for the store."""
    inflate_seconds: float = 0.0
    check_seconds: float = 0.0
    """Time for both checksums of each record."""
    decoded_bytes: int = 0
    """Bytes of the columns of all batches that were made."""
    decode_seconds: float = 0.0
    """Time from records to columns, and for `balance` or `bucket`."""
    idle_seconds: float = 0.0
    """Time for which threads were idle."""
    wait_seconds: float = 0.0
    """Time that the caller waited for batches. If it is small, the data keeps up with the training."""
    hand_over_seconds: float = 0.0
    """Time in which `as_tf_dataset`, `as_jax` or `as_torch` converted batches to tensors."""
    threads: int = 0
    """Threads that are working now."""
    ready_batches: int = 0
    """Batches that are ready now, and not yet taken."""
    held_batches: int = 0
    """Batches that were taken, and that some array still views now."""

    def plus(self, earlier: Stats) -> Stats:
        """Returns these statistics with earlier counts added. Gauges keep their current values."""
        present = ("threads", "ready_batches", "held_batches")
        names = [field.name for field in dataclasses.fields(self) if field.name not in present]
        return dataclasses.replace(
            self, **{name: getattr(self, name) + getattr(earlier, name) for name in names}
        )

    def rows(self) -> list[tuple[str, str]]:
        """Returns pairs of name and value, for people."""
        return [
            ("batches", f"{self.batches:,}"),
            ("records", f"{self.records:,}"),
            ("corrupt records", f"{self.corrupt_records:,}"),
            ("fetched", f"{self.fetched_bytes / 1e6:,.1f} MB in {self.fetch_seconds:.3f} s"),
            ("inflated", f"{self.inflated_bytes / 1e6:,.1f} MB in {self.inflate_seconds:.3f} s"),
            ("checked", f"in {self.check_seconds:.3f} s"),
            ("decoded", f"{self.decoded_bytes / 1e6:,.1f} MB in {self.decode_seconds:.3f} s"),
            ("waited for batches", f"{self.wait_seconds:.3f} s"),
            ("handed over", f"in {self.hand_over_seconds:.3f} s"),
            ("threads", f"{self.threads}, idle for {self.idle_seconds:.3f} s"),
            ("batches now", f"{self.ready_batches} ready, {self.held_batches} held"),
        ]

    def prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """Returns the statistics in Prometheus' text exposition format, version 0.0.4.

        The counters and gauges are called `headrace_loader_…`. Serve the text under your own /metrics, or
        write it to a file for the node exporter's textfile collector.

        Args:
            labels: labels of every sample: {"rank": "3"}.

        Raises:
            InvalidArgumentError: a label's name is not valid, or is `stage`, which is in use.
        """
        labels = dict(labels or {})
        for name in labels:
            if name == "stage" or not _LABEL_NAME.fullmatch(name):
                raise InvalidArgumentError(
                    f"{name!r} cannot name a label: use letters, digits and _, no digit first, no __ in "
                    "front, not 'stage'"
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
