package order

// A Range says which of a number of samples come, as slices of Python do: from Start on,
// before Stop, every Step-th. nil leaves an end out, and numbers below 0 count from the
// end.
type Range struct {
	Start, Stop *int64
	Step        int64 // at least 1
}

// Of returns the range of n samples. Like Python's, it never asks for more than there
// are.
func (r Range) Of(n int64) Slice {
	within := func(end *int64, usual int64) int64 {
		switch {
		case end == nil:
			return usual
		case *end < 0:
			return max(0, n+*end)
		}
		return min(*end, n)
	}
	first, stop := within(r.Start, 0), within(r.Stop, n)
	if first >= stop {
		return Slice{Step: 1}
	}
	return Slice{First: first, Step: r.Step, Count: (stop-first-1)/r.Step + 1}
}

// A Slice is Count numbers from First on, each Step above the one before it.
type Slice struct{ First, Step, Count int64 }

// Len returns how many there are.
func (s Slice) Len() int64 { return s.Count }

// At returns number k, from 0.
func (s Slice) At(k int64) int64 { return s.First + k*s.Step }

// Each implements [Sequence].
func (s Slice) Each(all []int64) {
	if s.First == 0 && s.Step == 1 {
		return
	}
	for i, k := range all {
		all[i] = s.At(k)
	}
}

// Below returns how many of them are below i.
func (s Slice) Below(i int64) int64 {
	if i <= s.First {
		return 0
	}
	return min((i-s.First-1)/s.Step+1, s.Count)
}
