"""Names that people type out of habit, from other libraries or by mistake, and what to write instead.

Imported only when such a mistake has been made.
"""

from __future__ import annotations

import difflib
import re

from .._steps import INSTEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_OWN_FUNCTION = 'there is no built-in operation for it: write .map(function, fields="image"), which takes any transform of arrays'
_ON_LOADER = "a pipeline is only a description, and this needs a running loader: write pipeline.loader()."
_EPOCHS = "write .loader(epochs=n), and one for loop for each epoch"
_PREFETCH = "batches are made ahead anyway: leave it out, or write .loader(prefetch=n) for n batches"
_WORKERS = "the engine uses all CPUs of this process: leave it out, or write .loader(workers=n) for the number of samples in work at once"
_TO_TORCH = 'write .to("torch") after batch: tensors on the same memory, without a copy'
_RANKS = "ranks share the samples by themselves: RANK and WORLD_SIZE are read, or write .loader(rank=…, world_size=…)"
_MERGE = "write hr.merge(first, second)"
_SOURCE = "write hr.source(dataset): any object with __getitem__ and __len__, or any iterable, one sample for each item"
_FILES = 'write hr.files("folder", label="parent"), which labels each file with the name of its folder'
_DONE = "epochs are shuffled whole, so there is no buffer: write .shuffle(); .shuffle(window=n) keeps neighbours closer"
_SCALE = "write .normalize(mean, std), with mean and std for values from 0 to 1, as in torchvision; mean=0 and std=1 only scale"

_BOXES = "boxes move with the pixels after .boxes(along=…, format=…), which cuts and drops them too; points after .points()"

# Transforms of torchvision's and others that have no step. Those that have one are named by its description, which says what it replaces.
_OF_IMAGES = "lineartransformation randomresize randomscale resizedcrop"
# Other names of steps.
_ALSO = {
    "random_channel_permutation": "channelpermutation permutechannels channelshuffle",
    "random_photometric_distort": "photometricdistort",
    "random_choice": "choice oneof",
    "random_order": "order someof",
    "random_erasing": "erase erasing coarsedropout",
    "adjust_gamma": "gamma randomgamma",
    "adjust_sharpness": "sharpness",
    "random_adjust_sharpness": "randomsharpness",
    "jpeg": "imagecompression",
}
_FACTORS = ("brightness", "contrast", "saturation", "hue")
_OF_BOXES = """
    clampboundingboxes clampkeypoints convertboundingboxformat sanitizekeypoints setclampingmode
"""

