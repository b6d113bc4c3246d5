"""Answers questions of Go tests on standard input: a line of JSON, then its blobs. Answers look the same."""

import base64
import io
import json
import sys
import warnings

questions, answers = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr  # what a library prints must not get between the answers
warnings.simplefilter("ignore")


def main():
    while line := questions.readline():
        question = json.loads(line)
        blobs = [questions.read(n) for n in question["blobs"]]
        try:
            result, *out = globals()[question["op"]](question["args"] or {}, *blobs)
            answer = {"result": result, "blobs": [len(b) for b in out]}
        except Exception as e:
            out = []
            answer = {"error": f"{type(e).__name__}: {e}"}
        answers.write(json.dumps(answer).encode() + b"\n" + b"".join(out))
        answers.flush()


def hello(args):
    import numpy
    import PIL.Image

    return [PIL.__version__, numpy.__version__], b""


def run(args, *blobs):
    """Calls a function of a module whose text the test has."""
    text = args["module"]
    if text not in modules:
        modules[text] = {"__name__": "oracle"}
        exec(compile(text, "oracle module", "exec"), modules[text])
    return modules[text][args["function"]](args["args"], *blobs)


modules = {}
MODES = {1: "L", 3: "RGB", 4: "CMYK"}


def image(args, pixels):
    from PIL import Image

    width, height, channels = args["picture"]
    return Image.frombytes(MODES[channels], (width, height), pixels)


def picture(img):
    return [img.width, img.height, len(img.getbands())], img.tobytes()


def encode(args, pixels):
    options = dict(args["encoding"])
    for name in ("exif", "xmp"):
        if name in options:
            options[name] = base64.b64decode(options[name])
    out = io.BytesIO()
    image(args, pixels).save(out, "JPEG", **options)
    return None, out.getvalue()


def opened(data):
    from PIL import Image

    return Image.open(io.BytesIO(data))


def load_png(args, data):
    """What torchvision reads from a PNG: it keeps 16 bits of every channel, in the machine's byte order."""
    import torch
    from torchvision.io import ImageReadMode, decode_png

    img = decode_png(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.UNCHANGED)
    return [img.shape[2], img.shape[1], img.shape[0]], img.permute(1, 2, 0).contiguous().numpy().tobytes()


def decode(args, data):
    from PIL import ImageOps

    img = opened(data)
    if args["upright"]:
        img = ImageOps.exif_transpose(img)
    return picture(img.convert("RGB"))


def orientation(args, data):
    o = opened(data).getexif().get(0x0112, 1)
    return o if isinstance(o, int) else 1, b""


def transpose(args, pixels):
    from PIL import ImageOps

    img = image(args, pixels)
    img.getexif()[0x0112] = args["orientation"]
    return picture(ImageOps.exif_transpose(img))


def resize(args, pixels):
    from PIL import Image

    return picture(image(args, pixels).resize(tuple(args["to"]), Image.Resampling.BILINEAR))


def transform(args, pixels):
    import torchvision.transforms.functional as F

    steps = {
        "resize": lambda img, size, longest: F.resize(img, size, max_size=longest or None),
        "resize_exact": lambda img, height, width: F.resize(img, [height, width]),
        "center_crop": lambda img, height, width: F.center_crop(img, [height, width]),
        "crop": F.crop,
        "hflip": F.hflip,
    }
    img = image(args, pixels)
    for step in args["steps"] or ():
        img = steps[step["name"]](img, *(step["args"] or ()))
    return picture(img)


def resized_sizes(args):
    from torchvision.transforms.functional import _compute_resized_output_size

    return [_compute_resized_output_size((h, w), [size], longest or None) for h, w, size, longest in args["cases"]], b""


def random_resized_crops(args):
    """Has torchvision choose, with numbers that are given instead of random ones."""
    from unittest import mock

    import torch
    from PIL import Image
    from torchvision.transforms import RandomResizedCrop

    class Uniform:
        def __init__(self, u):
            self.u = u

        def uniform_(self, low, high):
            return torch.tensor([low + (high - low) * self.u], dtype=torch.float64)

    results = []
    for case in args["cases"]:
        shares, places = iter(case["draws"][:20]), iter(case["draws"][20:])
        with (
            mock.patch.object(torch, "empty", lambda n, shares=shares: Uniform(next(shares))),
            mock.patch.object(torch, "randint", lambda low, n, size, places=places: torch.tensor([int(next(places) * n)])),
        ):
            img = Image.new("L", (case["width"], case["height"]))
            results.append(RandomResizedCrop.get_params(img, case["scale"], case["ratio"]))
    return results, b""


def read_image(args, data):
    """Decodes whatever Pillow decodes, into one of its modes."""
    from PIL import ImageOps

    img = opened(data)
    if args["upright"]:
        img = ImageOps.exif_transpose(img)
    if args["mode"] and img.mode == "LAB":
        img = from_lab(img)
    if args["mode"] and img.mode != args["mode"]:
        img = img.convert(args["mode"])
    return [img.mode, img.width, img.height], img.tobytes()


