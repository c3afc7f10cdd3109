"""Adapters that execute the tasks of a plan on an engine's cluster: docs/prepare.md, "Runners"."""
