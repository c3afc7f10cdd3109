"""The native module. Private: its callers are in this package, which documents what it gives on."""

from collections.abc import Mapping, Sequence
from typing import Any

def parse_size_bytes(text: str) -> int: ...
def read_published(url: str, kind: str, number: int | None = None) -> tuple[int, str] | None:
    """Number and attributes (JSON) of a manifest; of the latest without `number`."""

def download_published(url: str, kind: str, number: int, target: str) -> None:
    """Copies the parts into the local folder `target`, checking size and checksum."""

def published_numbers(url: str) -> list[int]:
    """Those of the manifests that are there, ascending."""

def publish(source: str, url: str, role: str, kind: str, plan: str, attributes_json: str) -> int:
    """Uploads the files of a local folder, then creates the next manifest over them: its number."""

def unpublish(url: str, kind: str, number: int) -> None:
    """Removes a manifest, then its parts."""

def store_schemes() -> list[str]: ...

# Key, size in bytes, version, time of the last write in seconds since 1970.
_Info = tuple[str, int, str, float | None]

class Store:
    def __init__(self, url: str, variables: Mapping[str, str], timeout: float) -> None:
        """`variables` are laid over those of the environment; `timeout` is in seconds."""

    def read(self, key: str, offset: int, size: int | None, version: str | None) -> bytes: ...
    def read_into(self, key: str, buffer: Any, offset: int, version: str | None) -> int: ...
    def read_many(self, ranges: Sequence[tuple[str, int, int | None, str | None]]) -> list[bytes]: ...
    def write(self, key: str, data: Any, if_absent: bool, if_version: str | None) -> _Info: ...
    def upload(self, key: str, if_absent: bool, if_version: str | None) -> Upload: ...
    def stat(self, key: str) -> _Info: ...
    def copy(self, source: str, target: str, if_absent: bool, if_version: str | None) -> _Info: ...
    def remove(self, keys: Sequence[str]) -> None: ...
    def page(self, prefix: str, after: str, folders: bool, limit: int) -> list[_Info]:
        """The first `limit` entries after the key `after` ("": all); fewer are the last."""

    def describe(self, key: str) -> str: ...
    def capabilities(self) -> tuple[bool, bool, bool, bool, bool]: ...
    @property
    def url(self) -> str: ...

class Upload:
    def write(self, data: Any) -> int: ...
    def commit(self) -> _Info: ...
    def discard(self) -> None: ...

class Dataset:
    @staticmethod
    def open(urls: Sequence[str], split: str, on_corrupt: str, cache: str | None) -> Dataset: ...
    def features(self) -> list[tuple[str, str, list[int] | None]]:
        """Name, element type, shape (None: ragged)."""

    def shards(self) -> list[tuple[str, int]]:
        """URL, records."""

    @property
    def url(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def split(self) -> str: ...
    @property
    def is_published(self) -> bool: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def remarks(self) -> list[str]: ...
    def __len__(self) -> int: ...

class Loader:
    def __init__(
        self,
        *,
        sources: Sequence[tuple[Dataset, float, tuple[int, int] | None]],
        columns: Sequence[tuple[str, str, Sequence[int] | None, Any]],
        batch_size: int,
        shuffle: str,
        window_bytes: int,
        seed: int,
        epochs: int,
        drop_remainder: bool,
        rank: int,
        world_size: int,
        on_corrupt: str,
        threads: int,
        memory_budget_bytes: int,
        headspace: bool,
        trace: bool,
        state: bytes | None,
        position: tuple[int, int] | None,
    ) -> None: ...
    def next(self, weights_name: str | None) -> dict[str, Any] | None:
        """None at the end. Rows of weight 0 at the end are cut off where the weights are not asked for.

        FailedPreconditionError if there are some before others: one could not tell which they are.
        """

    def close(self) -> None: ...
    def state(self, epoch: int, batch: int) -> bytes: ...
    def position_of(self, state: bytes) -> tuple[int, int]: ...
    def where(self, epoch: int, batch: int) -> list[tuple[str, int]]: ...
    def look_up(self, epoch: int, batch: int) -> list[tuple[str, int, int, bytes | None]]: ...
    def shuffle_quality(self, source: int, epoch: int) -> tuple[float, float]: ...
    def stats(self) -> dict[str, Any]: ...
    def activity(self) -> str: ...
    def trace_json(self) -> str: ...
    def new_remarks(self) -> list[str]:
        """Those that this has not given before."""

    @property
    def remarks(self) -> list[str]: ...
    @property
    def position(self) -> tuple[int, int]:
        """Epoch and batch of the next one."""

    @property
    def batches_per_epoch(self) -> int: ...
    @property
    def record_count(self) -> int: ...
