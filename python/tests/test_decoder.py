"""Engines with other decoders: built without C, or told to leave JPEG to libjpeg-turbo."""

from __future__ import annotations

import os
import re
import subprocess
import warnings

import pytest

import headrace as hr
from conftest import ROOT, augmented, digests

WITH_C = r"avif=libavif bmp=go gif=go jpeg=libjpeg-turbo-2\S+ png=libspng-0\S+ tiff=libtiff webp=libwebp-1\S+"
WITHOUT_C = "bmp=go gif=go jpeg=go png=go tiff=go webp=go"


@pytest.fixture(scope="module")
def engine_without_c(tmp_path_factory):
    program = tmp_path_factory.mktemp("engine") / "headrace"
    command = ["go", "build", "-buildvcs=false", "-o", program, "./cmd/headrace"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return str(program)


def test_it_says_so_and_works(photos, engine_without_c, monkeypatch):
    with augmented(photos).loader(epochs=2) as loader:
        expected = digests(loader)
        state = loader.state_dict()
    assert re.fullmatch(WITH_C, state["decoder"])

    monkeypatch.setenv("HEADRACE_ENGINE", engine_without_c)
    with pytest.warns(hr.HeadraceWarning, match="built without C") as caught:
        loader = augmented(photos).loader(epochs=2)
        first = next(iter(loader))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with loader:
        loader.set_epoch(0)
        got = digests(loader)
        assert digests([first]) == got[:1]
        assert loader.state_dict()["decoder"] == WITHOUT_C
        assert loader.stats()["decoder"] == WITHOUT_C
        with pytest.warns(hr.HeadraceWarning, match=f"saved with the decoder '{WITH_C}', this run has '{WITHOUT_C}'") as caught:
            loader.load_state_dict(state)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert len(digests(loader)) == 12
    assert [d[1:] for d in got] == [d[1:] for d in expected], "the same samples, crops and labels; only pixels may differ"


@pytest.mark.parametrize("how", ["argument", "environment"])
@pytest.mark.parametrize("fuse", [True, False])
def test_libjpeg_turbo_goes_on_with_the_same_pixels(photos, monkeypatch, how, fuse):
    with augmented(photos).loader(epochs=2, fuse=fuse) as loader:
        expected = digests(loader)
        state = loader.state_dict()
        rest = digests(loader)
    assert re.search(r"jpeg=libjpeg-turbo-\S+\+headrace-\d", state["decoder"])

    options = {}
    if how == "argument":
        options["jpeg"] = "turbo"
    else:
        monkeypatch.setenv("HEADRACE_JPEG", "turbo")
    with warnings.catch_warnings(), augmented(photos).loader(epochs=2, fuse=fuse, **options) as loader:
        warnings.simplefilter("error")
        assert digests(loader) == expected
        loader.load_state_dict(state)
        assert digests(loader) == rest
        assert re.search(r"jpeg=libjpeg-turbo-[^\s+]+ ", loader.state_dict()["decoder"])
