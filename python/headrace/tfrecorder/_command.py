"""`headrace tfrecorder`: the command `tfrecorder`, with its names and options."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from headrace.errors import Error
from headrace.tfrecorder._convert import convert
from headrace.tfrecorder._inspect import check_tfrecords, inspect


def main(arguments: Sequence[str]) -> int:
    """Runs a command line and returns its exit code."""
    chosen = vars(_parser().parse_args([_as_of_old(argument) for argument in arguments]))
    run = chosen.pop("run")
    try:
        print(json.dumps(run(**chosen), indent=2))
    except (Error, AttributeError, OSError) as error:
        print(f"headrace tfrecorder: {error}", file=sys.stderr)
        return 1
    return 0


def _as_of_old(argument: str) -> str:
    """Turns hyphens in an option's name into underscores; the old command accepted both."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headrace tfrecorder", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    create = commands.add_parser(
        "convert",
        aliases=["create-tfrecords", "create_tfrecords"],
        help="write TFRecord files of a table or a folder of images",
    )
    create.set_defaults(run=convert)
    _add_convert_options(create)
    check = commands.add_parser(
        "check-tfrecords",
        aliases=["check_tfrecords"],
        help="write some records of files as a table and images",
    )
    check.set_defaults(run=check_tfrecords)
    check.add_argument("--file_pattern", required=True, help="the files: /path/train*.tfrecord.gz")
    look = commands.add_parser("inspect", help="write some records of a split as a table and images")
    look.set_defaults(run=inspect)
    look.add_argument("--tfrecord_dir", required=True, help="the folder that convert made")
    look.add_argument("--split", default="train")
    for command in (check, look):
        command.add_argument("--num_records", type=int, default=1)
        command.add_argument("--output_dir", default="output")
    return parser


def _add_convert_options(create: argparse.ArgumentParser) -> None:
    add = create.add_argument
    add("--source", "--input_data", required=True, help="a .csv, or a folder of <split>/<label>/<file>")
    add("--output_dir", default="./tfrecords", help="path, or URL of a store")
    add("--header", type=_header, default="infer", help="None: the table has no header")
    add("--names", type=_names, help="the table's columns: split,image_uri,label")
    add("--runner", default="DirectRunner", help="DirectRunner or DataflowRunner")
    add("--project", help="of Dataflow")
    add("--region", help="of Dataflow")
    add("--tfrecorder_wheel", help="no longer needed")
    add("--dataflow_options", type=json.loads, help="further options of Beam, as JSON")
    add("--job_label", default="create-tfrecords", help="suffix of the folder's name")
    add("--compression", type=_text, default="gzip", help="gzip or None")
    add(
        "--num_shards",
        type=int,
        default=0,
        help="number of shards of the largest split; 0: chosen from its size",
    )


def _text(text: str) -> str | None:
    return None if text == "None" else text


def _header(text: str) -> str | int | None:
    return int(text) if text.isdigit() else _text(text)


def _names(text: str) -> list[str]:
    return [name.strip(" '\"") for name in text.strip("[]()").split(",")]
