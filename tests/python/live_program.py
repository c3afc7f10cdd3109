"""Programs whose lines are read while they run."""

import os
import queue
import subprocess
import threading

PATIENCE_S = 120


class Program:
    """A process whose lines are taken as they come. It is killed with the `with`."""

    def __init__(self, *words: str | os.PathLike[str], env: dict[str, str] | None = None):
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self._lines: dict[str, queue.Queue[str | None]] = {"stdout": queue.Queue(), "stderr": queue.Queue()}
        for name, lines in self._lines.items():
            threading.Thread(
                target=self._read, args=(getattr(self.process, name), lines), daemon=True
            ).start()

    @staticmethod
    def _read(stream, lines) -> None:
        for line in stream:
            lines.put(line.rstrip("\n"))
        lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()

    def line(self, of: str = "stdout") -> str:
        line = self._lines[of].get(timeout=PATIENCE_S)
        assert line is not None, f"{of} has ended"
        return line

    def rest(self, of: str = "stdout") -> list[str]:
        """The lines up to the end of the process."""
        return list(iter(lambda: self._lines[of].get(timeout=PATIENCE_S), None))

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def code(self) -> int:
        return self.process.wait(timeout=PATIENCE_S)
