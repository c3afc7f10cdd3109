"""What do more nodes of Apache Ignite gain, each behind a link of 1 Gbit/s? Reads rows of 1 MB from one to
four nodes, beside the sum of their links. A plot is written beside the results.

    ./dev bench ignite_links --json bench/results/<date>/ignite_links.json

Needs root: nodes and client run in a separate network namespace, where Linux' traffic control (HTB) lets each
node send 1 Gbit/s to clients. All of them share this machine's cores.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import ignite
import measuring
from measuring import ignite_nodes, peers

LINK = "1gbit"
LINK_GB_S = 0.125
MOST_NODES = 4
ROWS = 1000
INNER_REPEATS = 1


def start_anew_in_own_network() -> None:
    """Runs in a network namespace that has only a loopback device."""
    words = [sys.executable, *sys.argv, "--is-in-own-network"]
    os.execvp("unshare", ["unshare", "--net", *words])


def control(*words) -> None:
    subprocess.run(["tc", *words[:2], "dev", "lo", *map(str, words[2:])], check=True)


def limit(addresses: str) -> None:
    """Each node sends its answers to clients through its own link. Other traffic is not limited."""
    control("qdisc", "replace", "root", "handle", "1:", "htb")
    for number, address in enumerate(addresses.split(","), 1):
        link = f"1:{number}"
        control("class", "add", "parent", "1:", "classid", link, "htb", "rate", LINK)
        port = address.rpartition(":")[2]
        chosen = ("protocol", "ip", "u32", "match", "ip", "sport", port, "0xffff")
        control("filter", "add", "parent", "1:", *chosen, "flowid", link)


def unlimit() -> None:
    control("qdisc", "del", "root")


def measure(repeats: int) -> dict[int, list[dict]]:
    """Number of nodes → answers."""
    program = measuring.build("headrace_bench_ignite_client")
    found = {}
    for count in range(1, MOST_NODES + 1):
        with ignite_nodes.nodes(count, ignite.region_mib(ROWS, 0)) as addresses:
            ignite.fill(program, addresses, ROWS, 0)
            command = [program, "scan", addresses, "LARGE", INNER_REPEATS]
            limit(addresses)
            found[count] = [measuring.run_json(command, measuring.cores()) for _ in range(repeats)]
            unlimit()
    return found


def summarise(raw: dict[int, list[dict]]) -> tuple[dict, dict[int, float]]:
    rates = {
        count: measuring.wall_rates({count: answers}, ROWS * ignite.ROW_BYTES / 1e9)[count]
        for count, answers in raw.items()
    }
    summary = {}
    for count, rate in rates.items():
        words = f"rows of 1 MB, {count} node{'s' if count > 1 else ''} behind links of 1 Gbit/s each"
        summary[f"{words}, over the sum of the links (must be >= 0.85)"] = rate / (count * LINK_GB_S)
        summary[f"{words}: GB/s"] = rate
    return summary, rates


def plot(rates: dict[int, float], target: pathlib.Path) -> None:
    words = {
        "title": "Rows of 1 MB from Apache Ignite, each node behind 1 Gbit/s",
        "x": "nodes",
        "y": "GB/s",
        "lines": {
            "sum of the links": {count: count * LINK_GB_S for count in rates},
            "Headrace": rates,
        },
    }
    peers.run_own("plot_lines", json.dumps(words), target, on=measuring.cores(), environment="plot")


def main() -> None:
    parser = measuring.arguments_of(__doc__, repeats=3)
    parser.add_argument("--is-in-own-network", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "tc", "ip"))):
        raise SystemExit("bench: this needs root, and Debian's iproute2")
    if not arguments.is_in_own_network:
        peers.install("plot")  # packages cannot be reached from the namespace
        start_anew_in_own_network()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    raw = measure(arguments.repeats)
    summary, rates = summarise(raw)
    measuring.report(arguments.json, summary, raw)
    if arguments.json:
        plot(rates, arguments.json.with_suffix(".svg"))


if __name__ == "__main__":
    main()
