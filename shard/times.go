package shard

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// Times are a column of the index that says when each sample was, in the order of time
// within a group.
type Times struct {
	d      *Dataset
	column string
	unit   float64 // in seconds
	groups *Groups
}

// Times finds a column of times: dates, or numbers, which are seconds.
func (d *Dataset) Times(ctx context.Context, column string, groups *Groups) (*Times, error) {
	r, err := d.Select(ctx, Column{From: column})
	if err != nil {
		return nil, err
	}
	is := r.Types()[0]
	if !r.counted(0) || is.DType == tensor.Bool {
		return nil, fmt.Errorf("%w: %q is %v: times are numbers or timestamps of Parquet or Arrow files", ErrUnsupported, column, is)
	}
	t := &Times{d: d, column: column, unit: secondsOf(is), groups: groups}
	return t, t.check(ctx)
}

// secondsOf returns the unit of a column of times.
func secondsOf(is sample.Type) float64 {
	if is.Logical == nil {
		return 1
	}
	_, unit, _ := strings.Cut(strings.TrimSuffix(is.Logical.Name, "]"), "[")
	unit, _, _ = strings.Cut(unit, ", ")
	if s, ok := map[string]float64{"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "day": 86400}[unit]; ok {
		return s
	}
	return 1
}

// check makes sure that each sample has a time, and that none is earlier than the one
// before it in its group.
func (t *Times) check(ctx context.Context) error {
	t.d.life.RLock()
	defer t.d.life.RUnlock()
	if t.d.closed {
		return ErrClosed
	}
	f := t.Finder()
	for g := range len(t.groups.starts) - 1 {
		var last instant
		for i := t.groups.starts[g]; i < t.groups.starts[g+1]; i++ {
			at, err := f.time(i)
			if err != nil {
				return err
			}
			if i > t.groups.starts[g] && f.seconds(last, at) < 0 {
				return t.refuse(i, "goes back in time", "sort the rows of each group by it")
			}
			if last = at; i%rowsAtOnce == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// refuse is the error for the time of a sample.
func (t *Times) refuse(i int64, why, instead string) error {
	shard, in := t.d.Place(i)
	return fmt.Errorf("%w: %q %s\nin %s, sample %d: %s", ErrUnsupported, t.column, why, shard, in, instead)
}

// Finder returns what finds samples by their time. It is for one goroutine.
func (t *Times) Finder() *Finder { return &Finder{t: t} }

// Finder finds neighbours by their time.
type Finder struct {
	t         *Times
	from, end int64 // samples of the shard that is read
	numbers   *index.Numbers
	at        numbered

	first, next int64 // samples whose times are here
	ints        [groupAtOnce]int64
	reals       [groupAtOnce]float64
}

// Near returns the sample of a group whose time is nearest to so many seconds after that
// of another one: of several the earliest, and of those with that time the first. 0 is
// the sample itself. Beyond reports that the time is before the first or after the last
// sample of the group by more than half of the step there.
func (f *Finder) Near(i int64, seconds float64, from, end int64) (at int64, beyond bool, err error) {
	f.t.d.life.RLock()
	defer f.t.d.life.RUnlock()
	if f.t.d.closed {
		return i, false, ErrClosed
	}
	if seconds == 0 {
		return i, false, nil
	}
	s := search{f: f, from: from, end: end}
	s.own, s.err = f.time(i)
	at, beyond = s.near(i, seconds)
	return at, beyond, s.err
}

// search looks for a time in a group. Its first error stays, and makes results worthless.
type search struct {
	f         *Finder
	from, end int64
	own       instant // from which times are counted
	err       error
}

func (s *search) near(i int64, seconds float64) (at int64, beyond bool) {
	switch high := s.notBefore(i, seconds); {
	case high == s.end:
		at = s.end - 1
		step := s.since(at) - s.since(max(at-1, s.from))
		return s.notBefore(at, s.since(at)), seconds-s.since(at) > step/2+slack
	case high == s.from:
		step := s.since(min(high+1, s.end-1)) - s.since(high)
		return high, s.since(high)-seconds > step/2+slack
	case seconds-s.since(high-1) <= s.since(high)-seconds:
		return s.notBefore(high-1, s.since(high-1)), false
	default:
		return high, false
	}
}

// notBefore returns the first sample of the group that is not before a time. It is looked
// for from a sample on, by steps that double.
func (s *search) notBefore(i int64, seconds float64) int64 {
	var low, high int64 // before it, and not
	step := int64(1)
	if s.since(i) < seconds {
		for low = i; low+step < s.end && s.since(low+step) < seconds; step *= 2 {
			low += step
		}
		high = min(low+step, s.end)
	} else {
		for high = i; high-step >= s.from && s.since(high-step) >= seconds; step *= 2 {
			high -= step
		}
		low = max(high-step, s.from-1)
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; s.since(middle) < seconds {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// slack is the error that sums of seconds may have.
const slack = 1e-6

// since returns the seconds from the time of s.own to that of a sample.
func (s *search) since(i int64) float64 {
	at, err := s.f.time(i)
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.f.seconds(s.own, at)
}

// instant is a time: one of the two, by its column.
type instant struct {
	whole int64
	real  float64
}

// seconds returns the time from one instant to another.
func (f *Finder) seconds(a, b instant) float64 {
	switch {
	case f.at.real:
		return (b.real - a.real) * f.t.unit
	case f.at.dtype == tensor.Uint64 && uint64(b.whole) < uint64(a.whole),
		f.at.dtype != tensor.Uint64 && b.whole < a.whole:
		return -float64(uint64(a.whole-b.whole)) * f.t.unit
	}
	return float64(uint64(b.whole-a.whole)) * f.t.unit
}

// time returns the instant of a sample.
func (f *Finder) time(i int64) (instant, error) {
	if i < f.first || i >= f.next {
		if err := f.read(i); err != nil {
			f.next = f.first // nothing is known
			return instant{}, err
		}
	}
	return instant{f.ints[i-f.first], f.reals[i-f.first]}, nil
}

// read reads the times of a sample and of those that the index has beside it.
func (f *Finder) read(i int64) error {
	if i < f.from || i >= f.end {
		shard, in := f.t.d.index.Find(i)
		s, err := f.t.d.segment(shard)
		if err != nil {
			return err
		}
		f.from, f.end = i-int64(in), i-int64(in)+int64(s.Len())
		f.numbers, f.at = s.Numbers(), numberOf(s, f.t.column)
	}
	in := int(i - f.from)
	in -= in % groupAtOnce
	n, err := f.numbers.Seek(in)
	if err != nil {
		shard, _ := f.t.d.Place(i)
		return &Error{Shard: shard, At: -1, Err: err}
	}
	f.first = f.from + int64(in)
	f.next = f.first + int64(n)

	none := -1
	switch {
	case f.at.at < 0: // a shard that lacks the column
		none = 0
	case f.at.real:
		f.numbers.Floats(f.reals[:n], in, f.at.at)
		for k, v := range f.reals[:n] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return f.t.refuse(f.first+int64(k), fmt.Sprintf("is %v", v), "each needs a time")
			}
		}
		if f.at.some {
			none = bits.TrailingZeros64(f.numbers.NoFloats(n, in, f.at.at))
		}
	default:
		f.numbers.Ints(f.ints[:n], in, f.at.at)
		if f.at.some {
			none = f.numbers.None(n, in, f.at.at)
		}
	}
	if none >= 0 && none < n {
		return f.t.refuse(f.first+int64(none), "has no value (null)", "each needs a time")
	}
	return nil
}
