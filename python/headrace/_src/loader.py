"""Loaders: iterators of batches whose position can be computed, saved and restored."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypedDict, TypeVar

from headrace import _headrace
from headrace._src import checked
from headrace._src.columns import Column
from headrace._src.early_end import EarlyEnd
from headrace._src.images import Augmentation, ImageColumn, checked_augmentations, row_shape
from headrace._src.log import logger
from headrace._src.stats import Stats
from headrace._src.stopwatch import Stopwatch
from headrace.errors import Error, FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    import jax
    import tensorflow as tf
    import torch

    from headrace._src.plot import Svg

# Stands for "no end": more epochs than anyone trains, yet the number of batches can still be counted.
_ENDLESS = 1 << 32
_SHUFFLE_MODES = {True: "window", False: "none", "window": "window", "none": "none", "exact": "exact"}
DEFAULT_WINDOW = "64MiB"
POLICIES = ("fail", "skip-record", "skip-shard")

Batch = dict[str, Any]  # values are np.ndarray, Ragged or Strings
Array = TypeVar("Array")


class Place(NamedTuple):
    """The place of a record."""

    url: str
    """URL of its shard."""
    record: int
    """Number of the record within the shard, from 0."""
    offset_bytes: int | None = None
    """Offset of the record in the uncompressed shard. None unless the record was looked up."""
    id: bytes | None = None
    """The record's feature "id", if it is one byte string, or a WebDataset sample's key. None unless the
    record was looked up and has one."""


class ShuffleQuality(NamedTuple):
    """How well an order mixes. Both values are about 1 for a perfect shuffle, and about 0 for the stored
    order."""

    displacement: float
    """How far records move from their place in the dataset to their place in the epoch."""
    spread: float
    """How far apart in the dataset the neighbours of an epoch lie."""


class LoaderOptions(TypedDict, total=False):
    """The keyword arguments of `Dataset.loader`, where they are described."""

    augment: Sequence[Augmentation]
    seed: int
    shuffle: bool | str
    balance: str | None
    bucket: str | None
    window: int | str
    epochs: int | None
    drop_remainder: bool | str
    rank: int
    world_size: int
    micro_shards: int | None
    memory_budget: int | str
    on_corrupt: str | None
    weights: str
    threads: int
    headspace: bool
    trace: bool
    state: bytes | None
    order: int | None


def make_loader(
    sources: list[tuple[_headrace.Dataset, float, tuple[int, int] | None]],
    *,
    columns: dict[str, Column],
    batch_size: int,
    augment: Sequence[Augmentation] = (),
    seed: int = 0,
    shuffle: bool | str = True,
    arrangement: tuple[str, str, str, int | None] | None = None,
    window: int | str = DEFAULT_WINDOW,
    epochs: int | None = 1,
    drop_remainder: bool | str = False,
    rank: int = 0,
    world_size: int = 1,
    micro_shards: int | None = None,
    memory_budget: int | str = "1GiB",
    on_corrupt: str,
    weights: str = "weight",
    threads: int = 0,
    headspace: bool = False,
    trace: bool = False,
    state: bytes | None = None,
    order: int | None = None,
) -> Loader:
    """Implements `Dataset.loader` and `mix`, which describe the arguments; dataset.py, `arrangement`."""
    drop_remainder = checked.choice("drop_remainder", drop_remainder, (True, False, "pad"))
    on_corrupt = checked.choice("on_corrupt", on_corrupt, POLICIES)
    if not isinstance(weights, str) or not weights:
        raise InvalidArgumentError(
            f"weights is {weights!r}; it must be the name of the rows' weights in a batch"
        )
    check_columns(columns)
    augment = checked_augmentations(augment)
    may_weigh_nothing = drop_remainder == "pad"
    if may_weigh_nothing and weights in columns:
        raise InvalidArgumentError(
            f"a column has the name {weights!r} of the rows' weights: give the weights another name with "
            "weights="
        )
    state = None if state is None else checked.state("state", state)
    if order is None:
        order = _headrace.ORDER_VERSION if state is None else _headrace.order_version_of(state)
    epochs = None if epochs is None else checked.integer("epochs", epochs, least=1, most=_ENDLESS)
    arguments = {
        "sources": sources,
        **native_columns(columns, augment),
        "batch_size": checked.integer("batch_size", batch_size, least=1),
        "shuffle": _SHUFFLE_MODES[checked.choice("shuffle", shuffle, tuple(_SHUFFLE_MODES))],
        "arrangement": arrangement,
        "window_bytes": checked.size_bytes("window", window, least=1),
        "seed": checked.integer("seed", seed, most=2**64 - 1),
        "drop_remainder": drop_remainder is True,
        "rank": checked.integer("rank", rank),
        "world_size": checked.integer("world_size", world_size, least=1),
        "micro_shards": 0 if micro_shards is None else checked.integer("micro_shards", micro_shards, least=1),
        "order_version": checked.integer("order", order, least=1, most=_headrace.ORDER_VERSION),
        "on_corrupt": on_corrupt,
        "threads": checked.integer("threads", threads, most=1024),
        "memory_budget_bytes": checked.size_bytes("memory_budget", memory_budget),
        "headspace": checked.choice("headspace", headspace, (True, False)),
        "trace": checked.choice("trace", trace, (True, False)),
    }
    shapes = {name: row_shape(column, augment) for name, column in columns.items()}
    loader = Loader(columns, shapes, arguments, epochs, weights if may_weigh_nothing else None, state)
    if state is not None and epochs is not None and len(loader) == 0:
        logger.warning("the state is at step %d, where %s epochs end: no batch is left", loader.step, epochs)
    return loader


def native_columns(columns: dict[str, Column], augment: Sequence[Augmentation]) -> dict[str, Any]:
    """Columns and augmentations as the native module takes them."""
    stored = {name: column.stored for name, column in columns.items()}
    return {
        "columns": [(name, c.dtype, c.shape, c.fill, columns[name].advice) for name, c in stored.items()],
        "images": [c.native(name) for name, c in columns.items() if isinstance(c, ImageColumn)],
        "augment": [(augmentation.kind, augmentation.numbers) for augmentation in augment],
    }


def check_columns(columns: dict[str, Column]) -> None:
    if not columns:
        raise InvalidArgumentError("no column was requested; name at least one")
    for name, column in columns.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"the name of a column is {name!r}; names must be str")
        if not isinstance(column, Column):
            raise InvalidArgumentError(f"column {name} is {column!r}; write hr.float32[512], hr.int64, …")


class Loader:
    """Iterates over batches: dicts of name → array. `Dataset.loader` and `headrace.mix` make one.

    A column of numbers is an array [rows, *shape] of float32 or int64, and one of images an array [rows,
    height, width, channels] of uint8 or float32. A ragged column is a `Ragged`; byte strings are `Strings`.
    All of them view the engine's own memory without a copy, and keep that memory alive. Arrays are aligned to
    64 bytes.

    A loader is one iterator: a second `for` continues where the first one stopped, also after Ctrl-C. One
    thread at a time takes batches; `stats`, `activity` and `close` may be called from any thread. A process
    may have many loaders. A forked child cannot use its parent's loader: make one in the child.
    """

    def __init__(
        self,
        columns: Mapping[str, Column],
        shapes: Mapping[str, tuple[int, ...] | None],
        arguments: dict[str, Any],
        epochs: int | None,
        weights: str | None,
        state: bytes | None,
    ):
        self._columns = dict(columns)
        self._shapes = dict(shapes)
        self._arguments = arguments
        self._epochs = epochs
        self._weights = weights
        self._may_skip = arguments["on_corrupt"] != "fail"
        self._logged_remarks: set[str] = set()
        self._engine_epochs = epochs
        # The engine and the counts of earlier engines, as one value, so that other threads read both
        # consistently.
        self._engines = self._make_engine(epochs, state=state), Stats()
        self._log_remarks()
        self._first_step = self.step
        self._pass_start = self.step
        self._pass_end: int | None = None
        self._passed_over: list[int] | None = None  # steps left out since `begin_passes_at`, ascending
        self._pass_lock = threading.RLock()  # reentrant: a signal handler may close the loader during a pass
        self._pass_number = 0
        self._early_end = EarlyEnd()
        self._hand_over = Stopwatch()
        self._is_taking = False  # whether a pass waits for a batch of the present engine
        self._left_out_rows = 0
        self._failure: Error | None = None
        self._is_closed = False

    # ---- batches and shapes

    def __iter__(self) -> Iterator[Batch]:
        if self._is_over() and self._first_step < self.step:
            logger.warning(
                "the %d epochs of this loader are over, so it gives no more batches: give it more epochs=, "
                "or call seek(0) to begin again",
                self._epochs,
            )
        return self

    def _is_over(self) -> bool:
        return self._epochs is not None and self.step >= self._epochs * self.batches_per_epoch

    def __next__(self) -> Batch:
        while not self._is_over():  # passes may continue after the last epoch
            batch = self._next()
            if not self._is_passed_over(batch):
                return batch
        raise StopIteration

    def _is_passed_over(self, batch: Batch) -> bool:
        """Whether the batch has lost all its records: passes leave it out, because a mean over no rows is
        NaN. It still counts as a step, so ranks stay in step."""
        return self.world_size == 1 and len(next(iter(batch.values()))) == 0

    def _next(self, engine: _headrace.Loader | None = None) -> Batch:
        batch = (engine or self._engine).next(self._weights)
        if self._may_skip:
            self._log_remarks()
        if batch is None:
            raise StopIteration
        return batch

    def __len__(self) -> int:
        """Number of batches from the position at which this loader was made to the end of its last epoch.

        Raises:
            TypeError: the loader has no end.
        """
        if self._epochs is None:
            raise TypeError("a loader with epochs=None has no end")
        return max(0, self._epochs * self.batches_per_epoch - self._first_step)

    def close(self) -> None:
        """Ends the loader's threads and frees what they read ahead. `with data.loader(…) as loader:` calls
        this.

        A wait for a batch in another thread ends, too. Batches that were handed out stay valid; the loader
        gives no more. Position, state, statistics and trace remain. A loader that is garbage collected closes
        itself.
        """
        self._is_closed = True
        self._engine.close()  # before taking the lock, so that a pass that waits for a batch ends
        with self._pass_lock:
            self._engine.close()  # the pass may have made another engine

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def columns(self) -> dict[str, Column]:
        return dict(self._columns)

    @property
    def row_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shape of one row of each column, after `hr.crop` of images. None: the column is ragged."""
        return dict(self._shapes)

    @property
    def weights(self) -> str | None:
        """Key of the rows' weights in a batch; None without `drop_remainder="pad"`, because then every row is
        a record."""
        return self._weights

    @property
    def batch_size(self) -> int:
        """Number of rows of a global batch."""
        return self._arguments["batch_size"]

    @property
    def rows(self) -> int:
        """Number of rows of this rank's part of a full batch."""
        r, w = self._arguments["rank"], self._arguments["world_size"]
        m = self._arguments["micro_shards"] or self.batch_size
        return ((r + 1) * m // w - r * m // w) * (self.batch_size // m)

    @property
    def rank(self) -> int:
        return self._arguments["rank"]

    @property
    def world_size(self) -> int:
        return self._arguments["world_size"]

    @property
    def has_equal_batches(self) -> bool:
        """Whether every batch has `rows` rows. Otherwise the last batch of an epoch may be short, and so are
        those that have lost records."""
        return self._weights is not None or (self._arguments["drop_remainder"] and not self._may_skip)

    @property
    def epochs(self) -> int | None:
        return self._epochs

    @property
    def batches_per_epoch(self) -> int:
        return self._engine.batches_per_epoch

    @property
    def records_per_epoch(self) -> int:
        """Number of records that all ranks together read in an epoch."""
        return self._engine.record_count

    # ---- position

    @property
    def step(self) -> int:
        """Number of the next batch, counted from 0 at the start of epoch 0. It is the same on every rank."""
        epoch, batch = self._engine.position
        return epoch * self._engine.batches_per_epoch + batch

    def state(self, step: int | None = None) -> bytes:
        """Returns bytes with which another loader continues this order: less than 1 kB, equal on every rank.

        Args:
            step: number of the batch to continue with; None: the next one. Keras and tf.data read ahead, so
                they have taken more batches than they have trained on; `headrace.keras.Resume` counts the
                latter.
        """
        return self._engine.state(*self._place_of(self.step if step is None else step))

    def where(self, step: int, look_up: bool = False) -> list[Place]:
        """Returns the places of the records in this rank's rows of a batch, in the order of the rows.

        Args:
            step: number of any batch. The places are computed: nothing is read, unless the loader has
                `balance` or `bucket`. These depend on the data, so the windows of the batch are read once
                more; if you ask for batches in their order, each window is read once.
            look_up: whether to read each of these records, for its offset and its id.
        """
        epoch, batch = self._place_of(step)
        places = self._engine.look_up(epoch, batch) if look_up else self._engine.where(epoch, batch)
        return [Place(*place) for place in places]

    def seek(self, step: int) -> None:
        """Continues with batch `step`. If that is not the next batch, the loader drops what it read ahead."""
        with self._pass_lock:
            if step != self.step or self._engine_epochs != self._epochs:
                self._replace_engine(step, self._epochs)
            self.begin_passes_at(step)

    def begin_passes_at(self, step: int, end: int | None = None) -> None:
        """Makes the next pass begin with batch `step`, and end before batch `end` if given. A pass under way
        does not change."""
        self._early_end.settle()
        with self._pass_lock:
            self._pass_start, self._pass_end = step, end
            self._passed_over = []

    @property
    def early_end(self) -> EarlyEnd:
        """The early end of the passes that `as_tf_dataset` makes."""
        return self._early_end

    @property
    def hand_over(self) -> Stopwatch:
        """Adds up the time in which batches become tensors."""
        return self._hand_over

    def step_after(self, first: int, batches: int) -> int:
        """Returns the step that follows `batches` batches of passes since `begin_passes_at(first)`. Batches
        whose records are all lost are steps, and passes leave them out."""
        step = first + batches
        for passed_over in tuple(self._passed_over or ()):
            if passed_over <= step:
                step += 1
        return step

    def step_of(self, state: bytes) -> int:
        """Returns the step at which `state` continues.

        Raises:
            FailedPreconditionError: the state belongs to another order.
        """
        epoch, batch = self._engine.position_of(checked.state("state", state))
        return epoch * self.batches_per_epoch + batch

    def _place_of(self, step: int) -> tuple[int, int]:
        return divmod(checked.integer("step", step, most=_ENDLESS), self.batches_per_epoch)

    def shuffle_quality(self, source: int = 0, epoch: int = 0) -> ShuffleQuality:
        """Measures how well the order mixes, at 10,000 places. Reads nothing, except the indexes for "exact".

        A larger `window` mixes better if blocks of the dataset differ from one another. `balance` and
        `bucket`, which come after the shuffle, do not count.

        Args:
            source: number of the dataset in a mixture, counted from 0.
            epoch: number of the epoch, counted from 0.
        """
        places = checked.integer("source", source), checked.integer("epoch", epoch, most=_ENDLESS)
        return ShuffleQuality(*self._engine.shuffle_quality(*places))

    # ---- statistics

    def stats(self) -> Stats:
        """Returns bytes, records and seconds per stage since the loader was made. Any thread may call
        this."""
        engine, earlier = self._engines
        stats = Stats(**engine.stats()).plus(earlier)
        return dataclasses.replace(stats, hand_over_seconds=self._hand_over.seconds)

    def plot(self) -> Svg:
        """Returns a picture (SVG) of where the time went. Notebooks show it; `str()` of it is the file's
        text."""
        from headrace._src.plot import plot_stats

        return plot_stats(self.stats())

    def activity(self) -> str:
        """Returns a line for each thread that says what it does or waits for now. Any thread may call
        this."""
        return self._engine.activity()

    def trace(self) -> str:
        """Returns what each thread did when, as JSON for chrome://tracing and Perfetto. Needs
        `trace=True`."""
        return self._engine.trace_json()

    @property
    def left_out_rows(self) -> int:
        """Number of rows in the last whole pass of `pass_batches` or `as_tf_dataset` that were not records:
        lost records, and padding of the last batch. With `drop_remainder="pad"` they have weight 0; otherwise
        they are left out."""
        return self._left_out_rows

    @property
    def failure(self) -> Error | None:
        """The error that ended a pass of `as_tf_dataset`. TensorFlow raises an error of its own instead."""
        return self._failure

    @property
    def remarks(self) -> list[str]:
        """The first hundred remarks on skipped data, for people. The logger "headrace" gets each as a
        warning."""
        return self._engine.remarks

    # ---- for frameworks

    def as_tf_dataset(
        self, features: str | Sequence[str] | None = None, labels: str | None = None
    ) -> tf.data.Dataset:
        """Returns a tf.data.Dataset for `model.fit`. Each pass over it is the next epoch.

        An element is (features, labels); with `drop_remainder="pad"` it is (features, labels, weights), and
        metrics have to be compiled as `weighted_metrics=`, since `metrics=` ignores weights. Without labels,
        an element is the features alone: a dict of all columns, with the weights under their name, or the
        columns that `features` names. Tensors share the engine's memory. A pass that is abandoned begins
        again the next time. `epochs` does not bound the passes, because `fit` counts them. Only one pass at a
        time may run. When the interpreter ends, it closes the loader, so that a pass under way ends.

        Args:
            features: name of a column, which becomes a tensor, or names of several, which become a dict of
                tensors; None: all columns except the labels.
            labels: name of a column; None: the column called "label" or "labels", if there is one.

        Raises:
            InvalidArgumentError: the loader has no such column, or none beside the labels.
        """
        from headrace._src.tensorflow import dataset_of

        dataset = dataset_of(self, features, labels)
        if isinstance(dataset.element_spec, tuple) and len(dataset.element_spec) == 3:
            logger.warning(
                "rows that pad a batch have weight 0: compile the model with weighted_metrics=, because "
                "metrics= counts them; without drop_remainder='pad' there are none"
            )
        return dataset

    def as_jax(self) -> Converted[jax.Array]:
        """Returns the same batches with arrays as jax.Array, by DLPack; on the CPU without a copy.

        Unless `jax_enable_x64` is set, JAX has no int64: such arrays are copied to int32, and a value that
        does not fit raises InvalidArgumentError. Byte strings stay `Strings`.
        """
        from headrace._src.dlpack import converter_to_jax

        return Converted(self, converter_to_jax())

    def as_torch(self) -> Converted[torch.Tensor]:
        """Returns the same batches with arrays as torch.Tensor, by DLPack, without a copy. Byte strings stay
        `Strings`."""
        from headrace._src.dlpack import converter_to_torch

        return Converted(self, converter_to_torch())

    def pass_batches(self) -> Iterator[Batch]:
        """Iterates over one pass: as many batches as an epoch has, from where the last whole pass ended.

        Unlike `for batch in loader`, a pass that is abandoned begins again the next time, and a pass after
        the last epoch continues with further epochs. Use it for frameworks that count epochs themselves.

        Raises:
            FailedPreconditionError: another pass has begun meanwhile, or the loader is closed.
        """
        length = self.batches_per_epoch
        with self._pass_lock:
            self._pass_number += 1
            number = self._pass_number
            start = self._pass_start
            end = self._pass_end or start + length
            is_past_the_end = self._engine_epochs is not None and end > self._engine_epochs * length
            # If another pass waits for a batch, it will take a batch from the present engine.
            if is_past_the_end or start != self.step or self._is_taking:
                self._replace_engine(start, None if is_past_the_end else self._engine_epochs)
            left_out_before = self._engine.left_out_rows
            if self._passed_over is not None:
                self._passed_over = [step for step in self._passed_over if step < start]
        for step in range(start, end):
            batch = self._next_of_pass(number)
            is_passed_over = self._is_passed_over(batch)
            with self._pass_lock:
                self._check_pass(number)
                if is_passed_over and self._passed_over is not None:
                    self._passed_over.append(step)
                if step + 1 == end:
                    self._pass_start, self._pass_end = end, None
                    self._left_out_rows = self._engine.left_out_rows - left_out_before
            if not is_passed_over:
                yield batch

    def _next_of_pass(self, number: int) -> Batch:
        with self._pass_lock:
            self._check_pass(number)
            engine = self._engine
            self._is_taking = True
        try:
            batch = self._next(engine)  # without the lock, because this may take long
        except Error as error:
            with self._pass_lock:
                self._check_pass(number)
                self._failure = error
            raise
        finally:
            with self._pass_lock:
                self._is_taking = self._is_taking and number != self._pass_number
        return batch

    def _check_open(self) -> None:
        if self._is_closed:
            raise FailedPreconditionError("the loader is closed; make another one")

    def _check_pass(self, number: int) -> None:
        self._check_open()
        if number != self._pass_number:
            raise FailedPreconditionError(
                "another pass over this loader has begun; make a loader for each pass"
            )

    # ---- inside

    def _make_engine(
        self, epochs: int | None, state: bytes | None = None, position: tuple[int, int] | None = None
    ) -> _headrace.Loader:
        epochs = _ENDLESS if epochs is None else epochs
        return _headrace.Loader(**self._arguments, epochs=epochs, state=state, position=position)

    def _replace_engine(self, step: int, epochs: int | None) -> None:
        self._check_open()
        engine = self._make_engine(epochs, position=self._place_of(step))  # Ctrl-C here changes nothing
        before = self._engine
        self._engines, self._engine_epochs = (engine, self.stats()), epochs
        self._is_taking = False
        before.close()

    @property
    def _engine(self) -> _headrace.Loader:
        return self._engines[0]

    def _log_remarks(self) -> None:
        for remark in self._engine.new_remarks():
            if remark not in self._logged_remarks:
                self._logged_remarks.add(remark)
                logger.warning("%s", remark)

    def __reduce__(self):
        raise FailedPreconditionError(
            "a loader cannot be copied or pickled: its threads and its place in the data are this process's; "
            "pass on Loader.state(), and make another loader with state="
        )

    def __repr__(self) -> str:
        epochs = "endless" if self._epochs is None else f"{self._epochs} epochs"
        columns = ", ".join(f"{name}: {column!r}" for name, column in self._columns.items())
        return (
            f"<headrace.Loader at step {self.step} of {epochs} of {self.batches_per_epoch:,} batches of "
            f"{self.batch_size}, {{{columns}}}>"
        )


class Converted(Generic[Array]):
    """A loader's batches with converted arrays. It shares the loader's position: both are one iterator."""

    def __init__(self, loader: Loader, convert: Callable[[Any, str], Array]):
        self._loader = loader
        self._convert = convert

    def __iter__(self) -> Iterator[dict[str, Array]]:
        return self

    def __next__(self) -> dict[str, Array]:
        batch = next(self._loader)
        with self._loader.hand_over:
            return {name: self._convert(array, name) for name, array in batch.items()}

    def __len__(self) -> int:
        return len(self._loader)

    @property
    def loader(self) -> Loader:
        """The loader of these batches, which has the state, step and statistics."""
        return self._loader

    def __repr__(self) -> str:
        return f"<batches of {self._loader!r}, converted>"
