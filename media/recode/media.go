package recode

import (
	"context"
	"math"
	"math/big"
	"os"

	"github.com/headrace/headrace/media/sound"
)

// Media decodes a video from its beginning to its end, and what is heard meanwhile. The
// samples of a piece begin with its first frame and end where the next piece begins; of
// the last they end with its last frame. Sample n of all is heard n samples after the
// first frame, to half a sample. It has to be closed.
type Media struct {
	*Frames
	sound        sound.Aligned
	rate         int
	begin, until float64 // seconds: the first frame, and the end of the piece that came last
	handed       int64   // samples
}

// OpenMedia begins with a file, which has to stay open. The window is that of the frames.
func OpenMedia(ctx context.Context, file *os.File, f FramesOptions, s SamplesOptions) (*Media, error) {
	frames, err := OpenFrames(file, f)
	if err != nil {
		return nil, err
	}
	m := &Media{Frames: frames}
	if err := m.open(ctx, file, s); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Media) open(ctx context.Context, file *os.File, o SamplesOptions) error {
	if _, err := m.await(ctx); err != nil {
		return err
	}
	m.begin = m.next(ctx)
	m.until = m.begin
	o.Start, o.End = nil, nil
	if m.begin > sound.Margin { // else sound may begin before the first frame
		o.Start = new(big.Rat).SetFloat64(m.begin - sound.Margin)
	}

	s, err := OpenSamples(file, o)
	if o.silent(err) && o.Rate > 0 {
		m.rate, m.sound.Channels = o.Rate, max(o.Channels, 1)
		return nil
	}
	if err != nil {
		return err
	}
	m.rate, m.sound = s.Rate(), sound.AlignedAt(s, m.begin)
	return nil
}

// next is when the next piece begins, or where the last ends.
func (m *Media) next(ctx context.Context) float64 {
	if ok, err := m.await(ctx); ok && err == nil { // of an error the next piece tells
		return max(m.second(m.waiting), m.until) // times may go back, where files were put together
	}
	end := m.second(m.end)
	if m.options.End != nil {
		until, _ := m.options.End.Float64()
		end = min(end, until)
	}
	return max(end, m.until)
}

// Next is that of Frames.
func (m *Media) Next(ctx context.Context, to []byte, times []float64) (n int, err error) {
	if n, err = m.Frames.Next(ctx, to, times); err == nil && n > 0 {
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
	m.Frames.Close()
	m.sound.Close()
}
