#!/bin/sh
# Is this person rich? A table of numbers and categories, and answers to new rows.
set -e
here=$(dirname "$(realpath "$0")")
python3 "$here/make_data.py"
headrace prepare people.csv data --schema "$here/schema.toml" --split train=0.8,test=0.2
headrace train data run --model "$here/model.py:build" --labels rich --epochs 10 --batch-size 64
headrace evaluate run --data data
headrace predict run --data new.csv --to answers --format csv
