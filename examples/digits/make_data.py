"""Draws digits: train/<digit>/x.png to learn from, and new/x.png to predict; truth.csv has the answers."""

import csv
import pathlib
import random

from PIL import Image, ImageDraw

DIGITS = "0123"
draw = random.Random(44)


def picture(digit: str) -> Image.Image:
    image = Image.new("L", (28, 28), draw.randint(0, 60))
    place = (draw.randint(8, 14), draw.randint(6, 12))
    ImageDraw.Draw(image).text(place, digit, fill=draw.randint(160, 255))
    return image.rotate(draw.uniform(-10, 10))


for number in range(600):
    digit = DIGITS[number % len(DIGITS)]
    folder = pathlib.Path("train") / digit
    folder.mkdir(parents=True, exist_ok=True)
    picture(digit).save(folder / f"{number}.png")

pathlib.Path("new").mkdir(exist_ok=True)
with open("truth.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file)
    rows.writerow(["id", "digit"])
    for number in range(100):
        digit = DIGITS[draw.randrange(len(DIGITS))]
        picture(digit).save(f"new/{number}.png")
        rows.writerow([f"{number}.png", digit])
