"""Readers of runs that other trackers have recorded. `headrace runs import` starts it as a program."""
