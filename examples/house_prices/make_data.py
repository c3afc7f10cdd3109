"""Writes houses.csv, to learn from, and new.csv without the price; truth.csv has the prices."""

import csv
import random

draw = random.Random(44)


def house(number: int) -> list:
    area, rooms, age = draw.uniform(40, 200), draw.randint(1, 8), draw.uniform(0, 80)
    price = 3 * area + 20 * rooms - 1.5 * age + draw.gauss(0, 10)
    return [number, round(area, 1), rooms, round(age, 1), round(price, 2)]


houses = [house(number) for number in range(2300)]
for name, rows, columns in (
    ("houses.csv", houses[:2000], ["id", "area", "rooms", "age", "price"]),
    ("new.csv", [row[:4] for row in houses[2000:]], ["id", "area", "rooms", "age"]),
    ("truth.csv", [[row[0], row[4]] for row in houses[2000:]], ["id", "price"]),
):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
