"""The native module. Private: its callers are in this package, which documents what it gives on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

def parse_size_bytes(text: str) -> int: ...
def tensorflow_schemes() -> list[str]: ...
def remember_environment() -> None: ...
def is_tensorflow_plugin() -> bool: ...
def read_published(url: str, kind: str, number: int | None = None) -> tuple[int, str] | None:
    """Returns number and attributes (JSON) of a manifest, of the latest one without `number`."""

def download_published(url: str, kind: str, number: int, target: str) -> None:
    """Copies the parts into the local folder `target`, checking size and checksum."""

def published_numbers(url: str) -> list[int]:
    """Returns the numbers of the checkpoints that there are, ascending."""

class Owner:
    """The right to publish checkpoints in a folder: docs/formats/ownership.md. Not thread-safe."""

    @staticmethod
    def take(url: str, kind: str, command: str) -> Owner:
        """Begins in the folder, or takes it over: whoever owned it cannot publish any more."""
    @staticmethod
    def join(url: str, entry: int, generation: int, last: int, published: int, suffix: str) -> Owner:
        """Shares what the process that started this one has taken."""
    @property
    def suffix(self) -> str:
        """For names of files: no other owner has the same."""
    def published(self, kind: str) -> tuple[int, str] | None:
        """Returns number and attributes (JSON) of the latest checkpoint; None: there is none to continue."""
    def publish(self, source: str, role: str, kind: str, plan: str, attributes_json: str) -> int:
        """Uploads the files of a local folder, then creates the next manifest over them: its number.

        Raises:
            AbortedError: somebody else owns the folder now.
        """
    def numbers(self) -> list[int]:
        """Returns the numbers of the checkpoints that there are, ascending."""
    def unpublish(self, kind: str, number: int) -> None:
        """Removes the manifest of a checkpoint that is not the latest, then its parts."""

def store_drivers() -> list[StoreDriver]: ...

# Key, size in bytes, version, time of the last write in seconds since 1970.
_Info = tuple[str, int, str, float | None]

class StoreDriver(TypedDict):
    """`options`: name ("endpoint-url"), whether it is a boolean ("true", "false"), what it does."""

    scheme: str
    example: str
    summary: str
    may_lack_authority: bool
    has_bucket_in_path: bool
    options: list[tuple[str, bool, str]]

class Store:
    def __init__(self, url: str, options: Mapping[str, str], timeout: float) -> None:
        """`options` of the driver, by name, count more than the environment; `timeout` is in seconds."""

    def read(self, key: str, offset: int, size: int | None, version: str | None) -> bytes: ...
    def read_into(self, key: str, buffer: Any, offset: int, version: str | None) -> int: ...
    def read_many(self, ranges: Sequence[tuple[str, int, int | None, str | None]]) -> list[bytes]: ...
    def write(self, key: str, data: Any, if_absent: bool, if_version: str | None) -> _Info: ...
    def upload(self, key: str, if_absent: bool, if_version: str | None) -> Upload: ...
    def stat(self, key: str) -> _Info: ...
    def copy(self, source: str, target: str, if_absent: bool, if_version: str | None) -> _Info: ...
    def remove(self, keys: Sequence[str]) -> None: ...
    def page(self, prefix: str, after: str, folders: bool, limit: int) -> list[_Info]:
        """Returns the first `limit` entries after the key `after` ("": all); fewer are the last ones."""

    def describe(self, key: str) -> str: ...
    def capabilities(self) -> tuple[bool, bool, bool, bool, bool]: ...
    def counters(self) -> dict[str, int]: ...
    def metrics(self) -> str: ...
    @property
    def url(self) -> str: ...

class Upload:
    def write(self, data: Any) -> int: ...
    def commit(self) -> _Info: ...
    def discard(self) -> None: ...

class Dataset:
    @staticmethod
    def open(
        urls: Sequence[str], split: str, on_corrupt: str, cache: str | None, version: int | None
    ) -> Dataset: ...
    def features(self) -> list[tuple[str, str, list[int] | None, bool]]:
        """Name, element type, shape (None: ragged), whether records may lack it."""

    def shards(self) -> list[tuple[str, int]]:
        """URL, records."""

    def first_held_out(self, share: float) -> int:
        """Number of the first record of the validation part, which ends with the dataset."""

    @property
    def url(self) -> str: ...
    @property
    def version(self) -> int:
        """0: it has no manifest."""

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

ORDER_VERSION: int

def order_version_of(state: bytes) -> int: ...

class Loader:
    def __init__(
        self,
        *,
        sources: Sequence[tuple[Dataset, float, tuple[int, int] | None]],
        columns: Sequence[tuple[str, str, Sequence[int] | None, Any]],
        images: Sequence[tuple[str, int, int, int, str, bool, bool, tuple[int, int, int] | None, int]],
        augment: Sequence[tuple[str, Sequence[float]]],
        batch_size: int,
        shuffle: str,
        arrangement: tuple[str, str, str, int | None] | None,
        window_bytes: int,
        seed: int,
        epochs: int,
        drop_remainder: bool,
        rank: int,
        world_size: int,
        micro_shards: int,
        order_version: int,
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
    def left_out_rows(self) -> int:
        """Rows without a record in all batches so far."""

    @property
    def remarks(self) -> list[str]: ...
    @property
    def position(self) -> tuple[int, int]:
        """Epoch and batch of the next one."""

    @property
    def batches_per_epoch(self) -> int: ...
    @property
    def record_count(self) -> int: ...

# Name; "int64", "float32" or "bytes"; and buffers: the values, one after another; int64 offsets, one more
# than rows, where a row may have several values, and of bytes always (None: one each); a byte for each row, 0
# where it has none (None: all have); of lists of byte strings, int64 places among the offsets, one more than
# rows (None: one each).
_Column = tuple[str, str, Any, Any, Any, Any]

def encode_examples(rows: int, columns: Sequence[_Column]) -> bytes:
    """Framed tf.Examples, as they lie in a TFRecord file. Other threads run meanwhile."""

class IgniteRows:
    @property
    def columns(self) -> list[str]: ...
    def next_page(self) -> list[dict[str, Any]] | None:
        """Dicts by column; None after the last page."""
    def next_examples(self, columns: Sequence[str]) -> list[bytes] | None:
        """Serialized tf.Examples of a scan's rows; None after the last page."""

