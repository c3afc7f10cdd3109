"""Writes books.jsonl, to learn from, and new.jsonl without the genre; truth.csv has the genres."""

import csv
import json
import random

WORDS = {
    "crime": "murder clue night alibi",
    "travel": "sea train map island",
    "cooking": "salt oven bread spice",
}
PAGES = {"crime": 300, "travel": 200, "cooking": 120}
draw = random.Random(44)


def book(number: int) -> dict:
    genre = draw.choice(list(WORDS))
    # Every third title says nothing about the genre: only the number of pages does.
    words = ["the", "a", "of", "and"] if number % 3 == 0 else WORDS[genre].split()
    title = " ".join(draw.choice(words) for _ in range(4))
    return {"id": f"b{number}", "title": title, "pages": draw.gauss(PAGES[genre], 15), "genre": genre}


books = [book(number) for number in range(1500)]
with open("books.jsonl", "w", encoding="utf-8") as file:
    file.writelines(json.dumps(row) + "\n" for row in books[:1200])
with open("new.jsonl", "w", encoding="utf-8") as file:
    file.writelines(json.dumps({k: v for k, v in row.items() if k != "genre"}) + "\n" for row in books[1200:])
with open("truth.csv", "w", newline="", encoding="utf-8") as file:
    csv.writer(file).writerows([("id", "genre"), *((row["id"], row["genre"]) for row in books[1200:])])
