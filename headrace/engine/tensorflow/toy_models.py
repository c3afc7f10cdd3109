"""Writes the small SavedModels that tensorflow_test.cc loads: python toy_models.py FOLDER"""

import sys

import tensorflow as tf

_BUCKETS, _DIMENSION = 64, 5


class Encoder(tf.Module):
    """Texts to vectors with a Universal Sentence Encoder's operations: split, look up, sum, dense layer."""

    def __init__(self, seed):
        super().__init__()
        random = tf.random.Generator.from_seed(seed)
        self.embeddings = tf.Variable(random.normal([_BUCKETS, 16]))
        self.dense = tf.Variable(random.normal([16, _DIMENSION]))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    def encode(self, texts):
        words = tf.strings.split(tf.strings.lower(texts))
        rows = tf.strings.to_hash_bucket_fast(words.values, _BUCKETS)
        sums = tf.math.unsorted_segment_sum(
            tf.gather(self.embeddings, rows), words.value_rowids(), tf.size(texts, tf.int64)
        )
        return {"vectors": tf.tanh(tf.matmul(sums, self.dense))}


def reshape_function(dtype):
    """Gives a vector back as a matrix of one column."""

    @tf.function(input_signature=[tf.TensorSpec([None], dtype, name="values")])
    def reshape(values):
        return {"values": tf.reshape(values, [-1, 1])}

    return reshape


class Odd(tf.Module):
    """Signatures that try an engine's edges."""

    def __init__(self):
        super().__init__()
        self.kept = tf.Variable(tf.zeros([1024]))
        floats = tf.TensorSpec([1024], tf.float32, name="values")

        @tf.function(input_signature=[floats])
        def echo(values):
            return {"values": values}

        @tf.function(input_signature=[floats])
        def keep(values):
            self.kept.assign(values)
            return {"first": self.kept[0]}

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
        def upper(texts):
            return {"texts": tf.strings.upper(texts)}

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="step")])
        def forever(step):
            return {"sum": tf.while_loop(lambda total: total >= 0, lambda total: total * step, [step])[0]}

        self.signatures_to_save = {"echo": echo, "keep": keep, "upper": upper, "forever": forever}


class Types(tf.Module):
    """A signature for each type of values."""

    def __init__(self):
        super().__init__()
        self.signatures_to_save = {}
        for number in range(1, 64):
            try:
                dtype = tf.as_dtype(number)
            except TypeError:
                continue
            if dtype not in (tf.resource, tf.variant):
                self.signatures_to_save[f"reshape_{dtype.name}"] = reshape_function(dtype)


def main(folder):
    for name, seed in (("encoder", 1), ("other_encoder", 2)):
        encoder = Encoder(seed)
        tf.saved_model.save(encoder, f"{folder}/{name}", signatures=encoder.encode)
    for name, module in (("odd", Odd()), ("types", Types())):
        tf.saved_model.save(module, f"{folder}/{name}", signatures=module.signatures_to_save)


if __name__ == "__main__":
    main(sys.argv[1])
