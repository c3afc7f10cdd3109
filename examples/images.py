"""From image files to a trained network: prepare, stream, train, evaluate.

    python examples/images.py --data digits --to data/digits              # needs scikit-learn; minutes
    python examples/images.py --data digits --as csv --to data/digits     # from a table of image URIs
    python examples/images.py --generate-catsdogs drawn --to data/drawn   # a small tree like the next
    python examples/images.py --data cats_and_dogs_filtered --to data/catsdogs --size 150
    python examples/images.py --data PetImages --split train=0.8,validation=0.2 --to data/pets --size 150

`--data` is a folder, archive or table that `headrace prepare` reads, in any store, or `digits`: the 1,797
images that come with scikit-learn, which are first written to a folder of that name.
"""

import argparse
import csv
import pathlib
import subprocess
import sys

import keras
import numpy as np
from PIL import Image, ImageDraw

import headrace as hr

SEED = 44
SCHEMA = """
id = "image_uri"
split = "split"

[features.image]
type = "image"
column = "image_uri"
uri = true
resize = [{size}, {size}]
encode = "jpeg"

[features.label]
type = "label"
"""


def write_digits(folder: pathlib.Path) -> None:
    """<split>/<label>/x.png, and images.csv, which names the same files."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    held_back = np.random.default_rng(SEED).permutation(len(digits.target)) < len(digits.target) // 5
    rows = []
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        split = "test" if held_back[number] else "train"
        path = folder / split / str(label) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 255 / 16).astype(np.uint8)).save(path)
        rows.append((split.upper(), path.relative_to(folder).as_posix(), label))
    with open(folder / "images.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("split", "image_uri", "label"), *rows])


def write_catsdogs(folder: pathlib.Path) -> None:
    """Drawn faces under the names of cats_and_dogs_filtered.zip: train/cats/cat.0.jpg,
    validation/dogs/dog.2000.jpg. Cats have pointed ears, dogs have hanging ears."""
    random = np.random.default_rng(SEED)
    for split, first, count in (("train", 0, 200), ("validation", 2000, 50)):
        for label in ("cat", "dog"):
            path = folder / split / f"{label}s"
            path.mkdir(parents=True, exist_ok=True)
            for number in range(first, first + count):
                draw_face(label, random).save(path / f"{label}.{number}.jpg", quality=90)


def draw_face(label: str, random: np.random.Generator) -> Image.Image:
    width, height = (int(side) for side in random.integers(120, 200, 2))
    ground, fur = (tuple(int(c) for c in random.integers(*span, 3)) for span in ((150, 256), (30, 140)))
    image = Image.new("RGB", (width, height), ground)
    pen = ImageDraw.Draw(image)
    x, y, r = width / 2, height * 0.55, min(width, height) * random.uniform(0.22, 0.3)
    for side in (-1, 1):
        if label == "cat":
            corners = [(x + side * r * a, y - r * b) for a, b in ((0.95, 0.3), (0.75, 1.7), (0.15, 0.95))]
            pen.polygon(corners, fill=fur)
        else:
            left, right = sorted((x + side * r * 0.85, x + side * r * 1.45))
            pen.ellipse((left, y - r * 0.7, right, y + r * 0.9), fill=fur)
        pen.ellipse(
            (x + side * r * 0.4 - 4, y - r * 0.3 - 4, x + side * r * 0.4 + 4, y - r * 0.3 + 4), "white"
        )
    pen.ellipse((x - r, y - r, x + r, y + r), outline=fur, width=max(4, int(r / 3)))
    return image


def prepare(source: str, to: str, size: int, split: str) -> None:
    """A folder's layout says what it contains. For a table, the schema also says how its images are
    stored."""
    if not source.endswith(".csv"):
        arguments = ["--layout", "image-folder", "--resize", f"{size}x{size}"]
        arguments += ["--split", split] if split else []
    else:
        schema = pathlib.Path(source).with_suffix(".toml")
        schema.write_text(SCHEMA.format(size=size), encoding="utf-8")
        arguments = ["--schema", str(schema)]
    command = [sys.executable, "-m", "headrace", "prepare", source, to, "--seed", str(SEED), *arguments]
    subprocess.run(command, check=True)


def build_model(size: int, classes: int) -> keras.Model:
    """The network of the well-known tutorial on cats and dogs, for any number of classes."""
    layers = [keras.layers.Input((size, size, 3)), keras.layers.Rescaling(1 / 255)]
    for filters in (16, 32, 64, 64):
        layers += [
            keras.layers.Conv2D(filters, 3, activation="relu", padding="same"),
            keras.layers.MaxPooling2D(),
        ]
    layers += [
        keras.layers.Flatten(),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(classes, activation="softmax"),
    ]
    model = keras.Sequential(layers)
    model.compile(
        optimizer=keras.optimizers.RMSprop(1e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def train(url: str, held_back: str, size: int, epochs: int, batch_size: int) -> None:
    columns = {"image": hr.image(size, size), "label": hr.int64}
    data = hr.open(url)
    keras.utils.set_random_seed(SEED)
    model = build_model(size, len(data.labels))
    training = data.loader(batch_size=batch_size, seed=SEED, columns=columns, epochs=epochs)
    model.fit(training.as_tf_dataset(), epochs=epochs, verbose=2)
    unseen = hr.open(url, held_back)
    loader = unseen.loader(batch_size=256, columns=columns, shuffle=False)
    loss, accuracy = model.evaluate(loader.as_tf_dataset(), verbose=0)
    print(f"{len(unseen)} images of {held_back}: loss {loss:.4f}, accuracy {accuracy:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", help="images that headrace prepare can read, or 'digits'")
    source.add_argument(
        "--generate-catsdogs", metavar="FOLDER", help="write a small tree to this folder, and use it"
    )
    parser.add_argument("--to", required=True, help="the dataset: a folder in any store")
    parser.add_argument(
        "--as", dest="form", choices=["folder", "csv"], default="folder", help="layout of the digits"
    )
    parser.add_argument("--split", default="", help="for data without splits: train=0.8,validation=0.2")
    parser.add_argument("--size", type=int, default=48, help="height and width of the images in the dataset")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--batch-size", type=int, default=20)
    options = parser.parse_args()

    data = options.data
    if options.generate_catsdogs:
        data = options.generate_catsdogs
        write_catsdogs(pathlib.Path(data))
    elif data == "digits":
        folder = pathlib.Path("digits")
        write_digits(folder)
        data = str(folder / "images.csv" if options.form == "csv" else folder)
    prepare(data, options.to, options.size, options.split)
    held_back = "test" if options.data == "digits" else "validation"
    train(options.to, held_back, options.size, options.epochs, options.batch_size)


if __name__ == "__main__":
    main()
