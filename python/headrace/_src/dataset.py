"""Datasets: opening one, what is in it, and the loaders over it."""

from __future__ import annotations

import functools
import html
import logging
import numbers
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from headrace import _headrace
from headrace._src import checked
from headrace._src.columns import Column
from headrace._src.images import Augmentation
from headrace._src.loader import DEFAULT_WINDOW, POLICIES, Loader, LoaderOptions, make_loader
from headrace.errors import DataLossError, Error, FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from typing import Unpack  # from Python 3.11 on


class Shard(NamedTuple):
    """One object of a dataset: its URL, and the records in it."""

    url: str
    records: int


def open(
    url: str | os.PathLike | Sequence[str | os.PathLike],
    split: str | None = None,
    *,
    on_corrupt: str = "fail",
    cache: str | os.PathLike | None = None,
) -> Dataset:
    """Opens a dataset of TFRecord shards, or of tars in the way of WebDataset.

    Args:
        url: a folder that `headrace prepare` published; or, where there is no manifest, TFRecord files or
            tars: a folder, a file, a pattern ("s3://bucket/train-*.tar"; `*` and `?` stay within a folder,
            `**` does not), or a list of all those, in the order in which their records count. What each is,
            and the compression of TFRecord files (none, gzip or zlib), is found out from its bytes. Each is
            read once, to find its records; what was found is kept in ~/.cache/headrace/indexes for the next
            time. A record of a tar is a sample: a byte string for each of its files, named by the extension
            ("jpg"), and its key, "__key__".
        split: "train", "test", …; None: "train" of a published dataset. Other files have no splits: give
            each split a folder or a pattern of its own.
        on_corrupt: "fail"; "skip-record" or "skip-shard": damage found on opening is left out, and told in
            `Dataset.remarks` and to the logger "headrace". Loaders of the dataset skip the same, unless they
            are told otherwise.
        cache: folder on a local disk that keeps what is read of the data, and how large it may become:
            "file:///mnt/nvme/cache?max=200GiB". Processes may share it.

    Raises:
        NotFoundError: nothing is there, or no such split; the message lists those that are.
        FailedPreconditionError: a shard is missing, or altered since it was published.
        DataLossError, UnavailableError, …: see headrace.errors.
    """
    checked.choice("on_corrupt", on_corrupt, POLICIES)
    if split is not None and not isinstance(split, str):
        raise InvalidArgumentError(f"split is {split!r}; it is the name of a split, or None")
    is_several = isinstance(url, Sequence) and not isinstance(url, str | bytes)
    urls = list(url) if is_several else [url]
    for one in urls:
        if not isinstance(one, str | os.PathLike):
            raise InvalidArgumentError(f"{one!r} is no URL or path")
    data = Dataset(
        tuple(map(os.fspath, urls)), split or "train", on_corrupt, None if cache is None else os.fspath(cache)
    )
    if split is not None and not data._native.is_published:
        raise InvalidArgumentError(
            f"split is {split!r}, but {data.url} has no manifest, and so no splits: give the URL or the "
            "pattern of the files that are meant"
        )
    return data


def mix(
    datasets: Mapping[Dataset, float] | list[tuple[Dataset, float]],
    *,
    batch_size: int,
    columns: Mapping[str, Column] | list[str] | None = None,
    **options: Unpack[LoaderOptions],
) -> Loader:
    """Batches of several datasets in fixed shares: `hr.mix({news: 0.7, reviews: 0.3}, batch_size=128)`.

    After any number of records each dataset has given its share, to within a few records, and each goes
    through its own records again and again as often as that needs. So an epoch is a count: as many batches as
    all records fill.

    Args:
        datasets: the share of each; shares are relative to their sum. In a list, one may be there twice.
        columns: as for `Dataset.loader`; None: those that all of the datasets have, with the same shape.
        options: those of `Dataset.loader`; the datasets share the `window`, as they do the records;
            `on_corrupt` must be there if they were opened with different ones.

    Raises:
        InvalidArgumentError: a share that is not above 0, columns that a dataset lacks; and so on.
    """
    shares = list(datasets.items()) if isinstance(datasets, Mapping) else list(datasets)
    if not shares:
        raise InvalidArgumentError("a mixture needs at least one dataset")
    for share in shares:
        is_share = isinstance(share, tuple) and len(share) == 2 and isinstance(share[0], Dataset)
        if not is_share or not isinstance(share[1], numbers.Real):
            raise InvalidArgumentError(
                f"{share!r} is no dataset with its share: write {{news: 0.7, reviews: 0.3}}"
            )
    for name in options:
        if name not in LoaderOptions.__annotations__:
            raise TypeError(f"mix() got an unexpected keyword argument {name!r}")
    if options.get("on_corrupt") is None:
        options["on_corrupt"] = _policy_of([dataset for dataset, _ in shares])
    return make_loader(
        [dataset._source(float(share)) for dataset, share in shares],
        columns=_columns_of([dataset for dataset, _ in shares], columns),
        batch_size=batch_size,
        **options,
    )


