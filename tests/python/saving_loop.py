"""Saves checkpoints and models into a folder until it is killed, or looks at what such a loop left.

    python saving_loop.py FOLDER KILLS SEED

Forks one process that has imported TensorFlow once. Each child goes on from the newest checkpoint, and tells
of every one that is finished; it is killed after a random time. Another child then looks: everything that is
there is whole, and the newest checkpoint is at least the last one told of. Prints how many kills there were,
and how many of them came after a save that the same child had finished.
"""

import os
import random
import signal
import sys
import time

import tensorflow as tf

from headrace import tensorflow as paths  # noqa: F401

SECONDS = 1.5  # of a child, at most


class Module(tf.Module):
    """Variables that all hold the number of the save, more of them than fit in the memory of one part."""

    def __init__(self):
        super().__init__()
        self.parts = [tf.Variable(tf.zeros([1_500_000])) for _ in range(3)]

    @tf.function(input_signature=[])
    def numbers(self):
        return tf.stack([tf.stack([tf.reduce_min(part), tf.reduce_max(part)]) for part in self.parts])

    def set(self, number: int) -> None:
        for part in self.parts:
            part.assign(tf.fill(part.shape, float(number)))

    def get(self) -> int:
        numbers = set(self.numbers().numpy().ravel())
        assert len(numbers) == 1, f"a mixture of {numbers}"
        return int(numbers.pop())


def manager_of(folder: str, module: Module) -> tf.train.CheckpointManager:
    return tf.train.CheckpointManager(
        tf.train.Checkpoint(module=module), f"{folder}/checkpoints", max_to_keep=2
    )


def newest(folder: str, module: Module) -> int:
    """The number of the latest checkpoint; 0 without any."""
    latest = manager_of(folder, module).latest_checkpoint
    if latest is None:
        return 0
    tf.train.Checkpoint(module=module).restore(latest).assert_consumed()
    return module.get()


def save_until_killed(folder: str, report: int) -> None:
    module = Module()
    number = newest(folder, module)
    manager = manager_of(folder, module)
    os.write(report, b"begun\n")
    while True:
        number += 1
        module.set(number)
        manager.save(checkpoint_number=number)
        os.write(report, f"{number}\n".encode())
        tf.saved_model.save(module, f"{folder}/models/{number}")
        if number > 3 and tf.io.gfile.exists(f"{folder}/models/{number - 3}"):
            tf.io.gfile.rmtree(f"{folder}/models/{number - 3}")


def look(folder: str, told: int) -> None:
    module = Module()
    assert newest(folder, module) >= told, "a checkpoint that was finished is lost"
    for index in tf.io.gfile.glob(f"{folder}/checkpoints/*.index"):
        tf.train.Checkpoint(module=module).restore(index.removesuffix(".index")).assert_consumed()
        module.get()
    for model in tf.io.gfile.glob(f"{folder}/models/*"):
        if tf.saved_model.contains_saved_model(model):
            loaded = tf.saved_model.load(model)
            numbers = set(loaded.numbers().numpy().ravel())
            assert numbers == {float(os.path.basename(model))}, f"{model} is a mixture of {numbers}"


def in_child(work, *arguments) -> int:
    """Its process."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work(*arguments)
            status = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(status)
    return process


def main() -> None:
    folder, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    told = between = 0
    for _ in range(kills):
        reading, writing = os.pipe()
        process = in_child(save_until_killed, folder, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as report:
            assert report.readline() == b"begun\n"
            time.sleep(draw.uniform(0, SECONDS))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            finished = [int(line) for line in report.read().split()]
        told = max([told, *finished])
        between += bool(finished)
        looking = in_child(look, folder, told)
        status = os.waitstatus_to_exitcode(os.waitpid(looking, 0)[1])
        assert status == 0, f"after {told} (seed {seed})"
    print(f"{kills} kills, {between} after a save, {told} saves")


if __name__ == "__main__":
    main()
