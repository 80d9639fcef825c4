"""What all tests share."""

from data_marker import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]

pytest_plugins = ["pytester"]
