"""The loader under Keras, JAX and DLPack: the same memory, and models that learn from real reviews."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
import tfrecords

import headrace as hr

COLUMNS = {"sentence": hr.float32[512], "label": hr.int64[2]}


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    return hr.open(tfrecords.write_numbered(tmp_path_factory.mktemp("frameworks") / "data", 300))


class Remembering(hr.Loader):
    """Remembers where the arrays lie that it hands out."""

    addresses: list[int]

    def _next(self, engine=None):
        batch = super()._next(engine)
        self.addresses.append(batch["vector"].ctypes.data)
        return batch


def remembering(loader: hr.Loader) -> Remembering:
    loader.__class__ = Remembering
    loader.addresses = []
    return loader


def test_jax_shares_the_memory(numbered):
    loader = remembering(
        numbered.loader(batch_size=32, columns={"number": hr.int64, "vector": hr.float32[3]})
    )
    kept = list(loader.as_jax())
    assert len(kept) == 10
    assert [batch["vector"].unsafe_buffer_pointer() for batch in kept] == loader.addresses
    for batch in kept:
        assert isinstance(batch["vector"], jax.Array)
        np.testing.assert_array_equal(batch["vector"][:, 0], batch["number"] + jnp.float32(0.25))


def test_tensorflow_shares_the_memory(numbered):
    columns = {"vector": hr.float32[3], "number": hr.int64}
    batch = next(numbered.loader(batch_size=32, columns=columns))
    tensor = tf.experimental.dlpack.from_dlpack(batch["vector"].__dlpack__())
    assert np.asarray(memoryview(tensor)).ctypes.data == batch["vector"].ctypes.data
    loader = remembering(numbered.loader(batch_size=32, columns=columns))
    kept = [vector for vector, _ in loader.as_tf_dataset(features="vector", labels="number")]
    assert [np.asarray(memoryview(vector)).ctypes.data for vector in kept] == loader.addresses


def test_elements_are_features_labels_and_weights(numbered):
    columns = {"vector": hr.float32[3], "pair": hr.int64[2], "number": hr.int64}

    def spec(*arguments, **options):
        loader = numbered.loader(batch_size=32, columns=columns, **options)
        return loader.as_tf_dataset(*arguments).element_spec

    vector, pair = tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([None, 2], tf.int64)
    number = tf.TensorSpec([None], tf.int64)
    assert spec() == {"vector": vector, "pair": pair, "number": number}
    assert spec("vector", "pair") == (vector, pair)
    assert spec(["vector", "pair"], "number") == ({"vector": vector, "pair": pair}, number)
    padded = spec("vector", "pair", drop_remainder="pad")
    assert padded[0] == tf.TensorSpec([32, 3], tf.float32)
    assert padded[2] == tf.TensorSpec([32], tf.float32)
    with pytest.raises(hr.Error, match=r"no column words; it has: vector, pair, number"):
        spec("words")


def test_columns_of_any_length_become_ragged_and_string_tensors(numbered):
    columns = {"number": hr.int64, "id": hr.bytes_, "tags": hr.ragged(hr.int64).default(())}
    columns["words"] = hr.ragged(hr.bytes_).default(())
    seen = 0
    for element in numbered.loader(batch_size=50, columns=columns).as_tf_dataset():
        for row, number in enumerate(element["number"].numpy().tolist()):
            expected = tfrecords.numbered_example(number)
            assert element["id"][row].numpy() == expected["id"][0]
            assert element["tags"][row].numpy().tolist() == expected.get("tags", [])
            assert element["words"][row].numpy().tolist() == expected.get("words", [])
            seen += 1
    assert seen == 300
    batch = next(numbered.loader(batch_size=50, columns=columns).as_jax())
    assert [int(batch["tags"].offsets[50])] == [len(batch["tags"].values)]
    assert batch["id"][0].startswith(b"record ")


def test_a_pass_is_an_epoch_and_the_next_pass_the_next_epoch(numbered):
    options = {"batch_size": 40, "seed": 4, "columns": {"number": hr.int64}}
    epochs = [
        [batch["number"].tolist() for batch in numbered.loader(epochs=3, **options)][start : start + 8]
        for start in (0, 8, 16)
    ]
    dataset = numbered.loader(**options).as_tf_dataset()
    assert int(dataset.cardinality()) == 8
    assert len(list(dataset.take(3))) == 3
    for epoch in epochs:
        assert [element["number"].numpy().tolist() for element in dataset] == epoch


def test_a_keras_model_learns_from_real_reviews(real_reviews):
    keras.utils.set_random_seed(1)
    train = hr.open(real_reviews).loader(batch_size=128, seed=44, columns=COLUMNS)
    test = hr.open(real_reviews, split="test").loader(batch_size=128, shuffle=False, columns=COLUMNS)
    model = hr.models.dense_classifier(seed=2)
    history = model.fit(train.as_tf_dataset(), epochs=8, validation_data=test.as_tf_dataset(), verbose=0)
    loss = history.history["loss"]
    assert len(loss) == 8
    assert loss[-1] < 0.6 < loss[0]
    assert history.history["val_accuracy"][-1] > 0.58
    assert train.step == 8 * train.batches_per_epoch


def test_a_jax_loop_learns_from_real_reviews(real_reviews):
    def loss_of(weights, batch):
        scores = batch["sentence"] @ weights
        return -jnp.sum(jax.nn.log_softmax(scores) * batch["label"], axis=1).mean()

    @jax.jit
    def update(weights, batch):
        loss, gradient = jax.value_and_grad(loss_of)(weights, batch)
        return weights - 5.0 * gradient, loss

    weights, losses = jnp.zeros([512, 2]), []
    loader = hr.open(real_reviews).loader(
        batch_size=128, seed=1, epochs=8, drop_remainder=True, columns=COLUMNS
    )
    for batch in loader.as_jax():
        weights, loss = update(weights, batch)
        losses.append(float(loss))
    assert np.isclose(losses[0], np.log(2))
    assert np.mean(losses[-20:]) < 0.65
    test = hr.open(real_reviews, split="test").loader(batch_size=200, columns=COLUMNS)
    right = [
        (batch["sentence"] @ np.asarray(weights)).argmax(1) == batch["label"].argmax(1) for batch in test
    ]
    assert np.concatenate(right).mean() > 0.58


def test_jax_is_given_no_integer_that_it_would_cut(tmp_path):
    numbers = [2**31 - 1, -(2**31), 0, 7, 2**31, 1, -(2**31) - 1, 1, 2**40, 1]
    examples = [{"number": [number], "row": [number] * (i % 3)} for i, number in enumerate(numbers)]
    tfrecords.write(tmp_path / "a.tfrecord", [{k: v for k, v in e.items() if v} for e in examples])
    data = hr.open(tmp_path)

    def batches(column):
        loader = data.loader(batch_size=2, shuffle=False, columns={"number": hr.int64, "row": column})
        return loader.as_jax()

    fitting = batches(hr.ragged(hr.int64).default(()))
    first = next(fitting)["number"]
    assert (first.dtype, first.tolist()) == (jnp.int32, numbers[:2])
    assert next(fitting)["number"].tolist() == numbers[2:4]
    for wrong in (2**31, -(2**31) - 1, 2**40):
        with pytest.raises(hr.errors.InvalidArgumentError, match=rf"column .*{wrong}.*jax_enable_x64"):
            next(fitting)
    with jax.enable_x64(True):
        whole = [
            number
            for batch in batches(hr.ragged(hr.int64).default(()))
            for number in batch["number"].tolist()
        ]
    assert whole == numbers


def test_jax_gets_rows_of_any_length_in_slices(numbered):
    columns = {"tags": hr.ragged(hr.int64).default(())}
    arrays = next(numbered.loader(batch_size=50, shuffle=False, columns=columns))["tags"]
    rows = next(numbered.loader(batch_size=50, shuffle=False, columns=columns).as_jax())["tags"]
    assert isinstance(rows[3:9].values, jax.Array)
    assert rows[3:9].tolist() == arrays[3:9].tolist() == arrays.tolist()[3:9]


def test_weights_are_in_an_element_where_something_tells_that_they_are(numbered):
    columns = {"vector": hr.float32[3], "number": hr.int64}

    def spec(*arguments, columns=columns):
        loader = numbered.loader(batch_size=32, columns=columns, drop_remainder="pad")
        return loader.as_tf_dataset(*arguments).element_spec

    vector, number = tf.TensorSpec([32, 3], tf.float32), tf.TensorSpec([32], tf.int64)
    weight = tf.TensorSpec([32], tf.float32)
    assert spec() == {"vector": vector, "number": number, "weight": weight}
    assert spec("vector") == vector
    assert spec(["vector"]) == {"vector": vector}
    assert spec(["vector", "weight"]) == {"vector": vector, "weight": weight}
    assert spec("vector", "number") == (vector, number, weight)


def test_a_model_predicts_from_padded_batches(numbered):
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
    loader = numbered.loader(
        batch_size=64, shuffle=False, columns={"vector": hr.float32[3]}, drop_remainder="pad"
    )
    predicted = model.predict(loader.as_tf_dataset("vector"), verbose=0)
    assert predicted.shape == (320, 1)
    vectors = np.asarray([tfrecords.numbered_example(number)["vector"] for number in range(300)], np.float32)
    np.testing.assert_allclose(predicted[:300], model(vectors), rtol=1e-5, atol=1e-4)


def test_features_and_labels_are_columns(numbered):
    def spec(columns, *arguments, **options):
        return (
            numbered.loader(batch_size=32, columns=columns).as_tf_dataset(*arguments, **options).element_spec
        )

    columns = {"vector": hr.float32[3], "label": hr.int64.default(0)}
    vector, label = tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([None], tf.int64)
    for features in ([], (), ""):
        with pytest.raises(hr.errors.InvalidArgumentError, match=r"features names no column|no column ''"):
            spec(columns, features)
    for labels in ("", "pair", ["label"]):
        with pytest.raises(hr.errors.InvalidArgumentError, match="the loader has no column .*vector, label"):
            spec(columns, "vector", labels)
    with pytest.raises(hr.errors.InvalidArgumentError, match="no column beside the labels, vector"):
        spec({"vector": hr.float32[3]}, labels="vector")
    assert spec(columns) == (vector, label)
    assert spec(columns, ("vector",)) == ({"vector": vector}, label)
    assert spec(columns, ["vector", "label"]) == {"vector": vector, "label": label}
    assert spec({"label": hr.int64.default(0)}) == {"label": label}


def test_metrics_of_damaged_data_are_those_of_the_rows_that_are_there(tmp_path, caplog):
    """With either way of filling batches: exact without one, and with weighted metrics where rows weigh 0."""
    examples = [tfrecords.frame(tfrecords.encode(tfrecords.numbered_example(i))) for i in range(100)]
    lost = {3, 40, 41, 99}
    damaged = (bytes(frame[:-6]) + bytes([frame[-6] ^ 1]) + frame[-5:] for frame in examples)
    frames = [bad if i in lost else good for i, (good, bad) in enumerate(zip(examples, damaged, strict=True))]
    (tmp_path / "a.tfrecord").write_bytes(b"".join(frames))
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(loss="mse", metrics=["mae"], weighted_metrics=[keras.metrics.MeanAbsoluteError("exact")])
    errors = [abs(0.75 - number) for number in range(100) if number not in lost]  # the vector's sum is 0.75

    def evaluated(batch_size: int = 16, **options) -> dict[str, float]:
        data = hr.open(tmp_path / "a.tfrecord", on_corrupt="skip-record")
        columns = {"vector": hr.float32[3], "number": hr.int64}
        loader = data.loader(batch_size=batch_size, shuffle=False, columns=columns, **options)
        return model.evaluate(loader.as_tf_dataset("vector", "number"), verbose=0, return_dict=True)

    exact = evaluated()
    assert exact["mae"] == pytest.approx(np.mean(errors), rel=1e-6)
    assert exact["loss"] == pytest.approx(np.mean(np.square(errors)), rel=1e-6)
    assert evaluated(batch_size=1)["mae"] == pytest.approx(np.mean(errors), rel=1e-6), "some have no row"
    assert not any("weighted_metrics" in record.getMessage() for record in caplog.records)
    padded = evaluated(drop_remainder="pad")
    assert padded["exact"] == pytest.approx(np.mean(errors), rel=1e-6)
    assert padded["mae"] != pytest.approx(np.mean(errors), rel=1e-3)
    assert any("weighted_metrics" in record.getMessage() for record in caplog.records)


def test_a_loss_that_divides_by_weights_ignores_the_rows_that_fill_up(numbered):
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(1, kernel_initializer="ones")])
    columns = {"vector": hr.float32[3], "number": hr.int64}
    true_loss = np.mean([abs(0.75 - number) for number in range(300)])

    def loss(**options):
        model.compile(loss=keras.losses.MeanAbsoluteError(**options))
        loader = numbered.loader(batch_size=400, columns=columns, drop_remainder="pad")
        return model.evaluate(loader.as_tf_dataset("vector", "number"), verbose=0)

    assert loss(reduction="mean_with_sample_weight") == pytest.approx(true_loss, rel=1e-5)
    assert loss() == pytest.approx(true_loss * 300 / 400, rel=1e-5)
