"""The methods of pipelines whose arguments are those of a recipe.

Made of the descriptions of operations, in Go, by `go test ./recipe -run Methods -rewrite`: do not edit.
"""

from __future__ import annotations

from ._recipe.arguments import (
    absolute,
    at_least_one,
    dtype_name,
    integer,
    integer_list,
    integers,
    lengths_of,
    name_of,
    names_of,
    number_of,
    numbers_for,
    numbers_of,
    option_text,
    optional,
    range_of,
    seconds_of,
    size_of,
    start_of,
    truth,
    weights_of,
)
from ._recipe.functions import USUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor
    from os import PathLike
    from typing import Any, Literal

    from ._recipe.workers import Workers
    from .pipeline import Pipeline

    Some = str | Iterable[str]
    Size = int | tuple[int, int] | list[int]
    Changes = Callable[[Pipeline], Pipeline] | Sequence[Callable[[Pipeline], Pipeline] | Mapping[str, Any] | str]
    Range = float | tuple[float, float] | list[float]
    Seeds = Iterable[Literal["random", "numpy", "torch"]]
    Where = Literal["process", "thread", "here"] | Workers | Executor
    Filter = Literal["bilinear", "box", "hamming", "bicubic", "lanczos", "nearest"]
    Anchor = Literal["center", "top_left", "top", "top_right", "left", "right", "bottom_left", "bottom", "bottom_right"]
    WarpFilter = Literal["nearest", "bilinear", "bicubic"]


