"""Headrace: raw data in an object store, prepared, streamed, trained, evaluated, served and tracked.

Importing this package is cheap: it loads neither TensorFlow nor Keras.
"""

__version__ = "0.1.0"
