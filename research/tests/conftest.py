"""What all tests share: helpers of bitfm's own tests are on the path."""

from data_marker import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]
