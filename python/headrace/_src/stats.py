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
    decode_seconds: float = 0.0
    wait_seconds: float = 0.0
    """The caller's, for a batch: if it is small, the data keeps up with the training."""

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            **{
                field.name: getattr(self, field.name) + getattr(other, field.name)
                for field in dataclasses.fields(self)
            }
        )

    def rows(self) -> list[tuple[str, str]]:
        """What is counted and how much of it, for people."""
        return [
            ("batches", f"{self.batches:,}"),
            ("records", f"{self.records:,}"),
            ("corrupt records", f"{self.corrupt_records:,}"),
            ("fetched", f"{self.fetched_bytes / 1e6:,.1f} MB in {self.fetch_seconds:.3f} s"),
            ("inflated", f"{self.inflated_bytes / 1e6:,.1f} MB in {self.inflate_seconds:.3f} s"),
            ("decoded", f"in {self.decode_seconds:.3f} s"),
            ("waited for batches", f"{self.wait_seconds:.3f} s"),
        ]

    def __repr__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.rows())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in self.rows()
        )
        return f"<table>{cells}</table>"
