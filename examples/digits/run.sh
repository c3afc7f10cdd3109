#!/bin/sh
# Which digit is it? Image files in folders, a CNN, random crops while it trains, answers to image files.
set -e
here=$(dirname "$(realpath "$0")")
python3 "$here/make_data.py"
headrace prepare train data --split train=0.8,test=0.2
headrace train data run --model "$here/model.py:build" --epochs 20 --batch-size 32 \
  --augment crop=24x24,brightness=0.05 --image-size 26x26
headrace evaluate run --data data
headrace predict run --data new --to answers --format csv
headrace predict run --image new/0.png