# Names are compared without case and underscores: RandomHorizontalFlip is random_horizontal_flip.
_METHODS = {
    # torchvision
    "totensor": f"batch makes arrays. {_TO_TORCH}; for floats {_SCALE}",
    "piltotensor": _TO_TORCH,
    "toimage": "decode_image() gives images already",
    "todtype": _SCALE,
    "convertimagedtype": _SCALE,
    "compose": "call one step after the other: hr.files(…).decode_image().resize(256).center_crop(224)",
    "horizontalflip": "write .random_flip(1)",
    "verticalflip": "write .random_vertical_flip(1)",
    **dict.fromkeys(_OF_IMAGES.split(), _OWN_FUNCTION),
    **{name: f"write .{step}(…)" for step, names in _ALSO.items() for name in names.split()},
    **{f"{how}{of}": f"write .color_jitter({of}=(least, greatest))" for of in _FACTORS for how in ("adjust", "random")},
    "crop": "write .center_crop(size) or .random_crop(size)",
    "grayscaletorgb": "decode_image() gives arrays of RGB pixels: leave it out",
    **dict.fromkeys(("tograyscale", "rgbtograyscale"), "write .grayscale()"),
    **dict.fromkeys(("identity", "topuretensor", "rgb", "topilimage"), "decode_image() gives arrays of RGB pixels: leave it out"),
    **dict.fromkeys(("lambda", "transformimage"), 'write .map(function, fields="image")'),
    **dict.fromkeys(_OF_BOXES.split(), _BOXES),
    "hflip": "write .random_flip(1)",
    "vflip": "write .random_vertical_flip(1)",
    "uniformtemporalsubsample": "write .decode_video(n), which takes frames by stride, rate or evenly",
    "randomsplit": 'write .split({"train": 0.9, "val": 0.1}), a dict of pipelines',
    "limit": "write .take(n) after the source for n of its samples, or .loader(steps_per_epoch=n) for n batches of each epoch",
    "tokenize": 'write .map(tokenizer, fields="text")',
    "transform": 'write .map(function), or .map(function, fields="image")',
    "transforms": 'write .map(function), or .map(function, fields="image")',
    "permute": 'write .layout("NCHW")',
    "transpose": 'write .layout("NCHW")',
    "decodejpeg": "write .decode_image(), which knows all formats",
    "imdecode": "write .decode_image(), which knows all formats",
    "decode": "write .decode_image(), .decode_audio() or .decode_npy()",
    # PyTorch
    "dataloader": "write .loader()",
    "collate": "write .batch(n, collate=function)",
    "cuda": 'write .to("torch", device="cuda") after batch',
    "pinmemory": 'write .to("torch", pin_memory=True) after batch',
    "float": _SCALE,
    "numpy": "batches are NumPy arrays unless .to(…) says otherwise",
    "withformat": 'write .to("torch") or .to("jax") after batch',
    "setformat": 'write .to("torch") or .to("jax") after batch',
    "settransform": "write .map(function)",
    "shardingfilter": _RANKS,
    # tf.data
    "prefetch": _PREFETCH,
    "repeat": f"epochs come from the loader: {_EPOCHS}",
    "cache": "files stay in the page cache of the operating system, and decoding goes on beside your loop; there is nothing to cache",
    "interleave": _MERGE,
    "zip": "give hr.files a DataFrame or a list of dicts, whose columns become fields beside the image",
    "concatenate": _MERGE,
    "paddedbatch": "write .bucket_batch(…) or .pack(…)",
    "enumerate": "write enumerate(loader) in your loop",
    "fromtensorslices": _SOURCE,
    "asnumpyiterator": "write .loader(): its batches are NumPy arrays",
    "parallelmap": "write .map(function, workers=n)",
    "withoptions": "write the options as arguments of .loader()",
    # WebDataset, Grain, torchdata, DALI, SPDL
    "totuple": 'a batch is a dict: write batch["image"], batch["label"]; .select(…) leaves fields out',
    "batched": "write .batch(n)",
    "mapdict": "write .map(function, fields=…) for each field",
    "maptuple": "write .map(function, fields=…) for each field",
    "withepoch": _EPOCHS,
    "splitbynode": _RANKS,
    "splitbyworker": "the engine's workers share the samples by themselves",
    "toiterdataset": "write .loader()",
    "mpprefetch": _PREFETCH,
    "mapwithindex": "write .map(function, fields=[…]): the field key names the sample",
    "randommap": "write .map(function) with an argument rng, a seeded numpy.random.Generator",
    "mix": "write hr.mix({first: 0.7, second: 0.3})",
    "cropmirrornormalize": "write .random_crop(size).random_flip().normalize(mean, std)",
    "externalsource": _SOURCE,
    "build": "write .loader()",
    "addsource": _SOURCE,
    "addsink": "write .loader(): it keeps batches ready",
    "pipe": "write .map(function, workers=n)",
    "disaggregate": "write .unbatch()",
    # what a loader has
    **{name: f"{_ON_LOADER}{name}(…)" for name in ("preview", "stats", "profile", "trace", "close", "get", "resume")},
    "statedict": f"{_ON_LOADER}state_dict()",
    "loadstatedict": f"{_ON_LOADER}load_state_dict(state)",
    "setepoch": f"{_ON_LOADER}set_epoch(epoch)",
    "classes": f"{_ON_LOADER}classes",
    "schema": f"{_ON_LOADER}schema",
    "run": "write for batch in pipeline.loader():",
    "iter": "write for batch in pipeline.loader():",
}