def from_lab(img):
    """RGB as Little CMS works it out pixel by pixel; Image.convert interpolates in a table, which is up to 47 levels off."""
    from PIL import ImageCms

    profiles = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    return ImageCms.applyTransform(img, ImageCms.buildTransform(*profiles, "LAB", "RGB", flags=ImageCms.Flags.NOOPTIMIZE))


def write_image(args, pixels):
    """Encodes one image, or as many of the same size as there are pixels of."""
    from PIL import Image

    options = {k: base64.b64decode(v["base64"]) if isinstance(v, dict) and "base64" in v else v for k, v in (args["options"] or {}).items()}
    size = (args["width"], args["height"])
    one = len(Image.new(args["mode"], size).tobytes())
    images = [Image.frombytes(args["mode"], size, pixels[at : at + one]) for at in range(0, len(pixels), one)]
    if palette := options.pop("palette", None):
        for img in images:
            img.putpalette(list(palette))
    if len(images) > 1:
        options |= {"save_all": True, "append_images": images[1:]}
    if tags := options.pop("tags", None):
        options["tiffinfo"] = {int(tag): value for tag, value in tags.items()}
    out = io.BytesIO()
    images[0].save(out, args["format"], **options)
    return None, out.getvalue()


def color_image(args, pixels):
    from PIL import Image

    width, height, channels = args["picture"]
    return Image.frombytes({1: "L", 3: "RGB", 4: "RGBA"}[channels], (width, height), pixels)


def adjust(args, pixels):
    import torchvision.transforms.functional as F

    changes = {
        "brightness": F.adjust_brightness,
        "contrast": F.adjust_contrast,
        "saturation": F.adjust_saturation,
        "hue": F.adjust_hue,
        "grayscale": lambda img, _: F.to_grayscale(img, 3),
        "to gray": lambda img, _: F.to_grayscale(img, 1),
    }
    img = color_image(args, pixels)
    for change in args["changes"]:
        img = changes[change["name"]](img, change["factor"])
    return picture(img)


def functional(args, pixels):
    """A function of torchvision's v2 on a tensor of uint8."""
    import torch
    from torchvision.transforms.v2 import functional as F

    width, height, channels = args["picture"]
    image = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(height, width, channels).permute(2, 0, 1)
    image = getattr(F, args["name"])(image, *args["args"]).permute(1, 2, 0).contiguous()
    height, width, channels = image.shape
    return [width, height, channels], image.numpy().tobytes()


def functional_of_pillow(args, pixels):
    """The same function on a Pillow image."""
    from torchvision.transforms.v2 import functional as F

    return picture(getattr(F, args["name"])(image(args, pixels), *args["args"]))


def erased(args):
    """Means over torchvision's draws of a rectangle: whether there is one, its place and its size."""
    import torch
    from torchvision.transforms import v2

    torch.manual_seed(1)
    width, height = args["size"]
    image = torch.zeros(1, height, width)
    erasing = v2.RandomErasing(args["p"], args["scale"], args["ratio"], 0)
    sums = [0.0] * 5
    for _ in range(args["draws"]):
        if torch.rand(1) >= args["p"]:
            continue
        drawn = erasing.make_params([image])
        if drawn["v"] is not None:
            for k, v in enumerate((1, drawn["j"], drawn["i"], drawn["w"], drawn["h"])):
                sums[k] += v
    return [s / args["draws"] for s in sums], b""


def normalize(args, pixels):
    """Bits of float32 in CHW, and of the same rounded to dtype."""
    import torch
    import torchvision.transforms.functional as F

    x = F.normalize(F.to_tensor(color_image(args, pixels)), args["mean"], args["std"])
    return None, x.numpy().tobytes(), x.to(getattr(torch, args["dtype"])).view(torch.uint8).numpy().tobytes()


def round_floats(args, values):
    """Bits of float32 rounded by NumPy to float16 and by torch to bfloat16."""
    import numpy
    import torch

    x = numpy.frombuffer(values, "<f4")
    with numpy.errstate(all="ignore"):
        half = x.astype("<f2")
    return None, half.tobytes(), torch.from_numpy(x.copy()).bfloat16().view(torch.uint8).numpy().tobytes()


def jitter_bounds(args):
    """Bounds that ColorJitter makes of numbers; nothing where it leaves an operation out."""
    from torchvision.transforms import ColorJitter

    j = ColorJitter(*args["numbers"])
    return [j.brightness, j.contrast, j.saturation, j.hue], b""


FILTERS = ("BILINEAR", "BOX", "HAMMING", "BICUBIC", "LANCZOS")  # in the order of package media


