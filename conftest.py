"""Doctests of src: pytest imports modules by their paths, which puts them in the place of functions of their names."""

import sys
from types import ModuleType


def pytest_collection_finish():
    """Put functions such as `kernelcal.evaluate` back where their modules stand."""
    for package in [module for name, module in sys.modules.items() if name.split(".")[0] == "kernelcal"]:
        for name in getattr(package, "__all__", ()):
            found = getattr(package, name, None)
            if isinstance(found, ModuleType) and hasattr(found, name):
                setattr(package, name, getattr(found, name))
