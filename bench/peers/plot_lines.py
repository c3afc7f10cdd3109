"""Draws lines over whole numbers: `plot_lines.py WORDS TARGET`. WORDS: JSON with `title`, `x`, `y`, and
`lines`: name → number → value."""

import json
import sys

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator


def main() -> None:
    matplotlib.rcParams["svg.hashsalt"] = "headrace"  # so that equal pictures have equal bytes
    words, target = json.loads(sys.argv[1]), sys.argv[2]
    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name, values in words["lines"].items():
        axes.plot([int(number) for number in values], list(values.values()), marker="o", label=name)
    axes.set(title=words["title"], xlabel=words["x"], ylabel=words["y"], ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(target, metadata={"Date": None})
    print("{}")


if __name__ == "__main__":
    main()
