package sound

import (
	"context"
	"errors"
	"math"

	"github.com/headrace/headrace/media/av"
)

// Played is the sound of a file from some time on, read forwards. It must be closed,
// which leaves the file open.
type Played interface {
	Rate() int
	Channels() int
	// Second is when the next sample is played. 0 is the first frame of the file's video,
	// or, where it has none, its first sample.
	Second() float64
	// Next decodes samples of all channels, side by side, and returns how many of each
	// there are: fewer than there is room for at the end, and none after it.
	Next(ctx context.Context, to []float32) (n int, err error)
	Close()
}

// PlayOptions say what is played, and how it comes out.
type PlayOptions struct {
	Track          int     // as for [Open]
	Begin, End     float64 // seconds; what comes may begin earlier
	Rate, Channels int     // 0: as they are
	Keep           bool    // of a file that is cut off or damaged, what is there is played
	av.Choice              // of a decoder
}

// A SilentError says that there is no sound in a window, and why.
type SilentError struct{ Err error }

// Error implements error.
func (e *SilentError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *SilentError) Unwrap() error { return e.Err }

var player func(File, PlayOptions) (Played, error)

// RegisterPlayer makes known what plays files. It is to be called before anything is
// opened.
func RegisterPlayer(play func(File, PlayOptions) (Played, error)) { player = play }

// Play opens the sound of a file, which has to stay open. A [SilentError] says that there
// is none.
func Play(file File, o PlayOptions) (Played, error) {
	if player == nil {
		return nil, errors.New("sound: this program plays no files: import github.com/headrace/headrace/media/recode")
	}
	return player(file, o)
}

// Aligned is what is heard from a moment on: silence, where there is no sound. It must be
// closed.
type Aligned struct {
	Sound    Played // nil: there is none
	Channels int
	Ahead    int64 // samples of Sound before that moment; negative: so many are missing
}

// Margin is how much more than a window is decoded on both sides, in seconds, so that a
// resampler hears what comes before and after.
const Margin = 0.25

// AlignedAt is what is heard from a second on, of sound that need not begin there. Sample
// n is heard n samples after it, to half a sample.
func AlignedAt(s Played, begin float64) Aligned {
	return Aligned{Sound: s, Channels: s.Channels(), Ahead: int64(math.Round((begin - s.Second()) * float64(s.Rate())))}
}

// Fill decodes the next samples of all channels, side by side. After the end there is
// silence.
func (a *Aligned) Fill(ctx context.Context, to []float32) error {
	for len(to) > 0 {
		n, err := a.Next(ctx, to)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		to = to[n*a.Channels:]
	}
	clear(to)
	return nil
}

// Next decodes samples as Fill does, and returns the number of each channel: none after
// the end of the sound.
func (a *Aligned) Next(ctx context.Context, to []float32) (int, error) {
	if a.Sound == nil {
		return 0, nil
	}
	if a.Ahead < 0 {
		n := min(int(-a.Ahead), len(to)/a.Channels)
		clear(to[:n*a.Channels])
		a.Ahead += int64(n)
		return n, nil
	}

	for skip := make([]float32, min(a.Ahead, 1<<14)*int64(a.Channels)); a.Ahead > 0; {
		n, err := a.Sound.Next(ctx, skip[:min(int(a.Ahead)*a.Channels, len(skip))])
		if err != nil {
			return 0, err
		}
		if a.Ahead -= int64(n); n == 0 {
			a.Ahead = 0 // it has ended
		}
	}
	return a.Sound.Next(ctx, to[:min(len(to), a.Channels<<16)])
}

// Close gives back what the decoder holds.
func (a *Aligned) Close() {
	if a.Sound != nil {
		a.Sound.Close()
	}
}

// playedWindow is a window that is read forwards.
type playedWindow struct {
	*Window
	at int64
}

// PlayWindow reads a window forwards, from a sample on. It is closed with it.
func PlayWindow(w *Window, at int64) Played { return &playedWindow{w, at} }

// Second implements [Played].
func (p *playedWindow) Second() float64 { return float64(p.at) / float64(p.Rate()) }

// Next implements [Played].
func (p *playedWindow) Next(_ context.Context, to []float32) (int, error) {
	n := min(int64(len(to)/p.Channels()), max(p.Samples()-p.at, 0))
	if n == 0 {
		return 0, nil
	}
	if err := p.Read(to[:n*int64(p.Channels())], p.at); err != nil {
		return 0, err
	}
	p.at += n
	return int(n), nil
}

// filteredPlayed is the sound from a second on, after a graph.
type filteredPlayed struct {
	*Filtered
	from  Aligned
	begin float64
}

// FilterPlayed has the sound from a second on go through a graph: so many samples of each
// channel, or all, if that is negative. A rate or channels of 0 are those of the
// graph. It is closed with the result, and if that fails.
func FilterPlayed(graph string, from Aligned, begin float64, count int64, rate, channels int) (Played, error) {
	in := Info{Rate: from.Sound.Rate(), Channels: from.Channels}
	if s, ok := from.Sound.(interface{ Info() Info }); ok {
		in.Mask = s.Info().Mask
	}
	p := &filteredPlayed{from: from, begin: begin}
	f, err := NewFiltered(graph, in, func(ctx context.Context, to []float32) (int, error) {
		n := int64(len(to) / in.Channels)
		if count >= 0 {
			n = min(n, count)
		}
		if n == 0 {
			return 0, nil
		}
		k, err := p.from.Next(ctx, to[:n*int64(in.Channels)])
		count -= int64(k)
		return k, err
	}, rate, channels)
	if err != nil {
		from.Close()
		return nil, err
	}
	p.Filtered = f
	return p, nil
}

// Second implements [Played].
func (p *filteredPlayed) Second() float64 { return p.begin + float64(p.at)/float64(p.Rate()) }

// Damaged implements [Patched].
func (p *filteredPlayed) Damaged() bool {
	is, ok := p.from.Sound.(Patched)
	return ok && is.Damaged()
}

// Close implements [Played].
func (p *filteredPlayed) Close() {
	p.Filtered.Close()
	p.from.Close()
}
