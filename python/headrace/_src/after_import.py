"""Runs an action once any code has imported a module; does not import the module itself."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], None]


class _Finder(importlib.abc.MetaPathFinder):
    """Makes the loader of one module call the action. Stays in place until the module is loaded, because a
    program may ask whether the module exists without importing it."""

    def __init__(self, name: str, action: Action):
        self.name, self.action = name, action
        self.asking = threading.local()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name or getattr(self.asking, "now", False):
            return None
        self.asking.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asking.now = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_act(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self.action(module)

            spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def after_import(name: str, action: Action) -> None:
    """Calls `action` with the module: now if it is already imported, otherwise at the end of its import."""
    if name in sys.modules:
        action(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, action))
