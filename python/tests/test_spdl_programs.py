"""Programs that SPDL documents, with headrace.compat.spdl instead: they give the same."""

from __future__ import annotations

import logging

import pytest

import spdl_programs
from conftest import WHOLE

pytestmark = pytest.mark.usefixtures("io_closed")

LONG = {"profile", "region", "statistics", "subprocess_items"}


@pytest.mark.parametrize("name", sorted(spdl_programs.GIVE.keys() - (set() if WHOLE else LONG)))
def test_the_program_runs(name, caplog):
    caplog.set_level(logging.CRITICAL)
    assert getattr(spdl_programs, name)("headrace.compat.spdl") == spdl_programs.GIVE[name]
