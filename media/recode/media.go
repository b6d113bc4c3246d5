package recode

import (
	"context"
	"math"
	"math/big"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound"
)

// Media decodes a video from its beginning to its end, and what is heard meanwhile. The
// samples of a piece begin with its first frame and end where the next piece begins; of
// the last they end with its last frame. Sample n of all is heard n samples after the
// first frame, to half a sample. It has to be closed.
type Media struct {
	pictures
	last         Second // where the window ends; nil: with the file
	sound        sound.Aligned
	rate         int
	begin, until float64 // seconds: the first frame, and the end of the piece that came last
	handed       int64   // samples
}

// pictures are frames one after the other, as they are decoded or after a graph.
type pictures interface {
	Form() media.Form
	Size() (width, height int)
	Next(ctx context.Context, to []byte, times []float64) (n int, err error)
	Close()
	// upcoming returns when the next one is displayed; false: there is none.
	upcoming(ctx context.Context) (second float64, ok bool, err error)
	// ends returns when the last that came leaves the screen.
	ends() float64
}

// OpenMedia begins with a file, which has to stay open. The window is that of the frames.
func OpenMedia(ctx context.Context, file *os.File, f FramesOptions, s SamplesOptions) (*Media, error) {
	m := &Media{last: f.End}
	if f.Filter != "" {
		frames, err := OpenFilteredFrames(ctx, file, f)
		if err != nil {
			return nil, err
		}
		m.pictures = frames
	} else {
		frames, err := OpenFrames(file, f)
		if err != nil {
			return nil, err
		}
		m.pictures = frames
	}
	if err := m.open(ctx, file, s); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Media) open(ctx context.Context, file *os.File, o SamplesOptions) error {
	if _, _, err := m.upcoming(ctx); err != nil {
		return err
	}
	m.begin = m.next(ctx)
	m.until = m.begin
	o.Start, o.End = nil, nil
	if m.begin > sound.Margin { // else sound may begin before the first frame
		o.Start = new(big.Rat).SetFloat64(m.begin - sound.Margin)
	}

	rate, channels := o.Rate, o.Channels
	if o.Filter != "" { // which they follow
		o.Rate, o.Channels = 0, 0
	}
	s, err := OpenSamples(file, o)
	o.Rate, o.Channels = rate, channels
	if o.silent(err) && o.Rate > 0 {
		m.rate, m.sound.Channels = o.Rate, max(o.Channels, 1)
		return nil
	}
	if err != nil {
		return err
	}
	m.rate, m.sound = s.Rate(), sound.AlignedAt(s, m.begin)
	if o.Filter == "" {
		return nil
	}
	f, err := sound.FilterPlayed(o.Filter, m.sound, m.begin, -1, rate, channels)
	if err != nil {
		m.sound = sound.Aligned{}
		return err
	}
	m.rate, m.sound = f.Rate(), sound.Aligned{Sound: f, Channels: f.Channels()}
	return nil
}

// next is when the next piece begins, or where the last ends.
func (m *Media) next(ctx context.Context) float64 {
	if at, ok, err := m.upcoming(ctx); ok && err == nil { // of an error the next piece tells
		return max(at, m.until) // times may go back, where files were put together
	}
	end := m.ends()
	if m.last != nil {
		until, _ := m.last.Float64()
		end = min(end, until)
	}
	return max(end, m.until)
}

// Next is that of Frames.
func (m *Media) Next(ctx context.Context, to []byte, times []float64) (n int, err error) {
	if n, err = m.pictures.Next(ctx, to, times); err == nil && n > 0 {
		m.until = m.next(ctx)
	}
	return n, err
}

// Rate is how many samples of each channel come in a second.
func (m *Media) Rate() int { return m.rate }

// Channels is how many come.
func (m *Media) Channels() int { return m.sound.Channels }

// Samples is how many of each channel belong to the piece that came last, and were not
// taken yet.
func (m *Media) Samples() int64 {
	return max(int64(math.Round((m.until-m.begin)*float64(m.rate)))-m.handed, 0)
}

// Sound decodes them to memory that has room for them.
func (m *Media) Sound(ctx context.Context, to []float32) error {
	m.handed += int64(len(to) / m.sound.Channels)
	return m.sound.Fill(ctx, to)
}

// Close gives back the decoders' memory.
func (m *Media) Close() {
	m.pictures.Close()
	m.sound.Close()
}