def weights(args):
    """Weights of Pillow's resize in fixed point: what becomes of one pixel after the other, as integers of 32 bits, each case a matrix of input by output."""
    import numpy
    from PIL import Image

    blobs = []
    for n, m, f in args["cases"]:
        ones = Image.fromarray(numpy.eye(n, dtype="<i4") * args["one"])
        blobs.append(ones.resize((m, n), Image.Resampling[FILTERS[f]]).tobytes())
    return None, *blobs


def geometry(args, pixels):
    """Transforms of an image of any mode: torchvision's, and NumPy's rot90."""
    import numpy
    import torchvision.transforms.functional as F
    from PIL import Image, ImageOps
    from torchvision.transforms import InterpolationMode

    def colour(fill):
        return fill[0] if len(fill) == 1 else tuple(fill)

    def halves(anchor):
        return [n / 2 for n in anchor]

    def laid(frame, img, shares):
        spare = frame.width - img.width, frame.height - img.height
        frame.paste(img, tuple(round(n * share) for n, share in zip(spare, shares)))
        return frame

    filters = [InterpolationMode[name] for name in FILTERS]
    steps = {
        "resize": lambda img, size, longest, f: F.resize(img, size, filters[f], max_size=longest or None),
        "resize_exact": lambda img, height, width, f: F.resize(img, [height, width], filters[f]),
        "center_crop": lambda img, height, width: F.center_crop(img, [height, width]),
        "crop": F.crop,
        "hflip": F.hflip,
        "vflip": F.vflip,
        "rot90": lambda img, turns: Image.fromarray(numpy.rot90(numpy.asarray(img), turns)),
        "pad": lambda img, left, top, right, bottom, *fill: F.pad(img, [left, top, right, bottom], fill[0] if len(fill) == 1 else fill),
        "gray": lambda img: img.convert("L"),
        "fit": lambda img, height, width, f, *anchor: ImageOps.fit(img, (width, height), Image.Resampling[FILTERS[f]], 0, halves(anchor)),
        "fit_and_pad": lambda img, height, width, f, x, y, *fill: ImageOps.pad(
            img, (width, height), Image.Resampling[FILTERS[f]], colour(fill), halves([x, y])
        ),
        "pad_to": lambda img, height, width, x, y, *fill: laid(Image.new(img.mode, (width, height), colour(fill)), img, halves([x, y])),
    }
    img = Image.frombytes(args["mode"], tuple(args["size"]), pixels)
    for step in args["steps"] or ():
        img = steps[step["name"]](img, *(step["args"] or ()))
    return [img.mode, img.width, img.height], img.tobytes()


def paste(args, pixels):
    """Lays an RGBA image over a colour."""
    from PIL import Image

    img = Image.frombytes("RGBA", tuple(args["size"]), pixels)
    background = Image.new("RGB", img.size, tuple(args["background"]))
    background.paste(img, mask=img.getchannel("A"))
    return ["RGB", img.width, img.height], background.tobytes()


def buckets(args):
    """For pictures of some width and height, the number of the size (height, width) whose ratio is nearest in its logarithm."""
    import math

    def nearest(w, h):
        return min(range(len(args["sizes"])), key=lambda i: abs(math.log(w / h) - math.log(args["sizes"][i][1] / args["sizes"][i][0])))

    return [nearest(w, h) for w, h in args["pictures"]], b""


def webdataset(args, data):
    """The samples that webdataset reads from a tar file: of each its key, and the suffixes of its parts, whose contents follow."""
    import webdataset.tariterators as wds

    samples, blobs = [], []
    for sample in wds.group_by_keys(wds.tar_file_expander([{"stream": io.BytesIO(data), "url": "a.tar"}])):
        parts = {k: v for k, v in sample.items() if not k.startswith("__")}
        samples.append([sample["__key__"], list(parts)])
        blobs.extend(parts.values())
    return samples, *blobs


def split_names(args):
    """Where webdataset cuts names: a key and a suffix, or null."""
    from webdataset.tariterators import base_plus_ext

    return [base_plus_ext(name) for name in args["names"]], b""


def write_tar(args, *contents):
    """Writes files, and links to them, as one of Python's formats of tar."""
    import tarfile

    out = io.BytesIO()
    kinds = {"file": tarfile.REGTYPE, "hard": tarfile.LNKTYPE, "soft": tarfile.SYMTYPE, "folder": tarfile.DIRTYPE, "device": tarfile.CHRTYPE}
    formats = {"gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT, "ustar": tarfile.USTAR_FORMAT}
    with tarfile.open(fileobj=out, mode="w", format=formats[args["format"]], pax_headers=args["global"] or {}) as tar:
        for member, content in zip(args["members"], contents):
            info = tarfile.TarInfo(member["name"])
            info.type, info.linkname, info.size = kinds[member["kind"]], member["link"], len(content)
            info.pax_headers = member["pax"] or {}
            tar.addfile(info, io.BytesIO(content))
    return None, out.getvalue()


if __name__ == "__main__":
    main()
