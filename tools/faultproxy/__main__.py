"""The command line of the fault proxy."""

import argparse
import json
import pathlib
import signal
import ssl
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from faultproxy.faults import FAULTS
from faultproxy.proxy import FaultProxy, Options


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="faultproxy",
        description="A proxy that makes requests to an S3 server fail. Prints its URL, runs until asked "
        "to end (Ctrl-C, SIGTERM), then prints its account as JSON.",
    )
    parser.add_argument("store", nargs="?", help="host:port of the server, which uses plain HTTP")
    parser.add_argument("--rate", type=float, default=0.1, help="share of the requests that fail (0.1)")
    parser.add_argument(
        "--kinds", default="", help="names of kinds, separated by commas (default: all expected kinds)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=0, help="largest number of faults; 0: no limit (0)")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds that a stall lasts (5)")
    parser.add_argument("--certificate", help="use TLS, with the certificate and key in this PEM file")
    parser.add_argument("--list", action="store_true", help="print the kinds and exit")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if arguments.list:
        for kind in FAULTS.values():
            said = (kind.play.__doc__ or "").partition("\n")[0]
            print(f"{kind.name:28} {kind.phase:8} {said}".rstrip())
        return 0
    kinds = [name for name in arguments.kinds.split(",") if name]
    unknown = set(kinds) - set(FAULTS)
    if unknown or not arguments.store:
        wrong = f"no such kinds: {', '.join(sorted(unknown))}" if unknown else "name a store"
        print(f"faultproxy: {wrong}; see --help and --list", file=sys.stderr)
        return 2
    tls = None
    if arguments.certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(arguments.certificate)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    options = Options(
        rate=arguments.rate, kinds=kinds, seed=arguments.seed, most=arguments.most,
        patience=arguments.patience, tls=tls,
    )  # fmt: skip
    try:
        proxy = FaultProxy(arguments.store, options)
    except ValueError as error:
        print(f"faultproxy: {error}; name a --certificate", file=sys.stderr)
        return 2
    with proxy:
        print(proxy.url, flush=True)
        over.wait()
    account = proxy.account
    print(json.dumps({"requests": account.requests, "injected": dict(account.injected), "log": account.log}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
