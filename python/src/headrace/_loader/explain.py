"""Measures what a faster loader would bring to a program with any loader: `headrace explain train.py` runs this."""

from __future__ import annotations

import argparse
import copy
import importlib.util
import os
import runpy
import sys
import textwrap
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .profile import Headspace, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# The classes over which programs loop, by the modules that define them, with what people call them.
LOADERS = {
    "headrace._loader.loader": {"Loader": "Headrace's loader"},
    "torch.utils.data.dataloader": {"DataLoader": "torch.utils.data.DataLoader"},
    "torchdata.stateful_dataloader.stateful_dataloader": {"StatefulDataLoader": "torchdata's StatefulDataLoader"},
    "grain._src.python.data_loader": {"DataLoader": "grain.DataLoader"},
    "grain._src.python.dataset.dataset": {"IterDataset": "grain.IterDataset", "MapDataset": "grain.MapDataset"},
    "tensorflow.python.data.ops.dataset_ops": {"DatasetV2": "tf.data.Dataset"},
}
KEPT = 4  # batches, which are also the first and are not timed
FEW = 5  # batches that say something


class Done(SystemExit):
    """Ends the program once enough is measured."""


class Record:
    """One loader's measurements: its first batches are kept, later ones timed, then the kept ones repeated."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kept: list[Any] = []
        self.timed = self.again = 0
        self.seconds = self.waited = self.again_seconds = 0.0
        self.places = ""  # where the functions of a loader of Headrace are called, and what that costs

    def headspace(self) -> Headspace:
        return Headspace(self.timed, self.seconds, self.waited, self.again_seconds / max(self.again, 1) * self.timed)


class Watch:
    """Sees the batches of all loaders of the program."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.records: dict[Any, Record] = {}
        self._loaders: list[Any] = []  # so that no other gets the number of one
        self._within = False  # a loader that is asked, and may ask others

    def over(self, name: str, loader: Any, begin: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """The batches of a pass over a loader."""
        if self._within:
            return begin(loader)
        length = length_of(loader)
        which = (name, length) if length else id(loader)  # a program may make another one for each epoch
        if which not in self.records:
            self.records[which] = Record(name)
            self._loaders.append(loader)
        return self._watched(loader, length, self.records[which], begin)

    def _watched(self, loader: Any, length: int | None, record: Record, begin: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        given = 0
        if record.timed < self.batches:
            stream = self._asked(lambda: begin(loader))
            while record.timed < self.batches:
                if len(record.kept) == KEPT and record.timed == 0:
                    settle()
                asked = perf_counter()
                try:
                    batch = self._asked(lambda: next(stream))
                except StopIteration:
                    return
                waited = perf_counter() - asked
                given += 1
                if len(record.kept) < KEPT:
                    record.kept.append(own(batch))
                    yield batch
                    continue
                yield batch
                del batch
                record.timed += 1
                if record.timed == self.batches:
                    settle()
                record.seconds += perf_counter() - asked
                record.waited += waited
            record.places = places_of(loader)
            del stream  # its workers have nothing more to do

        while record.again < self.batches:
            if given == length:
                return  # schedules count the batches of an epoch
            asked = perf_counter()
            given += 1
            yield record.kept[record.again % KEPT]
            record.again += 1
            if record.again == self.batches:
                settle()
            record.again_seconds += perf_counter() - asked
        raise Done(0)

    def _asked(self, ask: Callable[[], Any]) -> Any:
        self._within = True
        try:
            return ask()
        finally:
            self._within = False

    def result(self) -> Record | None:
        """The loader with most measurements; None if none has enough."""
        best = max(self.records.values(), key=lambda record: (record.again, record.timed), default=None)
        return best if best is not None and best.again >= FEW else None


def own(batch: Any) -> Any:
    """A copy of a batch that never changes."""
    try:
        return copy.deepcopy(batch)
    except Exception:
        return batch


def places_of(loader: Any) -> str:
    """Where a loader of Headrace has functions called; "" for others."""
    if "headrace" not in sys.modules or not isinstance(loader, sys.modules["headrace"].Loader):
        return ""
    from .imports import explained

    return explained(loader.stats().get("functions") or (), loader._run.request.movable)


def length_of(loader: Any) -> int | None:
    try:
        return len(loader)
    except Exception:  # of tf.data, a TypeError, and others have their own
        return None


class Finder:
    """Watches loaders as soon as the program imports them, and imports nothing itself."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._busy = False

    def install(self) -> None:
        for name in LOADERS:
            if name in sys.modules:
                self._patch(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in LOADERS or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self._patch(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _patch(self, module: ModuleType) -> None:
        for name, title in LOADERS[module.__name__].items():
            kind = getattr(module, name, None)
            if kind is not None:
                begin = kind.__iter__
                kind.__iter__ = lambda loader, begin=begin, title=title: self._watch.over(title, loader, begin)


def report(record: Record) -> str:
    found = record.headspace()
    text = f"explain: {record.name}, {found.batches} batches as they come and {record.again} kept\n{found}\n"
    text += record.places and record.places + "\n"
    if found.ratio < 1.05:
        return text + "Your own step takes all of the time: look for what is slow there."
    if record.name.startswith("Headrace"):
        return text + "print(loader.stats()) says which stage limits the loader."
    return text + "docs/guide/from-pytorch.md shows how a loader becomes a Headrace pipeline."


def run(program: str, arguments: list[str]) -> None:
    """Run a program as Python would."""
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")


def main() -> int:
    parser = argparse.ArgumentParser(prog="headrace explain", add_help=False)
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.batches < FEW:
        parser.error(f"--batches is {options.batches}: must be at least {FEW}")
    if not os.path.isfile(options.program):
        parser.error(f"there is no program {options.program!r}")

    watch = Watch(options.batches)
    Finder(watch).install()
    code: Any = 0
    try:
        run(options.program, options.arguments)
    except Done:
        pass
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    record = watch.result()
    if record is not None:
        folded = (textwrap.fill(line, 80, break_long_words=False) for line in report(record).splitlines())
        sys.stdout.write("\n" + "\n".join(folded) + "\n")
        return 0
    if code:
        sys.exit(code)  # as the program has ended
    seen = sum(len(record.kept) + record.timed + record.again for record in watch.records.values())
    sys.stderr.write(
        f"headrace: explain: the program asked its loaders for {seen} batches, "
        f"but {2 * options.batches + KEPT} are needed: give --batches, at least {FEW}, or let it run longer\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
