"""headrace.keras.Resume: a training that was interrupted anywhere ends as one that was not."""

import functools
import os
import signal
import subprocess
import sys
import textwrap
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import published_support
import pytest
import tensorflow as tf
import tfrecords
from headrace._src.early_end import EarlyEnd

import headrace as hr

EPOCHS = 3
BATCHES = 13  # in an epoch


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    tf.config.experimental.enable_op_determinism()
    return hr.open(tfrecords.write_numbered(tmp_path_factory.mktemp("resume") / "data", 20 * BATCHES - 5))


class Interruption(Exception):
    pass


class InterruptAfter(keras.callbacks.Callback):
    def __init__(self, batches: int):
        super().__init__()
        self.batches = batches

    def on_train_batch_end(self, batch, logs=None):
        self.batches -= 1
        if self.batches <= 0:
            raise Interruption


def build(steps_per_execution: int = 1, units: int = 8) -> keras.Model:
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(units, "relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input([3]), *layers])
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model.compile(keras.optimizers.Adam(rate), "mse", steps_per_execution=steps_per_execution)
    return model


def scaled(vector, number):
    return vector / 1000, tf.cast(number, tf.float32) / 1000


def make_loader(data, **options):
    columns = {"vector": hr.float32[3], "number": hr.int64}
    return data.loader(batch_size=20, seed=5, columns=columns, **options)


class Job:
    """A program that trains; each `run` is a process of its own as far as Headrace and Keras can tell."""

    def __init__(self, data, url, save_every=None, steps_per_execution=1, prefetch=0, **fit):
        self.data, self.url, self.fit = data, str(url), fit
        self.save_every, self.steps_per_execution, self.prefetch = save_every, steps_per_execution, prefetch
        self.losses: dict[int, float] = {}
        self.others: list[keras.callbacks.Callback] = []
        self.others_after: list[keras.callbacks.Callback] = []

    def run(self, interrupt_after: int | None = None) -> bool:
        keras.backend.clear_session()
        self.model, self.loader = build(self.steps_per_execution), make_loader(self.data, epochs=EPOCHS)
        resume = hr.keras.Resume(self.url, self.loader, save_every=self.save_every)
        callbacks = [*self.others, resume, *self.others_after]
        if interrupt_after is not None:
            callbacks.append(InterruptAfter(interrupt_after))
        dataset = self.loader.as_tf_dataset("vector", "number").map(scaled).prefetch(self.prefetch)
        options = {"epochs": EPOCHS, "verbose": 0, **self.fit}
        try:
            history = self.model.fit(dataset, callbacks=callbacks, **options)
        except Interruption:
            return False
        self.losses |= dict(zip(history.epoch, history.history.get("loss", []), strict=True))
        return True

    def weights(self) -> np.ndarray:
        variables = [*self.model.weights, *self.model.optimizer.variables]
        return np.concatenate([np.ravel(variable) for variable in variables])


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    job = Job(data, tmp_path_factory.mktemp("uninterrupted"))
    assert job.run()
    return job


# Batches after which it is interrupted, one after another; what is saved between; how it trains.
CASES = {
    "in the first epoch": ([5], {"save_every": 2}),
    "before anything was saved": ([1, 1], {"save_every": 2}),
    "at the end of an epoch": ([BATCHES], {"save_every": 100}),
    "just after an epoch": ([BATCHES + 1], {}),
    "again and again": ([7, 3, 9, 4, 12, 2], {"save_every": 1}),
    "while Keras reads ahead": ([8, 9], {"save_every": 3, "prefetch": 10}),
    "between executions of several batches": ([2, 3], {"save_every": 3, "steps_per_execution": 4}),
}


SOAKED = (
    "before anything was saved",
    "at the end of an epoch",
    "just after an epoch",
    "while Keras reads ahead",
)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "interruptions, options",
    [
        pytest.param(*case, id=name, marks=[pytest.mark.soak] if name in SOAKED else [])
        for name, case in CASES.items()
    ],
)
def test_an_interrupted_training_ends_as_an_uninterrupted_one(
    data, uninterrupted, tmp_path, interruptions, options
):
    job = Job(data, tmp_path, **options)
    for batches in interruptions:
        assert not job.run(interrupt_after=batches)
    assert job.run()
    np.testing.assert_array_equal(job.weights(), uninterrupted.weights())
    assert job.loader.step == EPOCHS * BATCHES


