"""Images in the loader, beside TensorFlow's and Pillow's pixels; docs/formats/augmentation.md, implemented a
second time."""

import functools
import io
import os
import re
import struct
import tarfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import keras
import numpy as np
import pytest
import tensorflow as tf
import tfrecords
from PIL import Image, ImageOps
from test_order import derive, siphash

import headrace as hr

ORIENTATION = 0x0112
COUNT = 23
FULL = (11, 14)  # height, width
COLUMNS = {"image": hr.image(*FULL), "label": hr.int64}


def photo(number: int, mode: str = "RGB") -> Image.Image:
    """An image of its own size, with gradients, noise and an edge."""
    rng = np.random.default_rng(number)
    height, width = 30 + 3 * number, 70 - 2 * number
    y, x = np.mgrid[0:height, 0:width]
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.stack([(2 + c) * x + y + 20 * number for c in range(channels)], axis=-1) % 256
    pixels = pixels + rng.normal(0, 5, pixels.shape)
    pixels[height // 3 : height // 2, width // 4 :] = 230
    pixels = pixels.clip(0, 255).astype(np.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode=mode)


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@functools.cache
def file_of(number: int) -> bytes:
    if number % 3 == 0:
        return encoded(photo(number), "PNG")
    return encoded(photo(number), "JPEG", progressive=number % 3 == 2)


def example(number: int, image: bytes | None = None) -> tfrecords.Example:
    return {"image": [file_of(number) if image is None else image], "label": [number], "text": [b"text"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    for shard, numbers in enumerate((range(10), range(10, COUNT))):
        tfrecords.write(folder / f"part-{shard}.tfrecord", map(example, numbers))
    return folder


@pytest.fixture(scope="module")
def data(folder):
    return hr.open(folder)


def data_of(folder, images) -> hr.Dataset:
    """Records of these encoded images, in a file of their own."""
    file = folder / "images.tfrecord"
    tfrecords.write(file, [example(number, image) for number, image in enumerate(images)])
    return hr.open(file)


def first_batch(data, size: int, **options):
    return next(data.loader(batch_size=size, shuffle=False, columns=COLUMNS, **options))


def tensorflow_pixels(file: bytes, size=FULL, method: str = "bilinear", channels: int = 3) -> np.ndarray:
    if file.startswith(b"\xff\xd8"):
        pixels = tf.io.decode_jpeg(file, channels, dct_method="INTEGER_ACCURATE")
    else:
        pixels = tf.io.decode_png(file, channels)
    return tf.image.resize(pixels, size, method=method).numpy()


# ---- pixels


@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("size", [(11, 14), (90, 20), (1, 1), (150, 150)])
def test_pixels_are_those_of_tensorflow(data, size, dtype, method):
    columns = {"image": hr.image(*size, dtype=dtype, method=method), "label": hr.int64}
    batch = next(data.loader(batch_size=COUNT, columns=columns, seed=3))
    assert batch["image"].shape == (COUNT, *size, 3)
    assert batch["image"].dtype == dtype
    assert batch["image"].ctypes.data % 64 == 0
    for pixels, number in zip(batch["image"], batch["label"].tolist(), strict=True):
        theirs = tensorflow_pixels(file_of(number), size, method)
        assert np.abs(pixels.astype(np.float32) - theirs).max() <= (1.51 if dtype == "uint8" else 1.01)
        if number % 3 == 0:  # PNG, whose pixels are exact
            assert np.abs(pixels.astype(np.float32) - theirs).max() <= (0.52 if dtype == "uint8" else 1e-2)


def test_images_stand_upright_as_pillow_has_them(tmp_path):
    files = []
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        files.append(encoded(photo(2), "JPEG", exif=exif, quality=95))
    batch = first_batch(data_of(tmp_path, files), 8)
    for pixels, file in zip(batch["image"], files, strict=True):
        upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))))
        theirs = tf.image.resize(upright, FULL).numpy()
        assert np.abs(pixels - theirs).max() <= 1.51