_ARGUMENTS = {
    "numworkers": _WORKERS,
    "numthreads": _WORKERS,
    "batchsize": "write .batch(n) as the last step",
    "shuffle": "write .shuffle() as a step before decode_image",
    "pinmemory": 'write .to("torch", pin_memory=True) after batch',
    "collatefn": "write .batch(n, collate=function)",
    "droplast": "write .batch(n, drop_last=True)",
    "prefetchfactor": _PREFETCH,
    "buffersize": _DONE,
    "reshuffleeachiteration": "each epoch has an order of its own: leave it out",
    "persistentworkers": "workers live as long as the loader: leave it out",
    "timeout": "write loader.get(timeout=seconds) in your loop, or .failures(timeout=seconds) after a step",
    "workerinitfn": "write hr.Workers(initializer=function) as where= of the step",
    "multiprocessingcontext": "the engine starts its own workers: leave it out",
    "sampler": "write hr.source(dataset, sampler=sampler)",
    "batchsampler": "write hr.source(dataset, sampler=sampler).batch(), without a size",
    "generator": "write .shuffle(seed=n)",
    "numparallelcalls": "write workers=n, or leave it out",
    "concurrency": "write workers=n",
    "deterministic": 'write .loader(order="completion") for samples in the order in which they are ready',
    "outputorder": 'write order="input" or order="completion"',
    "numepochs": "write epochs=n",
    "device": 'write .to("torch", device=…) after batch',
    "transform": "write .map(function) as a step",
    "root": 'the folder comes first: hr.files("folder")',
    "paths": "paths come first, without a name: hr.files([…])",
    "labels": "write label=",
    "interpolation": 'write filter="bilinear", "bicubic", "lanczos", "box" or "hamming"',
    "antialias": "all filters are antialiased: leave it out",
    "height": "write (height, width) as one size",
    "width": "write (height, width) as one size",
    "fn": "the function comes first, without a name",
    "func": "the function comes first, without a name",
    "chunksize": "functions get samples one by one; the engine sends them in packs",
    "numsamples": "write steps_per_epoch=n for n batches of each epoch",
    "worldsize": "write world_size=",
    "memorylimit": 'write memory="2GiB"',
}

_IN_PIPELINE = "is an argument of a step of the pipeline, or of .loader(): the recipe says it, print(loader.recipe())"
_ON_PIPELINE = "steps are methods of the pipeline, before .loader()"
_OWN_DATASET = (
    "a loader keeps no dataset: use the one that you gave hr.source. len(loader) is the number of batches, loader.schema has fields"
)
_FIELDS_OF_BATCH = 'write for batch in loader: batch["{}"]'

