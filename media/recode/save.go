package recode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// Saved is a stream that is made of arrays.
type Saved struct {
	ffmpeg.Encoding        // From is what comes; From.TimeBase is one frame, or one sample
	Filter          string // a graph that frames go through first; "": none
	Format          string // of frames or samples that the encoder is given; "": the best
	Tags            Tags   // that its options name
	Planes          bool   // frames keep their numbers, and tags say what these are
}

// Saver encodes arrays into a container. It has to be closed.
type Saver struct {
	writer  *ffmpeg.Writer
	streams []*saving
	beside  *beside // packets of a file; nil: none
}

// saving is a stream on its way: graph, encoder, writer.
type saving struct {
	Saved
	number  int
	graph   *ffmpeg.Graph
	encoder *ffmpeg.Encoder
	writer  *ffmpeg.Writer
	pts     int64
	each    int // bytes of a sample of all channels; 0: none came yet
	packet  packets.Packet
	bits    int // of the samples of frames that keep their numbers

	container string
	cut       uint32 // samples at the end so far that are not part of the recording
}

// NewSaver begins a container in an empty file. Packets of the file beside, unless that
// is nil, are copied as far as the first stream has come, and the rest at the end.
func NewSaver(out *os.File, to Container, streams []Saved, beside *Beside) (*Saver, error) {
	s := new(Saver)
	if err := s.open(out, to, streams, beside); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Saver) open(out *os.File, to Container, streams []Saved, beside *Beside) (err error) {
	if s.writer, err = ffmpeg.NewWriter(out, to.Format); err != nil {
		return err
	}
	for i, saved := range streams {
		one := &saving{Saved: saved, number: i, writer: s.writer, container: to.Format}
		s.streams = append(s.streams, one)
		if err := one.open(); err != nil {
			return err
		}
		if err := s.writer.Add(&one.encoder.Out); err != nil {
			return err
		}
	}
	if beside != nil {
		if s.beside, err = beside.open(s.writer, len(streams)); err != nil {
			return err
		}
	}
	return s.writer.Begin(to.Options)
}

// open makes the graph first, which says what the encoder is given.
func (s *saving) open() error {
	takes, err := ffmpeg.EncoderTakes(s.Codec)
	if err != nil {
		return err
	}
	if takes.Audio != s.From.Audio {
		return fmt.Errorf("%w: the codec %s is for %s", media.ErrUnsupported, s.Codec,
			map[bool]string{true: "sound", false: "images"}[takes.Audio])
	}
	formats, matrix, reach := cmp.Or(s.Format, s.formats(takes.Formats)), 0, 0
	if s.Planes {
		if formats, matrix, reach, err = s.untouched(takes.Formats); err != nil {
			return err
		}
	}
	graph := cmp.Or(s.Filter, map[bool]string{true: "anull", false: "null"}[takes.Audio])
	if rate := rateFor(s.From.Rate, takes.Rates); rate != s.From.Rate {
		graph += fmt.Sprintf(",aresample=%d", rate)
	}
	if s.graph, err = ffmpeg.NewGraph(graph, []ffmpeg.Port{s.From}, formats, formats); err != nil {
		return err
	}
	if n := len(s.graph.Outputs); n != 1 || s.graph.Outputs[0].Audio != s.From.Audio {
		return fmt.Errorf("%w: the filter of a stream must have one output of its kind", media.ErrUnsupported)
	}
	if f := s.graph.Outputs[0].Format; !s.From.Audio && !s.Planes {
		if matrix, reach, err = s.Tags.of(s.Codec, f); err != nil {
			return err
		}
		if err := s.Tags.lost(s.Codec, s.container, f, matrix, reach); err != nil {
			return err
		}
		if s.Tags != (Tags{}) && matrix > 0 || isGray(f) && reach == limited {
			s.graph.Close()
			if s.graph, err = ffmpeg.NewGraph(converted(graph, s.From.Format, f, matrix, reach), []ffmpeg.Port{s.From}, f, ""); err != nil {
				return err
			}
		}
	}

	e := s.Encoding
	e.From, e.HeadersApart = s.graph.Outputs[0], s.writer.HeadersApart
	e.From.Matrix, e.From.Range = matrix, reach
	if s.container == "avi" && e.BFrames < 0 { // it has no times of display, which H.264 and HEVC with B-frames need
		e.BFrames = 0
	}
	if !e.From.FrameRate.Positive() {
		e.From.FrameRate = s.From.FrameRate
	}
	if !e.From.Audio && e.From.FrameRate.Positive() && e.From.TimeBase == s.From.TimeBase {
		e.From.TimeBase = e.From.FrameRate.Inverse()
	}
	if s.encoder, err = ffmpeg.NewEncoder(e); err != nil {
		return err
	}
	if s.encoder.Samples > 0 {
		s.graph.Pieces(0, s.encoder.Samples)
	}
	return nil
}

