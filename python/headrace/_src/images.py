"""Columns of encoded images, decoded into batches, and what may be changed in them at random."""

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
_MOST_SIDE = 65_535  # that a JPEG may have
_MOST_CHANNELS = 4
_MOST_PIXELS = 2**40
_MOST_CONTRAST = 1000.0
DEFAULT_MAX_PIXELS = 100_000_000


@dataclasses.dataclass(frozen=True, repr=False)
class ImageColumn(Column):
    """A column of encoded images, of which a batch holds the pixels. Made by `headrace.image`.

    Attributes:
        dtype: "uint8" or "float32".
        shape: height, width and channels of a resized image. A batch has this shape, unless it is cropped.
    """

    method: str = "bilinear"
    scaled: bool = False
    background: tuple[int, int, int] | None = None
    max_pixels: int = DEFAULT_MAX_PIXELS

    def __post_init__(self):
        if not isinstance(self.shape, tuple) or len(self.shape) != 3:
            raise InvalidArgumentError(f"an image's shape is height, width and channels, not {self.shape!r}")
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

    def default(self, value: Any) -> Column:
        """Raises InvalidArgumentError: nothing stands for an image. What becomes of a record without one,
        `on_corrupt` says."""
        raise InvalidArgumentError(
            f"{self!r} has no default; leave out records without an image, with on_corrupt='skip-record'"
        )

    def __getitem__(self, sizes: int | tuple[int, ...]) -> Column:
        raise InvalidArgumentError(f"{self!r} has a shape already; a record has one image in each column")

    def native(self, name: str) -> tuple:
        """What the native loader takes."""
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

    A batch has their pixels, [rows, height, width, channels]: decoded by the loader's threads, turned upright
    as Exif says, and resized as `tf.image.resize` does, whatever the ratio of sides. docs/images.md says what
    becomes of which kind of image. One that is damaged, absent or no image makes a bad record: the loader's
    `on_corrupt` says what becomes of those.

    Args:
        height, width: in pixels, of the resized image.
        channels: 1 grey, 3 red, green and blue, 2 and 4 the same with alpha.
        method: "bilinear", or "area", the mean of what a pixel covers.
        dtype: "uint8", rounded; or "float32", what `tf.image.resize` gives: 0 to 255.
        scaled: decode JPEGs at the least of 1/8, 2/8, 4/8 and 8/8 of their size that is not below `height`
            and `width`. Faster, and other pixels: a model should see what it was trained with.
        background: red, green, blue (0 to 255) that alpha is blended with; None: alpha is left out.
        max_pixels: a file that declares more is not decoded. Decoding takes up to 16 bytes a pixel.

    Raises:
        InvalidArgumentError: there are no such images.
    """
    return ImageColumn(dtype, (height, width, channels), None, method, scaled, background, max_pixels)


def _checked_color(color: Any) -> tuple[int, int, int] | None:
    if color is None:
        return None
    if not isinstance(color, Iterable) or isinstance(color, str | bytes) or len(values := tuple(color)) != 3:
        raise InvalidArgumentError(f"background is {color!r}; it is red, green and blue, 0 to 255 each")
    return tuple(checked.integer("background", value, most=255) for value in values)


@dataclasses.dataclass(frozen=True, repr=False)
class Augmentation:
    """A random change of images, made by `headrace.flip`, `crop`, `brightness` and `contrast` alone.

    What is drawn is a function of the loader's seed, the epoch, the record's position in it, and the place
    in `augment` (docs/formats/augmentation.md): ranks, threads and resuming change nothing.
    """

    kind: str
    numbers: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"hr.{self.kind}({', '.join(map(repr, self.numbers))})"


def flip() -> Augmentation:
    """Left and right change places, with probability 0.5."""
    return Augmentation("flip")


def crop(height: int, width: int) -> Augmentation:
    """A part of height × width pixels, anywhere in the image, which batches then have the shape of.

    Raises:
        InvalidArgumentError: a size is no positive integer; from the loader, if it is larger than the image.
    """
    sizes = (checked.integer("height", height, 1, _MOST_SIDE), checked.integer("width", width, 1, _MOST_SIDE))
    return Augmentation("crop", sizes)


def brightness(delta: float) -> Augmentation:
    """Adds one number to all colours of an image, drawn evenly from −255·delta to 255·delta; what leaves 0 to
    255 becomes 0 or 255. Alpha stays.

    Args:
        delta: 0 to 1, as of `tf.image.random_brightness`.
    """
    return Augmentation("brightness", (_number("delta", delta, 0, 1),))


def contrast(lower: float, upper: float) -> Augmentation:
    """Multiplies the distance of all colours to their channel's mean by a factor, drawn evenly from `lower`
    to `upper`; what leaves 0 to 255 becomes 0 or 255. Alpha stays.

    Args:
        lower, upper: 0 or above, as of `tf.image.random_contrast`; 1 changes nothing.
    """
    least = _number("lower", lower, 0, _MOST_CONTRAST)
    return Augmentation("contrast", (least, _number("upper", upper, least, _MOST_CONTRAST)))


def _number(name: str, value: Any, least: float, most: float) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise InvalidArgumentError(f"{name} is {value!r}; it is a number from {least} to {most}")
    return float(value)


def checked_augmentations(augment: Any) -> list[Augmentation]:
    if not isinstance(augment, list | tuple):
        raise InvalidArgumentError(f"augment is {augment!r}; write augment=[hr.flip(), …]")
    for augmentation in augment:
        if not isinstance(augmentation, Augmentation):
            raise InvalidArgumentError(f"augment has {augmentation!r}; write hr.flip(), hr.crop(128, 128), …")
    return list(augment)


def row_shape(column: Column, augment: Sequence[Augmentation]) -> tuple[int, ...] | None:
    """Of one row of a batch."""
    crops = [augmentation.numbers for augmentation in augment if augmentation.kind == "crop"]
    if not crops or not isinstance(column, ImageColumn):
        return column.shape
    return (*crops[-1], column.shape[2])
