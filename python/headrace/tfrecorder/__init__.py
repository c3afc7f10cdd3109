"""The interface of google/tensorflow-recorder in Python. Scripts written for it change one import:

    import headrace.tfrecorder as tfrecorder

    result = tfrecorder.convert("images.csv", output_dir="s3://datasets/pets")
    datasets = tfrecorder.load(result["tfrecord_dir"])
    frame.tensorflow.to_tfr(output_dir="s3://datasets/pets")

Records have the same features as tfrecorder's. docs/how-to/from-tfrecorder.md says what differs. Importing
this module loads pandas, and gives its frames `frame.tensorflow`.
"""

from headrace.tfrecorder import client, input_schema, types
from headrace.tfrecorder._accessor import TensorflowAccessor
from headrace.tfrecorder._convert import convert, convert_and_load, create_tfrecords
from headrace.tfrecorder._inspect import check_tfrecords, inspect
from headrace.tfrecorder._load import load
from headrace.tfrecorder.input_schema import IMAGE_CSV_SCHEMA, Schema

__all__ = [
    "IMAGE_CSV_SCHEMA",
    "Schema",
    "TensorflowAccessor",
    "check_tfrecords",
    "client",
    "convert",
    "convert_and_load",
    "create_tfrecords",
    "input_schema",
    "inspect",
    "load",
    "types",
]
