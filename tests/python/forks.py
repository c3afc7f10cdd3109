"""Work in a fork of the process that runs the tests."""

import os
import signal
from collections.abc import Callable

_SECONDS = 60


def start_child(work: Callable[[], str]) -> Callable[[], str]:
    """Begins `work` in a fork, which ends without the interpreter's clean-up, or by SIGALRM after a minute.
    Returns a function that waits for the fork and returns the result of `work`, or its error in words.
    """
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            signal.alarm(_SECONDS)
            answer = work()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)

    def answer_of_child() -> str:
        with os.fdopen(reader) as pipe:
            answer = pipe.read()
        assert os.waitpid(process, 0)[1] == 0
        return answer

    return answer_of_child


def in_child(work: Callable[[], str]) -> str:
    return start_child(work)()
