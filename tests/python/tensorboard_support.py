"""For tests of TensorBoard's data server: a server that runs, and logs to show."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import grpc
import numpy as np
import tensorflow as tf
from tensorboard.data.grpc_provider import GrpcDataProvider
from tensorboard.data.proto import data_provider_pb2_grpc
from tensorboard.plugins.hparams import summary_v2 as hparams_summary

PATIENCE_S = 60
ALL_POINTS = 1_000_000


def wait_until(condition: Callable[[], object], what: str) -> object:
    """Waits until `condition` is true, and returns its value; fails after a minute."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not in {PATIENCE_S} s: {what}")


class DataServer:
    """A process that follows `url`, and TensorBoard's own client of it (`provider`, `stub`)."""

    def __init__(self, program: pathlib.Path, url: str, errors: pathlib.Path, *options: str, env=None):
        self._errors = errors.open("w+")
        self.process = subprocess.Popen(
            [program, "--log-folder", url, "--port", "0", *options],
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        told = self.process.stdout.readline()
        assert told.startswith("listening on 127.0.0.1:"), told + self.errors()
        self.address = told.removeprefix("listening on ").strip()
        self.channel = grpc.insecure_channel(
            self.address, options=[("grpc.max_receive_message_length", 1 << 28)]
        )
        self.stub = data_provider_pb2_grpc.TensorBoardDataProviderStub(self.channel)
        self.provider = GrpcDataProvider(self.address, self.stub)

    def errors(self) -> str:
        self._errors.flush()
        return pathlib.Path(self._errors.name).read_text()

    def scalars(self, tag: str, run: str | None = None, points: int = ALL_POINTS) -> dict[str, list]:
        """run → the values of a tag."""
        found = self.provider.read_scalars(None, experiment_id="", plugin_name="scalars", downsample=points)
        return {
            name: [(datum.step, datum.value) for datum in tags[tag]]
            for name, tags in found.items()
            if tag in tags and run in (None, name)
        }

    def wait_for(self, tag: str, run: str, last_step: int) -> list[tuple[int, float]]:
        def shown():
            points = self.scalars(tag, run).get(run)
            return points if points and points[-1][0] == last_step else None

        return wait_until(shown, f"step {last_step} of {tag} in {run}\n{self.errors()}")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.channel.close()
        status = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.process.stdin.close()
        return status


@contextlib.contextmanager
def data_server(build: pathlib.Path, url: str, errors: pathlib.Path, *options: str, env=None) -> Iterator:
    server = DataServer(build / "bin" / "headrace-tensorboard-data", url, errors, *options, env=env)
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def headrace_tensorboard(build: pathlib.Path, url: str, errors: pathlib.Path, *options: str) -> Iterator:
    """`headrace tensorboard` of a folder: the process, and the address that it shows the folder at."""
    command = [build / "bin" / "headrace", "tensorboard", url, "--port", "0", "--", *options]
    environment = {**os.environ, "HEADRACE_PYTHON": sys.executable}
    with errors.open("w") as file:  # a pipe would fill
        process = subprocess.Popen(command, env=environment, stderr=file)

    def told() -> re.Match[str] | None:
        assert process.poll() is None, errors.read_text()
        return re.search(r"(http://\S+:\d+/)", errors.read_text())

    try:
        yield process, wait_until(told, "TensorBoard's address")[1]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        finally:
            process.kill()


def write_logs(folder: pathlib.Path) -> None:
    """Two runs of every kind of summary of tf.summary, and one of TensorFlow 1's."""
    rng = np.random.default_rng(5)
    for run in ("train", "deep/validation"):
        with tf.summary.create_file_writer(str(folder / run)).as_default():
            for step in range(8):
                tf.summary.scalar("loss", 1 / (step + 1), step=step, description="**lower** is better")
                tf.summary.scalar("accuracy", step / 10, step=step)
                tf.summary.histogram("weights", rng.normal(size=50 * step), step=step)
                tf.summary.text("notes", ["one", f"grüße {step}"], step=step)
            for step in range(3):
                tf.summary.image("samples", rng.random((2, 5, 4, 3)), step=step, description="random")
                tf.summary.audio(
                    "clips", (rng.random((2, 50, 1)) * 2 - 1).astype(np.float32), 8000, step=step
                )
            with tf.Graph().as_default() as graph:
                tf.constant(1.0, name=run.replace("/", "_"))
            tf.summary.graph(graph.as_graph_def())
            hparams_summary.hparams({"rate": 0.5, "name": run, "flag": True})
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        values = tf.compat.v1.placeholder(tf.float32, [None])
        images = tf.compat.v1.placeholder(tf.uint8, [None, 3, 4, 1])
        tf.compat.v1.summary.scalar("loss", tf.reduce_sum(values))
        tf.compat.v1.summary.histogram("weights", values)
        tf.compat.v1.summary.image("samples", images, max_outputs=1)
        merged = tf.compat.v1.summary.merge_all()
        with tf.compat.v1.summary.FileWriter(str(folder), graph) as writer:
            for step in range(4):
                feed = {values: rng.normal(size=30), images: rng.integers(0, 255, (1, 3, 4, 1))}
                writer.add_summary(session.run(merged, feed), step)
