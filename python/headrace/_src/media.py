"""Values of `Run.log` that are not numbers. They go into event files, which TensorBoard shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.summary import Writer


@dataclasses.dataclass(frozen=True)
class Image:
    """An image. Needs Pillow.

    Attributes:
        image: an array [height, width] or [height, width, channels] with 1, 3 or 4 channels, of uint8 or of
            floats from 0 to 1; an image of Pillow; or the bytes of a PNG, JPEG or GIF file.
    """

    image: Any

    def write(self, writer: Writer, name: str, step: int) -> None:
        writer.image(name, self.image, step)


@dataclasses.dataclass(frozen=True)
class Histogram:
    """The distribution of values.

    Attributes:
        values: an array of any shape and numeric dtype. Values that are not finite are dropped.
        buckets: number of buckets, which have equal widths.
    """

    values: Any
    buckets: int = 30

    def write(self, writer: Writer, name: str, step: int) -> None:
        writer.histogram(name, self.values, step, buckets=self.buckets)


@dataclasses.dataclass(frozen=True)
class Text:
    """A text, which TensorBoard renders as Markdown."""

    markdown: str

    def write(self, writer: Writer, name: str, step: int) -> None:
        writer.text(name, self.markdown, step)


@dataclasses.dataclass(frozen=True)
class Audio:
    """A clip of sound, of at most 32 MiB.

    Attributes:
        samples: an array [frames] or [frames, channels], of int16 or of floats from -1 to 1; or the bytes of
            a WAV file.
        rate: frames per second. Ignored for bytes.
    """

    samples: Any
    rate: int = 44_100

    def write(self, writer: Writer, name: str, step: int) -> None:
        writer.audio(name, self.samples, step, rate=self.rate)


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, for `headrace runs show --table` and `headrace runs export --table`; TensorBoard does not show
    it.

    Attributes:
        columns: names, each once; 1,000 at most.
        rows: sequences with a cell for each column: numbers, texts, bools and None. At most 8 MiB as JSON;
            log a larger table as an artifact. For a data frame, give `frame.itertuples(index=False)`.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]

    def write(self, writer: Writer, name: str, step: int) -> None:
        writer.table(name, self.columns, self.rows, step)


MEDIA = (Image, Histogram, Text, Audio, Table)
