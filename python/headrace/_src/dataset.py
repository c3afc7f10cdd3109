"""Datasets: how to open one, what it holds, and the loaders over it."""

from __future__ import annotations

import difflib
import functools
import html
import numbers
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace import _headrace
from headrace._src import checked
from headrace._src.columns import Column, optional
from headrace._src.images import Augmentation
from headrace._src.loader import DEFAULT_WINDOW, POLICIES, Loader, LoaderOptions, make_loader
from headrace._src.log import logger
from headrace.errors import DataLossError, Error, FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from typing import Unpack  # from Python 3.11 on


class Shard(NamedTuple):
    """One object of a dataset: its URL, and its number of records."""

    url: str
    records: int


def open(
    url: str | os.PathLike | Sequence[str | os.PathLike],
    split: str | None = None,
    *,
    version: int | None = None,
    on_corrupt: str = "fail",
    cache: str | os.PathLike | None = None,
) -> Dataset:
    """Opens a dataset of TFRecord shards, or of tar files in WebDataset's layout.

    Args:
        url: a folder that `headrace prepare` published. Or, without a manifest, TFRecord or tar files: a
            folder, a file, a pattern ("s3://bucket/train-*.tar"; `*` and `?` stay within a folder, `**` does
            not), or a list of these, in the order in which their records count. Headrace recognizes each
            file, and the compression of TFRecord files (none, gzip or zlib), by its bytes. It reads each file
            once to find the records, and keeps that index in ~/.cache/headrace/indexes. A record of a tar
            file is a sample: one byte string for each of its files, named by the extension ("jpg"), and its
            key, "__key__".
        split: "train", "test", and so on; None: "train" of a published dataset. Other files have no splits:
            give each split a folder or a pattern of its own.
        version: number of the version of a published dataset, as `headrace verify` lists them and
            `Dataset.version` says: `headrace prepare --append` keeps earlier versions. None: the latest.
        on_corrupt: "fail", "skip-record" or "skip-shard". Opening skips damage if told to; `Dataset.remarks`
            and the logger "headrace" report skipped data. Loaders of the dataset do the same, unless they get
            an `on_corrupt` of their own.
        cache: a folder on a local disk that keeps the bytes that are read, with a bound on its size:
            "file:///mnt/nvme/cache?max=200GiB". Processes may share it.

    Raises:
        NotFoundError: nothing lies there, or there is no such split or version; the message lists the
            existing ones.
        FailedPreconditionError: a shard is missing, or was changed after it was published.
        InvalidArgumentError: an argument is out of its range, `split` is given without a manifest, or
            `version` is the number of an entry of ownership (docs/formats/ownership.md).
        DataLossError, UnavailableError, …: see headrace.errors.
    """
    checked.choice("on_corrupt", on_corrupt, POLICIES)
    if split is not None and not isinstance(split, str):
        raise InvalidArgumentError(f"split is {split!r}; it must be the name of a split, or None")
    if version is not None and (
        not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 1 << 64
    ):
        raise InvalidArgumentError(f"version is {version!r}; it must be a number from 1 on, or None")
    is_several = isinstance(url, Sequence) and not isinstance(url, str | bytes)
    urls = list(url) if is_several else [url]
    for one in urls:
        if not isinstance(one, str | os.PathLike):
            raise InvalidArgumentError(f"{one!r} is not a URL or path")
    data = Dataset(
        tuple(map(os.fspath, urls)),
        split or "train",
        on_corrupt,
        None if cache is None else os.fspath(cache),
        version,
    )
    if split is not None and not data._native.is_published:
        raise InvalidArgumentError(
            f"split is {split!r}, but {data.url} has no manifest, and so no splits: give the URL or the "
            "pattern of the files of that split"
        )
    return data


