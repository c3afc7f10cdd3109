#!/bin/sh
# What is this text about? Any number of topics; the text becomes a vector while it is prepared.
set -e
here=$(dirname "$(realpath "$0")")
python3 "$here/make_data.py"
headrace prepare news.csv data --schema "$here/schema.toml" --split train=0.8,test=0.2
headrace train data run --model "$here/model.py:build" --labels topics --epochs 10 --batch-size 64
headrace evaluate run --data data
headrace predict run --data new.csv --to answers --format csv
