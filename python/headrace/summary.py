"""Writes event files for TensorBoard straight into a store, without TensorFlow.

    import headrace as hr

    with hr.summary.Writer("s3://datasets/logs/first") as writer:
        for step in range(1_000):
            writer.scalar("loss", loss, step)
        writer.histogram("weights", weights, step)
        writer.text("notes", "# What was tried", 0)

`headrace tensorboard s3://datasets/logs` shows the files, also while they grow.
"""

from __future__ import annotations

import io
import os
import secrets
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace import _headrace
from headrace._src import audio, table
from headrace._src.version import __version__
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self  # from Python 3.11 on

__all__ = ["Writer"]

_CLOSE_SECONDS = 300.0
_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")


def _new_name() -> str:
    """A name as TensorFlow gives it, so that the names in a folder sort by time."""
    moment = f"{int(time.time()):010}"
    return f"events.out.tfevents.{moment}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"


class Writer:
    """Writes one event file into the folder `url`. TensorBoard shows that folder as a run.

    The writer sends events to the store every `flush_seconds`, at `flush` and at `close`, as objects that
    never change. If the store does not answer, the writer keeps the events and tries again. If the store
    refuses them (no permission, no room), the next call raises that error once, but its event is kept, too.
    The writer drops an event, with a `ResourceExhaustedError`, only while too much is waiting: 64 MiB in
    memory and 1 GiB in temporary files. If the process is killed, events that are not in the store are lost.

    With `journal=True`, a kill loses only the events of the last half second. The others are in local files
    ($XDG_STATE_HOME/headrace/logs), 1 GiB at most, until the store has them; the next `hr.init` on this
    machine, or `headrace runs recover`, writes them into the store.

    Threads may share a writer; a forked child may not use it.

    Every method may raise an error of `headrace.errors`. The message names the file.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        flush_seconds: float = 30.0,
        journal: bool = False,
        _owner: str = "",
    ):
        folder = os.fspath(url).rstrip("/")
        name = f"headrace {__version__}"
        self._native = _headrace.EventWriter(
            f"{folder}/{_new_name()}", name, float(flush_seconds), journal, _owner
        )
        self.scalar = self._native.scalar  # called most often, so without a Python function in between

    if TYPE_CHECKING:

        def scalar(self, tag: str, value: float, step: int, wall_time_s: float | None = None) -> None:
            """Adds one value to a curve, as float32. `wall_time_s`: seconds since 1970; None: now."""

    def scalars(self, values: Mapping[str, float], step: int, wall_time_s: float | None = None) -> None:
        """Adds one value to each of several curves, all at one step."""
        self._native.scalars([(tag, float(value)) for tag, value in values.items()], step, wall_time_s)

    def histogram(self, tag: str, values: Any, step: int, *, buckets: int = 30) -> None:
        """Adds the distribution of an array's values. The array may have any shape and any numeric dtype; it
        is converted to float64. Values that are not finite are dropped."""
        numbers = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        self._native.histogram(tag, numbers, step, buckets)

    def image(self, tag: str, image: Any, step: int) -> None:
        """Adds one image, or a list of images of the same size. Needs Pillow.

        Args:
            image: an array [height, width] or [height, width, channels] with 1, 3 or 4 channels, of uint8 or
                of floats from 0 to 1; or the bytes of a PNG, JPEG or GIF file.

        Raises:
            InvalidArgumentError: an image is none of these, sizes differ, or Pillow is missing.
        """
        several = image if isinstance(image, list | tuple) else [image]
        encoded = [_encoded(one) for one in several]
        sizes = {size for _, size in encoded}
        if len(sizes) != 1:
            raise InvalidArgumentError(
                f"{tag}: images of one summary must have the same size; there are {sorted(sizes)}"
            )
        ((width, height),) = sizes
        self._native.images(tag, [data for data, _ in encoded], width, height, step)

    def text(self, tag: str, markdown: str, step: int) -> None:
        """Adds a text, which TensorBoard renders as Markdown."""
        self._native.text(tag, markdown, step)

    def audio(self, tag: str, samples: Any, step: int, *, rate: int = 44_100) -> None:
        """Adds a clip of sound, of at most 32 MiB.

        Args:
            samples: an array [frames] or [frames, channels], of int16 or of floats, which are cut off at -1
                and 1; or the bytes of a WAV file.
            rate: frames a second. Ignored for bytes.

        Raises:
            InvalidArgumentError: `samples` is none of these, or too large.
        """
        self._native.audio(tag, [audio.encoded(samples, rate)], step)

    def table(self, tag: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], step: int) -> None:
        """Adds a table, which TensorBoard does not show. Readers find at most 1,000 tables of one tag.

        Args:
            columns: names, each once.
            rows: sequences with a cell for each column: numbers, texts, bools and None.

        Raises:
            InvalidArgumentError: the table has another form, or more than 1,000 columns or 8 MiB.
        """
        self._native.table(tag, table.encoded(columns, rows), step)

    def graph(self, graph_def: bytes) -> None:
        """Adds a graph: a serialized tensorflow.GraphDef, for example from
        `graph.as_graph_def().SerializeToString()`."""
        self._native.graph(bytes(graph_def))

    def hparams(self, values: Mapping[str, bool | float | str], *, trial: str = "") -> None:
        """Marks this run as a trial with these hyperparameters. TensorBoard's table joins the runs with the
        same `trial` name into one trial; without a name, each run is a separate trial."""
        pairs = [
            (name, value if isinstance(value, bool | str) else float(value)) for name, value in values.items()
        ]
        self._native.trial(trial, pairs)

    def end_trial(self, *, has_succeeded: bool = True) -> None:
        """Marks the trial of `hparams` as ended."""
        self._native.end_trial(has_succeeded)

    def flush(self) -> None:
        """Sends everything written so far. It is in the store within a second."""
        self._native.flush()

    def close(self, *, timeout: float = _CLOSE_SECONDS) -> None:
        """Waits until everything is in the store. A closed writer takes no more events. If this fails, call
        it again; with a journal, `headrace runs recover` writes the rest after the end of the program.

        Args:
            timeout: longest time in seconds to wait for the store. A request that is under way may take half
                a minute more.

        Raises:
            DeadlineExceededError: the store did not take all events in time.
        """
        self._native.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _encoded(image: Any) -> tuple[bytes, tuple[int, int]]:
    """Returns the bytes of an image file, and its width and height."""
    try:
        from PIL import Image
    except ImportError:
        raise InvalidArgumentError("images need Pillow: pip install pillow") from None
    if isinstance(image, bytes | bytearray | memoryview):
        data = bytes(image)
        if not data.startswith(_SIGNATURES):
            raise InvalidArgumentError("the bytes of an image are not PNG, JPEG or GIF")
        return data, Image.open(io.BytesIO(data)).size
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)):
        raise InvalidArgumentError(
            f"an image has height, width and 1, 3 or 4 channels, not the shape {pixels.shape}"
        )
    if pixels.dtype.kind == "f":
        pixels = (np.clip(np.nan_to_num(pixels), 0, 1) * 255).round()
    target = io.BytesIO()
    made = Image.fromarray(pixels.astype(np.uint8))
    made.save(target, "PNG")
    return target.getvalue(), made.size