class IgniteStream:
    def next(self) -> dict[str, Any] | None:
        """The next batch; None after the last row."""
    def new_remarks(self) -> list[str]: ...

class IgniteCluster:
    def __init__(
        self,
        addresses: Sequence[str],
        user: str,
        password: str,
        tls: bool,
        ca_file: str,
        certificate_file: str,
        key_file: str,
        key_password: str,
        discover: bool,
    ) -> None: ...
    def scan(self, cache: str, partitions: Sequence[int]) -> IgniteRows: ...
    def local_partitions(self, cache: str) -> list[int]:
        """Those that the node at the first address owns."""
    def snapshot(
        self,
        cache: str,
        partitions: Sequence[int],
        url: str | None,
        memory_limit_bytes: int,
        take_changed: bool,
    ) -> Dataset: ...
    def stream(
        self,
        cache: str,
        partitions: Sequence[int],
        columns: Sequence[tuple],
        images: Sequence[tuple],
        augment: Sequence[tuple],
        batch_size: int,
        seed: int,
        drop_remainder: bool,
        on_corrupt: str,
        memory_budget_bytes: int,
    ) -> IgniteStream: ...
    def query(
        self, text: str, arguments: Iterable[object], schema: str, page_rows: int, is_repeatable: bool
    ) -> IgniteRows: ...
    def put_all(
        self, cache: str, entries: Iterable[tuple[object, object]], value_type: str, create: bool
    ) -> int: ...

