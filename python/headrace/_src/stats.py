"""What a loader did, and how long each stage took."""

from __future__ import annotations

import dataclasses
import html


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
            ("decoded", f"in {self.decode_seconds:.3f} s"),
            ("waited for batches", f"{self.wait_seconds:.3f} s"),
            ("threads", f"{self.threads}, idle for {self.idle_seconds:.3f} s"),
            ("batches now", f"{self.ready_batches} ready, {self.held_batches} held"),
        ]

    def __repr__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.rows())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table>{cells}</table>"