class LossyData:
    """Six batches of four records in their order; of one batch, all records are damaged."""

    def __init__(self, file, lost_batch: int):
        frames = [tfrecords.frame(tfrecords.encode(tfrecords.numbered_example(i))) for i in range(24)]
        for i in range(4 * lost_batch, 4 * lost_batch + 4):
            frames[i] = frames[i][:-6] + bytes([frames[i][-6] ^ 1]) + frames[i][-5:]
        file.write_bytes(b"".join(frames))
        self.data = hr.open(file, on_corrupt="skip-record")

    def loader(self, **options):
        return self.data.loader(**{**options, "batch_size": 4, "shuffle": False})


@pytest.mark.exhaustive
@pytest.mark.parametrize("lost_batch", [0, *(pytest.param(b, marks=pytest.mark.soak) for b in (3, 5))])
def test_a_batch_that_has_lost_all_its_records_moves_no_epoch(tmp_path, lost_batch):
    data = LossyData(tmp_path / "a.tfrecord", lost_batch)
    whole = Job(data, tmp_path / "whole", prefetch=10)
    assert whole.run()
    assert whole.loader.step == EPOCHS * 6
    job = Job(data, tmp_path / "interrupted", save_every=1, prefetch=10)
    for batches in (4, 3, 5):
        assert not job.run(interrupt_after=batches)
    assert job.run()
    assert job.loader.step == EPOCHS * 6
    np.testing.assert_array_equal(job.weights(), whole.weights())


@pytest.mark.exhaustive
def test_a_thread_that_is_stalled_at_the_end_of_a_pass_costs_no_epoch(tmp_path, monkeypatch):
    announce = EarlyEnd.announce

    def announce_and_stall(self):
        announce(self)
        time.sleep(0.3)

    data = LossyData(tmp_path / "a.tfrecord", 5)
    whole = Job(data, tmp_path / "whole", prefetch=10)
    assert whole.run()
    monkeypatch.setattr(EarlyEnd, "announce", announce_and_stall)
    stalled = Job(data, tmp_path / "stalled", prefetch=10)
    assert stalled.run()
    np.testing.assert_array_equal(stalled.weights(), whole.weights())


def test_a_finished_training_is_not_done_again(data, uninterrupted):
    before = uninterrupted.weights()
    assert uninterrupted.run()
    np.testing.assert_array_equal(uninterrupted.weights(), before)


@pytest.mark.exhaustive
def test_epochs_of_other_lengths_resume_too(data, tmp_path):
    options = {"steps_per_epoch": 5, "epochs": 4, "save_every": 2}

    class Repeating(Job):
        def run(self, interrupt_after=None):
            whole = hr.Loader.as_tf_dataset
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(hr.Loader, "as_tf_dataset", lambda *a, **k: whole(*a, **k).repeat())
                return super().run(interrupt_after)

    whole, parts = Repeating(data, tmp_path / "a", **options), Repeating(data, tmp_path / "b", **options)
    assert whole.run()
    assert not parts.run(interrupt_after=5)
    assert not parts.run(interrupt_after=6)
    assert parts.run()
    np.testing.assert_array_equal(parts.weights(), whole.weights())


@pytest.mark.exhaustive
def test_epochs_that_are_shorter_than_a_pass_resume_too(data, tmp_path):
    options = {"steps_per_epoch": 5, "epochs": 2, "save_every": 2}
    whole, parts = Job(data, tmp_path / "a", **options), Job(data, tmp_path / "b", **options)
    assert whole.run()
    assert not parts.run(interrupt_after=3)
    assert parts.run()
    np.testing.assert_array_equal(parts.weights(), whole.weights())