class Operations:
    """What a pipeline inherits."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _with(self, op: str, args: dict[str, Any]) -> Pipeline: ...
        def _image(self, op: str, field: str | None, fields: Some | None, args: dict[str, Any]) -> Pipeline: ...
        def _changes(self, op: str, steps: Changes) -> list[Any]: ...

    def shuffle(self, seed: int | None = None, *, window: int | None = None) -> Pipeline:
        """Visit samples in another random order in each epoch.

            .shuffle()
            .shuffle(window=65_536)

        By default any sample may come next. That is best if each can be read alone: files, tar shards, Parquet with images, uncompressed
        rows. If many are compressed together, as in `.json.gz`, each read decompresses them all: set `window` to shuffle among about 64
        runs of neighbours, which are read once. `headrace inspect` says what your data needs.

        The order depends only on the seed, the epoch and the window, not on machine, workers or ranks. It needs no buffer of samples.

        Args:
            seed: by default the pipeline's.
            window: shuffle this many samples at a time, drawn as runs of neighbours from many places, so that what they share is read once;
                by default all at once. 65,536 suits text.
        """
        return self._with("shuffle", {"seed": optional("seed", seed), "window": optional("window", window)})

    def weighted(
        self,
        weights: Iterable[float],
        draws: int | None = None,
        replacement: bool = True,
        *,
        seed: int | None = None,
    ) -> Pipeline:
        """Draw each epoch's samples by weights.

            .weighted([1.0, 0.5, 0.5], draws=1000)

        It follows the source, instead of `shuffle`. Draws depend only on seed and epoch, not on workers or ranks. A sample drawn twice gets
        different random crops.

        Args:
            weights: how likely each sample of the source is drawn: numbers of at least 0, relative to their sum.
            draws: samples in an epoch; by default as many as there are weights.
            replacement: a sample may be drawn again in the same epoch.
            seed: by default the pipeline's.
        """
        args = {
            "weights": weights_of(weights),
            "draws": at_least_one("draws", draws),
            "replacement": truth("replacement", replacement),
            "seed": optional("seed", seed),
        }
        return self._with("weighted", args)

    def take(self, n: int) -> Pipeline:
        """Use only the first samples.

            .take(1000)

        Before `shuffle` these are the same in each epoch: the first by name, or of your list. After `shuffle` they are the first of each
        epoch's order, so other samples in each epoch. If there are fewer, all come.

        Args:
            n: how many samples come in an epoch, of all ranks together.
        """
        return self._with("take", {"n": integer("n", n)})

    def skip(self, n: int) -> Pipeline:
        """Leave out the first samples.

            .skip(1000)

        What `take(n)` uses, `skip(n)` leaves out, before and after `shuffle`. It does not resume a run: a state does, see
        `Loader.load_state_dict`.

        Args:
            n: how many are left out of an epoch, of all ranks together.
        """
        return self._with("skip", {"n": integer("n", n)})

    def slice(self, start: int | None = None, stop: int | None = None, step: int = 1) -> Pipeline:
        """Use a range of the samples, as Python's slices do.

            .slice(-1000)
            .slice(0, 5000, 10)

        `pipeline[a:b:c]` is the same as `pipeline.slice(a, b, c)`. Before `shuffle` it is a range of the samples in the order of their
        names, or of your list; after `shuffle`, of each epoch's order.

        Args:
            start: the first sample, from 0; below 0 it counts from the end.
            stop: the one after the last; below 0 it counts from the end; by default the end.
            step: use every step-th of them.
        """
        return self._with("slice", {"start": optional("start", start), "stop": optional("stop", stop), "step": integer("step", step)})

    def shard(self, index: int, count: int) -> Pipeline:
        """Use every n-th sample: one of n equal parts.

            .shard(0, 4)

        `shard(0, n)` to `shard(n - 1, n)` are all samples together, and their sizes differ by at most one. For the ranks of a training you
        do not need it: `loader(rank=, world_size=)` divides each epoch.

        Args:
            index: which part, from 0.
            count: how many parts there are.
        """
        return self._with("shard", {"index": integer("index", index), "count": integer("count", count)})

    def decode_image(
        self,
        *,
        field: str | None = None,
        to: str | None = None,
        mode: Literal["exact", "fast"] | None = None,
        orient: bool | None = None,
        color: Literal["rgb", "rgba", "gray", "mask"] | None = None,
        background: Sequence[int] | None = None,
        dtype: Literal["uint8", "uint16"] | None = None,
        frame: int | None = None,
        max_pixels: int | None = None,
    ) -> Pipeline:
        """Decode a compressed image to pixels, by default `uint8 [height, width, 3]`.

            .decode_image()

        JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are recognized by content, not by name. ICC profiles are ignored.

        Args:
            field: the field with the compressed image, which is removed; by default where `files` put it.
            to: the field for the pixels, by default `"image"`.
            mode: `"exact"`, the default: the pixels of Pillow and torchvision, to one level; `"fast"`: JPEGs shrunk to half or less are
                decoded at a smaller scale; docs/performance.md shows how far pixels differ.
            orient: turn and mirror as EXIF says, by default True.
            color: `"rgb"`, the default: without alpha, which is dropped as by Pillow if there is no background; `"gray"`: likewise;
                `"rgba"`: with it, other images are opaque; `"mask"`: the stored palette or gray values, such as classes, [height, width],
                never mixed; colour images are bad samples.
            background: (red, green, blue), 0 to 255, shown through transparency; by default transparency is dropped or kept as `color`
                says.
            dtype: `"uint8"`, the default: the upper 8 of 16 bits; `"uint16"`: all bits, and an 8-bit v becomes 257·v, but not in a mask.
            frame: only 0: the first frame of an animation or page of a document.
            max_pixels: largest image decoded, in pixels; by default 178,956,970, which is also the most. Larger ones are bad samples and
                allocate no memory.
        """
        args = {
            "field": field,
            "to": to,
            "mode": mode,
            "orient": orient,
            "color": color,
            "background": None if background is None else integers("background", background),
            "dtype": dtype,
            "frame": optional("frame", frame),
            "max_pixels": optional("max_pixels", max_pixels),
        }
        return self._with("decode_image", args)

    def decode_npy(
        self,
        dtype: Any,
        shape: Sequence[int | None] | None = None,
        *,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Read an array in NumPy's format (.npy): numbers or bools, little-endian, in C order.

            tokens = hr.files("tokens/*.npy").shuffle()
            tokens.decode_npy("int32", to="tokens").pack(2048, size=8)

        A file with another dtype or shape is a bad sample. Nothing is evaluated or unpickled.

        Args:
            dtype: the dtype in the file, in Python also `numpy.int32` and the like; `"bfloat16"` accepts its bits as uint16, or as
                `ml_dtypes` writes them.
            shape: `None` for an extent that differs; by default `(None,)`, a sequence of numbers.
            field: the field with the file, which is removed; by default where `files` put it.
            to: the field for the array, by default `"array"`.
        """
        args = {
            "dtype": dtype_name(dtype),
            "shape": None if shape is None else [optional("shape", n) for n in shape],
            "field": field,
            "to": to,
        }
        return self._with("decode_npy", args)

    def add_noise(
        self,
        noises: str | PathLike[str],
        snr: Range,
        *,
        p: float | None = None,
        rate: int | None = None,
        layout: Literal["TC", "CT"] | None = None,
        field: str | None = None,
    ) -> Pipeline:
        """Add a random stretch of a random recording of noise, as torchaudio's `AddNoise`.

            .add_noise("noises/*.wav", snr=(5, 20), p=0.5)

        Noise is the mean of its channels, at the rate of the samples. What is too short is repeated. The ratio is that of the energies of
        each channel and the stretch; silence, of either, adds nothing. Decoded noise stays in memory, up to 256 MiB and a quarter of the
        byte budget, of which it is a part; the rest is decoded again at each use. A state fits the same files only.

        Args:
            noises: files of noise, as for `files`: a folder, a file or a pattern; each is as likely.
            snr: decibels that the noise is weaker than the samples: one number, or (least, greatest), between which it is drawn evenly.
            p: the probability with which a recording gets noise, by default 1.
            rate: samples per second, to which the files are brought; by default as `decode_audio(rate=…)` says.
            layout: the axes of samples that have two: `"TC"`, the default, or `"CT"`.
            field: the samples, float32 or int16; by default `"audio"`.
        """
        args = {
            "noises": absolute("noises", noises),
            "snr": numbers_of("snr", snr),
            "p": None if p is None else number_of("p", p),
            "rate": optional("rate", rate),
            "layout": layout,
            "field": field,
        }
        return self._with("add_noise", args)

    def decode_audio(
        self,
        rate: int | None = None,
        channels: int | Literal["mono"] | None = None,
        duration: float | None = None,
        *,
        start: float | Literal["begin", "center", "random"] | None = None,
        window: str | None = None,
        short: Literal["silence", "repeat", "error", "keep"] | None = None,
        damaged: Literal["error", "keep"] | None = None,
        dtype: Any = None,
        layout: Literal["T", "TC", "CT"] | None = None,
        stream: int | None = None,
        format: str | None = None,
        format_options: Mapping[str, Any] | str | None = None,
        filter: str | None = None,
        decoder: str | None = None,
        decoder_options: Mapping[str, Any] | str | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Decode the audio of a file, or a window of it: WAV, FLAC, MP3, AAC, Opus, Vorbis, ALAC, AIFF, and the audio of video files.

            words = hr.files("words")
            words.decode_audio(16000, "mono", duration=1.0, start="random").batch(32)

        A window holds the same numbers as that slice of the whole recording, and costs the same in a file of any length. After `files(…,
        content=False)` little more than the window is read of WAV and FLAC. Encoder padding is cut off. The resampler's passband ends at
        0.913 of half the lower rate; from that half on it is 110 dB down.

        Args:
            rate: samples per second; by default the file's.
            channels: 1, in Python also `"mono"`: the mean of all; 2: left and right; by default the file's.
            duration: length of the window in seconds; by default everything.
            start: where the window is: `"begin"`, the default, `"center"` or `"random"`, or the second where it begins.
            window: instead of start: a field with the window's begin and end in seconds, float64 or float32 [2], as
                `decode_video(window=…)` writes it. With duration it has that length, wherever it ends. Time counts from a video's first
                frame, or a recording's beginning; missing audio is silence.
            short: recordings shorter than the window: `"silence"`, the default: appended; `"repeat"`: started again; `"error"`: bad
                samples; `"keep"`: stay short, for `bucket_batch` and `pack`.
            damaged: `"error"`, the default: a recording that is cut off or damaged makes a bad sample; `"keep"`: it has what is there, and
                silence for packets that cannot be decoded; `stats()["damaged_audio"]` counts them.
            dtype: `"float32"`, the default: from -1 to 1; `"int16"`: from -32768 to 32767.
            layout: `"T"`: [time], the default with one channel; `"TC"`: [time, channels], the default otherwise; `"CT"`: [channels, time].
            stream: which audio stream, from 0; by default the one marked as default, or the first.
            format: files are nothing but samples, of this format, by FFmpeg's name: `s16le`, `f32le`, `mulaw` and others; by default the
                content tells.
            format_options: of raw samples: `sample_rate=16000:channels=1`; by default rate and channels, 1 if that is not set.
            filter: a graph of FFmpeg filters for the window's samples, as in `highpass=200,volume=2`, before rate and channels are made.
                With duration, what it makes is cut to that, and short is about less.
            decoder: FFmpeg's name of the decoder, as in `libopus`; by default its usual one.
            decoder_options: the decoder's options, as in `drc_scale=0`.
            field: the field with the file's content or path, which is removed; by default where `files` put it.
            to: the field for the samples, by default `"audio"`.
        """
        args = {
            "rate": optional("rate", rate),
            "channels": 1 if channels == "mono" else optional("channels", channels),
            "duration": seconds_of("duration", duration),
            **start_of(start),
            "window": window,
            "short": short,
            "damaged": damaged,
            "dtype": None if dtype is None else dtype_name(dtype),
            "layout": layout,
            "stream": optional("stream", stream),
            "format": format,
            "format_options": None if format_options is None else option_text("format_options", format_options),
            "filter": filter,
            "decoder": decoder,
            "decoder_options": None if decoder_options is None else option_text("decoder_options", decoder_options),
            "field": field,
            "to": to,
        }
        return self._with("decode_audio", args)

    def gain(self, db: Range, *, field: str | None = None) -> Pipeline:
        """Make a recording louder or softer by a random number of decibels.

            words = hr.files("words").decode_audio(16000, "mono", 1.0)
            words.gain((-6, 6)).batch(32)

        Samples of int16 stay within their range; float32 may go beyond 1.

        Args:
            db: decibels, of amplitude: one number, or (least, greatest), between which it is drawn evenly.
            field: the samples, float32 or int16; by default `"audio"`.
        """
        return self._with("gain", {"db": numbers_of("db", db), "field": field})

    def log_mel(
        self,
        preset: Literal["whisper", "kaldi", "librosa", "torchaudio"] | None = None,
        *,
        rate: int | None = None,
        n_fft: int | None = None,
        win_length: int | None = None,
        hop_length: int | None = None,
        n_mels: int | None = None,
        f_min: float | None = None,
        f_max: float | None = None,
        layout: Literal["TM", "MT"] | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Make a log-mel spectrogram, float32, of one channel of audio.

            words = hr.files("words").decode_audio(16000, "mono", 1.0)
            words.log_mel("whisper").batch(32)

        It does not resample: decode at the preset's rate. A recording too short for one frame is a bad sample.

        Args:
            preset: whose spectrogram: `"whisper"`, the default: 80 bands at 16 kHz, without padding to 30 s; `"kaldi"`: 80 bands, as
                torchaudio's `compliance.kaldi.fbank` without dither, on 16-bit values (-32768 to 32767); `"librosa"`:
                `feature.melspectrogram` and `power_to_db`, 128 bands at 22,050 Hz; `"torchaudio"`: `MelSpectrogram` and
                `AmplitudeToDB("power")`, 128 bands at 16 kHz.
            rate: samples per second; like all that follow, by default the preset's.
            n_fft: length of a transform, in samples.
            win_length: length of a frame, in samples; by default the preset's, or `n_fft` if given.
            hop_length: samples between frames.
            n_mels: number of bands.
            f_min: Hz where the first band begins.
            f_max: Hz where the last band ends; by default half the rate.
            layout: `"TM"`, the default: [frames, bands], as `bucket_batch` and `pack` need it; `"MT"`: [bands, frames], as Whisper's models
                do.
            field: the field with the samples, float32 or int16 [time], which is removed; by default `"audio"`.
            to: the field for the spectrogram, by default `"mel"`.
        """
        args = {
            "preset": preset,
            "rate": optional("rate", rate),
            "n_fft": optional("n_fft", n_fft),
            "win_length": optional("win_length", win_length),
            "hop_length": optional("hop_length", hop_length),
            "n_mels": optional("n_mels", n_mels),
            "f_min": None if f_min is None else number_of("f_min", f_min),
            "f_max": None if f_max is None else number_of("f_max", f_max),
            "layout": layout,
            "field": field,
            "to": to,
        }
        return self._with("log_mel", args)

    def pitch(
        self,
        semitones: Range,
        *,
        p: float | None = None,
        n_fft: int | None = None,
        layout: Literal["TC", "CT"] | None = None,
        field: str | None = None,
    ) -> Pipeline:
        """Make a recording higher or lower by a random number of semitones, as torchaudio's `PitchShift`.

            .pitch((-3, 3), p=0.5)

        It stays as long as it is. A phase vocoder blurs what is sudden. `speed` costs a twentieth, and changes the length as well.

        Args:
            semitones: one number, or (least, greatest), between which it is drawn evenly, from -24 to 24; rounded so that frequencies
                become a multiple of 1/240 of what they are.
            p: the probability with which a recording is changed, by default 1.
            n_fft: length of a frame, in samples; a multiple of 4; by default 512.
            layout: the axes of samples that have two: `"TC"`, the default, or `"CT"`.
            field: the samples, float32 or int16; by default `"audio"`.
        """
        args = {
            "semitones": numbers_of("semitones", semitones),
            "p": None if p is None else number_of("p", p),
            "n_fft": optional("n_fft", n_fft),
            "layout": layout,
            "field": field,
        }
        return self._with("pitch", args)

    def reverb(
        self,
        impulses: str | PathLike[str],
        *,
        p: float | None = None,
        rate: int | None = None,
        layout: Literal["TC", "CT"] | None = None,
        field: str | None = None,
    ) -> Pipeline:
        """Have a recording heard as in a room, by convolving it with a random one of some impulse responses.

            .reverb("rirs", p=0.3)

        Of an impulse response with several channels the first is taken, at the rate of the samples, and scaled to an energy of 1. The
        recording stays as long as it is, and where it is: it begins with the loudest sample of the response, and the echo after its end is
        cut off. A silent response changes nothing. Decoded responses stay in memory as in `add_noise`.

        Args:
            impulses: files of impulse responses, as for `files`: a folder, a file or a pattern; each is as likely.
            p: the probability with which a recording is changed, by default 1.
            rate: samples per second, to which the files are brought; by default as `decode_audio(rate=…)` says.
            layout: the axes of samples that have two: `"TC"`, the default, or `"CT"`.
            field: the samples, float32 or int16; by default `"audio"`.
        """
        args = {
            "impulses": absolute("impulses", impulses),
            "p": None if p is None else number_of("p", p),
            "rate": optional("rate", rate),
            "layout": layout,
            "field": field,
        }
        return self._with("reverb", args)

    def spec_augment(
        self,
        time: int,
        freq: int,
        *,
        n_time: int | None = None,
        n_freq: int | None = None,
        p: float | None = None,
        value: float | None = None,
        layout: Literal["TM", "MT"] | None = None,
        field: str | None = None,
    ) -> Pipeline:
        """Mask stretches of time and bands of a spectrogram at random, as torchaudio's `SpecAugment`.

            words.spec_augment(time=40, freq=15, n_time=2, n_freq=2).batch(32)

        A mask is as long as a whole number below `time` or `freq`, evenly, and anywhere. Masks may overlap; lengths stay.

        Args:
            time: frames that a mask over time has less than; 0: none is masked.
            freq: bands that a mask over bands has less than; 0: none is masked.
            n_time: how many masks over time, by default 1.
            n_freq: how many masks over bands, by default 1.
            p: the share of the frames, and of the bands, that one mask may take; by default 1.
            value: what masked numbers become; by default the mean of all, before.
            layout: its axes, as they were made: `"TM"`, the default, or `"MT"`.
            field: the spectrogram, float32; by default `"mel"`.
        """
        args = {
            "time": integer("time", time),
            "freq": integer("freq", freq),
            "n_time": optional("n_time", n_time),
            "n_freq": optional("n_freq", n_freq),
            "p": None if p is None else number_of("p", p),
            "value": None if value is None else number_of("value", value),
            "layout": layout,
            "field": field,
        }
        return self._with("spec_augment", args)

    def speed(self, factors: Sequence[float], *, layout: Literal["TC", "CT"] | None = None, field: str | None = None) -> Pipeline:
        """Make a recording faster by a random one of some factors, as torchaudio's `SpeedPerturbation`: shorter and higher.

            .speed([0.9, 1.0, 1.1])

        At 1.1 a recording of 1000 samples has 910. The rate stays what it was. Without windows lengths differ then: `bucket_batch` and
        `pack` take such samples.

        Args:
            factors: from 0.1 to 10, to three decimals; each recording gets one of them, evenly.
            layout: the axes of samples that have two: `"TC"`, the default, or `"CT"`.
            field: the samples, float32 or int16; by default `"audio"`.
        """
        return self._with("speed", {"factors": numbers_of("factors", factors), "layout": layout, "field": field})

    def decode_video(
        self,
        frames: int | None = None,
        *,
        stride: int | None = None,
        fps: float | None = None,
        segments: int | None = None,
        clips: int | None = None,
        start: float | str | None = None,
        duration: float | None = None,
        min_frames: int | None = None,
        max_frames: int | None = None,
        multiple: int | None = None,
        short: Literal["repeat", "loop", "black", "error"] | None = None,
        times: str | None = None,
        window: str | None = None,
        stream: int | None = None,
        orient: bool | None = None,
        aspect: Literal["stored", "square"] | None = None,
        mode: Literal["exact", "fast"] | None = None,
        dtype: Any = None,
        color: Literal["rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444"] | None = None,
        size: Size | None = None,
        matrix: str | None = None,
        damaged: Literal["error", "keep"] | None = None,
        mask: str | None = None,
        max_pixels: int | None = None,
        filter: str | None = None,
        decoder: str | None = None,
        decoder_options: Mapping[str, Any] | str | None = None,
        format: str | None = None,
        format_options: Mapping[str, Any] | str | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Decode frames of a video to a clip, uint8 [frames, height, width, 3].

            films = hr.files("kinetics/*/*.mp4", label="parent", content=False)
            films.decode_video(16, stride=4).random_resized_crop(224).batch(8)

        Frames are exact to the byte wherever decoding begins, and packets that no frame needs are not read. Image operations that follow
        treat all frames of a clip alike. A damaged frame makes a bad sample, named with frame and time.

        Args:
            frames: frames in a clip; by default all. Without stride, fps and segments they are spread evenly from the first to the last.
            stride: from one frame to the next, in frames.
            fps: frames per second: those on screen at these times, even if a video's rate varies.
            segments: this many equal parts, one frame of each.
            clips: this many clips per video, along an axis of their own: [clips, frames, height, width, 3].
            start: where a clip begins, if frames are left over: `"begin"`, `"center"` or `"random"`, the default, or the second where it
                begins, or a field with the second where it begins; with segments: which frame of each.
            duration: length of a clip in seconds.
            min_frames: with fps, without frames: at least so many.
            max_frames: likewise: at most so many.
            multiple: likewise: a multiple of this.
            short: videos shorter than a clip: `"repeat"`, the default: the last frame again; `"loop"`: start again; `"black"`: black
                frames; `"error"`: a bad sample.
            times: a field for each frame's display time in seconds, from the first frame: float64 [frames]; by default none.
            window: a field for the clip's begin and end in seconds, float64 [2]. The field with the file stays, for
                `decode_audio(window=…)`.
            stream: which video stream; by default the one players show.
            orient: turn frames as the file says, by default True.
            aspect: `"stored"`, the default: the file's pixels; `"square"`: non-square pixels, as on DVDs, are widened or narrowed first.
            mode: `"exact"`, the default: converts to RGB first; `"fast"`: may resize planes before converting, several times faster, a few
                levels off.
            dtype: `"uint8"`, the default: 8 bits; `"uint16"`: of full scale: 10-bit videos keep their bits. Planes keep the video's own
                numbers.
            color: rgb, gray and rgba, [height, width, 3, 1 or 4], are for image operations: gray is luma of full range, rgba is opaque
                where the video has no alpha. The others are planes for conversion on a device, as by `hr.torch.to_rgb`, without image
                operations: luma, then Cb and Cr, one after the other or, with `"nv12"`, interleaved. A frame is [height + height / 2,
                width] with `"yuv420"` and `"nv12"`, [2 · height, width] with `"yuv422"` and [3, height, width] with `"yuv444"`; an odd
                width repeats luma's last column; by default `"rgb"`.
            size: with planes: resize frames to (height, width); by default they keep their size.
            matrix: with planes: a field for their colours, int64 [4]: the matrix's number in ITU-T H.273, 1 for full range, chroma location
                (0 left, 1 centre, 2 top left), bits of a sample; by default none.
            damaged: `"error"`, the default: a damaged frame makes a bad sample; `"keep"`: it stays as the decoder concealed it, or black.
            mask: with `"keep"`: a field for which frames are damaged, bool [frames]; by default none.
            max_pixels: largest frame decoded, in pixels; by default 178,956,970, which is also the most.
            filter: a graph of FFmpeg filters for the clip's frames, as in `hqdn3d,scale=320:-2`. It gives as many frames as enter it.
            decoder: FFmpeg's name of the decoder, as in `libdav1d`; by default its usual one.
            decoder_options: the decoder's options, as in `threads=4:framethreads=2`. One thread is the default, as a loader decodes as many
                videos at once as there are cores.
            format: `rawvideo`: files are nothing but frames, which `format_options` describes; by default the content tells.
            format_options: of raw frames: `video_size=64x48:pixel_format=yuv420p:framerate=25`; 25 frames a second is the default.
            field: the field with the file's path or content, which is removed; by default where `files` put it.
            to: the field for the clip, by default `"video"`.
        """
        args = {
            "frames": optional("frames", frames),
            "stride": optional("stride", stride),
            "fps": None if fps is None else number_of("fps", fps),
            "segments": optional("segments", segments),
            "clips": optional("clips", clips),
            **start_of(start, ("begin", "center", "random")),
            "duration": seconds_of("duration", duration),
            "min_frames": optional("min_frames", min_frames),
            "max_frames": optional("max_frames", max_frames),
            "multiple": optional("multiple", multiple),
            "short": short,
            "times": times,
            "window": window,
            "stream": optional("stream", stream),
            "orient": orient,
            "aspect": aspect,
            "mode": mode,
            "dtype": None if dtype is None else dtype_name(dtype),
            "color": color,
            "size": None if size is None else size_of(size),
            "matrix": matrix,
            "damaged": damaged,
            "mask": mask,
            "max_pixels": optional("max_pixels", max_pixels),
            "filter": filter,
            "decoder": decoder,
            "decoder_options": None if decoder_options is None else option_text("decoder_options", decoder_options),
            "format": format,
            "format_options": None if format_options is None else option_text("format_options", format_options),
            "field": field,
            "to": to,
        }
        return self._with("decode_video", args)

    def frame_drop(self, p: float = 0.1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Drop frames of a clip at random: the one before stays in their place, as a video that stutters.

            .decode_video(16, fps=8).frame_drop(0.2)

        A clip stays as long as it is. Its first frame is never dropped.

        Args:
            p: the probability with which a frame is dropped.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "p": number_of("p", p),
            "field": field,
            "fields": None if fields is None else names_of("frame_drop", (fields,)),
        }
        return self._with("frame_drop", args)

    def temporal_jitter(self, frames: int, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Have frames of a clip come a little earlier or later: in place of each there is a random one near it.

            .decode_video(16, fps=8).temporal_jitter(2)

        Time never runs backwards: the frames that were drawn are put in order. A clip stays as long as it is.

        Args:
            frames: how many frames earlier or later, at most.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "frames": integer("frames", frames),
            "field": field,
            "fields": None if fields is None else names_of("temporal_jitter", (fields,)),
        }
        return self._with("temporal_jitter", args)

    def video_clips(
        self,
        frames: int,
        *,
        stride: int | None = None,
        fps: float | None = None,
        step: int | None = None,
        clips: int | None = None,
        start: Literal["begin", "center", "random"] | None = None,
        short: Literal["repeat", "loop", "black", "error", "drop"] | None = None,
        times: str | None = None,
        window: str | None = None,
        number: str | None = None,
        stream: int | None = None,
        orient: bool | None = None,
        aspect: Literal["stored", "square"] | None = None,
        mode: Literal["exact", "fast"] | None = None,
        dtype: Any = None,
        color: Literal["rgb", "gray", "rgba", "yuv420", "nv12", "yuv422", "yuv444"] | None = None,
        size: Size | None = None,
        matrix: str | None = None,
        damaged: Literal["error", "keep"] | None = None,
        mask: str | None = None,
        max_pixels: int | None = None,
        filter: str | None = None,
        decoder: str | None = None,
        decoder_options: Mapping[str, Any] | str | None = None,
        format: str | None = None,
        format_options: Mapping[str, Any] | str | None = None,
        field: str | None = None,
        to: str | None = None,
    ) -> Pipeline:
        """Cut a video into clips, each a sample: consecutive pieces, or clips from chosen places.

            films = hr.files("films/*.mp4", content=False)
            every = films.video_clips(32, stride=2, step=64).resize(224, fit="crop")
            some = films.shuffle().video_clips(16, stride=4, clips=4)

        Clips keep their video's key and other fields. They are decoded one by one, so memory does not depend on a film's length, and
        resuming decodes none again. Random steps draw for each clip. `len(loader)` is exact with `clips`; the number of pieces is not known
        in advance.

        Args:
            frames: frames in a clip.
            stride: from one frame to the next, in frames; by default 1.
            fps: frames per second: those on screen at these times, even if a video's rate varies.
            step: from one piece's beginning to the next, in frames of the video, or at the rate fps; by default without gaps.
            clips: instead of pieces, this many clips per video.
            start: with clips: where they begin, by default `"random"`; `"center"` and `"begin"` spread them evenly.
            short: clips with too few frames, such as the last piece: `"repeat"`, the default: the last frame again; `"loop"`: start again;
                `"black"`: black frames; `"error"`: a bad sample; `"drop"`: left out.
            times: as for `decode_video`.
            window: as for `decode_video`, after `files(…, content=False)`.
            number: a field for the clip's number in its video, from 0; by default none.
            stream: as for `decode_video`.
            orient: as for `decode_video`.
            aspect: as for `decode_video`.
            mode: as for `decode_video`.
            dtype: as for `decode_video`.
            color: as for `decode_video`.
            size: as for `decode_video`.
            matrix: as for `decode_video`.
            damaged: as for `decode_video`.
            mask: as for `decode_video`.
            max_pixels: as for `decode_video`.
            filter: as for `decode_video`: each clip goes through a graph of its own.
            decoder: as for `decode_video`.
            decoder_options: as for `decode_video`.
            format: as for `decode_video`.
            format_options: as for `decode_video`.
            field: as for `decode_video`.
            to: the field for the clip, by default `"video"`.
        """
        args = {
            "frames": integer("frames", frames),
            "stride": optional("stride", stride),
            "fps": None if fps is None else number_of("fps", fps),
            "step": optional("step", step),
            "clips": optional("clips", clips),
            "start": start,
            "short": short,
            "times": times,
            "window": window,
            "number": number,
            "stream": optional("stream", stream),
            "orient": orient,
            "aspect": aspect,
            "mode": mode,
            "dtype": None if dtype is None else dtype_name(dtype),
            "color": color,
            "size": None if size is None else size_of(size),
            "matrix": matrix,
            "damaged": damaged,
            "mask": mask,
            "max_pixels": optional("max_pixels", max_pixels),
            "filter": filter,
            "decoder": decoder,
            "decoder_options": None if decoder_options is None else option_text("decoder_options", decoder_options),
            "format": format,
            "format_options": None if format_options is None else option_text("format_options", format_options),
            "field": field,
            "to": to,
        }
        return self._with("video_clips", args)

    def filter(
        self,
        function: Callable[..., Any],
        *,
        fields: Some | None = None,
        workers: int | None = None,
        where: Where = USUAL,
        seed: Seeds = (),
        copy: bool = False,
        order: Literal["input", "completion"] | None = None,
    ) -> Pipeline:
        """Keep the samples for which a Python function returns true.

            .filter(is_large, fields="image")

        Other samples are not errors or losses. The number of batches is then only a bound, and several ranks need `steps_per_epoch`.

        Args:
            function: as for `map`, but it returns True or False.
            fields: as for `map`.
            workers: as for `map`.
            where: as for `map`.
            seed: as for `map`.
            copy: as for `map`.
            order: as for `map`.
        """
        from ._recipe.function_arguments import function_arguments

        given = function_arguments(
            "filter",
            function,
            fields=fields,
            workers=workers,
            where=where,
            seed=seed,
            copy=copy,
            order=order,
        )
        return self._with("filter", given)

    def flat_map(
        self,
        function: Callable[..., Any],
        *,
        fields: Some | None = None,
        to: Some | None = None,
        gives: Any = None,
        workers: int | None = None,
        where: Where = USUAL,
        seed: Seeds = (),
        copy: bool = False,
        order: Literal["input", "completion"] | None = None,
    ) -> Pipeline:
        """Call a Python function that returns any number of samples for each, usually a generator.

            def crops(sample, rng):
                for _ in range(4):
                    y, x = rng.integers(0, 32, 2)
                    yield {**sample, "image": sample["image"][y:y + 224, x:x + 224]}

            .flat_map(crops)

        Each sample moves on as soon as it is yielded. Later random steps draw for each. The number of batches is at most a bound.

        Args:
            function: as for `map`, but it yields samples, or with `fields` values, or returns a list of these.
            fields: as for `map`.
            to: as for `map`.
            gives: as for `map`.
            workers: as for `map`.
            where: as for `map`.
            seed: as for `map`.
            copy: as for `map`.
            order: as for `map`.
        """
        from ._recipe.function_arguments import function_arguments

        given = function_arguments(
            "flat_map",
            function,
            fields=fields,
            to=to,
            gives=gives,
            workers=workers,
            where=where,
            seed=seed,
            copy=copy,
            order=order,
        )
        return self._with("flat_map", given)

    def aggregate(
        self,
        aggregator: Any,
        *,
        fields: Some | None = None,
        gives: Any = None,
        where: Literal["process", "thread", "here"] = USUAL,
        seed: Seeds = (),
    ) -> Pipeline:
        """Pass the samples of an epoch, one by one, to an object that makes other samples of them.

            class Sums:
                def __init__(self):
                    self.rows = []

                def accumulate(self, sample):
                    self.rows.append(sample["x"])
                    if len(self.rows) == 8:
                        rows, self.rows = self.rows, []
                        return {"sum": np.sum(rows, axis=0)}

                def flush(self):
                    return {"sum": np.sum(self.rows, axis=0)} if self.rows else None

                def state_dict(self):
                    return {"rows": self.rows}

                def load_state_dict(self, state):
                    self.rows = state["rows"]

            .aggregate(Sums)

        `accumulate(sample)` is called for each sample in turn, `flush()` at the end of the epoch. Both return a sample, an iterable of
        samples, or None, and may be generators or async. A parameter `rng` works as in `map`. Arrays are copies that you may keep. One
        worker process holds the object, a new one for each epoch. With `where="here"` a thread of your program does, and gets objects that
        cannot be pickled from steps before it that have `where="here"` too.

        To resume within an epoch the object needs `state_dict()`, which returns JSON, arrays, tensors and bytes, at most 1 MiB, and
        `load_state_dict(state)`. Without them such a state is refused when you load it.

        If `accumulate` raises, that sample fails and the object goes on. If `flush` raises, all samples since the last output fail. If the
        worker dies or times out, the run ends. The number of batches is not known in advance, and several ranks need `steps_per_epoch`.

        Args:
            aggregator: a class with these methods and without `__init__` arguments, or an object, which is copied for each epoch.
            fields: fields passed to `accumulate` as positional arguments; by default the whole sample.
            gives: the fields it returns, as for `map`; by default the first sample decides.
            where: as for `map`, but it is neither hr.Workers nor an executor.
            seed: as for `map`.
        """
        from ._recipe.function_arguments import aggregate_arguments

        given = aggregate_arguments(
            aggregator,
            fields=fields,
            gives=gives,
            where=where,
            seed=seed,
        )
        return self._with("aggregate", given)

    def select(self, *fields: Some) -> Pipeline:
        """Keep some fields of each sample, in this order, and drop the others.

            .select("image", "label")

        Nothing is copied, and image steps before and after still run as one pass.

        Args:
            fields: the fields to keep: names, or lists of them.
        """
        return self._with("select", {"fields": names_of("select", fields)})

    def drop(self, *fields: Some) -> Pipeline:
        """Drop some fields of each sample.

            .drop("path")

        Nothing is copied.

        Args:
            fields: the fields to drop: names, or lists of them.
        """
        return self._with("drop", {"fields": names_of("drop", fields)})

    def copy(self, field: str, to: Some) -> Pipeline:
        """Copy a field under other names, for several views of an image.

            .copy("image", to=["clean", "noisy"])

        Images are only copied in memory if the pipeline has a Python function, which could change one in place. For augmented views, Python
        has `views`.

        Args:
            field: the field, which stays.
            to: names for its copies, which must be new.
        """
        return self._with("copy", {"field": name_of("copy", field), "to": names_of("copy", (to,))})

    def boxes(
        self,
        field: str = "boxes",
        *,
        along: Some | None = None,
        image: str = "image",
        format: Literal["XYXY", "XYWH", "CXCYWH", "XYWHR", "CXCYWHR", "XYXYXYXY"] | None = None,
    ) -> Pipeline:
        """Tie boxes to an image: later steps move them with its pixels, and drop those that leave it.

            .decode_image()
            .boxes(along="labels")  # or format="XYWH", as COCO has them
            .random_resized_crop(512)
            .random_flip()
            .bucket_batch([8, 32, 128], size=16)

        Boxes are cut at the edge. If less than a pixel of width or height is left, the box is dropped, with its row in the fields `along`
        with it, as by torchvision's transforms followed by `SanitizeBoundingBoxes`. Coordinates are pixels of the image at this step,
        upright if `decode_image` turned it. A box that may be turned stays a rectangle of some angle, and one that is cut is the least
        around what is left of it.

        Args:
            field: the boxes, `float32` or `float64 [n, 4]`: left, top, right, bottom edge in pixels. n may differ between samples.
            along: fields with a row for each box, such as labels: they lose the rows of dropped boxes.
            image: the image.
            format: what the 4, 5 or 8 numbers of a box are, by torchvision's names: corners (X, Y), its middle (CX, CY), sides (W, H) and
                an angle in degrees, counter-clockwise (R). By default `"XYXY"`: `"XYXY"`, `"XYWH"`, `"CXCYWH"`, `"XYWHR"`, `"CXCYWHR"` or
                `"XYXYXYXY"`.
        """
        args = {
            "field": field,
            "along": None if along is None else names_of("boxes", (along,)),
            "image": image,
            "format": format,
        }
        return self._with("boxes", args)

    def points(self, field: str = "points", *, image: str = "image") -> Pipeline:
        """Tie points to an image: later steps move them with its pixels, as torchvision's `KeyPoints`.

            .decode_image()
            .boxes(along=["labels", "joints"])
            .points("joints")  # [n, 17, 2]
            .random_affine(30).random_flip()

        Points are moved, not dropped: they may be beyond the edges then. An image may have several fields of points, and one with a row for
        each box, that goes along with `boxes`. As in torchvision, the upper left corner is (0, 0) to all steps but flips, which take x to
        width - 1 - x.

        Args:
            field: the points, `float32` or `float64`, in pixels across and down: `[n, 2]`, or with more axes, `[n, 17, 2]`. A third number
                for each point, such as COCO's visibility, stays as it is.
            image: the image.
        """
        return self._with("points", {"field": field, "image": image})

    def cast(self, fields: Some, dtype: Any) -> Pipeline:
        """Convert numbers to another dtype.

            .cast("label", "float32")

        As NumPy's `astype`: rounded to the nearest float, and towards zero to a whole number; as `"bool"`, whether it is not 0. A number
        that the dtype does not have is a bad sample: 300 as `"uint8"`, NaN as a whole number, 1e300 as `"float32"`.

        Args:
            fields: a field, or several.
            dtype: the dtype of the result, in Python also `numpy.int32` and the like.
        """
        return self._with("cast", {"fields": names_of("cast", (fields,)), "dtype": dtype_name(dtype)})

    def fill_nan(self, fields: Some, value: float) -> Pipeline:
        """Replace NaN, which is what a null in a column of floats is.

            .fill_nan("age", 38.2)

        In other columns, `hr.read` says what a null is: `fields={"age": ("age", "int64", -1)}`.

        Args:
            fields: a field, or several.
            value: the number instead of NaN, such as the median.
        """
        return self._with("fill_nan", {"fields": names_of("fill_nan", (fields,)), "value": number_of("value", value)})

    def clip(self, fields: Some, min: float | None = None, max: float | None = None) -> Pipeline:
        """Limit numbers to a range.

            .clip("age", 0, 100)

        The dtype stays, and so does NaN, as with NumPy's `clip`.

        Args:
            fields: a field, or several.
            min: what smaller numbers become; by default they stay.
            max: what greater numbers become; by default they stay.
        """
        args = {
            "fields": names_of("clip", (fields,)),
            "min": None if min is None else number_of("min", min),
            "max": None if max is None else number_of("max", max),
        }
        return self._with("clip", args)

    def log1p(self, fields: Some) -> Pipeline:
        """Take the logarithm of 1 + v, for counts and prices.

            .clip("clicks", min=0).log1p("clicks")

        Computed as `float64`, and rounded to the dtype of the field; whole numbers become `float32`. NaN stays NaN; a number of -1 or less
        is a bad sample.

        Args:
            fields: a field, or several.
        """
        return self._with("log1p", {"fields": names_of("log1p", (fields,))})

    def scale(
        self,
        fields: Some,
        *,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        min: float | Sequence[float] | None = None,
        max: float | Sequence[float] | None = None,
    ) -> Pipeline:
        """Scale numbers: (v - mean) / std, or (v - min) / (max - min).

            .scale("age", mean=38.2, std=12.1)
            .scale(["lat", "lon"], min=-180, max=180)

        Give the statistics of your training data. Computed as `float64`, and rounded to the dtype of the field; whole numbers become
        `float32`. NaN stays NaN.

        Args:
            fields: a field, or several.
            mean: subtracted: a number, or for arrays one for each place of the last axis.
            std: divides the difference; above 0.
            min: what becomes 0.
            max: what becomes 1.
        """
        args = {
            "fields": names_of("scale", (fields,)),
            "mean": None if mean is None else numbers_of("mean", mean),
            "std": None if std is None else numbers_of("std", std),
            "min": None if min is None else numbers_of("min", min),
            "max": None if max is None else numbers_of("max", max),
        }
        return self._with("scale", args)

    def bucketize(self, fields: Some, boundaries: Sequence[float], *, right: bool = False) -> Pipeline:
        """Replace numbers by that of their bucket, int64: how many of the boundaries are below.

            .bucketize("age", [18, 25, 35, 50, 65])

        Buckets are those of `torch.bucketize`: n boundaries make the buckets 0 to n. With quantiles of your training data as boundaries,
        equally many samples are in each. NaN is a bad sample: put `fill_nan` before it.

        Args:
            fields: a field, or several.
            boundaries: rising numbers.
            right: whether a number that is a boundary is in the bucket above it, as in NumPy's `digitize`; by default it is in the one
                below, as in pandas' `cut`.
        """
        args = {
            "fields": names_of("bucketize", (fields,)),
            "boundaries": numbers_of("boundaries", boundaries),
            "right": right,
        }
        return self._with("bucketize", args)

    def hash_buckets(self, fields: Some, buckets: int, *, seed: int | None = None) -> Pipeline:
        """Replace text or whole numbers by the number of a bucket, int64, for an embedding table.

            .hash_buckets("user", 1_000_000)

        The bucket is `XXH64(bytes, seed) % buckets`, on every machine and in every version, so a model can be served with it:
        `xxhash.xxh64(text, seed).intdigest() % buckets` in Python. Bytes are those of the text in UTF-8, or the number as `int64` in 8
        bytes, little-endian, whatever its dtype.

        Args:
            fields: a field, or several.
            buckets: the number of buckets, which are 0, 1, ….
            seed: another seed makes other buckets; by default 0.
        """
        args = {
            "fields": names_of("hash_buckets", (fields,)),
            "buckets": integer("buckets", buckets),
            "seed": optional("seed", seed),
        }
        return self._with("hash_buckets", args)

    def one_hot(self, fields: Some, classes: int, *, smoothing: float | None = None) -> Pipeline:
        """Turn a number of a class into an array with 1 in its place, float32.

            .one_hot("weekday", 7)
            .one_hot("label", 1000, smoothing=0.1)

        A number that is no class is a bad sample. Codes of a dictionary have as many classes as `loader.schema` has names.

        Args:
            fields: a field, or several.
            classes: the number of classes, which are 0, 1, ….
            smoothing: the share of 1 that all classes get alike, by default 0.
        """
        args = {
            "fields": names_of("one_hot", (fields,)),
            "classes": integer("classes", classes),
            "smoothing": None if smoothing is None else number_of("smoothing", smoothing),
        }
        return self._with("one_hot", args)

    def concat(self, fields: Some, to: str, *, dtype: Any = None) -> Pipeline:
        """Put fields side by side into one array: after `batch`, a matrix.

            .concat(["age", "price", "embedding"], to="dense")

        A number takes one place and an array as many as its last axis has, in the order of `fields`. They are converted to `dtype` as by
        `cast`.

        Args:
            fields: the fields, which are removed.
            to: the field for the array.
            dtype: the dtype of the array, by default `"float32"`.
        """
        args = {
            "fields": names_of("concat", (fields,)),
            "to": to,
            "dtype": None if dtype is None else dtype_name(dtype),
        }
        return self._with("concat", args)

    def resize(
        self,
        size: Size,
        max_size: int | None = None,
        *,
        filter: Filter | None = None,
        fit: Literal["short", "stretch", "pad", "crop"] | None = None,
        anchor: Anchor | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Resize an image, antialiased.

            .resize((480, 640), fit="pad", fill=114)    # a letterbox

        Args:
            size: length of the shorter edge, or (height, width). With a fit other than `"short"`, one number means both.
            max_size: limit for the longer edge; by default none.
            filter: the filter, as in Pillow: `"bilinear"`, the default, `"box"`, `"hamming"`, `"bicubic"`, `"lanczos"` or `"nearest"`;
                masks always use nearest.
            fit: `"short"`: the shorter edge gets the size, the default with one number; `"stretch"`: to the size, the default with height
                and width; `"pad"`: into the size, the rest is fill, as Pillow's `ImageOps.pad`; `"crop"`: over the size, the rest is cut
                off, as `ImageOps.fit`.
            anchor: where the image is (pad), or the part to keep (crop): `"center"`, `"top_left"`, `"top"`, `"top_right"`, `"left"`,
                `"right"`, `"bottom_left"`, `"bottom"` or `"bottom_right"`; by default `"center"`.
            fill: with `"pad"`, the colour of the rest: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "size": size_of(size),
            "max_size": optional("max_size", max_size),
            "filter": filter,
            "fit": fit,
            "anchor": anchor,
            "fill": None if fill is None else integers("fill", fill),
        }
        return self._image("resize", field, fields, args)

    def resize_to_bucket(
        self,
        sizes: Iterable[Size],
        *,
        filter: Filter | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Resize to cover the size whose proportions are nearest, and crop the middle.

            .resize_to_bucket([[256, 256], [256, 384], [384, 256]])

        With several sizes, each batch holds images of one size. Operations in between must keep the size, or change each to another; a crop
        or resize to one size makes all batches alike again.

        Args:
            sizes: (height, width) of each; if two are equally near, the first is used.
            filter: as for `resize`.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("resize_to_bucket", field, fields, {"sizes": [size_of(size) for size in sizes], "filter": filter})

    def center_crop(self, size: Size, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Crop the middle of an image; a smaller image gets a black border.

            .resize(256).center_crop(224)

        Args:
            size: (height, width), or one number for both.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("center_crop", field, fields, {"size": size_of(size)})

    def random_crop(self, size: Size, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Crop a random part of an image. A smaller image is a bad sample: `pad` or `resize` it first.

            .pad(4).random_crop(32)

        Args:
            size: (height, width), or one number for both.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_crop", field, fields, {"size": size_of(size)})

    def random_resized_crop(
        self,
        size: Size,
        scale: tuple[float, float] | None = None,
        ratio: tuple[float, float] | None = None,
        *,
        filter: Filter | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Crop a random part of an image and resize it.

            .random_resized_crop(224)

        Args:
            size: (height, width) of the result, or one number for both.
            scale: least and greatest share of the image's area, by default (0.08, 1).
            ratio: least and greatest ratio of width to height, by default 3/4 and 4/3.
            filter: as for `resize`.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "size": size_of(size),
            "scale": range_of("scale", scale),
            "ratio": range_of("ratio", ratio),
            "filter": filter,
        }
        return self._image("random_resized_crop", field, fields, args)

    def pad(
        self,
        padding: int | Sequence[int] | None = None,
        fill: int | Sequence[int] = 0,
        *,
        size: Size | None = None,
        anchor: Anchor | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Add a border of one colour to an image.

            .pad(4)

        Args:
            padding: width of the border: of all sides, (horizontal, vertical), or (left, top, right, bottom).
            fill: its colour: one number, or one per channel.
            size: instead of padding, (height, width) with the border, or one number for both. Larger images are bad samples: `resize` with
                `fit="pad"` shrinks them first.
            anchor: with size: where the image is: `"center"`, `"top_left"`, `"top"`, `"top_right"`, `"left"`, `"right"`, `"bottom_left"`,
                `"bottom"` or `"bottom_right"`; by default `"center"`.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "padding": None if padding is None else integers("padding", padding),
            "fill": integers("fill", fill),
            "size": None if size is None else size_of(size),
            "anchor": anchor,
        }
        return self._image("pad", field, fields, args)

    def random_flip(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Flip an image left to right at random.

            .random_flip()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_flip", field, fields, {"p": number_of("p", p)})

    def random_vertical_flip(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Flip an image top to bottom at random.

            .random_vertical_flip()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_vertical_flip", field, fields, {"p": number_of("p", p)})

    def rotate90(self, turns: int = 1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Rotate an image by quarter turns.

            .rotate90()

        Args:
            turns: quarter turns counter-clockwise, as `numpy.rot90`; negative ones are clockwise.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("rotate90", field, fields, {"turns": integer("turns", turns)})

    def random_rotate90(self, p: float = 1.0, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Rotate an image by 0, 1, 2 or 3 quarter turns, with equal probability.

            .random_rotate90()

        Args:
            p: the probability of a rotation, which may be by 0 turns.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_rotate90", field, fields, {"p": number_of("p", p)})

    def color_jitter(
        self,
        brightness: Range = 0,
        contrast: Range = 0,
        saturation: Range = 0,
        hue: Range = 0,
        *,
        p: float | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Change brightness, contrast, saturation and hue at random, in random order, as torchvision's `ColorJitter`.

            .color_jitter(0.4, 0.4, 0.4, 0.1)
            .color_jitter(0.4, 0.4, 0.2, 0.1, p=0.8)  # every fifth stays as it is

        0 changes nothing.

        Args:
            brightness: x: a factor from 1-x to 1+x, at least 0; or the (least, greatest) factor.
            contrast: as for brightness.
            saturation: as for brightness.
            hue: x, at most 0.5: from -x to x of a full turn of the hue; or the (least, greatest) part of a turn.
            p: the probability with which an image is changed; by default 1. The changes are the same with and without it.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "brightness": numbers_of("brightness", brightness),
            "contrast": numbers_of("contrast", contrast),
            "saturation": numbers_of("saturation", saturation),
            "hue": numbers_of("hue", hue),
            "p": None if p is None else number_of("p", p),
        }
        return self._image("color_jitter", field, fields, args)

    def grayscale(self, channels: Literal[1, 3] = 1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Convert an image to gray.

            .grayscale()

        Args:
            channels: 1, or 3 equal ones.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("grayscale", field, fields, {"channels": integer("channels", channels)})

    def random_grayscale(self, p: float = 0.1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Convert an image to gray at random; it keeps its channels.

            .random_grayscale()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_grayscale", field, fields, {"p": number_of("p", p)})

    def adjust_gamma(self, gamma: float, gain: float = 1.0, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Raise values, as shares of 255, to a power, as torchvision's `adjust_gamma`.

            .adjust_gamma(0.7)

        Args:
            gamma: the power: above 1 an image gets darker, below 1 lighter.
            gain: what all is multiplied by.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("adjust_gamma", field, fields, {"gamma": number_of("gamma", gamma), "gain": number_of("gain", gain)})

    def adjust_sharpness(self, factor: float, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Sharpen an image, or smooth it, as torchvision's `adjust_sharpness`.

            .adjust_sharpness(2)

        Args:
            factor: 0 smooths, 1 changes nothing, 2 sharpens.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("adjust_sharpness", field, fields, {"factor": number_of("factor", factor)})

    def affine(
        self,
        angle: float = 0.0,
        translate: Sequence[float] | None = None,
        scale: float = 1.0,
        shear: Sequence[float] | None = None,
        *,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] | None = None,
        center: Sequence[float] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Turn, move, scale and shear an image at once, as torchvision's `affine`.

            .affine(angle=10, translate=(4, 0), scale=1.1, filter="bilinear")

        Args:
            angle: degrees, clockwise: not as `rotate`, as in torchvision.
            translate: [across, down] in pixels.
            scale: 2 makes everything twice as large.
            shear: [along x, along y] in degrees between -90 and 90.
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"nearest"`.
            fill: what is around the image: one number, or one per channel; by default 0.
            center: [across, down] in pixels: the point that stays where it is; by default the middle.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "angle": number_of("angle", angle),
            "translate": None if translate is None else numbers_of("translate", translate),
            "scale": number_of("scale", scale),
            "shear": None if shear is None else numbers_of("shear", shear),
            "filter": filter,
            "fill": None if fill is None else integers("fill", fill),
            "center": None if center is None else numbers_of("center", center),
        }
        return self._image("affine", field, fields, args)

    def augmix(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int | None = None,
        alpha: float = 1.0,
        all_ops: bool | None = None,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] = 0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Mix an image with several changed ones, as torchvision's `AugMix`.

            .augmix()

        Each of them is changed by a chain of one to three changes. Boxes and points stay where they are.

        Args:
            severity: how strong changes are at most.
            mixture_width: how many changed images there are.
            chain_depth: changes of each; by default one to three, evenly.
            alpha: of the distributions of shares.
            all_ops: with brightness, colour, contrast and sharpness among the changes; by default True.
            filter: of shears, turns and shifts: `"nearest"`, `"bilinear"`, the default, or `"bicubic"`.
            fill: the colour beyond the image: one number, or one per channel.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "severity": integer("severity", severity),
            "mixture_width": integer("mixture_width", mixture_width),
            "chain_depth": optional("chain_depth", chain_depth),
            "alpha": number_of("alpha", alpha),
            "all_ops": all_ops,
            "filter": filter,
            "fill": integers("fill", fill),
        }
        return self._image("augmix", field, fields, args)

    def auto_augment(
        self,
        policy: Literal["imagenet", "cifar10", "svhn"] | None = None,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] = 0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Carry out one of 25 pairs of changes that were found for a set of images, as torchvision's `AutoAugment`.

            .auto_augment()

        Args:
            policy: the set of images: `"imagenet"`, the default, `"cifar10"` or `"svhn"`.
            filter: of rotations, shears and shifts: `"nearest"`, the default, `"bilinear"` or `"bicubic"`.
            fill: the colour beyond the image: one number, or one per channel.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("auto_augment", field, fields, {"policy": policy, "filter": filter, "fill": integers("fill", fill)})

    def autocontrast(self, field: str | None = None, *, fields: Some | None = None) -> Pipeline:
        """Stretch the values of each channel over all levels, as torchvision's `autocontrast`.

            .autocontrast()

        Args:
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("autocontrast", field, fields, {})

    def copy_paste(
        self,
        p: float = 0.5,
        mask: str | None = None,
        boxes: str | None = None,
        along: Some | None = None,
        *,
        group: int | None = None,
        image: str | None = None,
        layout: Literal["NHWC", "NCHW"] | None = None,
    ) -> Pipeline:
        """Lay objects of the image before it in the batch over each image, with their masks and boxes.

            .batch(16)
            .copy_paste(p=0.5)

        It comes after `batch`, or after `bucket_batch`, which pads boxes. A mask has a number for each pixel: the class of its object, or
        with boxes that of its box, from 1 on; 0 is none, and numbers beyond the boxes are never copied. Hidden boxes are dropped, and
        partly hidden ones end where their pixels do.

        Args:
            p: the probability of each object to be copied.
            mask: the masks, `uint8` or `uint16 [rows, height, width]`; by default `"mask"`.
            boxes: the boxes, `float32` or `float64 [rows, n, 4]`, left, top, right, bottom, as `bucket_batch` pads them: how many there are
                is in `<field>_length`. Rows beyond are 0.
            along: fields with a row for each box, padded alike.
            group: so many rows after each other are copied among themselves; by default all rows of a batch.
            image: the images, uint8 or float32; by default `"image"`.
            layout: the axes of images: `"NHWC"` or `"NCHW"`; by default as the number of channels says.
        """
        args = {
            "p": number_of("p", p),
            "mask": mask,
            "boxes": boxes,
            "along": None if along is None else names_of("copy_paste", (along,)),
            "group": optional("group", group),
            "image": image,
            "layout": layout,
        }
        return self._with("copy_paste", args)

    def cutmix(
        self,
        alpha: float = 1.0,
        classes: int | None = None,
        *,
        p: float | None = None,
        group: int | None = None,
        smoothing: float | None = None,
        image: str | None = None,
        label: str | None = None,
        layout: Literal["NHWC", "NCHW"] | None = None,
    ) -> Pipeline:
        """Lay a rectangle of the image before it over each image of a batch, and mix their labels, as torchvision's `CutMix`.

            .batch(64).cutmix(1.0, classes=1000)

        It comes after `batch`. Labels become float32, a number for each class.

        Args:
            alpha: of the distribution of the share that an image keeps.
            classes: the number of classes, if labels are whole numbers.
            p: the probability with which a batch is mixed, by default 1.
            group: so many rows after each other are mixed among themselves, by draws of their own; by default all rows of a batch. With
                `batch(global_size=…)` a number that divides the rows of each rank mixes alike on any number of ranks.
            smoothing: the share of a label that all classes get alike, by default 0.
            image: the images, uint8 or float32; by default `"image"`.
            label: whole numbers of classes, or float32 with a number for each class; by default `"label"`.
            layout: the axes of images: `"NHWC"` or `"NCHW"`; by default as the number of channels says.
        """
        args = {
            "alpha": number_of("alpha", alpha),
            "classes": optional("classes", classes),
            "p": None if p is None else number_of("p", p),
            "group": optional("group", group),
            "smoothing": None if smoothing is None else number_of("smoothing", smoothing),
            "image": image,
            "label": label,
            "layout": layout,
        }
        return self._with("cutmix", args)

    def cutout(
        self,
        size: int,
        value: int | Sequence[int] | Literal["random"] = 0,
        p: float = 1.0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Erase a square whose middle is anywhere in the image, as DeVries and Taylor's Cutout.

            .cutout(56)

        Args:
            size: pixels of a side.
            value: the level that takes its place: one number, or one per channel; or "random": a normal number for each value, with the
                mean and deviation of ImageNet's images.
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "size": integer("size", size),
            "value": value if isinstance(value, str) else integers("value", value),
            "p": number_of("p", p),
        }
        return self._image("cutout", field, fields, args)

    def elastic(
        self,
        alpha: float | tuple[float, float] = 50,
        sigma: float | tuple[float, float] = 5,
        *,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Move each pixel by a smooth random distance, as torchvision's `ElasticTransform`.

            .elastic()
            .elastic(alpha=120, sigma=(8, 4))

        Args:
            alpha: how far: noise of 1 would move a pixel by half of it, before it is smoothed; or [across, down].
            sigma: how smooth: the standard deviation in pixels of what blurs the noise, up to 100; or [across, down].
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"bilinear"`.
            fill: what is around the image: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "alpha": numbers_of("alpha", alpha),
            "sigma": numbers_of("sigma", sigma),
            "filter": filter,
            "fill": None if fill is None else integers("fill", fill),
        }
        return self._image("elastic", field, fields, args)

    def equalize(self, field: str | None = None, *, fields: Some | None = None) -> Pipeline:
        """Make the values of each channel about as frequent, as torchvision's `equalize`.

            .equalize()

        Args:
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("equalize", field, fields, {})

    def five_crop(self, size: Size, *, field: str | None = None) -> Pipeline:
        """Cut the four corners and the middle out of an image, for a test by several crops: [5, height, width, channels].

            .resize(256).five_crop(224).batch(32)

        The field becomes an array, so steps on images come before. The order is top left, top right, bottom left, bottom right, middle. A
        smaller image is a bad sample, and boxes that go along with the image are refused.

        Args:
            size: (height, width), or one number for both.
            field: the image, if samples have several.
        """
        return self._with("five_crop", {"size": size_of(size), "field": field})

    def gaussian_blur(
        self,
        kernel_size: int,
        sigma: Range | None = None,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Blur an image by a random amount, as torchvision's `GaussianBlur`.

            .gaussian_blur(23)
            .gaussian_blur(9, sigma=1.5)  # each by the same

        Args:
            kernel_size: pixels across and down that are mixed for one: an odd number.
            sigma: the standard deviation in pixels: one number, or (least, greatest), between which it is drawn evenly for each image; by
                default (0.1, 2).
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "kernel_size": integer("kernel_size", kernel_size),
            "sigma": None if sigma is None else numbers_of("sigma", sigma),
        }
        return self._image("gaussian_blur", field, fields, args)

    def gaussian_noise(self, mean: float = 0.0, sigma: float = 0.1, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Add a normal number to every value of an image, as torchvision's `GaussianNoise`.

            .gaussian_noise(sigma=0.05)

        Sums stay within the range. All frames of a clip get the same numbers.

        Args:
            mean: of the numbers, where 1 is the whole range.
            sigma: their standard deviation, also of the whole range.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("gaussian_noise", field, fields, {"mean": number_of("mean", mean), "sigma": number_of("sigma", sigma)})

    def grid_mask(
        self,
        size: int | tuple[int, int] | list[int],
        ratio: float = 0.5,
        value: int | Sequence[int] = 0,
        p: float = 1.0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Erase a grid of squares, which begins anywhere.

            .grid_mask((64, 128))
            .grid_mask(96, 0.4, p=0.7)  # a square every 96 pixels, of 38

        Args:
            size: pixels from square to square, from 2: one number, or (least, greatest), between which it is drawn evenly for each image.
            ratio: the side of a square, as a share of that distance.
            value: the level that takes its place: one number, or one per channel.
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "size": integers("size", size),
            "ratio": number_of("ratio", ratio),
            "value": integers("value", value),
            "p": number_of("p", p),
        }
        return self._image("grid_mask", field, fields, args)

    def invert(self, field: str | None = None, *, fields: Some | None = None) -> Pipeline:
        """Make 255 - v of every value, as torchvision's `invert`.

            .invert()

        Args:
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("invert", field, fields, {})

    def jpeg(self, quality: int | tuple[int, int] | list[int], *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Give an image the faults of a JPEG, as torchvision's `JPEG`.

            .jpeg((25, 95))

        Args:
            quality: from 1 to 100: one number, or (least, greatest), between which it is drawn evenly for each image.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("jpeg", field, fields, {"quality": integers("quality", quality)})

    def mixup(
        self,
        alpha: float = 1.0,
        classes: int | None = None,
        *,
        p: float | None = None,
        group: int | None = None,
        smoothing: float | None = None,
        image: str | None = None,
        label: str | None = None,
        layout: Literal["NHWC", "NCHW"] | None = None,
        cutmix: float | None = None,
    ) -> Pipeline:
        """Mix each image of a batch with the one before it, and their labels alike, as torchvision's `MixUp`; or, by chance, as `CutMix`.

            .batch(64).mixup(0.8, classes=1000)
            .batch(64).mixup(0.8, classes=1000, cutmix=1.0)  # either, as timm

        It comes after `batch`. Images stay uint8 or float32; labels become float32, a number for each class. A batch of one stays as it is,
        but for its label.

        Args:
            alpha: of the distribution of the share that an image keeps.
            classes: the number of classes, if labels are whole numbers.
            p: the probability with which a batch is mixed, by default 1.
            group: so many rows after each other are mixed among themselves, by draws of their own; by default all rows of a batch. With
                `batch(global_size=…)` a number that divides the rows of each rank mixes alike on any number of ranks.
            smoothing: the share of a label that all classes get alike, by default 0.
            image: the images, uint8 or float32; by default `"image"`.
            label: whole numbers of classes, or float32 with a number for each class; by default `"label"`.
            layout: the axes of images: `"NHWC"` or `"NCHW"`; by default as the number of channels says.
            cutmix: alpha of cutmix, which half of the batches get.
        """
        args = {
            "alpha": number_of("alpha", alpha),
            "classes": optional("classes", classes),
            "p": None if p is None else number_of("p", p),
            "group": optional("group", group),
            "smoothing": None if smoothing is None else number_of("smoothing", smoothing),
            "image": image,
            "label": label,
            "layout": layout,
            "cutmix": None if cutmix is None else number_of("cutmix", cutmix),
        }
        return self._with("mixup", args)

    def mosaic(
        self,
        boxes: str | None = None,
        along: Some | None = None,
        p: float = 1.0,
        *,
        min_visibility: float | None = None,
        group: int | None = None,
        image: str | None = None,
        layout: Literal["NHWC", "NCHW"] | None = None,
    ) -> Pipeline:
        """Put parts of four images of a batch into each, with their boxes, as YOLO's mosaic.

            .boxes(along="labels")
            .random_resized_crop(640).bucket_batch([16], size=16)
            .mosaic(boxes="boxes", along="labels")

        It comes after `batch`, or after `bucket_batch`, which pads boxes. The parts meet at a random point of the image: its own is at the
        upper left, and those of the three images before it in the batch follow. No pixel is resampled. There is room for the boxes of four
        images.

        Args:
            boxes: the boxes, `float32` or `float64 [rows, n, 4]`, left, top, right, bottom, as `bucket_batch` pads them: how many there are
                is in `<field>_length`. Rows beyond are 0.
            along: fields with a row for each box, padded alike.
            p: the probability with which an image becomes a mosaic.
            min_visibility: the share of a box that must be in the mosaic, or it is dropped; so is one of less than a pixel; by default 0.1.
            group: so many rows after each other are put together; by default all rows of a batch.
            image: the images, uint8 or float32; by default `"image"`.
            layout: the axes of images: `"NHWC"` or `"NCHW"`; by default as the number of channels says.
        """
        args = {
            "boxes": boxes,
            "along": None if along is None else names_of("mosaic", (along,)),
            "p": number_of("p", p),
            "min_visibility": None if min_visibility is None else number_of("min_visibility", min_visibility),
            "group": optional("group", group),
            "image": image,
            "layout": layout,
        }
        return self._with("mosaic", args)

    def perspective(
        self,
        start: Sequence[Sequence[float]],
        end: Sequence[Sequence[float]],
        *,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Move four points of an image to others, as if it were looked at from another place; as torchvision's `perspective`.

            corners = [(0, 0), (63, 0), (63, 63), (0, 63)]
            .perspective(corners, [(4, 0), (59, 6), (63, 63), (0, 60)])

        Args:
            start: four points of the image, each [across, down] in pixels, usually its corners from the upper left on, clockwise.
            end: where they come to be.
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"bilinear"`.
            fill: what is around the image: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "start": [numbers_of("start", at) for at in start],
            "end": [numbers_of("end", at) for at in end],
            "filter": filter,
            "fill": None if fill is None else integers("fill", fill),
        }
        return self._image("perspective", field, fields, args)

    def pillow_gaussian_blur(self, radius: Range | None = None, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Blur an image by a random amount, as Pillow's `ImageFilter.GaussianBlur`.

            .pillow_gaussian_blur()
            .pillow_gaussian_blur(2)  # each by the same

        That is three box blurs each way, as DINO's own code has them, and nearly a Gauss curve.

        Args:
            radius: the standard deviation in pixels, from 0 to 100: one number, or (least, greatest), between which it is drawn evenly for
                each image; by default (0.1, 2).
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("pillow_gaussian_blur", field, fields, {"radius": None if radius is None else numbers_of("radius", radius)})

    def posterize(self, bits: int, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Keep so many upper bits of every value, as torchvision's `posterize`.

            .posterize(4)

        Args:
            bits: of 8 that are kept; with 0 the image is black.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("posterize", field, fields, {"bits": integer("bits", bits)})

    def rand_augment(
        self,
        num_ops: int | None = None,
        magnitude: int | None = None,
        bins: int | None = None,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] = 0,
        config: str | None = None,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Carry out some of 14 changes of an image, all of one strength, as torchvision's `RandAugment`; or as timm's, by its text.

            .rand_augment()
            .rand_augment(config="rand-m9-mstd0.5-inc1", filter="bicubic")  # as timm

        Args:
            num_ops: how many changes, one after the other; by default 2.
            magnitude: their strength, below bins; by default 9.
            bins: how many strengths there are; by default 31.
            filter: of rotations, shears and shifts: `"nearest"`, the default, `"bilinear"` or `"bicubic"`.
            fill: the colour beyond the image: one number, or one per channel.
            config: timm's text, such as `rand-m9-mstd0.5-inc1`, instead of `num_ops`, magnitude and bins: sections m (magnitude of 10), n
                (changes), p (the probability of each, by default 0.5), mstd (deviation of magnitudes; above 100: evenly), mmax, inc, and t
                (timm's other lists: tweights, t3a, t3aw).
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "num_ops": optional("num_ops", num_ops),
            "magnitude": optional("magnitude", magnitude),
            "bins": optional("bins", bins),
            "filter": filter,
            "fill": integers("fill", fill),
            "config": config,
        }
        return self._image("rand_augment", field, fields, args)

    def random_adjust_sharpness(self, factor: float, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Sharpen an image, or smooth it, at random, as torchvision's `RandomAdjustSharpness`.

            .random_adjust_sharpness(2)

        Args:
            factor: 0 smooths, 1 changes nothing, 2 sharpens.
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_adjust_sharpness", field, fields, {"factor": number_of("factor", factor), "p": number_of("p", p)})

    def random_affine(
        self,
        degrees: Range,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        *,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] | None = None,
        center: Sequence[float] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Turn, move, scale and shear an image at random, as torchvision's `RandomAffine`.

            .random_affine(10, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5)

        Args:
            degrees: the angle is drawn evenly from -degrees to degrees, or between two; clockwise.
            translate: [across, down]: shares of the width and height, up to which it is moved by whole pixels both ways.
            scale: least and greatest; by default it is not scaled.
            shear: degrees along x, both ways, or between two; four numbers are two along x and two along y.
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"nearest"`.
            fill: what is around the image: one number, or one per channel; by default 0.
            center: [across, down] in pixels: the point that stays where it is; by default the middle.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "degrees": numbers_of("degrees", degrees),
            "translate": None if translate is None else numbers_of("translate", translate),
            "scale": None if scale is None else numbers_of("scale", scale),
            "shear": None if shear is None else numbers_of("shear", shear),
            "filter": filter,
            "fill": None if fill is None else integers("fill", fill),
            "center": None if center is None else numbers_of("center", center),
        }
        return self._image("random_affine", field, fields, args)

    def random_apply(self, steps: Changes, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Carry out steps on an image with a probability, or none of them, as torchvision's `RandomApply`.

            .random_apply(lambda p: p.adjust_sharpness(2).solarize(128), p=0.2)

        Args:
            steps: steps on an image, without names, failures or fields of their own.
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_apply", field, fields, {"steps": self._changes("steps", steps), "p": number_of("p", p)})

    def random_autocontrast(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Stretch the values of each channel over all levels, at random, as torchvision's `RandomAutocontrast`.

            .random_autocontrast()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_autocontrast", field, fields, {"p": number_of("p", p)})

    def random_channel_permutation(self, field: str | None = None, *, fields: Some | None = None) -> Pipeline:
        """Have red, green and blue change places at random, as torchvision's `RandomChannelPermutation`.

            .random_channel_permutation()

        Args:
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_channel_permutation", field, fields, {})

    def random_choice(
        self,
        steps: Changes,
        p: Sequence[float] | None = None,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Carry out one of several steps on an image, as torchvision's `RandomChoice`.

            .random_choice([lambda p: p.invert(), lambda p: p.equalize()], p=[1, 2])

        Args:
            steps: steps on an image, without names, failures or fields of their own; several are one by `random_apply`.
            p: how likely each is, as a share of their sum; by default all are alike.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "steps": self._changes("steps", steps),
            "p": None if p is None else numbers_of("p", p),
        }
        return self._image("random_choice", field, fields, args)

    def random_equalize(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Make the values of each channel about as frequent, at random, as torchvision's `RandomEqualize`.

            .random_equalize()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_equalize", field, fields, {"p": number_of("p", p)})

    def random_erasing(
        self,
        p: float = 0.5,
        scale: tuple[float, float] | None = None,
        ratio: tuple[float, float] | None = None,
        value: int | Sequence[int] | Literal["random"] = 0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Erase a random rectangle of an image, as torchvision's `RandomErasing`.

            .random_erasing(p=0.25)
            .random_erasing(p=0.25, value="random")

        Args:
            p: the probability.
            scale: least and greatest share of the image's area, by default (0.02, 0.33).
            ratio: least and greatest ratio of height to width, by default (0.3, 3.3).
            value: the level that takes its place: one number, or one per channel; or "random": a normal number for each value, with the
                mean and deviation of ImageNet's images.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "p": number_of("p", p),
            "scale": range_of("scale", scale),
            "ratio": range_of("ratio", ratio),
            "value": value if isinstance(value, str) else integers("value", value),
        }
        return self._image("random_erasing", field, fields, args)

    def random_invert(self, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Make 255 - v of every value, at random, as torchvision's `RandomInvert`.

            .random_invert()

        Args:
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_invert", field, fields, {"p": number_of("p", p)})

    def random_iou_crop(
        self,
        min_scale: float = 0.3,
        *,
        max_scale: float | None = None,
        min_aspect_ratio: float | None = None,
        max_aspect_ratio: float | None = None,
        sampler_options: Sequence[float] | None = None,
        trials: int | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Crop a random part of an image that overlaps with one of its boxes, as torchvision's `RandomIoUCrop`.

            .boxes(along="labels")
            .random_zoom_out()
            .random_iou_crop()
            .resize((300, 300))

        Boxes are those of `boxes` before it, of which those whose centre is outside of the part are dropped. An image without boxes stays
        as it is. Of several `fields` the image that has boxes is decoded first, and the others get the same part.

        Args:
            min_scale: least share of each side.
            max_scale: greatest share of each side, by default 1.
            min_aspect_ratio: least ratio of width to height, by default 0.5.
            max_aspect_ratio: greatest ratio of width to height, by default 2.
            sampler_options: the overlaps, intersection over union, of which one is drawn that some box has at least; with 1 the image stays
                as it is. By default [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1].
            trials: how many parts are tried for each option, by default 40.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "min_scale": number_of("min_scale", min_scale),
            "max_scale": None if max_scale is None else number_of("max_scale", max_scale),
            "min_aspect_ratio": None if min_aspect_ratio is None else number_of("min_aspect_ratio", min_aspect_ratio),
            "max_aspect_ratio": None if max_aspect_ratio is None else number_of("max_aspect_ratio", max_aspect_ratio),
            "sampler_options": None if sampler_options is None else numbers_of("sampler_options", sampler_options),
            "trials": optional("trials", trials),
        }
        return self._image("random_iou_crop", field, fields, args)

    def random_order(self, steps: Changes, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Carry out steps on an image in random order, as torchvision's `RandomOrder`.

            .random_order(lambda p: p.equalize().posterize(4))

        Args:
            steps: steps on an image, without names, failures or fields of their own.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_order", field, fields, {"steps": self._changes("steps", steps)})

    def random_perspective(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        *,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Look at an image from another place, at random, as torchvision's `RandomPerspective`.

            .random_perspective()
            .random_perspective(0.2, p=1, fill=127)

        Args:
            distortion_scale: how far each corner moves inwards at most, as a share of half the width and half the height.
            p: the probability.
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"bilinear"`.
            fill: what is around the image: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "distortion_scale": number_of("distortion_scale", distortion_scale),
            "p": number_of("p", p),
            "filter": filter,
            "fill": None if fill is None else integers("fill", fill),
        }
        return self._image("random_perspective", field, fields, args)

    def random_photometric_distort(
        self,
        brightness: Range | None = None,
        contrast: Range | None = None,
        saturation: Range | None = None,
        hue: Range | None = None,
        p: float = 0.5,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Change brightness, contrast, saturation, hue and the order of colours at random, as torchvision's `RandomPhotometricDistort`.

            .random_photometric_distort()

        Args:
            brightness: the factor: one number, or (least, greatest), between which it is drawn evenly; by default (0.875, 1.125).
            contrast: the same, by default (0.5, 1.5).
            saturation: the same, by default (0.5, 1.5).
            hue: the same, of a full turn of the hue: from -0.5 to 0.5; by default (-0.05, 0.05).
            p: the probability of each of the five changes.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "brightness": None if brightness is None else numbers_of("brightness", brightness),
            "contrast": None if contrast is None else numbers_of("contrast", contrast),
            "saturation": None if saturation is None else numbers_of("saturation", saturation),
            "hue": None if hue is None else numbers_of("hue", hue),
            "p": number_of("p", p),
        }
        return self._image("random_photometric_distort", field, fields, args)

    def random_posterize(self, bits: int, p: float = 0.5, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Keep so many upper bits of every value, at random, as torchvision's `RandomPosterize`.

            .random_posterize(4)

        Args:
            bits: of 8 that are kept; with 0 the image is black.
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_posterize", field, fields, {"bits": integer("bits", bits), "p": number_of("p", p)})

    def random_rotation(
        self,
        degrees: Range,
        *,
        filter: WarpFilter | None = None,
        expand: bool | None = None,
        center: Sequence[float] | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Rotate an image by a random angle, as torchvision's `RandomRotation`.

            .random_rotation(15, filter="bilinear")
            .random_rotation((0, 30), expand=True)

        Args:
            degrees: the angle is drawn evenly from -degrees to degrees, or between two; counter-clockwise.
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"nearest"`.
            expand: whether the result is as large as the turned image, instead of as large as the image; by default False.
            center: [across, down] in pixels: the point that stays where it is; by default the middle.
            fill: what is around the image: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "degrees": numbers_of("degrees", degrees),
            "filter": filter,
            "expand": expand,
            "center": None if center is None else numbers_of("center", center),
            "fill": None if fill is None else integers("fill", fill),
        }
        return self._image("random_rotation", field, fields, args)

    def random_short_size(
        self,
        sizes: int | Sequence[int],
        max_size: int | None = None,
        *,
        filter: Filter | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Resize the short side of an image to one of some sizes, at random, as torchvision's `RandomShortestSize`.

            .random_short_size(range(480, 801, 32), max_size=1333)  # as DETR

        Args:
            sizes: one of these is drawn, evenly.
            max_size: limit for the longer edge; by default none.
            filter: as for `resize`.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "sizes": integer_list("sizes", sizes),
            "max_size": optional("max_size", max_size),
            "filter": filter,
        }
        return self._image("random_short_size", field, fields, args)

    def random_solarize(
        self,
        threshold: float = 128.0,
        p: float = 0.5,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Invert what is at least as bright as a threshold, at random, as torchvision's `RandomSolarize`.

            .random_solarize()

        Args:
            threshold: the least value that is inverted, in each channel: v becomes 255 - v.
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("random_solarize", field, fields, {"threshold": number_of("threshold", threshold), "p": number_of("p", p)})

    def random_zoom_out(
        self,
        fill: int | Sequence[int] = 0,
        side_range: Sequence[float] | None = None,
        p: float = 0.5,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Put an image at a random place of a larger canvas, at random, as torchvision's `RandomZoomOut`.

            .random_zoom_out(fill=(123, 117, 104)).resize((300, 300))

        Args:
            fill: the colour of the canvas: one number, or one per channel.
            side_range: how much longer sides become; by default [1, 4].
            p: the probability.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "fill": integers("fill", fill),
            "side_range": None if side_range is None else numbers_of("side_range", side_range),
            "p": number_of("p", p),
        }
        return self._image("random_zoom_out", field, fields, args)

    def rotate(
        self,
        angle: float,
        *,
        filter: WarpFilter | None = None,
        expand: bool | None = None,
        center: Sequence[float] | None = None,
        fill: int | Sequence[int] | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Rotate an image counter-clockwise by an angle, as torchvision's `rotate`.

            .rotate(15, filter="bilinear")

        Args:
            angle: degrees.
            filter: `"nearest"`, `"bilinear"` or `"bicubic"`, as Pillow's `transform` has them; masks always use nearest; by default
                `"nearest"`.
            expand: whether the result is as large as the turned image, instead of as large as the image; by default False.
            center: [across, down] in pixels: the point that stays where it is; by default the middle.
            fill: what is around the image: one number, or one per channel; by default 0.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "angle": number_of("angle", angle),
            "filter": filter,
            "expand": expand,
            "center": None if center is None else numbers_of("center", center),
            "fill": None if fill is None else integers("fill", fill),
        }
        return self._image("rotate", field, fields, args)

    def sanitize_boxes(
        self,
        min_size: float = 1.0,
        min_area: float = 1.0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Drop boxes that are small or partly beyond the image, as torchvision's `SanitizeBoundingBoxes`.

            .boxes(along="labels")
            .random_resized_crop(512)
            .sanitize_boxes(min_size=8, min_area=100)

        Boxes are those of `boxes` before it; fields `along` lose the same rows. Steps that move boxes drop those of less than a pixel
        anyway, and cut others at the edge: without such a step in between, a box beyond the edge is dropped here.

        Args:
            min_size: least width and height, in pixels.
            min_area: pixels that a box has at least.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "min_size": number_of("min_size", min_size),
            "min_area": number_of("min_area", min_area),
        }
        return self._image("sanitize_boxes", field, fields, args)

    def scale_jitter(
        self,
        target_size: Size,
        scale_range: Sequence[float] | None = None,
        *,
        filter: Filter | None = None,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Resize an image to fit into a size, times a random factor, as torchvision's `ScaleJitter`.

            .scale_jitter((640, 640))  # then pad and crop to one size

        Args:
            target_size: (height, width), or one number for both; torchvision takes width and height here.
            scale_range: least and greatest factor; by default [0.1, 2].
            filter: as for `resize`.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "target_size": size_of(target_size),
            "scale_range": None if scale_range is None else numbers_of("scale_range", scale_range),
            "filter": filter,
        }
        return self._image("scale_jitter", field, fields, args)

    def solarize(self, threshold: float = 128.0, *, field: str | None = None, fields: Some | None = None) -> Pipeline:
        """Invert what is at least as bright as a threshold, as torchvision's `solarize`.

            .solarize()

        Args:
            threshold: the least value that is inverted, in each channel: v becomes 255 - v.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("solarize", field, fields, {"threshold": number_of("threshold", threshold)})

    def ten_crop(self, size: Size, *, vertical_flip: bool | None = None, field: str | None = None) -> Pipeline:
        """Cut five parts out of an image as `five_crop` does, and then out of its mirror image: [10, height, width, channels].

            .resize(256).ten_crop(224).batch(32)

        The field becomes an array, so steps on images come before.

        Args:
            size: (height, width), or one number for both.
            vertical_flip: the mirror image is upside down, not left to right; by default False.
            field: the image, if samples have several.
        """
        return self._with("ten_crop", {"size": size_of(size), "vertical_flip": vertical_flip, "field": field})

    def trivial_augment(
        self,
        bins: int = 31,
        filter: WarpFilter | None = None,
        fill: int | Sequence[int] = 0,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Carry out one of 14 changes of an image, of any strength, as torchvision's `TrivialAugmentWide`.

            .trivial_augment()

        Args:
            bins: how many strengths there are.
            filter: of rotations, shears and shifts: `"nearest"`, the default, `"bilinear"` or `"bicubic"`.
            fill: the colour beyond the image: one number, or one per channel.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        args = {
            "bins": integer("bins", bins),
            "filter": filter,
            "fill": integers("fill", fill),
        }
        return self._image("trivial_augment", field, fields, args)

    def normalize(
        self,
        mean: float | Sequence[float],
        std: float | Sequence[float],
        dtype: Literal["float32", "float16", "bfloat16"] | None = None,
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Convert pixels to floating point: (v / 255 - mean) / std, or for `uint16` (v / 65535 - mean) / std. Only `layout` may follow.

            .normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)).layout("NCHW")

        NumPy has no bfloat16: arrays are `ml_dtypes.bfloat16` if that package is installed (JAX brings it), else `uint16` with the same
        bytes, as `loader.schema` says; `torch.from_numpy(a).view(torch.bfloat16)` converts them. After `.to("torch")` they are
        `torch.bfloat16`.

        Args:
            mean: subtracted from values between 0 and 1: one number, or one for each of red, green and blue.
            std: divides the difference, likewise; above 0.
            dtype: the dtype of the result: `"float32"`, the default, `"float16"` or `"bfloat16"`.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("normalize", field, fields, {"mean": numbers_of("mean", mean), "std": numbers_of("std", std), "dtype": dtype})

    def layout(
        self,
        layout: Literal["NHWC", "NCHW", "THWC", "TCHW", "CTHW"],
        *,
        field: str | None = None,
        fields: Some | None = None,
    ) -> Pipeline:
        """Reorder the axes of an image or clip.

            .layout("NCHW")

        Args:
            layout: images: `"NHWC"`, as decoded, or `"NCHW"`; clips: `"THWC"`, as decoded, `"TCHW"` or `"CTHW"`. N: batch, T: frames, C:
                channels.
            field: the image or mask, if samples have several.
            fields: several of one size, such as an image and its mask, changed alike: random draws are shared.
        """
        return self._image("layout", field, fields, {"layout": layout})

    def lanes(self, count: int) -> Pipeline:
        """Say into how many lanes the order is divided, so that global batches depend on no number of ranks.

            .lanes(64)

        A lane is a fixed share of the order. Steps that hold or drop samples, such as `filter`, `pack` or `merge`, do so in each lane
        apart, and a global batch has equally many rows of each. It needs a batch with `global_size`, which the number must divide. Samples
        of one kind, as of `bucket_batch`, come into batches of their lane, one after the other; there `size` counts those of a lane. By
        default there are as many lanes as divide it, up to 256. Choose the number for the largest number of ranks that will ever train with
        these batches.

        Args:
            count: lanes.
        """
        return self._with("lanes", {"count": integer("count", count)})

    def pack(
        self,
        length: int | Mapping[str, int],
        size: int | None = None,
        *,
        global_size: int | None = None,
        fit: Literal["best", "first", "best-wrap", "wrap"] | None = None,
        open: int | None = None,
        max_segments: int | None = None,
        domain: str | None = None,
        pad: float | Mapping[str, float] = 0,
        overlong: Literal["error", "truncate", "drop", "split"] | None = None,
        drop_last: bool = False,
    ) -> Pipeline:
        """Pack several sequences into each row of a batch.

            .pack(2048, 8)

        A sequence is an array whose first extent alone is unknown, as `decode_npy` makes it; those of a sample must be equally long, unless
        `length` gives each its own. A batch has [size, length, …] and, for each `field`:

        - `field_segment_ids`: `int32 [size, length]`: the element's sequence in its row, from 1; 0 for padding.
        - `field_positions`: `int32 [size, length]`: the element's place in its sequence, or in the part of it that the row has, from 0.
        - with `max_segments`: `field_cu_seqlens`: `int32 [size, max_segments + 1]`: where sequences begin in the row, and, after the last,
          its end; and `field_max_seqlen`: `int32 [size]`, the longest.

        A single number, such as a label, is repeated for each element of the first sequence. Text, such as `key`, is one JSON list per row:
        `json.loads(batch["key"][0])` has one value per sequence.

        The number of batches depends on the samples; `loader.max_batches` is its bound.

        Args:
            length: length of a row: a number, or numbers by field for sequences that are not equally long, such as {"tokens": 2048,
                "patches": 1024}.
            size: rows in a batch, on each rank.
            global_size: rows in a batch over all ranks, instead of on each.
            fit: `"best"`, the default: of the samples held, the longest, and then always the longest that fits; `"first"`: the longest, and
                of the others, in their order, each that fits; `"best-wrap"`: as best, and the beginning of another fills what is left, so
                that a sequence is cut at most once; `"wrap"`: sequences are laid end to end and cut where rows end.
            open: rows' worth of samples that are held to choose from: more waste less room. wrap holds one row; by default 64.
            max_segments: most sequences in a row; by default as many as have room.
            domain: a field of text or whole numbers: a row has samples of one value.
            pad: the value of unused room: a number, or numbers by field, such as {"labels": -100}, 0 for others; by default 0.
            overlong: sequences longer than a row: `"error"`: bad samples; `"truncate"`: cut at the end; `"drop"`: left out; `"split"`: made
                into several, all but the last as long as a row. By default error, and with wrap split.
            drop_last: drop the epoch's last batch if it has fewer rows.
        """
        args = {
            "length": lengths_of("length", length),
            "size": optional("size", size),
            "global_size": optional("global_size", global_size),
            "fit": fit,
            "open": optional("open", open),
            "max_segments": optional("max_segments", max_segments),
            "domain": domain,
            "pad": numbers_for("pad", pad),
            "overlong": overlong,
            "drop_last": drop_last,
        }
        return self._with("pack", args)

    def unbatch(self) -> Pipeline:
        """Split batches: each row becomes a sample again, with its own key and position.

            .batch(64).map(model, workers=1).unbatch().map(encode)

        Every field needs one row per sample; a list has one value per row.
        """
        return self._with("unbatch", {})
