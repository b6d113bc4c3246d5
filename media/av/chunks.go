package av

import (
	"errors"
	"sort"
)

// Chunks divides a video into clips of Frames frames, Stride apart, whose starts are Step
// apart. All are at least 1.
type Chunks struct{ Frames, Stride, Step int }

// Len returns how many chunks a video of n frames has: as many as it takes until one has
// the last frame, and no further one.
func (c Chunks) Len(n int) int {
	if n <= 0 {
		return 0
	}
	span := (c.Frames-1)*c.Stride + 1
	covered := 1 + (max(0, n-span)+c.Step-1)/c.Step
	return min(covered, (n+c.Step-1)/c.Step)
}

// At returns the frames of one chunk of a video of n frames. The last one may be shorter.
func (c Chunks) At(n, chunk int) []int {
	first := chunk * c.Step
	return steps(first, min(n, first+(c.Frames-1)*c.Stride+1), c.Stride)
}

// Sampling takes a video apart into clips, each of which is asked for by its number.
// With Clip.Clips these are clips from that many places, otherwise pieces of the whole
// video, one after the other.
type Sampling struct {
	Clip Clip
	Step int  // from one piece to the next: in frames, or with Clip.Rate in frames at that rate
	Drop bool // clips without enough frames are left out; Clip.Short is Error
}

// Len returns how many clips a video gives.
func (s *Sampling) Len(l *Timeline) (int, error) {
	if err := s.Clip.Check(); err != nil {
		return 0, err
	}
	if l.Len() == 0 {
		return 0, ErrNoFrames
	}
	if s.Clip.Clips > 0 {
		if _, err := s.At(l, 0, func(int) int { return 0 }); s.Drop && errors.Is(err, ErrShort) {
			return 0, nil
		}
		return s.Clip.Clips, nil
	}
	chunks, whole, err := s.chunks(l)
	if err != nil {
		return 0, err
	}
	n := chunks.Len(whole)
	if n > 0 && s.Drop && len(chunks.At(whole, n-1)) < s.Clip.Frames {
		n--
	}
	return n, nil
}

// At returns the frames of a clip. Draw is that of [Clip.Pick]; each clip has its own.
func (s *Sampling) At(l *Timeline, clip int, draw func(n int) int) ([]int, error) {
	c := s.Clip
	if c.Clips > 0 {
		return c.pick(l, place{clip, c.Clips, c.Start, draw})
	}
	chunks, whole, err := s.chunks(l)
	if err != nil {
		return nil, err
	}
	frames := chunks.At(whole, clip)
	if c.Rate.Positive() {
		for i, n := range frames {
			frames[i] = l.At(s.tick(l, n))
		}
	}
	return c.filled(frames)
}

// chunks are the pieces of a video, and of how many frames: those that it has, or those
// at the rate.
func (s *Sampling) chunks(l *Timeline) (c Chunks, whole int, err error) {
	c = Chunks{Frames: s.Clip.Frames, Stride: max(1, s.Clip.Stride), Step: max(1, s.Step)}
	if !s.Clip.Rate.Positive() {
		return c, l.Len(), nil
	}
	if s.tick(l, most) < l.End {
		return c, 0, tooMany(s.Clip.Rate, l)
	}
	return c, sort.Search(most, func(i int) bool { return s.tick(l, i) >= l.End }), nil
}

// tick is when frame i at the rate is displayed.
func (s *Sampling) tick(l *Timeline, i int) int64 {
	return Rescale(int64(i), s.Clip.Rate.Inverse(), l.Base, Down)
}

// filled returns the frames of a clip with what stands for those that it lacks.
func (c *Clip) filled(frames []int) ([]int, error) {
	had := len(frames)
	for i := had; i < c.Frames; i++ {
		switch c.Short {
		case Repeat:
			frames = append(frames, frames[had-1])
		case Loop:
			frames = append(frames, frames[i%had])
		case Black:
			frames = append(frames, Blank)
		case Error:
			return nil, ErrShort
		}
	}
	return frames, nil
}