# What other libraries' loaders have.
_OF_LOADER = {
    # PyTorch, and what Lightning, Accelerate and torchdata add
    "dataset": _OWN_DATASET,
    "datasets": _OWN_DATASET,
    "batchsize": "each batch says it, len(batch[name]), and the last one may be smaller. The size is an argument of .batch(n)",
    "totalbatchsize": "each batch says it, len(batch[name]), and times world_size for all ranks. The size is an argument of .batch(n)",
    "totaldatasetlength": _OWN_DATASET,
    "sampler": "the engine orders samples. For an order of your own write hr.source(dataset, sampler=sampler); loader.set_epoch(epoch)"
    " is for the loader itself",
    "batchsampler": "the engine orders samples. For batches of your own write hr.source(dataset, sampler=sampler).batch(), without a size;"
    " loader.set_epoch(epoch) is for the loader itself",
    "numworkers": "the engine uses all CPUs of this process; loader.set_workers(n) changes how many samples are in work at once",
    "collatefn": "write .batch(n, collate=function) in the pipeline",
    "pinmemory": 'write loader.to("torch", pin_memory=True)',
    "pinmemorydevice": 'write loader.to("torch", device="cuda")',
    "droplast": f"drop_last {_IN_PIPELINE}",
    "generator": "seeds are numbers: .shuffle(seed=n), or seed= of hr.files and hr.source",
    "prefetchfactor": "batches are made ahead anyway; .loader(prefetch=n) says how many",
    "persistentworkers": "workers live as long as the loader: leave it out",
    "timeout": "write loader.get(timeout=seconds)",
    "workerinitfn": "write hr.Workers(initializer=function) as where= of the step",
    "multiprocessingcontext": "the engine starts its own workers: leave it out",
    "inorder": 'write .loader(order="completion") for samples in the order in which they are ready',
    "device": 'write loader.to("torch", device=…); where a batch is, its tensors say',
    "iterator": "write for batch in loader:",
    # methods of others
    "next": "write for batch in loader:, or loader.get()",
    "reset": "each for loop is an epoch, and starts the next one; loader.set_epoch(n) goes to any",
    "shutdown": "write loader.close()",
    "stop": "write loader.close()",
    "end": "write loader.close()",
    "start": "write for batch in loader:, which starts an epoch",
    "iter": "write for batch in loader:",
    "iterepochs": "write for batch in loader:, one for loop for each epoch",
    "createdictiterator": "write for batch in loader:, whose batches are dicts of arrays",
    "createtupleiterator": "write for batch in loader:, whose batches are dicts of arrays",
    "asnumpyiterator": "write for batch in loader:, whose batches are dicts of arrays",
    "length": "write len(loader)",
    "size": "write len(loader) for the number of batches",
    "epochsize": "write len(loader) for the number of batches",
    "getdatasetsize": "write len(loader) for the number of batches",
    "numbatches": "write len(loader)",
    "cardinality": "write len(loader)",
    "elementspec": "write loader.schema",
    "features": "write loader.schema",
    "columnnames": "write list(loader.schema)",
    "columns": "write list(loader.schema)",
    "fields": "write loader.schema",
    "shape": "write loader.schema, which has the shape of each field",
    "dtype": "write loader.schema, which has the dtype of each field",
    "classtoidx": "write {name: number for number, name in enumerate(loader.classes)}",
    "classnames": "write loader.classes",
    "labels": _FIELDS_OF_BATCH.format("label"),
    "targets": _FIELDS_OF_BATCH.format("label"),
    "epoch": 'write loader.state_dict()["epoch"], or count your for loops',
    "currentepoch": 'write loader.state_dict()["epoch"], or count your for loops',
    "seed": f"seed {_IN_PIPELINE}",
    "rank": "write torch.distributed.get_rank(), or keep what you gave .loader(rank=…)",
    "worldsize": "write torch.distributed.get_world_size(), or keep what you gave .loader(world_size=…)",
    "take": "write itertools.islice(loader, n), or .loader(steps_per_epoch=n) for n batches of each epoch",
    "limit": "write .loader(steps_per_epoch=n) for n batches of each epoch",
    "cuda": 'write loader.to("torch", device="cuda")',
    "numpy": 'write loader.to("numpy")',
    **dict.fromkeys(("tuples", "totuple"), 'write pipeline.tuples("image", "label").loader(), or batch["image"], batch["label"]'),
    "save": "write torch.save(loader.state_dict(), path)",
    "load": "write loader.load_state_dict(torch.load(path))",
    "withepoch": "each for loop is an epoch: write .loader(epochs=n, steps_per_epoch=n)",
    "repeat": f"epochs come from the loader: {_EPOCHS}",
    "prefetch": _PREFETCH,
}

_TOP = {
    "dataloader": "write hr.files(…) or hr.source(dataset), then steps, then .loader()",
    "dataset": _SOURCE,
    "iterabledataset": "write hr.source(iterable), or hr.torch.IterableDataset(pipeline) to give a pipeline to PyTorch",
    "imagefolder": _FILES,
    "imagedataset": _FILES,
    "datasetfolder": _FILES,
    "folder": _FILES,
    "listfiles": 'write hr.files("data/*/*.jpg")',
    "fromtensorslices": _SOURCE,
    "pipelinebuilder": "begin with hr.files(…) or hr.source(…)",
    "webdataset": 'write hr.read("train-{000..129}.tar", fields={"bytes": "jpg", "label": "cls"})',
    "tfrecorddataset": 'write hr.read("train/*.tfrecord", fields={"bytes": "image/encoded"})',
    "parquet": 'write hr.read("data/*.parquet", fields={"bytes": "image.bytes", "label": "label"})',
    "transforms": "operations are methods of a pipeline: hr.files(…).decode_image().resize(256)",
    "concat": _MERGE,
    "zip": "give hr.files a DataFrame or a list of dicts, whose columns become fields beside the image",
    "openrecipe": 'write hr.load("train.yaml")',
    "fromyaml": 'write hr.load("train.yaml")',
    "version": "write hr.__version__ or hr.version_info()",
    "decodeimage": "it is a method of a pipeline, hr.files(…).decode_image(); for one image write hr.io.load_image(path)",
}


