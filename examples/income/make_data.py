"""Writes people.csv, to learn from, and new.csv, with the same columns except the answer; truth.csv has the
answers."""

import csv
import random

JOBS = {"cook": 0, "nurse": 1, "pilot": 3, "smith": 1}
draw = random.Random(44)


def person(number: int) -> dict:
    age, hours, job = draw.randint(18, 70), draw.randint(5, 60), draw.choice(list(JOBS))
    score = age / 30 + hours / 20 + JOBS[job] + draw.gauss(0, 0.3)
    return {"id": number, "age": age, "hours": hours, "job": job, "rich": "yes" if score > 5 else "no"}


def write(name: str, rows: list[dict], columns: list[str]) -> None:
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


everybody = [person(number) for number in range(2400)]
write("people.csv", everybody[:2000], ["id", "age", "hours", "job", "rich"])
write("new.csv", everybody[2000:], ["id", "age", "hours", "job"])
write("truth.csv", everybody[2000:], ["id", "rich"])
