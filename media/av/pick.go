package av

import (
	"fmt"
	"math"
)

// Pick returns the frames of each clip, by number; [Blank] for those that are to be
// black. Draw returns a number from 0 to n-1, each as likely; it is asked once a clip, or
// once a segment.
//
// With n frames, of which the last ends at time e:
//
//   - Stride: frame s + i·stride, where s + (frames-1)·stride is below n for every
//     start s that can be drawn.
//   - Rate: the frame on screen at time t + i/rate, where t is when a frame begins, and
//     t + (frames-1)/rate is below e. With Duration, frames is duration·rate, rounded.
//   - Segments: one frame from ⌊i·n/segments⌋ to ⌊(i+1)·n/segments⌋ - 1: any, the middle
//     one, or the first.
//   - Rate with bounds: e·rate frames, at least Min and at most Max and n, both brought
//     to a multiple first, rounded down to a multiple; spread evenly.
//   - Frames alone: spread evenly, frame ⌊i·(n-1)/(frames-1) + ½⌋.
//
// Duration limits n to the frames that are on screen in a window that begins with a
// frame. Without a number of frames, there are as many as fit.
func (c *Clip) Pick(l *Timeline, draw func(n int) int) ([][]int, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if l.Len() == 0 {
		return nil, ErrNoFrames
	}
	clips := make([][]int, max(1, c.Clips))
	for i := range clips {
		frames, err := c.pick(l, place{i, len(clips), c.Start, draw})
		if err != nil {
			return nil, err
		}
		clips[i] = frames
	}
	return clips, nil
}

func (c *Clip) pick(l *Timeline, p place) ([]int, error) {
	switch {
	case c.Segments > 0:
		return c.segments(l.Len(), p)
	case c.bounded():
		return c.spread(0, l.Len(), c.adapted(l))
	case c.Rate.Positive():
		return c.rated(l, p)
	}
	first, n, err := c.window(l, p)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Stride > 0 && c.Frames > 0:
		return c.strided(l, p)
	case c.Stride > 0:
		return steps(first, first+n, c.Stride), nil
	case c.Frames > 0:
		return c.spread(first, n, c.Frames)
	}
	return steps(first, first+n, 1), nil
}

func (c *Clip) bounded() bool { return c.Min > 0 || c.Max > 0 || c.Multiple > 0 }

// A place is where one of several clips begins.
type place struct {
	clip, clips int
	start       Start
	draw        func(n int) int
}

// among returns one of the starts 0 to last.
func (p place) among(last int) int {
	switch p.start {
	case Random:
		return p.draw(last + 1)
	case Center:
		return (2*p.clip + 1) * last / (2 * p.clips)
	case Begin:
		return p.clip * last / max(1, p.clips-1)
	}
	return 0
}