def mix(
    datasets: Mapping[Dataset, float] | list[tuple[Dataset, float]],
    *,
    batch_size: int,
    columns: Mapping[str, Column] | list[str] | None = None,
    **options: Unpack[LoaderOptions],
) -> Loader:
    """Makes a loader over several datasets in fixed shares: `hr.mix({news: 0.7, reviews: 0.3},
    batch_size=128)`.

    After any number of records, each dataset has given its share, to within a few records. Each dataset
    repeats its own records as often as its share needs. An epoch is therefore a count: as many batches as all
    records together fill.

    Args:
        datasets: the share of each dataset, relative to the sum of shares. A list may name a dataset twice.
        columns: as for `Dataset.loader`; None: the columns that all datasets have with the same shape.
        options: those of `Dataset.loader`. The datasets divide the `window` by their shares. `on_corrupt` is
            required if the datasets were opened with different ones.

    Raises:
        InvalidArgumentError: a share is not above 0, a dataset lacks a column, or an option is out of its
        range. Other errors as `Dataset.loader`.
    """
    shares = list(datasets.items()) if isinstance(datasets, Mapping) else list(datasets)
    if not shares:
        raise InvalidArgumentError("a mixture needs at least one dataset")
    for share in shares:
        is_share = isinstance(share, tuple) and len(share) == 2 and isinstance(share[0], Dataset)
        if not is_share or not isinstance(share[1], numbers.Real):
            raise InvalidArgumentError(
                f"{share!r} is not a dataset with its share: write {{news: 0.7, reviews: 0.3}}"
            )
    for name in options:
        if name not in LoaderOptions.__annotations__:
            raise TypeError(f"mix() got an unexpected keyword argument {name!r}")
    if options.get("on_corrupt") is None:
        options["on_corrupt"] = _policy_of([dataset for dataset, _ in shares])
    return _make_loader(shares, columns, batch_size, options)


