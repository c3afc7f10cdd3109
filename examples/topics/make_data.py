"""Writes news.csv, to learn from, and new.csv without the topics; truth.csv has the topics."""

import csv
import random

TOPICS = {"sport": "goal match coach", "money": "bank price market", "weather": "rain wind storm"}
draw = random.Random(44)


def news(number: int) -> list:
    about = [draw.random() < 0.4 for _ in TOPICS]
    words = ["today", "people"]
    for is_about, vocabulary in zip(about, TOPICS.values(), strict=True):
        words += [draw.choice(vocabulary.split()) for _ in range(3)] if is_about else []
    draw.shuffle(words)
    return [number, " ".join(words), *map(int, about)]


everything = [news(number) for number in range(2300)]
for name, rows, columns in (
    ("news.csv", everything[:2000], ["id", "text", *TOPICS]),
    ("new.csv", [row[:2] for row in everything[2000:]], ["id", "text"]),
    ("truth.csv", [[row[0], *row[2:]] for row in everything[2000:]], ["id", *TOPICS]),
):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