// strided takes every Stride-th frame.
func (c *Clip) strided(l *Timeline, p place) ([]int, error) {
	n := l.Len()
	from := 0
	if c.Start == At {
		from = c.at(l)
	} else if last := n - 1 - (c.Frames-1)*c.Stride; last > 0 {
		from = p.among(last)
	}
	frames := make([]int, c.Frames)
	for i := range frames {
		var err error
		if frames[i], err = c.beyond(from+i*c.Stride, n); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

// beyond returns what means frame i of a video of n.
func (c *Clip) beyond(i, n int) (int, error) {
	if i < n {
		return i, nil
	}
	switch c.Short {
	case Loop:
		return i % n, nil
	case Black:
		return Blank, nil
	case Error:
		return 0, ErrShort
	}
	return n - 1, nil
}

// Count returns how many frames every video gives; 0 if that depends on the video.
func (c *Clip) Count() int {
	switch {
	case c.Segments > 0:
		return c.Segments
	case c.Frames > 0:
		return c.Frames
	case c.Rate.Positive() && c.Duration > 0:
		return max(1, int(min(most, math.Floor(c.Duration*c.Rate.Float()+0.5))))
	}
	return 0
}

// at returns the frame on screen at Seconds; one after the last if that is after the end.
func (c *Clip) at(l *Timeline) int {
	if tick := l.Tick(c.Seconds); tick < l.End {
		return l.At(tick)
	}
	return l.Len()
}

// rated takes the frames on screen at the steps of a grid.
func (c *Clip) rated(l *Timeline, p place) ([]int, error) {
	step := func(i int) int64 { return Rescale(int64(i), c.Rate.Inverse(), l.Base, Down) }
	count := c.Count()
	if count == 0 {
		return c.grid(l, step)
	}

	var from int64
	if c.Start == At {
		from = l.Tick(c.Seconds)
	} else if room := l.End - step(count-1); room > 0 {
		// The starts from which the last step is before the end.
		from = l.Start[p.among(max(0, l.At(room-1)))]
	}
	frames := make([]int, count)
	for i := range frames {
		tick := plus(from, step(i))
		if tick >= l.End {
			switch c.Short {
			case Loop:
				tick %= l.End
			case Black:
				frames[i] = Blank
				continue
			case Error:
				return nil, ErrShort
			}
		}
		frames[i] = l.At(tick)
	}
	return frames, nil
}

// grid takes the whole video, from where the clip starts.
func (c *Clip) grid(l *Timeline, step func(i int) int64) ([]int, error) {
	var from int64
	if c.Start == At {
		from = l.Tick(c.Seconds)
	}
	// A file may claim that a frame stays for years.
	if plus(from, step(most)) < l.End {
		return nil, tooMany(c.Rate, l)
	}
	var frames []int
	for i := 0; plus(from, step(i)) < l.End; i++ {
		frames = append(frames, l.At(from+step(i)))
	}
	return frames, nil
}

func tooMany(rate Rational, l *Timeline) error {
	return fmt.Errorf("%v frames a second of %.0f s are more than %d", rate, l.Seconds(l.End), most)
}

// window returns the frames that Duration leaves: the number of the first, and how many.
func (c *Clip) window(l *Timeline, p place) (first, n int, err error) {
	if c.Start == At && c.Stride*c.Frames == 0 {
		first = c.at(l)
		if first == l.Len() && c.Short == Error {
			return 0, 0, ErrShort
		}
		first = min(first, l.Len()-1)
	}
	if c.Duration == 0 {
		return first, l.Len() - first, nil
	}
	lasts := max(1, l.Tick(c.Duration))
	room := l.End - lasts
	switch {
	case c.Start == At:
		room -= l.Start[first]
	case room >= 0:
		first = p.among(l.At(room))
	}
	if room < 0 && c.Short == Error {
		return 0, 0, ErrShort
	}
	end := plus(l.Start[first], lasts)
	return first, l.At(end-1) + 1 - first, nil
}

// spread returns count frames from the first of n to the last.
func (c *Clip) spread(first, n, count int) ([]int, error) {
	if c.Short == Error && count > n {
		return nil, ErrShort
	}
	frames := make([]int, count)
	gaps := max(1, count-1)
	for i := range frames {
		frames[i] = first + (2*i*(n-1)+gaps)/(2*gaps)
	}
	return frames, nil
}

// adapted returns how many frames a video gives at Rate, within bounds.
func (c *Clip) adapted(l *Timeline) int {
	multiple := max(1, c.Multiple)
	down := func(n int) int { return n / multiple * multiple }
	least := down(c.Min + multiple - 1)
	greatest := l.Len()
	if c.Max > 0 {
		greatest = min(greatest, down(c.Max))
	}
	// One second has Rate frames.
	ideal := Rescale(l.End, l.Base, c.Rate.Inverse(), Down)
	n := min(max(int(min(ideal, most)), least), greatest)
	return max(multiple, down(n))
}

// segments takes one frame of each part. A video of fewer frames gives some twice.
func (c *Clip) segments(n int, p place) ([]int, error) {
	if c.Short == Error && c.Segments > n {
		return nil, ErrShort
	}
	frames := make([]int, c.Segments)
	for i := range frames {
		lo := i * n / c.Segments
		size := (i+1)*n/c.Segments - lo
		switch {
		case size <= 1 || c.Start == Begin:
		case c.Start == Center:
			lo += size / 2
		default:
			lo += p.draw(size)
		}
		frames[i] = lo
	}
	return frames, nil
}

// steps returns every stride-th number from first on, below end.
func steps(first, end, stride int) []int {
	frames := make([]int, 0, (end-first+stride-1)/stride)
	for i := first; i < end; i += stride {
		frames = append(frames, i)
	}
	return frames
}