@pytest.mark.exhaustive
def test_a_callback_may_look_whether_training_stops(data, uninterrupted, tmp_path):
    class Looking(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.seen = bool(self.model.stop_training)

    job = Job(data, tmp_path, save_every=2)
    assert not job.run(interrupt_after=5)
    job.others_after = [Looking()]
    assert job.run()
    np.testing.assert_array_equal(job.weights(), uninterrupted.weights())


@pytest.mark.parametrize("change", ["other batches", "a cache", "another loader"])
def test_what_would_lose_count_is_refused(data, tmp_path, change):
    loader = make_loader(data)
    dataset = loader.as_tf_dataset("vector", "number")
    if change == "other batches":
        dataset = dataset.unbatch().batch(5)
    elif change == "a cache":
        dataset = dataset.cache()
    else:
        dataset = make_loader(data).as_tf_dataset("vector", "number")
    model = build()
    with pytest.raises(hr.errors.FailedPreconditionError, match=r"the loader of Resume has given \d+"):
        model.fit(dataset.map(scaled), epochs=2, verbose=0, callbacks=[hr.keras.Resume(tmp_path, loader)])


def test_only_the_newest_checkpoints_are_kept_and_all_of_them_verify(data, tmp_path, headrace):
    job = Job(data, tmp_path / "run", save_every=3)
    assert job.run()
    files = sorted(path.name for path in (tmp_path / "run").glob("*.npz"))
    assert files == ["variables-00000038-within.npz", "variables-00000039.npz"]
    assert len(published_support.manifests(tmp_path / "run")) == 2
    headrace("verify", tmp_path / "run")


@pytest.mark.exhaustive
def test_the_history_is_that_of_all_epochs_and_the_best_one_can_be_had_again(data, tmp_path):
    """Also after interruptions; its checkpoint outlives newer ones."""
    job = Job(data, tmp_path / "run")
    resume = functools.partial(hr.keras.Resume, keep=1, keep_best="loss")
    losses, weights = [], []

    class Rising(keras.callbacks.Callback):
        """Makes of the second epoch the best, and remembers what it left."""

        def on_epoch_end(self, epoch, logs=None):
            logs["loss"] = [3.0, 1.0, 2.0][epoch]
            losses.append(logs["loss"])
            weights.append(job.weights())

    with pytest.MonkeyPatch.context() as patch:
        made = []

        def make(url, loader, save_every):
            made.append(resume(url, loader, save_every))
            return made[-1]

        patch.setattr(hr.keras, "Resume", make)
        job.others = [Rising()]
        assert not job.run(interrupt_after=BATCHES + 2)
        assert not job.run(interrupt_after=BATCHES + 2)
        assert job.run()
    assert losses == [3.0, 1.0, 2.0]
    (*_, last) = made
    assert [(epoch["epoch"], epoch["step"], epoch["loss"]) for epoch in last.history] == [
        (1, BATCHES, 3.0),
        (2, 2 * BATCHES, 1.0),
        (3, 3 * BATCHES, 2.0),
    ]
    assert last.best_epoch == 2
    assert len(list((tmp_path / "run").glob("*.npz"))) == 2
    last.restore_best()
    np.testing.assert_array_equal(job.weights(), weights[1])


@pytest.mark.exhaustive
def test_a_training_that_a_callback_stopped_is_not_gone_on_with(data, tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    job = Job(data, tmp_path)
    job.others = [Stop()]
    for _ in range(2):
        assert job.run()
        assert job.loader.step == BATCHES


class StopAt(keras.callbacks.Callback):
    def __init__(self, step: int):
        super().__init__()
        self.left = step

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        self.model.stop_training = self.model.stop_training or self.left == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("stop, interrupted", [(5, None), (BATCHES - 7, 7)])
def test_a_stop_at_a_batch_that_is_saved_is_one(data, tmp_path, stop, interrupted):
    job = Job(data, tmp_path, save_every=1)
    if interrupted:
        assert not job.run(interrupt_after=interrupted)
    job.others = [StopAt(stop)]
    assert job.run()
    stopped = job.weights()
    job.others = []
    assert job.run()
    assert np.array_equal(job.weights(), stopped)


@pytest.mark.exhaustive
def test_a_training_that_was_interrupted_leaves_the_model_as_any_other(data, tmp_path):
    job = Job(data, tmp_path, save_every=1)
    assert not job.run(interrupt_after=BATCHES + 2)
    assert not job.run(interrupt_after=2)
    other = make_loader(data).as_tf_dataset("vector", "number").map(scaled)
    history = job.model.fit(other, epochs=2, verbose=0)
    assert history.epoch == [0, 1]


@pytest.mark.exhaustive
def test_callbacks_may_be_others_than_before(data, tmp_path):
    def fit(*callbacks):
        model, loader = build(), make_loader(data)
        resume = hr.keras.Resume(tmp_path, loader, callbacks=callbacks)
        dataset = loader.as_tf_dataset("vector", "number").map(scaled)
        model.fit(dataset, epochs=len(fits) + 1, verbose=0, callbacks=[*callbacks, resume])
        fits.append(len(resume.history))

    fits = []
    plateau = keras.callbacks.ReduceLROnPlateau(monitor="loss", cooldown=3)
    fit(plateau)
    early = keras.callbacks.EarlyStopping(monitor="loss", patience=50)
    fit(early, plateau)
    fit(plateau, early)
    assert fits == [1, 2, 3]
    assert plateau.cooldown_counter is not None


STATES = {"best so far": 1.0, "nothing": [0.1, None], "nested": {"a": 1}, "large": 2**70, "bytes": b"ab\0"}


@pytest.mark.parametrize("name", STATES)
def test_a_callbacks_state_that_could_not_be_read_back_is_refused(data, tmp_path, name):
    class Odd(keras.callbacks.Callback):
        def get_state(self):
            return {name: STATES[name]}

        def set_state(self, state):
            pass

    model, loader, odd = build(), make_loader(data), Odd()
    resume = hr.keras.Resume(tmp_path, loader, callbacks=[odd])
    with pytest.raises(hr.errors.InvalidArgumentError, match=f"the state of Odd cannot be saved.*{name}"):
        model.fit(loader.as_tf_dataset("vector", "number").map(scaled), verbose=0, callbacks=[odd, resume])


def test_the_best_value_is_the_highest_of_an_accuracy(data, tmp_path):
    loader = make_loader(data)
    for metric, mode, best in (("acc", "auto", 2), ("acc", "min", 1), ("loss", "auto", 1), ("x", "max", 2)):
        resume = hr.keras.Resume(tmp_path, loader, keep_best=metric, mode=mode)
        resume.history = [{"epoch": n + 1, metric: value} for n, value in enumerate([0.1, 0.9, 0.5])]
        assert resume.best_epoch == best
    with pytest.raises(hr.errors.InvalidArgumentError, match="with mode="):
        hr.keras.Resume(tmp_path, loader, keep_best="x")
    resume = hr.keras.Resume(tmp_path, loader, keep_best="val_loss")
    with pytest.raises(
        hr.errors.InvalidArgumentError, match="keep_best is 'val_loss', but fit computes loss"
    ):
        build().fit(loader.as_tf_dataset("vector", "number").map(scaled), verbose=0, callbacks=[resume])


def test_of_several_ranks_the_first_saves_and_all_continue(data, tmp_path):
    def fit(rank):
        model, loader = build(), make_loader(data, rank=rank, world_size=2)
        dataset = loader.as_tf_dataset("vector", "number").map(scaled)
        before = loader.stats().batches
        model.fit(dataset, epochs=1, verbose=0, callbacks=[hr.keras.Resume(tmp_path, loader)])
        return np.concatenate(list(map(np.ravel, model.get_weights()))), loader.stats().batches - before

    _, batches = fit(1)
    assert (batches, list(tmp_path.iterdir())) == (BATCHES, [])
    saved, batches = fit(0)
    assert batches == BATCHES
    continued, batches = fit(1)
    assert batches == 0
    assert np.array_equal(continued, saved)


class TwoOptimizers(keras.Model):
    def __init__(self, is_built: bool):
        super().__init__()
        self.layer = keras.layers.Dense(1)
        self.layer.build([None, 3])
        self.built = True
        self.other_optimizer = keras.optimizers.Adam(0.01)
        if is_built:
            self.other_optimizer.build(self.layer.trainable_variables)

    def call(self, vector):
        return self.layer(vector)

    def train_step(self, data):
        vector, number = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(vector)[:, 0] - number) ** 2)
        variables = self.layer.trainable_variables
        self.other_optimizer.apply(tape.gradient(loss, variables), variables)
        return {"loss": loss}


