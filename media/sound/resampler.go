package sound

import "math"

// Resampler brings samples in memory from a rate to another. Any number of goroutines may
// use it.
type Resampler struct {
	filter   *filter
	from, to int
}

// NewResampler makes the filter of two rates, or tells why they cannot be brought to each
// other.
func NewResampler(from, to int) (*Resampler, error) {
	if err := resamples(from, to); err != nil {
		return nil, err
	}
	up, down := ratio(from, to)
	return &Resampler{newFilter(up, down), from, to}, nil
}

// Len returns how many samples come of n.
func (r *Resampler) Len(n int) int { return int(resampled(int64(n), r.from, r.to)) }

// Run fills to with the samples of one channel. Before and after the input there is
// silence.
func (r *Resampler) Run(to, in []float32) {
	memory := rooms.Get().(*room)
	defer rooms.Put(memory)
	for from := 0; from < len(to); {
		n := min(len(to)-from, int(pieces))
		first, last := r.filter.needs(int64(from), int64(from+n))
		all := grown(&memory.one, int(last-first))
		clear(all)
		if begin, end := max(first, 0), min(last, int64(len(in))); begin < end {
			copy(all[begin-first:], in[begin:end])
		}
		kernel(to[from:from+n], all, r.filter.sets, r.filter.places(int64(from), first, 1))
		from += n
	}
}

// Speeds are multiples of 1/[SpeedSteps].
const SpeedSteps = 1000

// NewSpeed makes recordings faster by a factor, to three decimals: as a resampler of what
// would have so many more samples a second.
func NewSpeed(factor float64) (*Resampler, error) {
	return NewResampler(int(math.Round(factor*SpeedSteps)), SpeedSteps)
}