class Dataset:
    """An opened dataset. `headrace.open` makes one. It is immutable; threads may share it.

    `len(data)` is its number of records. A pickle holds the URL and the version: another process opens
    the same version again.
    """

    def __init__(
        self, urls: tuple[str, ...], split: str, on_corrupt: str, cache: str | None, version: int | None
    ):
        native = _headrace.Dataset.open(urls, split, on_corrupt, cache, version)
        self._take(native, on_corrupt, (urls, split, on_corrupt, cache, native.version or None))

    @classmethod
    def _of(cls, native: _headrace.Dataset, on_corrupt: str) -> Dataset:
        """A dataset that other code has opened, and that exists only in this process."""
        data = object.__new__(cls)
        data._take(native, on_corrupt, None)
        return data

    def _take(self, native: _headrace.Dataset, on_corrupt: str, arguments: tuple | None) -> None:
        self._native = native
        self._on_corrupt = on_corrupt
        self._arguments = arguments
        for remark in self.remarks:
            logger.warning("%s", remark)
        self._range: tuple[int, int] | None = None

    @property
    def url(self) -> str:
        """The URL at which the dataset was opened; if there were several, the first."""
        return self._native.url

    @property
    def split(self) -> str:
        return self._native.split

    @property
    def labels(self) -> list[str]:
        """Names of the classes, in the order of a one-hot label's positions; empty if the dataset names
        none."""
        return self._native.labels

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the dataset's content: equal digests mean equal data. A part has the
        digest of the whole."""
        return self._native.digest

    @property
    def version(self) -> int | None:
        """Number of the dataset's version: of its manifest. None: it has no manifest."""
        return self._native.version or None

    @property
    def on_corrupt(self) -> str:
        """The policy that the dataset was opened with: "fail", "skip-record" or "skip-shard"."""
        return self._on_corrupt

    @property
    def remarks(self) -> list[str]:
        """Messages for people about files and records that opening skipped or found odd."""
        return self._native.remarks

    @functools.cached_property
    def schema(self) -> Mapping[str, Column]:
        """The features of a record: name → column. Without a manifest, Headrace reads the first record for
        them.

        A feature that the manifest calls optional has a default: 0, b"" or an empty row. Give the column
        another one to tell a gap from such a value: `columns={"age": hr.int64.default(-1)}`.
        """
        return MappingProxyType({name: _column(*feature) for name, *feature in self._native.features()})

    @functools.cached_property
    def shards(self) -> tuple[Shard, ...]:
        """The shards, in the manifest's order. A part has the shards of the whole."""
        return tuple(Shard(*shard) for shard in self._native.shards())

    def __len__(self) -> int:
        begin, end = self._range or (0, len(self._native))
        return end - begin

    def part(self, begin: int = 0, end: int | None = None) -> Dataset:
        """Returns records `begin` to `end`, as docs/formats/order.md counts them, as a dataset. Nothing is
        opened again.

        Datasets that `headrace prepare` publishes are shuffled, so a part is a random sample, even after
        `--append`. For training and validation, see `hold_out`.

        Args:
            begin, end: numbers of records, counted from 0; `end` is excluded. None: up to the last record.
                Negative numbers count from the end, as in a slice.

        Raises:
            InvalidArgumentError: the dataset has no such records, or the part is empty.
        """
        size = len(self)
        first, last = slice(begin, end).indices(size)[:2]
        if first >= last or not -size <= begin <= size or (end is not None and not -size <= end <= size):
            raise InvalidArgumentError(f"part({begin}, {end}): the dataset has records 0 to {size}")
        offset = self._range[0] if self._range else 0
        part = object.__new__(Dataset)  # copy.copy would open the dataset again, as unpickling does
        part.__dict__.update(self.__dict__)
        part._range = (offset + first, offset + last)
        return part

    def hold_out(self, share: float) -> tuple[Dataset, Dataset]:
        """Returns a part to train on, and a random `share` of the records to validate on: the same records
        that `headrace train --validation` takes.

        In a dataset that `headrace prepare` published, the ids of the records decide. `--append` therefore
        moves no record from one part to the other.

        Args:
            share: above 0 and below 1; rounded up to a thousandth.

        Raises:
            InvalidArgumentError: this dataset is itself a part, or one of the two parts has no records.
        """
        if self._range:
            raise InvalidArgumentError("this dataset is a part of another: hold_out needs the whole")
        if not isinstance(share, numbers.Real) or not 0 < share < 1:
            raise InvalidArgumentError(f"share is {share!r}; it must be a number above 0 and below 1")
        first = self._native.first_held_out(float(share))
        if not 0 < first < len(self):
            raise InvalidArgumentError(
                f"holding out {share} of {len(self)} records leaves {first} to train on, because hashes of "
                "ids decide: choose another share"
            )
        return self.part(0, first), self.part(first)

    def _source(self, share: float) -> tuple[_headrace.Dataset, float, tuple[int, int] | None]:
        return self._native, share, self._range

    def loader(
        self,
        *,
        batch_size: int,
        columns: Mapping[str, Column] | list[str] | None = None,
        augment: Sequence[Augmentation] = (),
        seed: int = 0,
        shuffle: bool | str = True,
        balance: str | None = None,
        bucket: str | None = None,
        window: int | str = DEFAULT_WINDOW,
        epochs: int | None = 1,
        drop_remainder: bool | str = False,
        rank: int = 0,
        world_size: int = 1,
        micro_shards: int | None = None,
        memory_budget: int | str = "1GiB",
        on_corrupt: str | None = None,
        weights: str = "weight",
        threads: int = 0,
        headspace: bool = False,
        trace: bool = False,
        state: bytes | None = None,
        order: int | None = None,
    ) -> Loader:
        """Makes a loader of batches, in an order that is a function of `seed`. Native threads read ahead.

        Args:
            batch_size: rows of a global batch, B. Rank r of W gets rows r·B/W to (r+1)·B/W of it.
            columns: name → `hr.float32[512]`, `hr.image(150, 150)`, …; or names alone; None: all of `schema`.
            augment: random changes of images, in their order: `[hr.flip(), hr.crop(128, 128)]`.
            seed: an int that, together with the epoch, decides the order.
            shuffle: True shuffles blocks of 8 MiB, then the records within a window of blocks; False keeps
                the stored order; "exact" shuffles all records, if single records can be read.
            balance: name of a label, a class number or one-hot. Each class of a window comes equally often:
                records of rare classes come several times; from frequent classes as many records as fit are
                taken, and others in each epoch.
            bucket: name of a ragged feature. Batches have records with similar numbers of values in it, so
                that padding costs little. It excludes `balance`, and both exclude `shuffle=False`.
            window: bytes ("64MiB") of blocks whose records are mixed. A larger window mixes better, and takes
                twice its size in memory. The window is part of the order: a state with another window is
                refused.
            epochs: number of passes over the data; None: no end.
            drop_remainder: says what happens to records that do not fill the last batch of an epoch. False:
                that batch is short. True: they are dropped. "pad": rows of weight 0 fill the batch, so that
                all batches have one shape.
            rank, world_size: number of this process, and number of the processes that share the global
                batches.
            micro_shards: number of equal parts of a batch, M. Rank r gets the parts r·M/W to (r+1)·M/W, so a
                sum over a part is the same at any world size. None: each row is a part.
            memory_budget: bytes ("1GiB") for reading ahead and for batches. It is checked at once.
            on_corrupt: "fail"; "skip-record": a damaged record is left out of its batch, which is short then;
                "skip-shard": the rest of its block is also left out; None: as the dataset was opened. With
                one rank, a batch that has lost all its records is skipped.
            weights: key of the rows' weights, float32 [rows], 1 or 0. Batches have them with
                `drop_remainder="pad"`, where rows of weight 0 also replace lost records.
            threads: number of threads that read and decode; 0: as many as are useful.
            headspace: return the first batch again and again, to measure training as if reading were free.
            trace: record what `Loader.trace` returns.
            state: result of `Loader.state`. The loader continues there, on any rank and at any world size.
            order: version of the order (docs/formats/order.md); None: the version of `state`, or the newest.

        Raises:
            InvalidArgumentError: the data has no such column, or an argument is out of its range.
            ResourceExhaustedError: the budget is too small; the message says how much is needed.
            FailedPreconditionError: there are no records, or the state belongs to another dataset or options.
        """
        options = {name: value for name, value in locals().items() if name in LoaderOptions.__annotations__}
        options["on_corrupt"] = self.on_corrupt if on_corrupt is None else on_corrupt
        return _make_loader([(self, 1.0)], columns, batch_size, options)

    def __reduce__(self):
        if self._arguments is None:
            raise FailedPreconditionError(
                f"the dataset of {self.url} cannot be copied or pickled, because it has connections: open "
                "it in the other process"
            )
        return _open_part, (self._arguments, self._range)

    def __repr__(self) -> str:
        try:
            features = ", ".join(f"{name}: {column!r}" for name, column in self.schema.items())
        except Error as error:  # showing an object must not fail
            features = f"unknown: {error}"
        split = f", split={self.split!r}" if self._native.is_published else ""
        return f"<headrace.Dataset {self.url!r}{split}: {self._counts()}, {{{features}}}>"

    def _counts(self) -> str:
        part = f"{self._range[0]:,} to {self._range[1]:,} of the " if self._range else ""
        try:
            return f"{part}{len(self._native):,} records in {len(self.shards)} shards"
        except Error:
            return f"{part}{len(self._native):,} records"

    def _repr_html_(self) -> str:
        try:
            rows = "".join(
                f"<tr><td>{html.escape(name)}</td><td><code>{html.escape(repr(column))}</code></td></tr>"
                for name, column in self.schema.items()
            )
        except Error as error:
            rows = f"<tr><td colspan=2>unknown: {html.escape(str(error))}</td></tr>"
        title = html.escape(f"{self.url} ({self.split})" if self._native.is_published else self.url)
        return (
            f"<table><caption>{title}: {self._counts()}</caption>"
            f"<tr><th>feature</th><th>column</th></tr>{rows}</table>"
        )


