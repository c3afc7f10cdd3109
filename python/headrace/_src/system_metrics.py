"""Metrics of the load of this process and its machine, which a run logs by itself from Linux' /proc; and
metrics of further sources, such as loaders."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable

_PREFIX = "system/"
_GPU_SECONDS = 5
_GPU_QUERY = "--query-gpu=utilization.gpu,memory.used"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class SystemMetrics:
    """Takes samples in a separate thread until `stop`. `log` gets name → value, and the seconds since the
    start.

    Rates cover the time since the previous sample. Numbers that the system does not provide are left out. If
    sources were added, a last sample is taken at the end, so that short runs have one.
    """

    def __init__(self, log: Callable[[dict[str, float], int], None], each_s: float):
        self._log = log
        self._each_s = each_s
        self._nvidia = shutil.which("nvidia-smi")
        self._sources: list[Callable[[], dict[str, float]]] = []
        self.names: set[str] = set()  # names of all logged metrics
        self._is_over = threading.Event()
        self._began = self._at = time.monotonic()
        self._before = _counters()
        self._thread = threading.Thread(target=self._run, name="headrace-system-metrics", daemon=True)
        self._thread.start()

    def add(self, source: Callable[[], dict[str, float]]) -> None:
        """Logs the source's values with each further sample. The thread of this object calls the source."""
        self._sources.append(source)

    def stop(self) -> None:
        """Stops sampling. No sample is logged after this returns."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._each_s):
            self._log_sample()
        if self._sources:
            self._log_sample()

    def _log_sample(self) -> None:
        values = self._sample()
        for source in self._sources:
            values |= source()
        self.names |= values.keys()
        self._log(values, int(self._at - self._began))

    def _sample(self) -> dict[str, float]:
        counters, at = _counters(), time.monotonic()
        passed = at - self._at
        rates = {
            name: (value - self._before[name]) / passed
            for name, value in counters.items()
            if name in self._before
        }
        self._before, self._at = counters, at
        busy, idle = rates.pop("busy", 0.0), rates.pop("idle", 0.0)
        values = {_PREFIX + name: value for name, value in rates.items()}
        if "cpu" in rates:
            values[_PREFIX + "cpu_percent"] = 100 * values.pop(_PREFIX + "cpu")
        if busy + idle > 0:
            values[_PREFIX + "machine_cpu_percent"] = min(max(100 * busy / (busy + idle), 0.0), 100.0)
        values |= {_PREFIX + name: value for name, value in _memory().items()}
        return values | {_PREFIX + name: value for name, value in self._gpus().items()}

    def _gpus(self) -> dict[str, float]:
        if self._nvidia is None:
            return {}
        command = [self._nvidia, _GPU_QUERY, "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_GPU_SECONDS, check=True)
            values = {}
            for number, line in enumerate(done.stdout.splitlines()):
                percent, mebibytes = map(float, line.split(","))
                values[f"gpu{number}_percent"] = percent
                values[f"gpu{number}_used_bytes"] = mebibytes * 2**20
            return values
        except (OSError, ValueError, subprocess.SubprocessError):
            self._nvidia = None  # do not ask a driver again that does not answer
            return {}


def _counters() -> dict[str, float]:
    """Counters of seconds and bytes that only grow, of this process and of the machine's cores and
    network."""
    used = os.times()
    counters = {"cpu": used.user + used.system + used.children_user + used.children_system}
    for line in _lines("/proc/self/io"):
        name, _, value = line.partition(": ")
        if name in ("read_bytes", "write_bytes"):
            counters[f"disk_{name}_per_s"] = float(value)
    for line in _lines("/proc/stat")[:1]:
        ticks = [float(word) for word in line.split()[1:9]]
        counters["idle"] = ticks[3] + ticks[4]  # includes waiting for disks
        counters["busy"] = sum(ticks) - counters["idle"]
    for line in _lines("/proc/net/dev")[2:]:
        name, _, words = line.partition(":")
        if name.strip() == "lo":
            continue
        numbers = [float(word) for word in words.split()]
        for field, number in (
            ("network_received_bytes_per_s", numbers[0]),
            ("network_sent_bytes_per_s", numbers[8]),
        ):
            counters[field] = counters.get(field, 0.0) + number
    return counters


def _memory() -> dict[str, float]:
    values = {}
    for line in _lines("/proc/self/statm"):
        values["resident_bytes"] = float(line.split()[1]) * _PAGE_BYTES
    for line in _lines("/proc/meminfo"):
        name, _, words = line.partition(":")
        if name == "MemAvailable":
            values["machine_available_bytes"] = float(words.split()[0]) * 1024
    return values


def _lines(path: str) -> list[str]:
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []
