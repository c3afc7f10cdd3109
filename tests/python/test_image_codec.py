"""Images beside Pillow, which decodes them, and TensorFlow, which resizes them, by headrace_image_probe."""

import json
import pathlib
import struct
import subprocess
import zlib

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image, ImageOps

ORIENTATION = 0x0112
SIDES = [1, 2, 3, 7, 16, 33, 100]


@pytest.fixture(scope="module")
def probe(build):
    """Takes steps, gives their results; one process for all of them."""

    def run(*steps: dict) -> list[dict]:
        lines = "".join(json.dumps(step, default=str) + "\n" for step in steps)
        done = subprocess.run(
            [build / "bin" / "headrace_image_probe"],
            input=lines,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.fixture
def decode(probe, tmp_path):
    """The pixels of a file: rows × columns × channels."""

    def run(file: pathlib.Path, **options) -> np.ndarray:
        (result,) = probe({"do": "decode", "file": file, "to": tmp_path / "pixels", **options})
        assert "error" not in result, result
        width, height = result["size"]
        return np.fromfile(tmp_path / "pixels", np.uint8).reshape(height, width, result["channels"])

    return run


def picture(width: int, height: int, channels: int, seed: int = 1) -> np.ndarray:
    """Gradients with noise and a hard edge."""
    rng = np.random.default_rng(seed)
    y, x, channel = np.meshgrid(
        np.linspace(0, 200, height), np.linspace(0, 90, width), np.arange(channels), indexing="ij"
    )
    values = (x * (1 + channel) + y) % 256 + rng.normal(0, 6, (height, width, channels))
    values[height // 3 : height // 2, width // 4 :] = 230
    return values.clip(0, 255).astype(np.uint8)


def pillow_image(width: int, height: int, mode: str) -> Image.Image:
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = picture(width, height, channels)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode=mode)


def as_pillow(file: pathlib.Path, mode: str) -> np.ndarray:
    with Image.open(file) as image:
        pixels = np.asarray(image.convert(mode))
    return pixels.reshape(*pixels.shape[:2], -1)


def largest_difference(ours: np.ndarray, theirs: np.ndarray) -> int:
    assert ours.shape == theirs.shape
    return int(np.abs(ours.astype(int) - theirs).max())


# ---- JPEG ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1, 1), (8, 8), (17, 9), (403, 299)])
@pytest.mark.parametrize("options", [{"quality": 90}, {"quality": 40, "progressive": True}], ids=str)
def test_a_jpeg_has_pillows_pixels(decode, tmp_path, size, options):
    for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
        file = tmp_path / "image.jpg"
        pillow_image(*size, "RGB").save(file, subsampling=subsampling, **options)
        assert largest_difference(decode(file), as_pillow(file, "RGB")) <= 1
        luminance = Image.open(file)
        luminance.draft("L", luminance.size)
        assert largest_difference(decode(file, channels=1)[..., 0], np.asarray(luminance)) <= 1


def test_a_grey_jpeg_has_pillows_pixels(decode, tmp_path):
    file = tmp_path / "image.jpg"
    pillow_image(50, 41, "L").save(file)
    assert largest_difference(decode(file), as_pillow(file, "L")) <= 1
    assert largest_difference(decode(file, channels=3), as_pillow(file, "RGB")) <= 1


def test_a_cmyk_jpeg_has_pillows_colors(decode, tmp_path):
    file = tmp_path / "image.jpg"
    pillow_image(60, 40, "CMYK").save(file, quality=95)
    assert Image.open(file).mode == "CMYK"
    assert largest_difference(decode(file), as_pillow(file, "RGB")) <= 1


def test_tensorflow_decodes_accurately_to_the_same_pixels(decode, tmp_path):
    file = tmp_path / "image.jpg"
    for mode in ("RGB", "CMYK"):
        pillow_image(120, 77, mode).save(file)
        theirs = tf.io.decode_jpeg(file.read_bytes(), channels=3, dct_method="INTEGER_ACCURATE").numpy()
        assert largest_difference(decode(file, channels=3), theirs) <= 1


def test_a_scaled_jpeg_has_pillows_draft(decode, tmp_path):
    file = tmp_path / "image.jpg"
    pillow_image(401, 299, "RGB").save(file)
    for scale in (2, 4, 8):
        draft = Image.open(file)
        draft.draft("RGB", (401 // scale, 299 // scale))
        assert draft.width == -(-401 // scale)
        ours = decode(file, at_least=[draft.width, draft.height])
        assert largest_difference(ours, np.asarray(draft)) <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_exif_turns_an_image_as_pillow_does(decode, probe, tmp_path, orientation, suffix):
    file = tmp_path / f"image.{suffix}"
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    pillow_image(40, 23, "RGB").save(file, exif=exif)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(file)))
    assert largest_difference(decode(file), upright) <= 1
    assert largest_difference(decode(file, upright=False), as_pillow(file, "RGB")) <= 1
    assert probe({"do": "header", "file": file})[0]["orientation"] == orientation


# ---- PNG ----------------------------------------------------------------------------------------------


def write_png(file: pathlib.Path, size: tuple[int, int], bits: int, color: int, rows: bytes, *chunks) -> None:
    """Kinds that Pillow does not write."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", *size, bits, color, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts))


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_a_png_has_pillows_pixels(decode, tmp_path, mode):
    file = tmp_path / "image.png"
    for size in [(1, 1), (33, 20), (256, 100)]:
        pillow_image(*size, mode).save(file)
        for channels, as_mode in ((0, mode), (1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")):
            np.testing.assert_array_equal(decode(file, channels=channels), as_pillow(file, as_mode))


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_a_palette_has_pillows_colors(decode, probe, tmp_path, bits):
    file = tmp_path / "image.png"
    quantized = pillow_image(37, 21, "RGB").quantize(2**bits)
    quantized.save(file, bits=bits)
    assert probe({"do": "header", "file": file})[0]["bits"] == bits
    np.testing.assert_array_equal(decode(file), as_pillow(file, "RGB"))
    quantized.save(file, bits=bits, transparency=bytes(range(0, 2**bits)))
    np.testing.assert_array_equal(decode(file), as_pillow(file, "RGBA"))
    np.testing.assert_array_equal(decode(file, channels=3), as_pillow(file, "RGB"))


@pytest.mark.parametrize(("color", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_sixteen_bits_are_what_tensorflow_makes_of_them(decode, tmp_path, color, channels):
    file = tmp_path / "image.png"
    samples = np.random.default_rng(2).integers(0, 1 << 16, (11, 13 * channels), np.uint16)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    write_png(file, (13, 11), 16, color, rows)
    np.testing.assert_array_equal(decode(file), tf.io.decode_png(file.read_bytes()).numpy())
    np.testing.assert_array_equal(decode(file), (samples >> 8).reshape(11, 13, channels))


def test_a_transparent_color_is_what_tensorflow_makes_of_it(decode, tmp_path):
    file = tmp_path / "image.png"
    rows = b"\0\x01\x02\x03\x01\x02\x04"
    write_png(file, (2, 1), 8, 2, rows, (b"tRNS", b"\0\x01\0\x02\0\x03"))
    theirs = tf.io.decode_png(file.read_bytes(), channels=4).numpy()
    np.testing.assert_array_equal(decode(file), theirs)
    assert theirs[0, 0, 3] == 0
    assert theirs[0, 1, 3] == 255


def test_a_background_is_what_pillow_pastes_on(decode, tmp_path):
    file = tmp_path / "image.png"
    image = pillow_image(64, 48, "RGBA")
    image.save(file)
    pasted = Image.new("RGB", image.size, (10, 200, 255))
    pasted.paste(image, mask=image.getchannel("A"))
    np.testing.assert_array_equal(decode(file, channels=3, background=[10, 200, 255]), np.asarray(pasted))


def test_an_animated_png_gives_its_default_image(decode, tmp_path):
    file = tmp_path / "image.png"
    first, second = pillow_image(20, 10, "RGB"), Image.new("RGB", (20, 10))
    first.save(file, save_all=True, append_images=[second])
    assert Image.open(file).n_frames == 2
    np.testing.assert_array_equal(decode(file), np.asarray(first))


# ---- what is not an image, or not one that is read ------------------------------------------------------


@pytest.mark.parametrize("format_", ["GIF", "BMP", "WEBP", "TIFF", "AVIF"])
def test_other_formats_are_named(probe, tmp_path, format_):
    file = tmp_path / "image"
    pillow_image(20, 10, "RGB").save(file, format=format_)
    (result,) = probe({"do": "decode", "file": file, "to": tmp_path / "pixels"})
    assert result["error"] == "UNIMPLEMENTED"
    assert format_.lower() in result["message"].lower()


def test_where_pillow_finds_an_image_cut_so_do_we(probe, tmp_path):
    for suffix in ("jpg", "png"):
        whole = tmp_path / f"image.{suffix}"
        pillow_image(64, 48, "RGB").save(whole)
        data = whole.read_bytes()
        files = []
        for size in range(0, len(data), 37):
            files.append(tmp_path / f"cut-{size}.{suffix}")
            files[-1].write_bytes(data[:size])
        steps = [{"do": "decode", "file": file, "to": tmp_path / "pixels"} for file in files]
        assert {result.get("error") for result in probe(*steps)} == {"DATA_LOSS"}


# ---- encoding -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pillow_reads_the_pngs_that_are_written(probe, tmp_path, channels):
    pixels = picture(45, 31, channels)
    pixels.tofile(tmp_path / "pixels")
    file = tmp_path / "image.png"
    step = {"do": "encode", "file": tmp_path / "pixels", "size": [45, 31], "to": file, "format": "PNG"}
    assert probe({**step, "channels": channels}) == [{}]
    theirs = np.asarray(Image.open(file)).reshape(31, 45, channels)
    np.testing.assert_array_equal(theirs, pixels)


@pytest.mark.parametrize(("channels", "mode"), [(1, "L"), (3, "RGB")])
def test_jpegs_are_written_as_pillow_writes_them(probe, tmp_path, channels, mode):
    pixels = picture(45, 31, channels)
    pixels.tofile(tmp_path / "pixels")
    for subsampling in (0, 1, 2):
        ours, theirs = tmp_path / "ours.jpg", tmp_path / "theirs.jpg"
        step = {"do": "encode", "file": tmp_path / "pixels", "size": [45, 31], "to": ours, "format": "JPEG"}
        assert probe({**step, "channels": channels, "subsampling": subsampling}) == [{}]
        image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
        image.save(theirs, quality=95, subsampling=subsampling)
        assert largest_difference(as_pillow(ours, mode), as_pillow(theirs, mode)) <= 2


# ---- resizing -------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("channels", [1, 3, pytest.param(4, marks=pytest.mark.soak)])
def test_resizing_gives_tensorflows_pixels(probe, tmp_path, method, channels):
    pairs = [
        ((w, h), (to_w, to_h)) for w in SIDES for h in SIDES[::2] for to_w in SIDES for to_h in SIDES[::3]
    ]
    pairs += [((400, 300), (150, 150)), ((300, 400), (224, 224)), ((64, 48), (500, 333))]
    steps, expected = [], []
    for number, (size, to_size) in enumerate(pairs):
        pixels = picture(*size, channels, seed=number)
        source = tmp_path / f"{number}.pixels"
        pixels.tofile(source)
        step = {"do": "resize", "file": source, "size": size, "channels": channels, "method": method}
        step |= {"to_size": to_size}
        steps += [
            {**step, "to": source.with_suffix(".8")},
            {**step, "to": source.with_suffix(".f"), "float": True},
        ]
        expected.append(tf.image.resize(pixels, to_size[::-1], method).numpy())
    assert all(result == {} for result in probe(*steps))
    for number, theirs in enumerate(expected):
        ours = np.fromfile(tmp_path / f"{number}.f", np.float32).reshape(theirs.shape)
        np.testing.assert_allclose(ours, theirs, atol=2e-3, err_msg=str(pairs[number]))
        rounded = np.fromfile(tmp_path / f"{number}.8", np.uint8).reshape(theirs.shape)
        assert largest_difference(rounded, np.round(theirs)) <= 1