@pytest.mark.parametrize("channels, mode", [(1, "L"), (3, "RGB"), (4, "RGBA"), (2, "LA")])
def test_channels_are_what_was_asked_for(tmp_path, channels, mode):
    sources = [photo(4, "RGBA"), photo(4, "L"), photo(4, "RGB"), photo(4, "LA")]
    data = data_of(tmp_path, [encoded(image, "PNG") for image in sources])
    batch = next(data.loader(batch_size=4, shuffle=False, columns={"image": hr.image(30, 50, channels)}))
    assert batch["image"].shape == (4, 30, 50, channels)
    for pixels, image in zip(batch["image"], sources, strict=True):
        theirs = np.asarray(image.convert(mode)).reshape(*image.size[::-1], channels)
        assert np.abs(pixels - tf.image.resize(theirs, (30, 50)).numpy()).max() <= 1.51


def test_alpha_is_blended_with_a_background(tmp_path):
    image = Image.new("RGBA", (10, 10), (200, 100, 0, 51))
    data = data_of(tmp_path, [encoded(image, "PNG")])
    columns = {"image": hr.image(2, 2, background=(0, 0, 100))}
    pixels = next(data.loader(batch_size=1, columns=columns))["image"]
    assert pixels[0, 0, 0].tolist() == [40, 20, 80]


def test_scaled_decoding_is_near_the_mean_and_not_the_same(tmp_path):
    file = encoded(photo(1).resize((640, 480), Image.Resampling.BICUBIC), "JPEG", quality=95)
    data = data_of(tmp_path, [file])

    def pixels(**options):
        return next(data.loader(batch_size=1, columns={"image": hr.image(60, 80, **options)}))["image"]

    mean = pixels(method="area").astype(int)
    assert np.abs(pixels(scaled=True) - mean).max() <= 3
    assert np.abs(pixels() - mean).max() > 3