def _open_part(arguments: tuple, records: tuple[int, int] | None) -> Dataset:
    data = Dataset(*arguments)
    return data.part(*records) if records else data


def _policy_of(datasets: list[Dataset]) -> str:
    policies = sorted({dataset.on_corrupt for dataset in datasets})
    if len(policies) > 1:
        raise InvalidArgumentError(
            f"the datasets were opened with on_corrupt {' and '.join(policies)}: choose one with on_corrupt="
        )
    return policies[0]


def _columns_of(
    datasets: list[Dataset], columns: Mapping[str, Column] | list[str] | None
) -> dict[str, Column]:
    if isinstance(columns, Mapping):
        return _checked(datasets, dict(columns))
    if isinstance(columns, str):
        raise InvalidArgumentError(f"columns is {columns!r}; for one column write [{columns!r}]")
    first, *others = datasets
    if columns is None:
        common = {
            name: _column_in(datasets, name)
            for name, column in first.schema.items()
            if all(_have_same_values(column, other.schema.get(name)) for other in others)
        }
        if not any(map(len, datasets)):
            raise FailedPreconditionError(f"{first.url} has no records")
        if not common:
            raise InvalidArgumentError("the datasets have no feature in common; name the columns")
        return common
    chosen = {}
    for name in columns:
        if name not in first.schema:
            raise InvalidArgumentError(_no_feature(first, name))
        chosen[name] = _column_in(datasets, name)
    return _checked(others, chosen)


