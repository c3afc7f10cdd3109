"""Sound as the bytes of a WAV file."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError

MOST_BYTES = 32 << 20  # per clip
_MOST_RATE = 768_000
_MOST_CHANNELS = 32
_HEADER_BYTES = 44


def encoded(samples: Any, rate: int) -> bytes:
    """Returns the bytes of a WAV file with 16 bits a sample.

    Args:
        samples: an array [frames] or [frames, channels], of int16 or of floats, which are cut off at -1 and
            1; or the bytes of a WAV file, which are returned.
        rate: frames a second; ignored for bytes.

    Raises:
        InvalidArgumentError: `samples` is none of these, or larger than 32 MiB.
    """
    if isinstance(samples, bytes | bytearray | memoryview):
        data = bytes(samples)
        if not (data.startswith(b"RIFF") and data[8:12] == b"WAVE"):
            raise InvalidArgumentError("the bytes of a clip are not a WAV file")
        _check_size(len(data))
        return data
    frames = np.asarray(samples)
    if frames.ndim == 1:
        frames = frames[:, np.newaxis]
    if frames.ndim != 2 or not 0 < frames.shape[1] <= _MOST_CHANNELS:
        raise InvalidArgumentError(
            f"a clip has frames and 1 to {_MOST_CHANNELS} channels, not the shape {np.shape(samples)}"
        )
    if not 0 < rate <= _MOST_RATE:
        raise InvalidArgumentError(
            f"the rate is {rate}; it must be a number of frames per second, up to {_MOST_RATE}"
        )
    _check_size(2 * frames.size + _HEADER_BYTES)
    if frames.dtype.kind == "f":
        frames = (np.clip(np.nan_to_num(frames), -1, 1) * 32767).round().astype(np.int16)
    if frames.dtype != np.int16:
        raise InvalidArgumentError(f"samples of a clip must be floats or int16, not {frames.dtype}")
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(frames.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.ascontiguousarray(frames, "<i2").tobytes())
    return target.getvalue()


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise InvalidArgumentError(
            f"the clip has {size} bytes; at most {MOST_BYTES}: log a part, or a file as an artifact"
        )
