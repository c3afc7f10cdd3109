"""For tests of TensorFlow's paths: what a scenario sees in a folder, wherever that is."""

import tensorflow as tf
from tensorboard.compat.proto import event_pb2

from headrace import tensorflow as paths  # noqa: F401

gfile = tf.io.gfile


def told(scenario, root: str) -> object:
    """The observations of a scenario below this root, with paths relative to it."""
    gfile.makedirs(root)

    def relative(value):
        if isinstance(value, list | tuple):
            return [relative(one) for one in value]
        return value.replace(root, "ROOT") if isinstance(value, str) else value

    return relative(scenario(root))


def summaries_below(root: str) -> list[tuple[str, int, object]]:
    """Tag, step and value of what the segments of logs hold, in the order of their names."""
    seen = []
    for path in sorted(gfile.glob(f"{root}/*tfevents*")):
        for record in tf.data.TFRecordDataset(path):
            event = event_pb2.Event.FromString(record.numpy())
            seen += [
                (value.tag, event.step, tf.make_ndarray(value.tensor).tolist())
                for value in event.summary.value
            ]
    return seen