def _make_loader(
    shares: Sequence[tuple[Dataset, float]],
    columns: Mapping[str, Column] | list[str] | None,
    batch_size: int,
    options: dict[str, Any],
) -> Loader:
    datasets = [dataset for dataset, _ in shares]
    columns = _columns_of(datasets, columns)
    arranged = options.pop("balance", None), options.pop("bucket", None)
    return make_loader(
        [dataset._source(float(share)) for dataset, share in shares],
        columns=columns,
        arrangement=_arrangement(datasets, columns, *arranged),
        batch_size=batch_size,
        **options,
    )


def _arrangement(
    datasets: list[Dataset], columns: dict[str, Column], balance: str | None, bucket: str | None
) -> tuple[str, str, str, int | None] | None:
    """The kind, "balance" or "bucket"; the feature; its element type and number of values (None: ragged). The
    engine checks whether these fit together."""
    asked = [(kind, name) for kind, name in (("balance", balance), ("bucket", bucket)) if name is not None]
    if not asked:
        return None
    if len(asked) > 1:
        raise InvalidArgumentError(
            "balance and bucket both say which records come together: give one of them"
        )
    ((kind, name),) = asked
    if not isinstance(name, str):
        raise InvalidArgumentError(f"{kind} is {name!r}; it must be the name of a feature")
    first = datasets[0]
    is_in_manifest = first._native.is_published and name in first.schema
    if name in columns and not is_in_manifest:
        column = columns[name].stored
    elif name in first.schema:
        column = first.schema[name]
        if kind == "bucket" and not first._native.is_published:
            column = Column(column.dtype, None)  # the first record alone does not show the type
    else:
        raise InvalidArgumentError(f"{kind}: {_no_feature(first, name)}")
    return kind, name, column.dtype, column.length


def _have_same_values(one: Column, other: Column | None) -> bool:
    return other is not None and (one.dtype, one.shape) == (other.dtype, other.shape)


def _column_in(datasets: list[Dataset], name: str) -> Column:
    """The first dataset's column; with a default, if records of any dataset may lack the feature."""
    column = datasets[0].schema[name]
    published = [data.schema for data in datasets if data._native.is_published]
    may_be_missing = any(name in schema and schema[name].fill is not None for schema in published)
    return optional(column) if may_be_missing else column


def _no_feature(data: Dataset, name: str) -> str:
    shown = ", ".join(f"{known} ({column!r})" for known, column in data.schema.items())
    near = difflib.get_close_matches(str(name), data.schema, 1)
    hint = f"did you mean {near[0]}? It" if near else "it"
    return f"{data.url} has no feature {name}; {hint} has: {shown}"


def _checked(datasets: list[Dataset], columns: dict[str, Column]) -> dict[str, Column]:
    """Compares columns with the first record of each dataset without a manifest. The engine checks the
    others."""
    for data in datasets:
        if data._native.is_published or not len(data):
            continue
        try:
            schema = data.schema
        except DataLossError:  # on_corrupt decides what happens to damaged records
            continue
        for name, column in columns.items():
            if not isinstance(column, Column) or column.fill is not None:
                continue
            wanted = column.stored
            if name not in schema:
                hint = f"; if some records lack it, give it a default: {optional(wanted)!r}"
                raise InvalidArgumentError(_no_feature(data, name) + (hint if wanted is column else ""))
            found = schema[name]
            if "__key__" in schema and {wanted.dtype, found.dtype} == {"bytes", "int64"}:
                continue  # in a tar file the requested column decides (docs/formats/webdataset.md)
            has_lengths = wanted.shape is not None and found.shape is not None
            if found.dtype != wanted.dtype or (has_lengths and found.length != wanted.length):
                raise InvalidArgumentError(
                    f"{name} is wanted as {column!r}, but in the first record of {data.url} it is {found!r}"
                )
    return columns


def _column(dtype: str, shape: list[int] | None, may_be_missing: bool) -> Column:
    """A list that is empty in the first record counts as ragged."""
    column = Column(dtype, None if shape is None or 0 in shape else tuple(shape))
    return optional(column) if may_be_missing else column
