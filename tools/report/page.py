"""Writes the results of a run of the main job as one self-contained HTML page, without scripts or network
access.

    python tools/report/page.py results.json report.html

README.md beside this file describes the JSON.
"""

import json
import math
import pathlib
import sys
from html import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chart import Line, line_chart  # noqa: E402

STYLE = pathlib.Path(__file__).with_name("style.css")


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def rate(value: float | None) -> str:
    """A number with three significant digits, or as a whole number if that has more digits."""
    if not value:
        return "–"
    return number(value, max(0, 2 - math.floor(math.log10(value))))


def percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f} %"


def card(title: str, hint: str, body: str, wide: bool = False) -> str:
    return (
        f'<section class="card{" wide" if wide else ""}"><h2>{escape(title)}</h2>'
        f'<p class="hint">{hint}</p>{body}</section>'
    )


def facts(results: dict) -> str:
    stages = results["stages"]
    seconds = sum(stage["seconds"] for stage in stages)
    slowest = max(stages, key=lambda stage: stage["seconds"])
    rows = [
        (percent(results["test"]["accuracy"], 1), "test accuracy"),
        (number(stages[0]["records"]), "texts"),
        (f"{number(seconds, 1)} s", "for the whole job"),
        (
            f"{rate(slowest['records'] / slowest['seconds'])}/s",
            f"records in {slowest['name']}, the longest stage",
        ),
    ]
    tiles = (
        f'<div class="fact"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in rows
    )
    return f'<div class="facts">{"".join(tiles)}</div>'


def curves(results: dict) -> str:
    epochs = results["epochs"]

    def lines(name: str) -> list[Line]:
        found = [("training", name), ("validation", f"val_{name}")]
        return [Line(title, [epoch[key] for epoch in epochs]) for title, key in found if key in epochs[0]]

    loss = line_chart("loss by epoch", lines("loss"), lambda value: f"{value:.2f}")
    accuracy = line_chart("accuracy by epoch", lines("accuracy"), lambda value: f"{100 * value:.0f} %")
    return card("Loss", "lower is better", loss) + card("Accuracy", "share of right answers", accuracy)


def confusion(results: dict) -> str:
    labels, counts = results["confusion"]["labels"], results["confusion"]["counts"]
    head = "".join(f"<th>predicted {escape(label)}</th>" for label in labels)
    rows = []
    for truth, (label, row) in enumerate(zip(labels, counts, strict=True)):
        shares = [count / max(1, sum(row)) for count in row]
        cells = "".join(
            f'<td class="{"hit" if truth == guess else "miss"}" style="--share: {share:.3f}">'
            f"{number(count)}<small>{percent(share, 1)}</small></td>"
            for guess, (count, share) in enumerate(zip(row, shares, strict=True))
        )
        rows.append(f"<tr><th>truly {escape(label)}</th>{cells}</tr>")
    table = (
        f'<table class="matrix"><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    classes = "".join(
        f"<tr><td>{escape(row['label'])}</td><td>{row['precision']:.3f}</td><td>{row['recall']:.3f}</td>"
        f"<td>{row['f1']:.3f}</td></tr>"
        for row in results["test"]["classes"]
    )
    heads = "<th>label</th><th>precision</th><th>recall</th><th>F1</th>"
    scores = f"<table><thead><tr>{heads}</tr></thead><tbody>{classes}</tbody></table>"
    hint = f"{number(sum(map(sum, counts)))} texts that training never saw"
    return card("Right and wrong", hint, table + scores)


def layers(results: dict) -> str:
    items = []
    for layer in results["layers"]:
        parameters = layer.get("parameters", 0)
        count = f"<em>{number(parameters)}</em>" if parameters else ""
        items.append(
            f"<li{'' if parameters else ' class=light'}><b>{escape(layer['type'])}</b> "
            f"<span>{escape(layer.get('detail', ''))}</span>{count}</li>"
        )
    total = sum(layer.get("parameters", 0) for layer in results["layers"])
    return card("The model", f"{number(total)} parameters", f'<ol class="layers">{"".join(items)}</ol>')


def throughput(results: dict) -> str:
    longest = max(stage["seconds"] for stage in results["stages"]) or 1
    rows = "".join(
        f"<tr><td>{escape(stage['name'])}</td><td>{number(stage.get('records'))}</td>"
        f"<td>{number(stage.get('shards'))}</td><td>{number(stage['seconds'], 2)}</td>"
        f"<td>{rate(stage.get('records_per_s'))}</td><td>{rate(stage.get('mb_per_s'))}</td>"
        f'<td class="bar"><i style="width: {100 * stage["seconds"] / longest:.1f}%"></i></td></tr>'
        for stage in results["stages"]
    )
    heads = "".join(
        f"<th>{name}</th>" for name in ("stage", "records", "shards", "seconds", "records/s", "MB/s")
    )
    table = f'<thead><tr>{heads}<th class="bar"></th></tr></thead><tbody>{rows}</tbody>'
    hint = escape(results.get("machine", "each stage reads from the store and writes to it"))
    return card("Stages", hint, f'<div class="scroll"><table>{table}</table></div>', wide=True)


def answers(results: dict) -> str:
    first, second = results["confusion"]["labels"][:2]
    items = []
    for answer in results["predictions"]:
        probability = answer["probabilities"][first]
        expected = answer.get("expected")
        verdict = "open" if expected is None else "right" if expected == answer["label"] else "wrong"
        certainty = percent(max(answer["probabilities"].values()))
        items.append(
            f"<li><q>{escape(answer['text'])}</q>"
            f'<span class="gauge"><i style="width: {100 * probability:.1f}%"></i></span>'
            f'<span class="verdict {verdict}">{escape(answer["label"])}, {certainty}</span></li>'
        )
    hint = (
        f'<i class="key" style="background: var(--water)"></i>{escape(first)}'
        f'<i class="key" style="background: var(--sun)"></i>{escape(second)}'
    )
    return card("Six sentences", hint, f'<ul class="answers">{"".join(items)}</ul>', wide=True)


def commands(results: dict) -> str:
    lines = "".join(
        f"<div>{' '.join(f'<span>{escape(word)}</span>' for word in command.split())}</div>"
        for command in results["commands"]
    )
    return card("The same by hand", "every stage is a command of its own", f"<pre>{lines}</pre>", wide=True)


def page(results: dict) -> str:
    body = "".join(part(results) for part in (curves, confusion, layers, throughput, answers, commands))
    versions = " · ".join(f"{name} {version}" for name, version in results.get("versions", {}).items())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(results["title"])}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
<header><h1>{escape(results["title"])}</h1><p>{escape(results["summary"])}</p></header>
{facts(results)}
<div class="cards">{body}</div>
<footer>Made by Headrace on {escape(results["created"])}. {escape(versions)}</footer>
</main>
</body>
</html>
"""


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, target = map(pathlib.Path, sys.argv[1:])
    target.write_text(page(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
