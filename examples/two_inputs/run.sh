#!/bin/sh
# Which genre has this book? Its title as text and its pages as a number, from lines of JSON.
set -e
here=$(dirname "$(realpath "$0")")
python3 "$here/make_data.py"
headrace prepare books.jsonl data --schema "$here/schema.toml" --split train=0.8,test=0.2
headrace train data run --model "$here/model.py:build" --labels genre --epochs 10 --batch-size 32
headrace evaluate run --data data
headrace predict run --data new.jsonl --to answers --format csv