def no_method(name: str, known: Iterable[str]) -> str:
    """What to say of a method that pipelines do not have."""
    known = list(known)
    built = {_plain(step): f"write .{step}(…)" for step in known} | {_plain(other): f"write {call}" for other, call in INSTEAD.items()}
    remedy = _remedy(name, _METHODS | built, known, "write .{}(…)")
    return f"a pipeline has no method {name}{remedy or ': help(headrace.Pipeline) lists them'}"


def no_loader_attribute(name: str, known: Iterable[str], steps: Iterable[str]) -> str:
    """What to say of an attribute that loaders do not have. Steps are the methods of pipelines."""
    known, steps = list(known), {_plain(step): step for step in steps}
    step = None if _plain(name) in _OF_LOADER else steps.get(_plain(name))
    if step is not None:
        remedy = f": {_ON_PIPELINE}: write pipeline.{step}(…).loader()"
    else:
        remedy = _remedy(name, _OF_LOADER, known, "write loader.{}")
    return f"a loader has no attribute {name}{remedy or ': help(headrace.Loader) lists them'}"


def no_member(name: str, known: Iterable[str]) -> str:
    """What to say of a name that the package does not have."""
    remedy = _remedy(name, _TOP, known, "write hr.{}")
    return f"headrace has no {name}{remedy or ': dir(headrace) lists what it has'}"


def no_argument(function: str, name: str, known: Iterable[str]) -> str:
    """What to say of an argument that a function does not have."""
    known = list(known)
    remedy = _remedy(name, _ARGUMENTS, known, "write {}=")
    return f"{function}() has no argument {name}{remedy or ': it has ' + ', '.join(known)}"


def no_field(name: str, known: Iterable[str]) -> str:
    """What to say of a field that a batch does not have."""
    known = list(known)
    near = _nearest(name, known)
    meant = f'write batch["{near}"]' if near else "loader.schema has their types"
    return f"the batch has no field {name!r}, it has {', '.join(map(repr, known)) or 'none'}: {meant}"


def no_figure(name: str, known: Iterable[str]) -> str:
    """What to say of a key that statistics do not have."""
    known = list(known)
    near = _nearest(name, known)
    meant = f': write stats()["{near}"]' if near else ""
    return f"the statistics have no {name!r}, they have {', '.join(map(repr, known)) or 'none yet'}{meant}"


def no_attribute(name: str, known: Iterable[str]) -> str:
    """What to say of an attribute that a batch does not have."""
    known = list(known)
    near = name if name in known else _nearest(name, known)
    meant = f'write batch["{near}"]' if near else f"it has {', '.join(map(repr, known)) or 'none'}"
    return f"the batch has no attribute {name}, its fields are read by name: {meant}"


def _remedy(name: str, table: dict[str, str], known: Iterable[str], write: str) -> str:
    """What to write instead of a name; empty where nobody knows."""
    plain = _plain(name)
    near = None if plain in table else _nearest(name, known)
    return f": {table[plain]}" if plain in table else f": {write.format(near)}" if near else ""


def _nearest(name: str, known: Iterable[str]) -> str | None:
    plain = {_plain(one): one for one in known}
    for found in difflib.get_close_matches(_plain(name), plain, 3, 0.7):
        if _alike(name, plain[found]):
            return plain[found]
    return None


def _alike(name: str, other: str) -> bool:
    """Whether two names are alike in more than their first words, as random_split and random_flip are not."""
    a, b = _words(name), _words(other)
    while len(a) > 1 and len(b) > 1 and a[0] == b[0]:
        del a[0], b[0]
    return difflib.SequenceMatcher(None, "".join(a), "".join(b)).ratio() >= 0.7


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
