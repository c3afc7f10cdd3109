"""Loads a user's function from MODULE:FUNCTION, or reports why that fails."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import traceback
from collections.abc import Callable

from headrace._src import sources
from headrace._src.errors import ModelError


def load_function(name: str) -> Callable:
    """The function of that name; imports its module. \\raises ModelError says what to change"""
    module_name, function_name = sources.split_model_name(name)
    file = name.rpartition(":")[0]
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the user's module may raise anything; the error is reported
        if isinstance(error, ModuleNotFoundError) and error.name == module_name.partition(".")[0]:
            raise ModelError(
                "import",
                f"there is no Python module '{module_name}': run in its folder, or set PYTHONPATH",
            ) from error
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        raise ModelError("import", f"module '{module_name}' cannot be imported: {reason}") from error
    if file.endswith(".py") and not os.path.samefile(file, module.__file__ or os.devnull):
        raise ModelError(
            "import",
            f"{file} cannot be imported beside {module.__file__}, which has the same name: rename one of "
            "them",
        )
    function = getattr(module, function_name, None)
    if not callable(function):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        near = difflib.get_close_matches(function_name, names, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ModelError("function", f"module '{module_name}' has no function '{function_name}'{hint}")
    return function
