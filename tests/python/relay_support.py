"""A relay that stands before a server."""

import contextlib
import itertools
import random
import socket
import threading
import time


class Relay:
    """Passes connections on to a server, or to nobody while `is_open` is false."""

    def __init__(self, target: str):
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.is_open = True
        self.refused = 0
        self.pause_s = 0.0  # behind each 64 KiB or less, either way
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Cuts what is connected, and what will be."""
        self.is_open = False
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if not self.is_open:
                self.refused += 1
                client.close()
                continue
            server = socket.create_connection(self._target)
            self._pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if self.pause_s > 0:
                    time.sleep(self.pause_s)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


class FaultyRelay(Relay):
    """Cuts or stalls four of ten directions of connections, or flips a bit in them, in turn: behind 256 bytes
    to 2 MiB, each power of two as often as any other. The seed and the number of the connection decide."""

    def __init__(self, target: str, seed: int, kinds: list[str], most: int = 1 << 30):
        self._seed = seed
        self._kinds_to_make = itertools.cycle(kinds)
        self._left = most  # faults
        self.made = dict.fromkeys(kinds, 0)
        super().__init__(target)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        place = next((i, pair.index(source)) for i, pair in enumerate(self._pairs) if source in pair)
        chance = random.Random(f"{self._seed} {place}")
        left = int(2 ** chance.uniform(8, 21)) if chance.random() < 0.4 else 1 << 40
        with contextlib.suppress(OSError):
            while data := source.recv(min(left, 1 << 16)):
                left -= len(data)
                if left == 0 and self._left > 0:
                    self._left -= 1
                    kind = next(self._kinds_to_make)
                    self.made[kind] += 1
                    if kind == "cut":
                        break
                    if kind == "stall":
                        while source.recv(1 << 16):  # nothing more arrives, and nobody closes
                            pass
                        break
                    data = data[:-1] + bytes([data[-1] ^ 0x40])
                left = left or 1 << 40
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
