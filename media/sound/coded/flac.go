package coded

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/flac"
)

// flacFormat is FLAC in files of its own, of which no more is read than the frames that
// are wanted, and what it takes to find the first of them.
var flacFormat = sound.Format{
	Name: "flac",
	Is:   flac.Is,
	Open: func(file []byte, o sound.Options) (sound.Stream, error) { return openFLAC(sound.InMemory(file), o) },
	OpenAt: func(file sound.File, o sound.Options) (sound.Stream, error) {
		return openFLAC(sound.OnDisk(file, flac.Together), o)
	},
}

// frames is the samples of a FLAC file.
type frames struct {
	file    *flac.File
	info    sound.Info
	decoder flac.Decoder
	last    flac.Frame // that was decoded
	kept    flac.Frame // whose samples are in memory
	samples []float32
	keep    bool // frames that are damaged are silence
	damaged bool // there were some, or the file is cut off
}

// flacMasks are where channels are, by their number, as FFmpeg has it.
var flacMasks = [...]uint32{1: 0x4, 0x3, 0x7, 0x33, 0x607, 0x60F, 0x70F, 0x63F}

func openFLAC(content *sound.Content, o sound.Options) (sound.Stream, error) {
	if o.Track > 0 {
		return nil, fmt.Errorf("sound: %w", said(noTrack(o.Track, 1)))
	}
	var file *flac.File
	var err error
	short := false
	if o.Keep {
		file, short, err = flac.OpenKept(content)
	} else {
		file, err = flac.Open(content)
	}
	if flac.IsJoined(err) {
		return openJoined(content, o, err)
	}
	if err != nil {
		return nil, said(err)
	}

	open := flac.NewDecoder
	if open == nil {
		open = byFFmpeg
	}
	d, err := open(file)
	if err != nil {
		return nil, said(err)
	}
	info := sound.Info{Rate: file.Rate, Channels: file.Channels, Samples: file.Samples, Mask: flacMasks[file.Channels]}
	return &frames{file: file, info: info, decoder: d, keep: o.Keep, damaged: short}, nil
}

// openJoined opens FLAC files that were joined, of which all is in memory then.
func openJoined(content *sound.Content, o sound.Options, wrong error) (sound.Stream, error) {
	file, err := content.Bytes(0, int(content.Size()))
	if err != nil {
		return nil, err
	}
	parts := joined.Chain(bytes.NewReader(file), int64(len(file)))
	if len(parts) == 1 {
		return nil, said(wrong)
	}
	return openChain(file, o, parts)
}

// Info implements sound.Stream.
func (r *frames) Info() sound.Info { return r.info }

// Damaged implements sound.Patched.
func (r *frames) Damaged() bool { return r.damaged }

// Close gives back the decoder's memory.
func (r *frames) Close() { r.decoder.Close() }

// Read implements sound.Stream. Frames that are wanted whole are decoded into their
// place.
func (r *frames) Read(to []float32, from int64) error {
	channels := r.info.Channels
	if n := int64(len(to) / channels); from < 0 || from > r.info.Samples-n {
		return fmt.Errorf("sound: samples %d to %d are asked for, of %d", from, from+n, r.info.Samples)
	}
	for len(to) > 0 {
		n, err := r.copied(to, from), error(nil)
		if n == 0 {
			n, err = r.decoded(to, from)
		}
		switch {
		case err == nil:
		case r.keep && errors.Is(err, media.ErrCorrupt):
			n = r.silent(to, from)
		case errors.Is(err, media.ErrCorrupt):
			return said(fmt.Errorf("%w: %s", err, sound.Remedy))
		default:
			return said(err)
		}
		to, from = to[n*channels:], from+int64(n)
	}
	return nil
}

// silent writes silence for what a frame that is damaged should have, and returns how
// many samples that is.
func (r *frames) silent(to []float32, from int64) int {
	r.damaged = true
	r.last, r.kept = flac.Frame{}, flac.Frame{}
	block := int64(r.file.Block())
	n := min(int(block-from%block)*r.info.Channels, len(to))
	clear(to[:n])
	return n / r.info.Channels
}

// copied copies samples of the frame that is kept, and returns how many.
func (r *frames) copied(to []float32, from int64) int {
	if !r.kept.Has(from) {
		return 0
	}
	return copy(to, r.samples[int(from-r.kept.Sample)*r.info.Channels:]) / r.info.Channels
}

// decoded decodes the frame that has a sample, and returns how many are in their place:
// none, where it is kept instead.
func (r *frames) decoded(to []float32, from int64) (int, error) {
	var fr flac.Frame
	var err error
	switch {
	case r.last.Has(from): // which was wanted whole, and is wanted again
		fr = r.last
	case r.last.Samples > 0 && r.last.Sample+int64(r.last.Samples) == from:
		fr, err = r.file.Next(r.last)
	default:
		fr, err = r.file.Find(from)
	}
	if err != nil {
		return 0, err
	}
	b, err := r.file.Bytes(fr)
	if err != nil {
		return 0, err
	}

	n := fr.Samples * r.info.Channels
	whole := fr.Sample == from && n <= len(to)
	if !whole {
		r.kept = flac.Frame{} // until another one is decoded
		r.samples = slices.Grow(r.samples[:0], n)[:n]
		to = r.samples
	}
	if err := r.decoder.Decode(to[:n], b); err != nil {
		return 0, fmt.Errorf("sound: the frame of flac at %.3f s: %w", float64(fr.Sample)/float64(r.file.Rate), err)
	}
	r.last = fr
	if !whole {
		r.kept = fr
		return 0, nil
	}
	return fr.Samples, nil
}

// flacByFFmpeg decodes FLAC in programs without libFLAC.
type flacByFFmpeg struct {
	*ffmpeg.Decoder
	file  *flac.File
	frame ffmpeg.Frame
}

func byFFmpeg(file *flac.File) (flac.Decoder, error) {
	d, err := ffmpeg.NewDecoder(ffmpeg.Stream{Codec: "flac", Audio: true, Config: file.Config, Rate: file.Rate, Channels: file.Channels})
	return &flacByFFmpeg{Decoder: d, file: file}, err
}

// Decode implements flac.Decoder.
func (d *flacByFFmpeg) Decode(to []float32, frame []byte) error {
	d.Reset() // bytes may be left that followed the last frame of the file
	if err := d.Feed(frame, []ffmpeg.Packet{{Size: len(frame), Key: true}}, false); err != nil {
		return err
	}
	err := d.Next(&d.frame)
	s := &d.frame.Sound
	n := len(to) / d.file.Channels
	switch {
	case err != nil:
	case s.Samples != n, s.Rate != d.file.Rate, s.Channels != d.file.Channels, len(s.Planes) == 0, d.frame.Corrupt:
		err = fmt.Errorf("it gives %d samples of %d channels at %d a second, and should give %d of %d at %d",
			s.Samples, s.Channels, s.Rate, n, d.file.Channels, d.file.Rate)
	}
	if err == nil {
		s.Floats(to)
		return nil
	}
	if !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrMemory) {
		err = fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}
	return err
}
