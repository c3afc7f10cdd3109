"""Adapters that have an engine's cluster execute the tasks of a plan: docs/prepare.md, "Runners"."""