class ArtifactDraft:
    def __init__(self, name: str, type: str, description: str, metadata_json: str) -> None: ...
    def add_reference(self, url: str, path: str) -> None: ...
    def add_file(self, url: str, path: str) -> None: ...
    def add_folder(self, url: str, path: str) -> None: ...
    def __len__(self) -> int: ...

class ArtifactVersion:
    @property
    def name(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def metadata_json(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def run(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def entries(self) -> list[tuple[str, str | None, str | None, int, str | None]]:
        """Path, URL, store version, size and SHA-256 of each."""
    def url_of_content(self, sha256: str, size_bytes: int) -> str: ...
    def download(self, target: str) -> None: ...

def names_an_artifact(text: str) -> bool: ...

class Run:
    def __init__(
        self,
        root: str,
        run_id: str,
        parameters: dict[str, str],
        versions: dict[str, str],
        command_line: list[str],
        rank: int,
        ranks: int,
        from_step: int | None = None,
    ) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def part(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def remarks(self) -> list[str]: ...
    def log(self, numbers: dict[str, Any], step: int) -> None: ...
    def log_at(self, name: str, value: float, step: int, time_us: int) -> None: ...
    def publish(self, within_s: float) -> None: ...
    def flush(self) -> None: ...
    def last_values(self) -> dict[str, float]: ...
    def counts(self) -> dict[str, int]: ...
    def add_input(self, name: str, url: str) -> None: ...
    def add_output(self, name: str, url: str) -> None: ...
    def log_artifact(self, artifact: ArtifactDraft, aliases: list[str]) -> ArtifactVersion: ...
    def use_artifact(self, reference: str, name: str) -> ArtifactVersion: ...
    def add_media(self) -> tuple[str, str]: ...
    def add_event_files(self, name: str, url: str) -> None: ...
    def keep_console(self) -> None: ...
    def print(self, is_error_stream: bool, text: str) -> None: ...
    def finish(
        self,
        error: str,
        is_stopped: bool,
        metrics: dict[str, float],
        parameters: dict[str, str],
        within_s: float,
    ) -> None: ...

def run_records(url: str, ids: list[str]) -> tuple[list[dict[str, Any]], list[str]]: ...

class RunHistory:
    def __init__(self, url: str, run: str) -> None: ...
    def summaries(self) -> list[tuple[str, int, int, int, float]]: ...
    def points(self, name: str, rank: int) -> tuple[list[int], list[int], list[float]]: ...

class RunCharts:
    def __init__(
        self,
        url: str,
        runs: list[str],
        metrics: list[str],
        x: str,
        first: int | None,
        last: int | None,
        columns: int,
    ) -> None: ...
    def x(self) -> Any: ...  # np.ndarray, as those of series
    def series(
        self,
    ) -> list[tuple[str, str, int, Any, Any, Any, Any, Any]]: ...
    def svg(self, smooth: float, is_log: bool) -> str: ...

class EventWriter:
    def __init__(
        self, url: str, writer: str, flush_seconds: float, journal: bool = False, owner: str = ""
    ) -> None: ...
    def scalar(self, tag: str, value: float, step: int, wall_time_s: float | None = None) -> None: ...
    def scalars(
        self, values: list[tuple[str, float]], step: int, wall_time_s: float | None = None
    ) -> None: ...
    def histogram(self, tag: str, values: Any, step: int, buckets: int) -> None: ...
    def images(self, tag: str, encoded: list[bytes], width: int, height: int, step: int) -> None: ...
    def text(self, tag: str, markdown: str, step: int) -> None: ...
    def audio(self, tag: str, clips: list[bytes], step: int) -> None: ...
    def table(self, tag: str, json: str, step: int) -> None: ...
    def graph(self, graph_def: bytes) -> None: ...
    def trial(self, name: str, values: list[tuple[str, bool | float | str]]) -> None: ...
    def end_trial(self, has_succeeded: bool) -> None: ...
    def flush_journal(self) -> None: ...
    def flush(self) -> None: ...
    def close(self, within_s: float = 300.0) -> None: ...