def test_every_optimizer_of_a_model_is_continued(data, tmp_path):
    def fit(url, interrupt_after=None):
        keras.utils.set_random_seed(3)
        model, loader = TwoOptimizers(is_built=True), make_loader(data)
        model.compile(keras.optimizers.SGD(), "mse")
        callbacks = [hr.keras.Resume(url, loader, save_every=1)]
        if interrupt_after:
            callbacks.append(InterruptAfter(interrupt_after))
        try:
            dataset = loader.as_tf_dataset("vector", "number").map(scaled)
            model.fit(dataset, epochs=2, verbose=0, callbacks=callbacks)
        except Interruption:
            pass
        return [*model.get_weights(), *(np.asarray(v) for v in model.other_optimizer.variables)]

    whole = fit(tmp_path / "whole")
    fit(tmp_path / "parts", interrupt_after=9)
    assert all(map(np.array_equal, fit(tmp_path / "parts"), whole))
    model, loader = TwoOptimizers(is_built=False), make_loader(data)
    model.compile(keras.optimizers.SGD(), "mse")
    with pytest.raises(hr.errors.FailedPreconditionError, match="model.other_optimizer.build"):
        model.fit(
            loader.as_tf_dataset("vector", "number"), callbacks=[hr.keras.Resume(tmp_path / "x", loader)]
        )


