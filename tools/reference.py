"""Makes the reference: a page for each module of the Python package, from its docstrings, and a page for all
commands, from their help.

    reference.py OUT    OUT/index.html leads to all of it
"""

import html
import os
import pathlib
import re
import subprocess
import sys

import pdoc

import headrace

MODULES = (
    "headrace",
    "headrace.errors",
    "headrace.fsspec",
    "headrace.keras",
    "headrace.mlflow",
    "headrace.models",
    "headrace.tfrecorder",
)
STYLE = (
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; "
    "color: #1b1b1f; background: #fff } pre { overflow-x: auto; background: #f4f4f7; padding: 1rem } "
    "@media (prefers-color-scheme: dark) { body { color: #e6e6ea; background: #16161a } "
    "pre { background: #222228 } a { color: #8ab4f8 } }"
)


def page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f"<h1>{html.escape(title)}</h1>{body}</html>\n"
    )


def help_of(*command: str) -> str:
    return output_of("help", *command)


def output_of(*command: str) -> str:
    program = pathlib.Path(os.environ["HEADRACE_BUILD"]) / "bin" / "headrace"
    done = subprocess.run(
        [program, *command], env={**os.environ, "COLUMNS": "100"}, capture_output=True, check=True
    )
    return done.stdout.decode()


def commands() -> list[str]:
    listed = help_of().partition("Commands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\S+(?: \S+)?)  ", listed, re.MULTILINE)


def commands_page() -> str:
    sections = [("headrace", help_of())]
    sections += [(f"headrace {name}", help_of(*name.split())) for name in commands()]
    anchors = [name.replace(" ", "-") for name, _ in sections]
    links = "".join(
        f'<li><a href="#{anchor}">{name}</a>' for anchor, (name, _) in zip(anchors, sections, strict=True)
    )
    texts = "".join(
        f'<h2 id="{anchor}">{name}</h2><pre>{html.escape(text)}</pre>'
        for anchor, (name, text) in zip(anchors, sections, strict=True)
    )
    return page("Commands", f"<ul>{links}</ul>{texts}")


def stores_page() -> str:
    """The page of all drivers: URLs, options, environment variables."""
    return page("Stores", f"<pre>{html.escape(output_of('stores'))}</pre>")


def main(out: pathlib.Path) -> None:
    # Not in __all__, because `import *` would then hide Python's own `open`.
    headrace.__all__ = ["open", *headrace.__all__]
    pdoc.render.configure(docformat="google", show_source=False)
    pdoc.pdoc(*MODULES, output_directory=out / "python")
    (out / "commands.html").write_text(commands_page())
    (out / "stores.html").write_text(stores_page())
    links = "".join(f'<li><a href="python/{name.replace(".", "/")}.html">{name}</a>' for name in MODULES)
    body = f'<ul><li><a href="commands.html">Commands</a><li><a href="stores.html">Stores</a>{links}</ul>'
    (out / "index.html").write_text(page("Headrace reference", body))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