class Dataset:
    """An opened dataset. Immutable; threads may share it. Get one from `headrace.open`.

    `len(data)` is its number of records. Pickles as its URL: another process opens it again.
    """

    def __init__(self, urls: tuple[str, ...], split: str, on_corrupt: str, cache: str | None):
        self._arguments = (urls, split, on_corrupt, cache)
        self._native = _headrace.Dataset.open(*self._arguments)
        for remark in self.remarks:
            logging.getLogger("headrace").warning("%s", remark)
        self._range: tuple[int, int] | None = None

    @property
    def url(self) -> str:
        """The first place that it was opened at."""
        return self._native.url

    @property
    def split(self) -> str:
        return self._native.split

    @property
    def labels(self) -> list[str]:
        """Names of the classes, in the order of a one-hot label's positions; empty if it does not say."""
        return self._native.labels

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of what the dataset consists of: equal digests are equal data. Of a part,
        that of the whole."""
        return self._native.digest

    @property
    def on_corrupt(self) -> str:
        """What it was opened with: "fail", "skip-record" or "skip-shard"."""
        return self._arguments[2]

    @property
    def remarks(self) -> list[str]:
        """What was left out or looked odd when it was opened; for people."""
        return self._native.remarks

    @functools.cached_property
    def schema(self) -> Mapping[str, Column]:
        """The features of a record. Without a manifest: those of the first record, which is read for it."""
        features = self._native.features()
        return MappingProxyType({name: Column(dtype, _row_shape(shape)) for name, dtype, shape in features})

    @functools.cached_property
    def shards(self) -> tuple[Shard, ...]:
        """Of a part, those of the whole."""
        return tuple(Shard(*shard) for shard in self._native.shards())

    def __len__(self) -> int:
        begin, end = self._range or (0, len(self._native))
        return end - begin

    def part(self, begin: int = 0, end: int | None = None) -> Dataset:
        """Records `begin` to `end`, in this dataset's order, as one of their own; nothing is opened anew.

        Datasets that `headrace prepare` publishes are shuffled already, so a part of one is a random sample:
        `data.part(0, 900)` to train on, `data.part(900)` to validate on.

        Args:
            begin, end: counted from 0, without `end` itself; None: up to the last record. Negative ones are
                counted from the end, as in a slice.

        Raises:
            InvalidArgumentError: there are no such records.
        """
        size = len(self)
        first, last = slice(begin, end).indices(size)[:2]
        if first >= last or not -size <= begin <= size or (end is not None and not -size <= end <= size):
            raise InvalidArgumentError(f"part({begin}, {end}): the dataset has records 0 to {size}")
        offset = self._range[0] if self._range else 0
        part = object.__new__(Dataset)  # copying would open it anew, as another process does
        part.__dict__.update(self.__dict__)
        part._range = (offset + first, offset + last)
        return part

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
        window: int | str = DEFAULT_WINDOW,
        epochs: int | None = 1,
        drop_remainder: bool | str = False,
        rank: int = 0,
        world_size: int = 1,
        memory_budget: int | str = "1GiB",
        on_corrupt: str | None = None,
        weights: str = "weight",
        threads: int = 0,
        headspace: bool = False,
        trace: bool = False,
        state: bytes | None = None,
    ) -> Loader:
        """Batches of this dataset, in an order that is a function of `seed`, read ahead by native threads.

        Args:
            batch_size: rows of a global batch; rank r of W gets rows r·B/W to (r+1)·B/W of it.
            columns: name → `hr.float32[512]`, `hr.image(150, 150)`, …; or names alone; None: all of `schema`.
            augment: what is done to images at random, one after the other: `[hr.flip(), hr.crop(128, 128)]`.
            seed: decides the order, with the epoch and nothing else.
            shuffle: True: blocks of 8 MiB, then the records of a window of blocks; False: as stored; "exact":
                all records of the dataset, where single records can be read.
            window: bytes ("64MiB") of blocks whose records are mixed with one another. A larger one mixes
                better, and takes memory twice. Part of the order: a state of another window is refused.
            epochs: passes over the data; None: without end.
            drop_remainder: what becomes of the records that do not fill the last batch of an epoch. False:
                that batch is short; True: they are left out; "pad": it is filled up by rows of weight 0.
            rank, world_size: this process among those that share the global batches.
            memory_budget: bytes ("1GiB") that reading ahead and batches may take; checked at once.
            on_corrupt: "fail"; "skip-record": a row of weight 0 stands in for a damaged record; "skip-shard":
                for the rest of its block; None: as the dataset was opened. The logger "headrace" is told.
            weights: key of the rows' weights (float32, 1 or 0), which are in a batch where a row may have
                weight 0: with drop_remainder="pad", or an `on_corrupt` other than "fail".
            threads: that read and decode; 0: as many as are of use. trace: keep what `Loader.trace` tells.
            headspace: give the first batch again and again, as if reading cost nothing.
            state: of `Loader.state`: continue there, on any rank and at any world size.

        Raises:
            InvalidArgumentError: a column that is not in the data, or not so; rank ≥ world_size; and so on.
            ResourceExhaustedError: the budget is too small; the message says what is needed.
            FailedPreconditionError: no records, or the state is of another dataset or other options.
        """
        return make_loader(
            [self._source(1.0)],
            columns=_columns_of([self], columns),
            batch_size=batch_size,
            augment=augment,
            seed=seed,
            shuffle=shuffle,
            window=window,
            epochs=epochs,
            drop_remainder=drop_remainder,
            rank=rank,
            world_size=world_size,
            memory_budget=memory_budget,
            on_corrupt=self.on_corrupt if on_corrupt is None else on_corrupt,
            weights=weights,
            threads=threads,
            headspace=headspace,
            trace=trace,
            state=state,
        )

    def __reduce__(self):
        return _open_part, (self._arguments, self._range)

    def __repr__(self) -> str:
        try:
            features = ", ".join(f"{name}: {column!r}" for name, column in self.schema.items())
        except Error as error:  # a look at something never fails
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
            f"the datasets were opened with on_corrupt {' and '.join(policies)}: say which, with on_corrupt="
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
            name: column
            for name, column in first.schema.items()
            if all(other.schema.get(name) == column for other in others)
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
        chosen[name] = first.schema[name]
    return _checked(others, chosen)


def _no_feature(data: Dataset, name: str) -> str:
    shown = ", ".join(f"{known} ({column!r})" for known, column in data.schema.items())
    return f"{data.url} has no feature {name}; it has: {shown}"


def _checked(datasets: list[Dataset], columns: dict[str, Column]) -> dict[str, Column]:
    """A manifest says what there is, which the engine checks. Without one, the first record does."""
    for data in datasets:
        if data._native.is_published or not len(data):
            continue
        try:
            schema = data.schema
        except DataLossError:  # reading on is what on_corrupt is for
            continue
        for name, column in columns.items():
            if not isinstance(column, Column) or column.fill is not None:
                continue
            wanted = column.stored
            if name not in schema:
                hint = f"; if some records lack it, give it a default: {column!r}.default(…)"
                raise InvalidArgumentError(_no_feature(data, name) + (hint if wanted is column else ""))
            found = schema[name]
            if "__key__" in schema and {wanted.dtype, found.dtype} == {"bytes", "int64"}:
                continue  # of a tar: what is wanted decides (docs/formats/webdataset.md)
            has_lengths = wanted.shape is not None and found.shape is not None
            if found.dtype != wanted.dtype or (has_lengths and found.length != wanted.length):
                raise InvalidArgumentError(
                    f"{name} is wanted as {column!r}, but in the first record of {data.url} it is {found!r}"
                )
    return columns


def _row_shape(shape: list[int] | None) -> tuple[int, ...] | None:
    """A list that is empty in the first record is taken for one of any length."""
    return None if shape is None or 0 in shape else tuple(shape)