def test_variables_of_bfloat16_are_continued(data, tmp_path):
    def fit():
        keras.utils.set_random_seed(3)
        layers = [keras.layers.Dense(8, dtype="bfloat16"), keras.layers.Dense(1)]
        model, loader = keras.Sequential([keras.Input([3]), *layers]), make_loader(data)
        model.compile("adam", "mse")
        dataset = loader.as_tf_dataset("vector", "number").map(scaled)
        model.fit(dataset, epochs=1, verbose=0, callbacks=[hr.keras.Resume(tmp_path, loader)])
        return [np.asarray(v, np.float32) for v in model.weights]

    first, again = fit(), fit()
    assert all(map(np.array_equal, again, first))


def test_a_checkpoint_of_something_else_is_refused(data, uninterrupted, tmp_path):
    loader = make_loader(data)
    other = build(units=9)
    with pytest.raises(
        hr.errors.FailedPreconditionError, match=r"another model: .*\[3, 8\] there, .*\[3, 9\] here"
    ):
        other.fit(
            loader.as_tf_dataset("vector", "number").map(scaled),
            callbacks=[hr.keras.Resume(uninterrupted.url, loader)],
        )
    loader = hr.open(tfrecords.write_numbered(tmp_path / "other", 100)).loader(
        batch_size=20, seed=5, columns={"vector": hr.float32[3], "number": hr.int64}
    )
    with pytest.raises(hr.errors.FailedPreconditionError, match="another dataset"):
        build().fit(
            loader.as_tf_dataset("vector", "number").map(scaled),
            callbacks=[hr.keras.Resume(uninterrupted.url, loader)],
        )


def test_a_model_that_is_not_built_is_refused_at_once(data, tmp_path):
    loader = make_loader(data)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(hr.errors.FailedPreconditionError, match=r"keras\.Input"):
        model.fit(loader.as_tf_dataset("vector", "number"), callbacks=[hr.keras.Resume(tmp_path, loader)])


def test_an_altered_checkpoint_is_refused(data, tmp_path):
    job = Job(data, tmp_path)
    assert not job.run(interrupt_after=BATCHES + 2)
    (file,) = tmp_path.glob("*.npz")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(hr.errors.DataLossError, match="altered"):
        job.run()


@pytest.mark.slow
@pytest.mark.soak
def test_a_killed_process_is_continued(data, tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys
        import numpy as np, keras, tensorflow as tf
        import headrace as hr

        tf.config.experimental.enable_op_determinism()
        keras.utils.set_random_seed(3)
        data = hr.open(sys.argv[1])
        loader = data.loader(batch_size=20, seed=5, columns={"vector": hr.float32[3], "number": hr.int64})
        layers = keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)
        model = keras.Sequential([keras.Input([3]), *layers])
        model.compile("adam", "mse")

        class Kill(keras.callbacks.Callback):
            left = int(sys.argv[3])
            def on_train_batch_end(self, batch, logs=None):
                self.left -= 1
                if self.left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        scaled = lambda vector, number: (vector / 1000, tf.cast(number, tf.float32) / 1000)
        dataset = loader.as_tf_dataset("vector", "number").map(scaled)
        resume = hr.keras.Resume(sys.argv[2], loader, save_every=1)
        model.fit(dataset, epochs=2, verbose=0, callbacks=[resume, Kill()])
        np.save(sys.argv[2] + "/weights.npy", np.concatenate([np.ravel(w) for w in model.weights]))
    """)

    def run(folder, kill_after):
        command = [sys.executable, "-c", script, data.url, str(folder), str(kill_after)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=environment, capture_output=True, timeout=300, check=False)
        return done.returncode

    assert run(tmp_path / "whole", 0) == 0
    assert run(tmp_path / "killed", 9) == -signal.SIGKILL
    assert run(tmp_path / "killed", 11) == -signal.SIGKILL
    assert run(tmp_path / "killed", 0) == 0
    killed, whole = (np.load(tmp_path / name / "weights.npy") for name in ("killed", "whole"))
    np.testing.assert_array_equal(killed, whole)
