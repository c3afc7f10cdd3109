"""A process that has imported TensorFlow and Keras, and forks for each model that the command traces or fits.

Importing them costs five CPU seconds, tracing a model a half; some hundred tests train. The command is given
an interpreter that is a small program: it hands a trace or a fit over to that process, with its streams,
environment and process group, and runs everything else, and all that is not as usual, with the interpreter
itself.
"""

import gc
import json
import os
import pathlib
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading

# As headrace/engine/tensorflow/python_child.cc and trace.cc set them.
VARIABLES = {
    "KERAS_BACKEND": "tensorflow",
    "PYTHONHASHSEED": "0",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_DETERMINISTIC_OPS": "1",
    "TF_ENABLE_ONEDNN_OPTS": "1",
}
# Read when Python or TensorFlow start. Another value needs a process that starts.
READ_AT_START = ("CUDA_", "HOME", "KERAS_", "LD_", "MKL_", "OMP_", "PYTHON", "TF_", "XLA_")
# A trace sees no graphics card, and a fit sees all: the TensorFlow of the tests can use none.
OF_NO_EFFECT = ("CUDA_VISIBLE_DEVICES", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED")
MESSAGE_BYTES = 1 << 20

# The interpreter that the command is given. It waits for the process that works in its place, hands signals
# to end on, and takes that process along when it is killed, which a fit asks for when the command is killed.
INTERPRETER = """#!/usr/bin/python3 -IS
import ctypes, json, os, signal, socket, sys
module = sys.argv[2] if sys.argv[1:2] == ["-m"] else None
if module in {modules!r} and "--probe" not in sys.argv:
    request = dict(module=module, arguments=sys.argv[3:], environment=dict(os.environ), parent=os.getppid())
    request |= dict(folder=os.getcwd(), group=os.getpgrp(), session=os.getsid(0))
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as tracer:
            if module.endswith(".fit"):
                ctypes.CDLL(None).prctl({death_signal}, signal.SIGKILL)
            signal.signal(signal.SIGTERM, lambda *_: tracer.send(b"terminate"))
            tracer.connect({address!r})
            socket.send_fds(tracer, [json.dumps(request).encode()], [0, 1, 2])
            status = tracer.recv(16)
        if status:
            os._exit(int(status))
    except OSError:
        pass
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""
MODULES = ("headrace._src.trace", "headrace._src.fit")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class WarmTracer:
    """`interpreter` is a program. TensorFlow is imported once a trace is wanted; the process ends with this
    one, or once it is closed."""

    def __init__(self, python: str, folder: pathlib.Path) -> None:
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        address = str(folder / "tracer")
        self._listening.bind(address)
        self._listening.listen(16)
        self.interpreter = folder / "python"
        program = INTERPRETER.format(
            address=address, python=python, modules=MODULES, death_signal=PR_SET_PDEATHSIG
        )
        self.interpreter.write_text(program)
        self.interpreter.chmod(0o755)
        self._python = python
        self._stop, self._alive = os.pipe()
        self._starter = threading.Thread(target=self._start_when_wanted, daemon=True)
        self._starter.start()

    def _start_when_wanted(self) -> None:
        wanted, _, _ = select.select([self._listening, self._stop], [], [])
        if self._stop in wanted:
            return
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        subprocess.Popen(
            [self._python, __file__, str(self._listening.fileno())],
            env={**kept, **VARIABLES},
            stdin=self._stop,
            stdout=subprocess.DEVNULL,
            pass_fds=[self._listening.fileno()],
            process_group=0,
        )

    def close(self) -> None:
        os.close(self._alive)
        self._starter.join()
        self._listening.close()


def fits(request: dict) -> bool:
    """Whether a fork of this process can become it: only then may it join the process group."""

    def started_with(variables) -> dict[str, str]:
        names = (name for name in variables if name.startswith(READ_AT_START))
        return {name: variables[name] for name in names if name not in OF_NO_EFFECT}

    same_variables = started_with(request["environment"]) == started_with(os.environ)
    return same_variables and request["session"] == os.getsid(0)


def become(request: dict, streams: list[int]) -> None:
    """This process is as if the interpreter had been started for the request."""
    os.setpgid(0, request["group"])
    os.getppid = lambda: request["parent"]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:1] = [request["folder"], *paths]
    sys.argv[1:] = request["arguments"]


def keep(connection: socket.socket) -> str | None:
    """Forks the process that works, and sends its status. In that process, which has become it, the module to
    run; else none."""
    data, streams, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
    request = json.loads(data)
    if len(streams) != 3 or not fits(request):
        return None
    child = os.fork()
    if child == 0:
        become(request, streams)
        return request["module"]
    for stream in streams:
        os.close(stream)
    is_awaited = wait_for(child, connection)
    if not is_awaited:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if is_awaited:
        connection.send(str(code if code >= 0 else 128 - code).encode())
    return None


def wait_for(child: int, connection: socket.socket) -> bool:
    """Until the process ends; asks it to end when whoever waits says so. False if nobody waits any more."""
    with open(os.pidfd_open(child)) as ended:
        while True:
            ready, _, _ = select.select([ended, connection], [], [])
            if connection not in ready:
                return True
            if not connection.recv(16):
                return False
            os.kill(child, signal.SIGTERM)


def serve(listening: socket.socket) -> str | None:
    """In a process that shall work, the module to run; none once this one shall end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of those that keep a connection, nobody asks
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if sys.stdin in ready:
            return None
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            if module := keep(connection):
                connection.close()
                return module
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    import keras  # noqa: F401
    import tensorflow  # noqa: F401

    gc.freeze()  # no process goes through all that again
    if wanted := serve(socket.socket(fileno=int(sys.argv[1]))):
        runpy.run_module(wanted, run_name="__main__", alter_sys=True)
