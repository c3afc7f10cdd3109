#!/bin/sh
# What is this house worth? Three numbers, and a number as the answer.
set -e
here=$(dirname "$(realpath "$0")")
python3 "$here/make_data.py"
headrace prepare houses.csv data --schema "$here/schema.toml" --split train=0.8,test=0.2
headrace train data run --model "$here/model.py:build" --labels price --epochs 20 --batch-size 64
headrace evaluate run --data data
headrace predict run --data new.csv --to answers --format csv
