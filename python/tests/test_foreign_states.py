"""States that other code says of itself: believed only as far as they bring the same samples again."""

import gc
import random
import warnings

import pytest

import headrace as hr
from conftest import cases


class Buffered:
    """Shuffles with a buffer, which its state leaves out, as `datasets.IterableDataset.shuffle(buffer_size=)` does."""

    def __init__(self, n=500):
        self.n, self.at, self.random = n, 0, random.Random(7)

    def __iter__(self):
        numbers = iter(range(self.at, self.n))
        if not self.at:
            self.random = random.Random(7)
        buffer = []
        for self.at in numbers:
            if len(buffer) < 5:
                buffer.append(self.at)
                continue
            i = self.random.randrange(5)
            yield {"n": buffer[i]}
            buffer[i] = self.at
        self.at = 0
        yield from ({"n": n} for n in buffer)

    def state_dict(self):
        return {"at": self.at, "random": self.random.getstate()}

    def load_state_dict(self, state):
        self.at = state["at"]
        self.random.setstate(state["random"])


class Whole(Buffered):
    """Its generator is all that it has. JSON alone would make lists of the state's tuples, and text of the numbers that are keys."""

    def __iter__(self):
        while self.at < self.n:
            self.at += 1
            yield {"n": self.random.randrange(1 << 30)}
        self.__init__()

    def state_dict(self):
        return {"random": self.random.getstate(), 1: {self.at}, "least": float("-inf")}

    def load_state_dict(self, state):
        self.random.setstate(state["random"])
        (self.at,) = state[1]
        assert state["least"] == float("-inf")


class Mixed(Buffered):
    """Of two streams that it mixes, the rare one begins again."""

    def __iter__(self):
        draws, rare = random.Random(1), 0
        for n in range(self.n):
            some = draws.random() < 0.1
            rare += some
            if n >= self.at:
                self.at = n + 1
                yield {"n": rare * some or 1000 + n}
                if self.loaded:
                    rare, self.loaded = 0, False
        self.at = 0

    loaded = False

    def load_state_dict(self, state):
        self.at, self.loaded = state["at"], True


class Refuses(Buffered):
    def load_state_dict(self, state):
        raise KeyError("buffer")


class Unwritten(Buffered):
    def state_dict(self):
        return {"at": object()}


class Long(Buffered):
    def state_dict(self):
        return "x" * (1 << 20)


class Noise(Buffered):
    def __iter__(self):
        yield from ({"n": random.SystemRandom().randrange(1 << 40)} for _ in range(self.n))


