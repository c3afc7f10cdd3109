"""Training from MinIO with TensorFlow's own functions, as before TensorFlow lost s3://, with one more import.

    export S3_ENDPOINT=127.0.0.1:9000 S3_USE_HTTPS=0 S3_VERIFY_SSL=0
    export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…
    headrace prepare aclImdb_v1.tar.gz s3://datasets/preprocessed-data
    python examples/minio_tutorial.py s3://datasets

Afterwards the bucket holds checkpoints/, logs/ and the model. Runs with Keras 3 and, under
TF_USE_LEGACY_KERAS=1, with tf_keras; the comments say where they differ.
"""

import datetime
import math
import sys

import headrace.tensorflow  # noqa: F401 the only addition
import numpy as np
import tensorflow as tf

BUCKET = sys.argv[1] if len(sys.argv) > 1 else "s3://datasets"
EPOCHS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
BATCH_SIZE = 128
AUTO = tf.data.AUTOTUNE
IS_LEGACY = tf.keras.version().startswith("2.") if hasattr(tf.keras, "version") else True


def decode(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    columns = {
        "sentence": tf.io.FixedLenFeature([512], tf.float32),
        "label": tf.io.FixedLenFeature([2], tf.int64),
    }
    example = tf.io.parse_single_example(record, columns)
    return example["sentence"], tf.cast(example["label"], tf.float32)


def read(split: str, in_order: bool) -> tuple[tf.data.Dataset, int]:
    """The examples of a split, and their number. The order is not fixed, so no shard waits for another."""
    shards = tf.io.gfile.glob(f"{BUCKET}/preprocessed-data/{split}-*.tfrecord.gz")
    order = tf.data.Options()
    order.deterministic = in_order
    records = tf.data.TFRecordDataset(shards, num_parallel_reads=AUTO, compression_type="GZIP")
    examples = records.with_options(order).map(decode, num_parallel_calls=AUTO)
    return examples, int(examples.reduce(0, lambda count, _: count + 1))


def build_model() -> tf.keras.Model:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.InputLayer(input_shape=(512,)) if IS_LEGACY else tf.keras.layers.Input((512,)),
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dropout(0.5),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dropout(0.5),
            tf.keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    train, train_size = read("train", in_order=False)
    test, test_size = read("test", in_order=True)
    print(f"{train_size} examples to train on, {test_size} to test on")

    logs = f"{BUCKET}/logs/imdb/{datetime.datetime.now():%Y%m%d-%H%M%S}"
    # tf_keras still takes "cp.ckpt", TensorFlow's own format; Keras 3 wants the ending .weights.h5.
    checkpoint = f"{BUCKET}/checkpoints/{'cp.ckpt' if IS_LEGACY else 'cp.weights.h5'}"
    model = build_model()
    model.fit(
        train.shuffle(5_000).repeat().batch(BATCH_SIZE).prefetch(AUTO),
        epochs=EPOCHS,
        steps_per_epoch=math.ceil(train_size / BATCH_SIZE),
        validation_data=test.batch(BATCH_SIZE),
        callbacks=[
            tf.keras.callbacks.ModelCheckpoint(checkpoint, save_weights_only=True, verbose=1),
            tf.keras.callbacks.TensorBoard(logs),
        ],
        verbose=2,
    )

    # tf_keras writes a SavedModel to any path; Keras 3 writes its own file format, and a SavedModel with
    # `export`.
    saved = f"{BUCKET}/imdb_sentiment{'' if IS_LEGACY else '.keras'}"
    model.save(saved)
    if not IS_LEGACY:
        model.export(f"{BUCKET}/imdb_sentiment", verbose=False)

    restored = build_model()
    restored.load_weights(checkpoint)
    loaded = tf.keras.models.load_model(saved)
    examples = test.batch(BATCH_SIZE)
    loss, accuracy = loaded.evaluate(examples, verbose=0)
    print(f"loss {loss:.4f}, accuracy {accuracy:.4f}")
    predicted = loaded.predict(examples, verbose=0)
    labels = np.concatenate([labels for _, labels in examples.as_numpy_iterator()])
    right = np.mean(predicted.argmax(axis=1) == labels.argmax(axis=1))
    print(f"predicted {len(predicted)} examples, {right:.4f} of them right")
    difference = np.abs(predicted - restored.predict(examples, verbose=0)).max()
    print(f"restored from the checkpoint: differs by {difference:.1g}")
    served = tf.saved_model.load(f"{BUCKET}/imdb_sentiment")
    print(f"signatures: {sorted(served.signatures)}")


if __name__ == "__main__":
    main()
