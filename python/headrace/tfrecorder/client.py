"""The names that `tfrecorder.client` had."""

from headrace.tfrecorder._convert import convert, convert_and_load, create_tfrecords
from headrace.tfrecorder._inspect import check_tfrecords, inspect
from headrace.tfrecorder._load import load

__all__ = ["check_tfrecords", "convert", "convert_and_load", "create_tfrecords", "inspect", "load"]