class Epochs(Buffered):
    """Counts its epochs itself: from the beginning, it gives the first one."""

    epoch = 0

    def __iter__(self):
        while self.at < self.n:
            self.at += 1
            yield {"n": self.epoch * 1000 + self.at}
        self.at, self.epoch = 0, self.epoch + 1

    def state_dict(self):
        return {"at": self.at, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.at, self.epoch = state["at"], state["epoch"]


def cut(source, batches, epoch=0):
    """What comes after so many batches of an epoch, the state there, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", hr.HeadraceWarning)
        with source.batch(2).loader(epochs=epoch + 1) as loader:
            for _ in range(epoch):
                list(loader)
            rest = []
            for i, batch in enumerate(loader, 1):
                if i == batches:
                    state = loader.state_dict()
                elif i > batches:
                    rest += batch["n"].tolist()
    return rest, state, [str(w.message) for w in caught if w.category is hr.HeadraceWarning]


def resumed(source, state):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", hr.HeadraceWarning)
        with source.batch(2).loader(epochs=state["epoch"] + 1) as loader:
            loader.load_state_dict(state)
            got = [n for batch in loader for n in batch["n"].tolist()]
    return got, [str(w.message) for w in caught if w.category is hr.HeadraceWarning]


@pytest.mark.parametrize(
    ("make", "said", "again"),
    [
        (Buffered, "Buffered.* does not restore it (other samples come after it)", True),
        (Mixed, "Mixed.* does not restore it", True),
        (Refuses, "does not restore it (KeyError: 'buffer')", True),
        (Unwritten, "its state_dict() is not JSON, arrays, tensors and bytes: Object of type object", True),
        (Long, "its state_dict() has 1,048,578 bytes as JSON, more than 1,048,576", True),
        (Whole, "", False),
    ][: cases(2, 6)],
)
def test_samples_go_on_whatever_the_state_is_worth(make, said, again):
    source = hr.source(make())
    if make is Buffered:
        rest, state, _ = cut(source, 3)
        got, told = resumed(source, state)
        assert got == rest
        assert not any("were read again" in text for text in told)  # few samples are, without a word
        assert any("does not restore it" in text for text in told)  # which the run goes on to find out, if reading ahead has not
    rest, state, warned = cut(source, 120)
    assert len(rest) == 260
    got, told = resumed(source, state)
    assert got == rest
    assert len(warned) == bool(said)
    for part in said.split(".*"):
        assert part in "".join(warned)
    assert any("240 samples were read again from the beginning of the epoch" in text for text in told) == again


def test_a_state_that_holds_is_what_a_run_goes_on_from(tmp_path):
    """Of many samples few are read again: those which are compared."""
    log = tmp_path / "read"

    class Told(Whole):
        def __iter__(self):
            for sample in super().__iter__():
                with open(log, "a") as file:
                    file.write(f"{self.at}\n")
                yield sample

    source = hr.source(Told())
    rest, state, warned = cut(source, 120)
    log.unlink()
    got, told = resumed(source, state)
    assert got == rest
    assert warned == told == []
    read = set(map(int, log.read_text().split()))
    assert set(range(193, 501)) <= read
    assert not read & set(range(100, 193))
    # A run that was resumed has the states of one that was not.
    with source.batch(2).loader(epochs=1) as loader:
        loader.load_state_dict(state)
        for _, _ in zip(range(30), loader):
            pass
        assert loader.state_dict() == cut(source, 150)[1]


@pytest.mark.parametrize("where", ["process", "here"][: cases(1, 2)])
def test_what_gives_other_samples_is_refused(where):
    source = hr.source(Noise(), where=where)
    _, state, warned = cut(source, 120)
    assert bool(warned) == (where == "process")  # of an object of the program there is no other one to try
    with pytest.raises(hr.StateMismatch, match=r"Noise\(\) cannot be resumed after 240 samples of epoch 0: it does not give the same"):
        resumed(source, state)


@pytest.mark.parametrize("where", ["here", "process"][: cases(1, 2)])
@pytest.mark.parametrize("batches", [2, 120][: cases(1, 2)])
def test_an_object_that_counts_its_epochs(where, batches):
    """The beginning of the epoch cannot be had again; its state brings it back."""
    rest, state, _ = cut(hr.source(Epochs(), where=where), batches, epoch=1)
    assert rest[0] == 1000 + 2 * batches + 1
    assert resumed(hr.source(Epochs(), where=where), state) == (rest, [])


def stateful(n=300):
    import torch
    from torchdata.stateful_dataloader import StatefulDataLoader

    return StatefulDataLoader([{"n": n} for n in range(n)], batch_size=None, shuffle=True, generator=torch.Generator().manual_seed(3))


def graph(sampler):
    from torchdata import nodes

    return nodes.Loader(nodes.Prefetcher(nodes.Mapper(nodes.SamplerWrapper(sampler), lambda n: {"n": n}), 4))


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata's own use of PyTorch
@pytest.mark.parametrize("make", [stateful, lambda: graph(range(300))])
@pytest.mark.parametrize("where", ["here", "process"][: cases(1, 2)])
def test_states_of_torchdata(where, make):
    rest, state, _ = cut(hr.source(make, where=where), 80)
    assert len(rest) == 140
    assert resumed(hr.source(make, where=where), state)[0] == rest


@pytest.mark.parametrize("where", ["here", "process"][: cases(1, 2)])
def test_a_sampler_of_torchdata_without_a_seed(where):
    """It draws another order, whatever the state."""
    from torch.utils.data import RandomSampler

    source = hr.source(lambda: graph(RandomSampler(range(300))), where=where)
    _, state, warned = cut(source, 80)
    assert where == "here" or "does not restore it" in warned[0]
    with pytest.raises(hr.StateMismatch, match="does not give the same samples again"):
        resumed(source, state)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # it leaves its files to the garbage collector
def test_webdataset_has_no_state(tmp_path):
    """As of 1.0.2. The beginning of an epoch is a place it can go on from."""
    import webdataset

    with webdataset.TarWriter(str(tmp_path / "a.tar")) as shard:
        for i in range(6):
            shard.write({"__key__": str(i), "cls": i})
    shards = webdataset.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode().map(lambda sample: {"n": sample["cls"]})
    assert not hasattr(shards, "state_dict")
    with hr.source(shards, where="here").batch(2).loader(epochs=2) as loader:
        begin = loader.state_dict()
        next(iter(loader))
        within = loader.state_dict()
        with pytest.raises(hr.StateMismatch, match=r"state_dict"):
            loader.load_state_dict(within)
        loader.load_state_dict(begin)
        assert [batch["n"].tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5]]
    gc.collect()


class Grows:
    """Its state is never one that can be saved. Its first epoch is over before a state would be tried."""

    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        yield from ({"n": n} for n in range(100 if self.epoch else 10))

    def state_dict(self):
        return {"n": object()}

    def load_state_dict(self, state):
        raise AssertionError


def test_a_state_that_is_not_trusted_is_not_tried_in_a_later_epoch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        with hr.source(Grows()).batch(2).loader(epochs=2) as loader:
            assert [sum(len(batch["n"]) for batch in loader) for _ in range(2)] == [10, 100]
