"""`python -m headrace.tfrecorder create-tfrecords --input_data=pets.csv --output_dir=s3://datasets/pets`."""

import sys

from headrace.tfrecorder._command import main

sys.exit(main(sys.argv[1:]))