def test_samples_of_tars_are_decoded(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for number in range(5):
            for field, content in (("jpg", file_of(number)), ("cls", b"%d" % number)):
                info = tarfile.TarInfo(f"{number:04}.{field}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    columns = {"jpg": hr.image(*FULL), "cls": hr.int64}
    batch = next(hr.open(tmp_path / "a.tar").loader(batch_size=5, columns=columns))
    for pixels, number in zip(batch["jpg"], batch["cls"].tolist(), strict=True):
        assert np.abs(pixels - tensorflow_pixels(file_of(number))).max() <= 1.51


# ---- augmentation, as its page says


def draw(seed: int, epoch: int, position: int, k: int) -> int:
    return siphash(derive(seed, "augment", epoch, k), struct.pack("<Q", position))


def high(d: int, n: int) -> int:
    return (d >> 32) * n >> 32


def low(d: int, n: int) -> int:
    return (d & 0xFFFFFFFF) * n >> 32


def u(d: int) -> float:
    return (d >> 40) / 2**24


def augmented(image: np.ndarray, augment: list, seed: int, epoch: int, position: int) -> np.ndarray:
    for k, augmentation in enumerate(augment):
        d = draw(seed, epoch, position, k)
        numbers = augmentation.numbers
        x = image.astype(np.float32)
        if augmentation.kind == "flip":
            x = x[:, ::-1] if d >= 2**63 else x
        elif augmentation.kind == "crop":
            h, w = numbers
            top, left = high(d, x.shape[0] - h + 1), low(d, x.shape[1] - w + 1)
            x = x[top : top + h, left : left + w]
        elif augmentation.kind == "brightness":
            x = x + np.float32((2 * u(d) - 1) * numbers[0] * 255)
        else:
            lower, upper = numbers
            mean = x.mean(axis=(0, 1), dtype=np.float64).astype(np.float32)
            x = (x - mean) * np.float32(lower + u(d) * (upper - lower)) + mean
        x = x.clip(0, 255)
        image = np.floor(x + 0.5).astype(np.uint8) if image.dtype == np.uint8 else x
    return image


def test_published_vectors():
    assert derive(44, "augment", 7, 2) == (13646716883507415815, 13885866325455266453)
    for arguments, d, top, left in (
        ((44, 0, 0, 0), 0x8DA11AC47A014528, 12, 10),
        ((44, 0, 1, 0), 0x49A083931B9D9107, 6, 2),
        ((44, 7, 123456789, 2), 0xAE08807D290B7B11, 15, 3),
    ):
        assert (draw(*arguments), high(d, 23), low(d, 23)) == (d, top, left)
    assert u(0xAE08807D290B7B11) == 0.6798171997070312


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    "augment",
    [
        [hr.flip()],
        [hr.crop(7, 9)],
        [hr.crop(*FULL)],
        [hr.flip(), hr.crop(10, 12), hr.flip(), hr.crop(1, 8)],
        [hr.brightness(0.3)],
        [hr.contrast(0.25, 3)],
        [hr.contrast(0.5, 1.5), hr.crop(8, 8), hr.brightness(1), hr.flip()],
    ],
    ids=str,
)
def test_augmented_images_follow_from_the_page(data, augment, dtype):
    column = hr.image(*FULL, dtype=dtype)
    plain = next(data.loader(batch_size=COUNT, shuffle=False, columns={"image": column}))["image"]
    columns = {"image": column, "label": hr.int64}
    loader = data.loader(batch_size=5, columns=columns, augment=augment, seed=44, epochs=2, shuffle="exact")
    per_epoch = loader.batches_per_epoch
    for step, batch in enumerate(loader):
        for row, (image, label) in enumerate(zip(batch["image"], batch["label"], strict=True)):
            position = step % per_epoch * 5 + row
            expected = augmented(plain[label], augment, 44, step // per_epoch, position)
            assert image.shape == expected.shape
            difference = np.abs(image.astype(np.float32) - expected.astype(np.float32)).max()
            # With 8 bits, a mean that is half a unit in the last place off may be rounded otherwise.
            assert difference <= (1 if dtype == "uint8" else 1e-2)
            if all(augmentation.kind in ("flip", "crop") for augmentation in augment):
                assert difference == 0


AUGMENT = [hr.flip(), hr.crop(8, 9), hr.brightness(0.1), hr.contrast(0.8, 1.2)]


def global_batches(data, ranks: int, **options) -> list[tuple[bytes, ...]]:
    """Bytes of images, labels and weights of each batch, put together of all ranks."""
    options = {"batch_size": 6, "columns": COLUMNS, "augment": AUGMENT, "drop_remainder": "pad", **options}
    parts = [
        list(data.loader(rank=rank, world_size=ranks, seed=5, epochs=2, **options)) for rank in range(ranks)
    ]
    return [
        tuple(np.concatenate([part[name] for part in batch]).tobytes() for name in batch[0])
        for batch in zip(*parts, strict=True)
    ]


def test_batches_are_the_same_for_any_ranks_threads_and_place_to_resume(data):
    whole = global_batches(data, 1)
    assert len(whole) == 8
    for ranks in (2, 3, 6):
        assert global_batches(data, ranks, threads=ranks) == whole
    loader = data.loader(
        batch_size=6, columns=COLUMNS, augment=AUGMENT, drop_remainder="pad", seed=5, epochs=2
    )
    for step in (0, 3, 5):
        assert global_batches(data, 2, state=loader.state(step)) == whole[step:]
    loader.seek(6)
    assert next(loader)["image"].tobytes() == whole[6][0]


def test_a_mixture_draws_by_its_own_positions(data):
    plain = next(data.loader(batch_size=COUNT, shuffle=False, columns=COLUMNS))["image"]
    loader = hr.mix([(data, 0.7), (data, 0.3)], batch_size=4, columns=COLUMNS, augment=AUGMENT, seed=9)
    for step, batch in zip(range(loader.batches_per_epoch), loader, strict=True):
        for row, (image, label) in enumerate(zip(batch["image"], batch["label"], strict=True)):
            expected = augmented(plain[label], AUGMENT, 9, 0, step * 4 + row)
            assert np.abs(image.astype(int) - expected).max() <= 1


# ---- bad images

GOOD = file_of(1)
BAD = {
    "cut": (GOOD[:-30], hr.errors.DataLossError, "damaged or truncated"),
    "damaged": (GOOD[:300] + bytes(200) + GOOD[500:], hr.errors.DataLossError, "damaged"),
    "empty": (b"", hr.errors.DataLossError, "zero|no bytes|empty"),
    "lying": (
        GOOD[: GOOD.index(b"\xff\xc0") + 5] + b"\xff\x00\xff\x00" + GOOD[GOOD.index(b"\xff\xc0") + 9 :],
        hr.errors.ResourceExhaustedError,
        "65280 × 65280 pixels; the limit is 100000000",
    ),
    "a text": (b"no image at all", hr.errors.InvalidArgumentError, "it is not an image"),
    "a GIF": (encoded(photo(1), "GIF"), hr.errors.UnimplementedError, "GIF"),
}


@pytest.mark.parametrize("bad, error, message", BAD.values(), ids=BAD)
def test_a_bad_image_is_a_bad_record(tmp_path, bad, error, message):
    data = data_of(tmp_path, [file_of(0), GOOD, bad, file_of(3)])
    with pytest.raises(error, match=message) as caught:
        first_batch(data, 4)
    assert re.search(r'record 2, at byte \d+ .*images.tfrecord: feature "image": ', str(caught.value))
    assert "skip-record" in str(caught.value)
    loader = data.loader(
        batch_size=4,
        shuffle=False,
        columns=COLUMNS,
        on_corrupt="skip-record",
        augment=AUGMENT,
        drop_remainder="pad",
    )
    batch = next(loader)
    assert batch["weight"].tolist() == [1, 1, 0, 1]
    assert batch["label"].tolist() == [0, 1, 0, 3]
    np.testing.assert_array_equal(batch["image"][2], batch["image"][0])
    assert loader.stats().corrupt_records == 1
    short = first_batch(data, 4, on_corrupt="skip-record", augment=AUGMENT)
    assert short["label"].tolist() == [0, 1, 3]
    np.testing.assert_array_equal(short["image"], batch["image"][[0, 1, 3]])
    assert re.search(message, loader.remarks[0])


def test_a_record_without_an_image_is_a_bad_record(tmp_path):
    examples = [example(0), {"label": [1]}, {**example(2), "image": [GOOD, GOOD]}, example(3)]
    tfrecords.write(tmp_path / "a.tfrecord", examples)
    data = hr.open(tmp_path / "a.tfrecord")
    with pytest.raises(hr.errors.InvalidArgumentError, match='record 1.*"image".*does not have it'):
        first_batch(data, 4)
    padded = first_batch(data, 4, on_corrupt="skip-record", drop_remainder="pad")
    assert padded["weight"].tolist() == [1, 0, 0, 1]
    assert first_batch(data, 4, on_corrupt="skip-record")["label"].tolist() == [0, 3]


def test_the_limit_on_pixels_is_the_columns(data):
    columns = {"image": hr.image(*FULL, max_pixels=1000)}
    with pytest.raises(hr.errors.ResourceExhaustedError, match="the limit is 1000 pixels"):
        next(data.loader(batch_size=4, columns=columns))


# ---- what is handed over


def test_frameworks_get_the_shapes_and_types(data):
    def loader(**options):
        return data.loader(batch_size=8, columns=COLUMNS, drop_remainder=True, seed=2, **options)

    arrays = next(loader())
    assert loader().row_shapes == {"image": (*FULL, 3), "label": ()}
    spec = loader().as_tf_dataset().element_spec
    assert spec == (tf.TensorSpec([8, *FULL, 3], tf.uint8), tf.TensorSpec([8], tf.int64))
    for image, _ in loader().as_tf_dataset().take(1):
        np.testing.assert_array_equal(image, arrays["image"])
    converted = next(loader().as_jax())["image"]
    assert isinstance(converted, jax.Array)
    assert converted.dtype == np.uint8
    np.testing.assert_array_equal(converted, arrays["image"])
    np.testing.assert_array_equal(np.from_dlpack(arrays["image"]), arrays["image"])

    cropped = loader(augment=[hr.crop(5, 6)])
    assert cropped.row_shapes["image"] == next(cropped)["image"].shape[1:] == (5, 6, 3)
    assert cropped.as_tf_dataset().element_spec[0] == tf.TensorSpec([8, 5, 6, 3], tf.uint8)
    assert cropped.columns == COLUMNS
    floats = data.loader(batch_size=8, columns={"image": hr.image(4, 4, 1, dtype="float32")})
    assert floats.as_tf_dataset("image").element_spec == tf.TensorSpec([None, 4, 4, 1], tf.float32)


def test_keras_learns_which_images_are_bright(tmp_path):
    rng = np.random.default_rng(1)
    examples = []
    for number in range(64):
        pixels = rng.integers(0, 100, (20, 24, 3)) + 150 * (number % 2)
        image = Image.fromarray(pixels.astype(np.uint8))
        examples.append(example(number % 2, encoded(image, "JPEG" if number % 3 else "PNG")))
    tfrecords.write(tmp_path / "a.tfrecord", examples)
    loader = hr.open(tmp_path / "a.tfrecord").loader(
        batch_size=16,
        columns={"image": hr.image(16, 16), "label": hr.int64},
        augment=[hr.flip(), hr.crop(12, 12), hr.brightness(0.05)],
        seed=1,
    )
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((12, 12, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 127.5, -1),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(loader.as_tf_dataset(), epochs=15, verbose=0).history
    assert history["accuracy"][-1] == 1


# ---- what is refused


def test_columns_show_how_they_are_written():
    assert repr(hr.image(3, 4)) == "hr.image(3, 4)"
    column = hr.image(3, 4, 1, method="area", dtype="float32", scaled=True, background=[1, 2, 3])
    shown = "hr.image(3, 4, channels=1, dtype='float32', method='area', scaled=True, background=(1, 2, 3))"
    assert repr(column) == shown
    assert eval(shown) == column
    assert (
        repr([hr.flip(), hr.crop(3, 4), hr.brightness(0.5)])
        == "[hr.flip(), hr.crop(3, 4), hr.brightness(0.5)]"
    )
    assert hr.image(np.int32(3), 4, scaled=np.True_) == hr.image(3, 4, scaled=True)


WRONG_COLUMNS = {
    "height is 0": lambda: hr.image(0, 3),
    "width is 2.5": lambda: hr.image(3, 2.5),
    "channels is 5": lambda: hr.image(3, 3, 5),
    "more than 2,147,483,647": lambda: hr.image(60000, 60000),
    "method is 'cubic'; it must be one of 'bilinear', 'area'": lambda: hr.image(3, 3, method="cubic"),
    "dtype is 'float64'": lambda: hr.image(3, 3, dtype="float64"),
    "scaled is 'yes'": lambda: hr.image(3, 3, scaled="yes"),
    "background is 'red'": lambda: hr.image(3, 3, background="red"),
    "background is 256": lambda: hr.image(3, 3, background=(0, 0, 256)),
    "max_pixels is 0": lambda: hr.image(3, 3, max_pixels=0),
    "no default": lambda: hr.image(3, 3).default(0),
    "shape already": lambda: hr.image(3, 3)[2],
    "never ragged": lambda: hr.ragged(hr.image(3, 3)),
    "height is -1": lambda: hr.crop(-1, 3),
    "delta is 2": lambda: hr.brightness(2),
    "delta is nan": lambda: hr.brightness(float("nan")),
    "upper is 0.5; it must be a number from 1.0": lambda: hr.contrast(1, 0.5),
}


@pytest.mark.parametrize("message", WRONG_COLUMNS)
def test_there_are_no_wrong_images(message):
    with pytest.raises(hr.errors.InvalidArgumentError, match=message):
        WRONG_COLUMNS[message]()


WRONG_OPTIONS = {
    "a crop of 12 × 3 of an image of 11 × 14 pixels": {"augment": [hr.crop(12, 3)]},
    "write augment=": {"augment": hr.flip()},
    "augment has 'flip'": {"augment": ["flip"]},
    "there is no image column to augment": {"augment": [hr.flip()], "columns": {"label": hr.int64}},
    "label is wanted as hr.image.*it is hr.int64": {"columns": {"label": hr.image(3, 3)}},
    "has no feature picture; it has": {"columns": {"picture": hr.image(3, 3)}},
    "images needs .* but the memory budget is": {"memory_budget": "50MiB"},
}


@pytest.mark.parametrize("message", WRONG_OPTIONS)
def test_wrong_loaders_are_refused(data, message):
    with pytest.raises(hr.Error, match=message):
        data.loader(**{"batch_size": 4, "columns": COLUMNS, **WRONG_OPTIONS[message]})
