"""Columns of encoded images, which are decoded into batches, and random changes of those images."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

from headrace._src import checked
from headrace._src.columns import Column, bytes_
from headrace.errors import InvalidArgumentError

_METHODS = ("bilinear", "area")
_DTYPES = ("uint8", "float32")
_MOST_SIDE = 65_535  # largest side of a JPEG
_MOST_CHANNELS = 4
_MOST_PIXELS = 2**40
_MOST_CONTRAST = 1000.0
DEFAULT_MAX_PIXELS = 100_000_000


@dataclasses.dataclass(frozen=True, repr=False)
class ImageColumn(Column):
    """A column of encoded images. A batch holds their pixels. `headrace.image` makes one.

    Attributes:
        dtype: "uint8" or "float32".
        shape: height, width and channels of a resized image. Rows of a batch have this shape, unless `crop`
            makes them smaller.
    """

    method: str = "bilinear"
    scaled: bool = False
    background: tuple[int, int, int] | None = None
    max_pixels: int = DEFAULT_MAX_PIXELS

    def __post_init__(self):
        if not isinstance(self.shape, tuple) or len(self.shape) != 3:
            raise InvalidArgumentError(
                f"the shape of an image must be height, width and channels, not {self.shape!r}"
            )
        most = {"height": _MOST_SIDE, "width": _MOST_SIDE, "channels": _MOST_CHANNELS}
        sizes = zip(most.items(), self.shape, strict=True)
        shape = tuple(checked.integer(name, size, 1, most_of) for (name, most_of), size in sizes)
        if math.prod(shape) > 2**31 - 1:
            raise InvalidArgumentError(f"images of {shape} have more than {2**31 - 1:,} values")
        fields = {
            "dtype": checked.choice("dtype", self.dtype, _DTYPES),
            "shape": shape,
            "method": checked.choice("method", self.method, _METHODS),
            "scaled": checked.choice("scaled", self.scaled, (True, False)),
            "background": _checked_color(self.background),
            "max_pixels": checked.integer("max_pixels", self.max_pixels, 1, _MOST_PIXELS),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if self.fill is not None:
            self.default(self.fill)

    @property
    def stored(self) -> Column:
        return bytes_

    @property
    def advice(self) -> str:
        return "leave out records without an image, with on_corrupt='skip-record'"

    def default(self, value: Any) -> Column:
        """Raises InvalidArgumentError, because an image has no default. `on_corrupt` says how the loader
        treats a record without an image."""
        raise InvalidArgumentError(f"{self!r} has no default; {self.advice}")

    def __getitem__(self, sizes: int | tuple[int, ...]) -> Column:
        raise InvalidArgumentError(f"{self!r} has a shape already; a record has one image in each column")

    def native(self, name: str) -> tuple:
        """Returns the arguments of the native loader."""
        is_float = self.dtype == "float32"
        return (name, *self.shape, self.method, is_float, self.scaled, self.background, self.max_pixels)

    def _name(self) -> str:
        height, width, channels = self.shape
        shown = [f"{height}, {width}", *([] if channels == 3 else [f"channels={channels}"])]
        for field in dataclasses.fields(self):
            if field.name in ("shape", "fill"):
                continue
            default = "uint8" if field.name == "dtype" else field.default
            value = getattr(self, field.name)
            if value != default:
                shown.append(f"{field.name}={value!r}")
        return f"hr.image({', '.join(shown)})"


def image(
    height: int,
    width: int,
    channels: int = 3,
    *,
    method: str = "bilinear",
    dtype: str = "uint8",
    scaled: bool = False,
    background: Sequence[int] | None = None,
    max_pixels: int = DEFAULT_MAX_PIXELS,
) -> Column:
    """A column of JPEG or PNG files, one byte string in each record: `columns={"image": hr.image(150, 150)}`.

    A batch holds the pixels as an array [rows, height, width, channels]. The loader's threads decode each
    image, turn it upright as its Exif data says, and resize it as `tf.image.resize` does; the aspect ratio
    may change. docs/images.md describes each kind of image. A record whose image is damaged or absent, or
    whose bytes are not an image, counts as damaged: the loader's `on_corrupt` says what happens to it.

    Args:
        height, width: size of the resized image, in pixels.
        channels: 1 for grey, 3 for red, green and blue; 2 and 4 add alpha.
        method: "bilinear", or "area": the mean of the pixels that a new pixel covers.
        dtype: "uint8", rounded; or "float32", from 0 to 255, as `tf.image.resize` returns.
        scaled: decode a JPEG at the smallest of 1/8, 2/8, 4/8 and 8/8 of its size that is not below `height`
            and `width`. This is faster but gives other pixels: use the same value for training and serving.
        background: red, green and blue, 0 to 255, that alpha is blended with; None: alpha is dropped.
        max_pixels: a file that declares more pixels is not decoded. Decoding takes up to 16 bytes per pixel.

    Raises:
        InvalidArgumentError: an argument is out of its range.
    """
    return ImageColumn(dtype, (height, width, channels), None, method, scaled, background, max_pixels)


def _checked_color(color: Any) -> tuple[int, int, int] | None:
    if color is None:
        return None
    if not isinstance(color, Iterable) or isinstance(color, str | bytes) or len(values := tuple(color)) != 3:
        raise InvalidArgumentError(f"background is {color!r}; it must be red, green and blue, 0 to 255 each")
    return tuple(checked.integer("background", value, most=255) for value in values)


@dataclasses.dataclass(frozen=True, repr=False)
class Augmentation:
    """A random change of images. `headrace.flip`, `crop`, `brightness` and `contrast` make one.

    The random choice is a function of the loader's seed, the epoch, the record's position in the epoch, and
    the place in `augment` (docs/formats/augmentation.md). Ranks, threads and resuming do not change it.
    """

    kind: str
    numbers: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"hr.{self.kind}({', '.join(map(repr, self.numbers))})"


def flip() -> Augmentation:
    """Mirrors an image left to right, with probability 0.5."""
    return Augmentation("flip")


def crop(height: int, width: int) -> Augmentation:
    """Cuts out height × width pixels at a random place. Rows of a batch then have that shape.

    Raises:
        InvalidArgumentError: a size is not a positive integer. The loader raises it if the size is larger
            than the image.
    """
    sizes = (checked.integer("height", height, 1, _MOST_SIDE), checked.integer("width", width, 1, _MOST_SIDE))
    return Augmentation("crop", sizes)


def brightness(delta: float) -> Augmentation:
    """Adds one number to all colours of an image, drawn uniformly from −255·delta to 255·delta.

    Results are clipped to 0 and 255. Alpha does not change.

    Args:
        delta: from 0 to 1, as for `tf.image.random_brightness`.

    Raises:
        InvalidArgumentError: `delta` is not such a number.
    """
    return Augmentation("brightness", (_number("delta", delta, 0, 1),))


def contrast(lower: float, upper: float) -> Augmentation:
    """Multiplies each colour's distance from its channel's mean by one factor, drawn uniformly from `lower`
    to `upper`.

    Results are clipped to 0 and 255. Alpha does not change.

    Args:
        lower, upper: from 0 to 1000, as for `tf.image.random_contrast`; 1 changes nothing.

    Raises:
        InvalidArgumentError: `lower` or `upper` is not such a number, or `upper` is below `lower`.
    """
    least = _number("lower", lower, 0, _MOST_CONTRAST)
    return Augmentation("contrast", (least, _number("upper", upper, least, _MOST_CONTRAST)))


def _number(name: str, value: Any, least: float, most: float) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise InvalidArgumentError(f"{name} is {value!r}; it must be a number from {least} to {most}")
    return float(value)


def checked_augmentations(augment: Any) -> list[Augmentation]:
    if not isinstance(augment, list | tuple):
        raise InvalidArgumentError(f"augment is {augment!r}; write augment=[hr.flip(), …]")
    for augmentation in augment:
        if not isinstance(augmentation, Augmentation):
            raise InvalidArgumentError(f"augment has {augmentation!r}; write hr.flip(), hr.crop(128, 128), …")
    return list(augment)


def row_shape(column: Column, augment: Sequence[Augmentation]) -> tuple[int, ...] | None:
    """The shape of one row of a batch; None if the column is ragged."""
    crops = [augmentation.numbers for augmentation in augment if augmentation.kind == "crop"]
    if not crops or not isinstance(column, ImageColumn):
        return column.shape
    return (*crops[-1], column.shape[2])
