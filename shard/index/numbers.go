package index

import (
	"encoding/binary"
	"math"
)

// Numbers reads the numbers of many samples of a segment. Those of one group are found
// together, so neighbours cost little more than one sample. It is for one goroutine.
type Numbers struct {
	s      *Segment
	group  int // that is read; -1: none is
	n      int // samples of it
	ints   []packed
	none   []packed // of those that not all samples have
	floats []byte
	at     []int // into none, by number of Ints, then of Floats; -1: all samples have it
	keyed  bool  // samples of the group have keys
}

// Numbers returns a reader of the segment's numbers.
func (s *Segment) Numbers() *Numbers {
	r := &Numbers{s: s, group: -1, at: make([]int, len(s.Ints)+len(s.Floats)),
		ints: make([]packed, len(s.Ints)), none: make([]packed, len(s.absent))}
	for i := range r.at {
		r.at[i] = -1
	}
	for k, f := range s.absent {
		r.at[f] = k
	}
	return r
}

// Seek finds the group of sample i. It returns how many samples from i on are in it.
func (r *Numbers) Seek(i int) (left int, err error) {
	if g := i / groupSize; g == r.group && i < r.s.samples {
		return r.n - i%groupSize, nil
	}
	r.group = -1
	c, k, n, err := r.s.numbers(i)
	if err != nil {
		return 0, err
	}
	for f := range r.ints {
		r.ints[f] = c.packed(n)
	}
	for f := range r.none {
		r.none[f] = c.packed(n)
	}
	r.floats = c.bytes(8 * n * len(r.s.Floats))
	r.keyed = c.varint() != 0
	if c.bad {
		return 0, ErrDamaged
	}
	r.group, r.n = i/groupSize, n
	return n - k, nil
}

// Ints sets dst to number f of Ints of the samples from i on, which are in the group that
// Seek has found.
func (r *Numbers) Ints(dst []int64, i, f int) { r.ints[f].all(dst, i%groupSize) }

// None tells which of the first n samples from i on has none of number f of Ints; -1: all
// have one.
func (r *Numbers) None(n, i, f int) int {
	if r.at[f] < 0 {
		return -1
	}
	p := &r.none[r.at[f]]
	if p.width == 0 && p.least == 0 {
		return -1
	}
	for k := range n {
		if p.at(i%groupSize+k) != 0 {
			return k
		}
	}
	return -1
}

// Nones has a bit for each of the first n samples from i on, 64 at most, that has none of
// number f of Ints.
func (r *Numbers) Nones(n, i, f int) uint64 { return r.nones(n, i, f) }

// NoFloats is Nones of those of Floats.
func (r *Numbers) NoFloats(n, i, f int) uint64 { return r.nones(n, i, len(r.ints)+f) }

func (r *Numbers) nones(n, i, f int) (all uint64) {
	if r.at[f] < 0 {
		return 0
	}
	p := &r.none[r.at[f]]
	if p.width == 0 && p.least == 0 {
		return 0
	}
	for k := range n {
		if p.at(i%groupSize+k) != 0 {
			all |= 1 << k
		}
	}
	return all
}

// Bounds returns numbers between which number f of Ints is, of all samples of the group
// that Seek has found.
func (r *Numbers) Bounds(f int) (least, most int64) {
	p := &r.ints[f]
	if most = p.least + int64(uint64(1)<<p.width-1); p.width > 62 || most < p.least {
		most = math.MaxInt64
	}
	return p.least, most
}

// Floats sets dst to number f of Floats, as Ints does.
func (r *Numbers) Floats(dst []float64, i, f int) {
	b := r.floats[8*(r.n*f+i%groupSize):]
	b = b[:8*len(dst)]
	for k := range dst {
		dst[k] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:]))
	}
}

// Keyless reports whether no sample of the group that Seek has found has a key.
func (r *Numbers) Keyless() bool { return !r.keyed }

// Key appends the key of a sample.
func (r *Numbers) Key(i int, into []byte) ([]byte, error) { return r.s.Key(i, into) }
