"""One epoch with the package that is installed in this interpreter's environment."""

import pathlib
import sys
import tempfile

import headrace as hr

assert "numpy" not in sys.modules, "importing headrace imported NumPy"

from PIL import Image  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    for i in range(40):
        path = pathlib.Path(folder, f"class{i % 4}", f"{i:02d}.jpg")
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (320, 240), (6 * i, 255 - 6 * i, 128)).save(path)
    loader = hr.files(folder, label="parent").decode_image().resize(256).center_crop(224).batch(16).loader(epochs=1)
    with loader:
        rows = 0
        for batch in loader:
            assert batch["image"].shape[1:] == (224, 224, 3), batch["image"].shape
            rows += len(batch["label"])
    assert rows == 40, rows
    assert loader.classes == ["class0", "class1", "class2", "class3"], loader.classes
where = pathlib.Path(hr.__file__).parent
assert pathlib.Path(sys.prefix) in where.parents, where
print(f"   {rows} images through {where}")
