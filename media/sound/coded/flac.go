package coded

import (
	"errors"
	"fmt"

	"headrace/media"
	"headrace/media/ffmpeg"
	"headrace/media/sound"
	"headrace/media/sound/flac"
)

// flacFormat is FLAC in files of its own, of which no more is read than the frames that
// are wanted, and what it takes to find the first of them.
var flacFormat = sound.Format{
	Name: "flac",
	Is:   flac.Is,
	Open: func(file []byte, track int) (sound.Stream, error) { return openFLAC(sound.InMemory(file), track) },
	OpenAt: func(file sound.File, track int) (sound.Stream, error) {
		return openFLAC(sound.OnDisk(file, flac.Together), track)
	},
}

// frames is the samples of a FLAC file.
type frames struct {
	file    *flac.File
	info    sound.Info
	decoder *ffmpeg.Decoder
	frame   ffmpeg.Frame
	now     flac.Frame // which it is
}

func openFLAC(content *sound.Content, track int) (sound.Stream, error) {
	if track > 0 {
		return nil, fmt.Errorf("sound: %w", said(noTrack(track, 1)))
	}
	file, err := flac.Open(content)
	if err != nil {
		return nil, said(err)
	}
	d, err := ffmpeg.NewDecoder(ffmpeg.Stream{Codec: "flac", Audio: true, Checked: true, Config: file.Config, Rate: file.Rate, Channels: file.Channels})
	if err != nil {
		return nil, said(err)
	}

	// The decoder knows where channels belong.
	r := &frames{file: file, decoder: d}
	first, err := file.Find(0)
	if err == nil {
		err = r.decode(first)
	}
	if err != nil {
		d.Close()
		return nil, said(err)
	}
	s := &r.frame.Sound
	r.info = sound.Info{Rate: file.Rate, Channels: file.Channels, Samples: file.Samples}
	if s.Layout>>32 == 0 {
		r.info.Mask = uint32(s.Layout)
	}
	return r, nil
}

// Info implements sound.Stream.
func (r *frames) Info() sound.Info { return r.info }

// Close gives back the decoder's memory.
func (r *frames) Close() { r.decoder.Close() }

// Read implements sound.Stream.
func (r *frames) Read(to []float32, from int64) error {
	channels := r.info.Channels
	if n := int64(len(to) / channels); from < 0 || from > r.info.Samples-n {
		return fmt.Errorf("sound: samples %d to %d are asked for, of %d", from, from+n, r.info.Samples)
	}
	for len(to) > 0 {
		if err := r.reach(from); err != nil {
			return said(err)
		}
		skip := int(from - r.now.Sample)
		n := min(r.now.Samples-skip, len(to)/channels)
		floatsFrom(to[:n*channels], &r.frame.Sound, skip)
		to, from = to[n*channels:], from+int64(n)
	}
	return nil
}

// reach decodes the frame that has a sample.
func (r *frames) reach(sample int64) error {
	begin, end := r.now.Sample, r.now.Sample+int64(r.now.Samples)
	if sample >= begin && sample < end {
		return nil
	}
	next := r.file.Find
	if sample == end {
		next = func(int64) (flac.Frame, error) { return r.file.Next(r.now) }
	}
	fr, err := next(sample)
	if err != nil {
		return err
	}
	return r.decode(fr)
}

func (r *frames) decode(fr flac.Frame) error {
	b, err := r.file.Bytes(fr)
	if err != nil {
		return err
	}
	r.now = flac.Frame{} // until it is decoded, no frame is
	if err := r.decoder.Feed(b, []ffmpeg.Packet{{Size: len(b), Key: true}}, false); err != nil {
		return err
	}
	err = r.decoder.Next(&r.frame)
	s := &r.frame.Sound
	if err == nil && (s.Samples != fr.Samples || s.Rate != r.file.Rate || s.Channels != r.file.Channels || len(s.Planes) == 0 || r.frame.Corrupt) {
		err = fmt.Errorf("it gives %d samples of %d channels at %d a second, and should give %d of %d at %d",
			s.Samples, s.Channels, s.Rate, fr.Samples, r.file.Channels, r.file.Rate)
	}
	if err != nil {
		if !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrMemory) {
			err = fmt.Errorf("%w: %w", media.ErrCorrupt, err)
		}
		return fmt.Errorf("sound: the frame of flac at %.3f s: %w", float64(fr.Sample)/float64(r.file.Rate), err)
	}
	r.now = fr
	return nil
}
