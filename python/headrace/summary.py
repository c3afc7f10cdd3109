"""Event files, which TensorBoard shows, written straight into a store, without TensorFlow.

    import headrace as hr

    with hr.summary.Writer("s3://datasets/logs/first") as writer:
        for step in range(1_000):
            writer.scalar("loss", loss, step)
        writer.histogram("weights", weights, step)
        writer.text("notes", "# What was tried", 0)

`headrace tensorboard s3://datasets/logs` shows them, also while they grow.
"""

from __future__ import annotations

import io
import os
import secrets
import socket
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace import _headrace
from headrace._src.version import __version__
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Self  # from Python 3.11 on

__all__ = ["Writer"]

_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")


def _new_name() -> str:
    """As TensorFlow's own: names of one folder ascend with time."""
    moment = f"{int(time.time()):010}"
    return f"events.out.tfevents.{moment}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"


class Writer:
    """Writes one event file into the folder `url`, which is a run in TensorBoard.

    Events go into the store every `flush_seconds`, at `flush` and at `close`, as objects that never change.
    What the store does not take at once is kept and offered again; if it refuses to take it (no permission,
    no room), the next call raises that, once, though its event is kept, too. Only where 64 MiB wait already,
    events are left out, each with a `ResourceExhaustedError`. For any thread; not for a fork's child.

    Raises the errors of `headrace.errors`, whose messages name the file.
    """

    def __init__(self, url: str | os.PathLike[str], *, flush_seconds: float = 30.0):
        folder = os.fspath(url).rstrip("/")
        name = f"headrace {__version__}"
        self._native = _headrace.EventWriter(f"{folder}/{_new_name()}", name, float(flush_seconds))
        self.scalar = self._native.scalar  # no call between: it is made most often

    if TYPE_CHECKING:

        def scalar(self, tag: str, value: float, step: int, wall_time_s: float | None = None) -> None:
            """One value of a curve, kept as float32. `wall_time_s`: seconds since 1970, else now."""

    def scalars(self, values: Mapping[str, float], step: int, wall_time_s: float | None = None) -> None:
        """Values of several curves at one step."""
        self._native.scalars([(tag, float(value)) for tag, value in values.items()], step, wall_time_s)

    def histogram(self, tag: str, values: Any, step: int, *, buckets: int = 30) -> None:
        """How the values of an array of any shape are distributed. Those that are not finite are left out."""
        numbers = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        self._native.histogram(tag, numbers, step, buckets)

    def image(self, tag: str, image: Any, step: int) -> None:
        """One image, or a list of them of one size: each an array of height × width (grey), or × 1, 3 or 4
        channels, of uint8 or of floats from 0 to 1; or bytes of a PNG, JPEG or GIF. Arrays need Pillow."""
        several = image if isinstance(image, list | tuple) else [image]
        encoded = [_encoded(one) for one in several]
        sizes = {size for _, size in encoded}
        if len(sizes) != 1:
            raise InvalidArgumentError(f"{tag}: images of one summary have one size, not {sorted(sizes)}")
        ((width, height),) = sizes
        self._native.images(tag, [data for data, _ in encoded], width, height, step)

    def text(self, tag: str, markdown: str, step: int) -> None:
        self._native.text(tag, markdown, step)

    def graph(self, graph_def: bytes) -> None:
        """A serialized tensorflow.GraphDef, as `graph.as_graph_def().SerializeToString()` makes it."""
        self._native.graph(bytes(graph_def))

    def hparams(self, values: Mapping[str, bool | float | str], *, trial: str = "") -> None:
        """Makes this run a trial with these hyperparameters. Trials of one name count as one in TensorBoard's
        table; without a name each run is its own."""
        pairs = [
            (name, value if isinstance(value, bool | str) else float(value)) for name, value in values.items()
        ]
        self._native.trial(trial, pairs)

    def end_trial(self, *, has_succeeded: bool = True) -> None:
        self._native.end_trial(has_succeeded)

    def flush(self) -> None:
        """What was written so far is in the store within a second."""
        self._native.flush()

    def close(self) -> None:
        """All is in the store. A closed writer takes no more."""
        self._native.close()

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
    """The bytes of an image file, and its width and height."""
    try:
        from PIL import Image
    except ImportError:
        raise InvalidArgumentError("images need Pillow: pip install pillow") from None
    if isinstance(image, bytes | bytearray | memoryview):
        data = bytes(image)
        if not data.startswith(_SIGNATURES):
            raise InvalidArgumentError("the bytes of an image are no PNG, JPEG or GIF")
        return data, Image.open(io.BytesIO(data)).size
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)):
        raise InvalidArgumentError(f"an image has height, width and 1, 3 or 4 channels, not {pixels.shape}")
    if pixels.dtype.kind == "f":
        pixels = (np.clip(np.nan_to_num(pixels), 0, 1) * 255).round()
    target = io.BytesIO()
    made = Image.fromarray(pixels.astype(np.uint8))
    made.save(target, "PNG")
    return target.getvalue(), made.size
