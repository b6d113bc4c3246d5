"""Functions of hr.io that read files themselves take names of stores, and have their bytes from the engine."""

from __future__ import annotations

import io
import pathlib
import tarfile
import wave

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace.errors import FileError, HeadraceError, MediaError
from web_server import WebServer

pytestmark = pytest.mark.usefixtures("one_engine", "io_closed")


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    array = np.arange(12, dtype="f4").reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", x=array, y=array[0])
    with wave.open(str(tmp_path / "a.wav"), "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes(np.arange(4000, dtype="<i2").tobytes())
    exif = Image.Exif()
    exif[271], exif[274] = "a maker", 6
    Image.new("RGB", (8, 4)).save(tmp_path / "a.jpg", exif=exif)
    with tarfile.open(tmp_path / "a.tar", "w") as out:
        for i in range(3):
            info = tarfile.TarInfo(f"{i}.txt")
            info.size = i
            out.addfile(info, io.BytesIO(b"x" * i))
    for name in ("a.npy", "a.npz", "a.wav", "a.jpg", "a.tar"):
        (tmp_path / f"cut.{name[2:]}").write_bytes((tmp_path / name).read_bytes()[:30])
    (tmp_path / "empty.npy").touch()
    return tmp_path


def npz(src):
    with hr.io.load_npz(src) as arrays:
        return {name: array.tolist() for name, array in arrays.items()}


READ = {
    "npy": lambda src: hr.io.load_npy(src).tolist(),
    "npz": npz,
    "wav": lambda src: hr.io.load_wav(src, start=0.25)[0].tolist(),
    "jpg": lambda src: hr.io.image_metadata(src)[:3],
    "tar": lambda src: [(name, bytes(data)) for name, data in hr.io.iter_tar(src)],
}


@pytest.mark.parametrize("kind", READ)
def test_they_are_what_files_are(kind: str, folder: pathlib.Path) -> None:
    with WebServer(folder) as web:
        got = READ[kind](f"{web.url}/a.{kind}")
        assert got
        assert got == READ[kind](folder / f"a.{kind}")
        with pytest.raises(MediaError, match=rf"a\.{kind}|cut\.{kind}"):
            READ[kind](f"{web.url}/cut.{kind}")
        with pytest.raises((FileError, HeadraceError), match=rf"none\.{kind}"):
            READ[kind](f"{web.url}/none.{kind}")


def test_empty_files_and_secrets(folder: pathlib.Path) -> None:
    with WebServer(folder) as web:
        with pytest.raises(MediaError, match=r"empty\.npy") as error:
            hr.io.load_npy(f"{web.url}/empty.npy?token=s3cr3t")
        assert "s3cr3t" not in str(error.value)
        out = np.empty((3, 4), "f4")
        assert hr.io.load_npy(f"{web.url}/a.npy", out=out) is out
        assert out[2, 3] == 11
