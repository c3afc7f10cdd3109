"""Readers of runs that other trackers have recorded. `headrace runs import` starts this package as a
program."""