// exact are the codecs that lose nothing but what the conversion of colours does.
var exact = []string{"ffv1", "huffyuv", "ffvhuff", "utvideo", "png", "apng", "rawvideo", "qtrle", "gif", "libx264rgb"}

// formats is what an encoder gets: the nearest to what comes, where it loses nothing;
// otherwise the one that every player knows.
func (s *saving) formats(all string) string {
	if s.From.Audio || slices.Contains(exact, s.Codec) {
		return cmp.Or(all, s.From.Format)
	}
	for _, one := range strings.Split(all, "|") { // Motion JPEG's first is the one of full range
		if one == "yuv420p" || one == "yuvj420p" {
			return one
		}
	}
	return cmp.Or(all, s.From.Format)
}

// rateFor is the lowest of some rates that is not below one, or the highest.
func rateFor(rate int, rates []int) int {
	if len(rates) == 0 || slices.Contains(rates, rate) {
		return rate
	}
	best := slices.Max(rates)
	for _, r := range rates {
		if r >= rate && r < best {
			best = r
		}
	}
	return best
}

// Write encodes frames of a stream, or samples, that come side by side: each frame, or
// each sample of all channels, has so many bytes.
func (s *Saver) Write(ctx context.Context, stream int, data []byte, each int) error {
	if stream < 0 || stream >= len(s.streams) {
		return fmt.Errorf("recode: there is no stream %d", stream)
	}
	one := s.streams[stream]
	if one.From.Audio && one.each == 0 {
		if err := one.prime(each); err != nil {
			return err
		}
	}
	for len(data) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := 1
		if one.From.Audio {
			n = min(pieces, len(data)/each)
		}
		if n*each > len(data) || n == 0 {
			return fmt.Errorf("recode: %d bytes are not whole frames of %d", len(data), each)
		}
		if err := one.fits(data[:n*each]); err != nil {
			return err
		}
		if err := one.graph.Push(0, &one.From, data[:n*each], n, one.pts); err != nil {
			return err
		}
		one.pts += int64(n)
		data = data[n*each:]
		if err := one.encode(); err != nil {
			return err
		}
		if s.beside != nil && stream == 0 {
			if err := s.beside.write(seconds(one.pts, one.From.TimeBase)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pieces is how many samples go through a graph at once.
const pieces = 1 << 12

// encode encodes what the graph has ready.
func (s *saving) encode() error {
	for {
		pts, err := s.graph.Pull(0)
		if errors.Is(err, ffmpeg.ErrNeeds) {
			return nil
		}
		if err == io.EOF {
			return s.drain()
		}
		if err != nil {
			return err
		}
		from, to := s.graph.Outputs[0].TimeBase, s.encoder.Out.TimeBase
		if from != to && pts != packets.NoTime && from.Positive() && to.Positive() {
			pts = av.Rescale(pts, from, to, av.Nearest)
		}
		if err := s.encoder.Push(s.graph, pts); err != nil {
			return err
		}
		if err := s.write(); err != nil {
			return err
		}
	}
}

func (s *saving) drain() error {
	if err := s.encoder.Push(nil, 0); err != nil {
		return err
	}
	return s.write()
}

func (s *saving) write() error {
	for {
		err := s.encoder.Pull(&s.packet)
		if errors.Is(err, ffmpeg.ErrNeeds) || err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.packet.Stream = s.number
		if s.packet.Duration == 0 && !s.From.Audio {
			s.packet.Duration = 1
		}
		if s.container == "mp3" { // FFmpeg writes what is cut of the last packet alone; LAME may have added all of it
			s.cut += s.packet.Cut
			s.packet.Cut = s.cut
		}
		if err := s.writer.Write(&s.packet, s.encoder.Out.TimeBase); err != nil {
			return err
		}
	}
}

// Finish encodes what is left, and ends the container.
func (s *Saver) Finish() error {
	for _, one := range s.streams {
		if err := one.flush(); err != nil {
			return err
		}
		if err := one.graph.End(0, ffmpeg.Untimed); err != nil {
			return err
		}
		if err := one.encode(); err != nil {
			return err
		}
	}
	if s.beside != nil {
		if err := s.beside.write(nil); err != nil {
			return err
		}
	}
	return s.writer.Finish()
}

// Close gives back what the saver holds.
func (s *Saver) Close() {
	for _, one := range s.streams {
		if one.graph != nil {
			one.graph.Close()
		}
		if one.encoder != nil {
			one.encoder.Close()
		}
	}
	if s.beside != nil {
		s.beside.close()
	}
	if s.writer != nil {
		s.writer.Close()
	}
}
