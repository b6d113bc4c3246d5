package resample

import "math"

// Bits is the number of bits behind the point of a weight.
const Bits = 22

// Half is added before the bits behind the point are cut off.
const Half = 1 << (Bits - 1)

// Table tells how a row of In pixels becomes Out pixels, of which only those from First to First+len(Spans)-1 are computed.
type Table struct {
	In, Out, First int
	Flip           bool   // spans stand in reverse order: the last pixel of the window comes first
	Spans          []Span // one for each pixel computed
	Weights        []int32
	Taps           int // length of the longest span

	// Version counts how often the table was filled: the same number means the same table.
	Version uint64
}

// Span is the run of input pixels that make one output pixel, and where its weights begin.
type Span struct{ Start, Len, At int32 }

// Set fills the table. If it holds what is asked for already, that takes no time: neighbours in a data set are often of one size.
func (t *Table) Set(in, out, first, n int, flip bool) {
	if t.Version > 0 && t.In == in && t.Out == out && t.First == first && len(t.Spans) == n && t.Flip == flip {
		return
	}
	t.In, t.Out, t.First, t.Flip = in, out, first, flip
	t.Version++
	t.Spans, t.Weights, t.Taps = t.Spans[:0], t.Weights[:0], 0
	for i := range n {
		if flip {
			i = n - 1 - i
		}
		t.add(first + i)
	}
}

// VerticalFirst tells the order of the passes, which matters because there is rounding in between: the vertical one comes first
// where it shortens the picture by more than twice what the horizontal one takes from its width.
func VerticalFirst(x, y *Table) bool {
	if x.Identity() || y.Identity() {
		return false
	}
	return y.In > y.Out && y.In-y.Out > 2*(x.In-x.Out)
}

// Identity reports whether the table copies its window unchanged.
func (t *Table) Identity() bool { return t.In == t.Out }

// Bounds returns the first input pixel that is looked at, and the one after the last.
func (t *Table) Bounds() (lo, hi int) {
	if len(t.Spans) == 0 {
		return 0, 0
	}
	a, b := t.Spans[0], t.Spans[len(t.Spans)-1]
	if t.Flip {
		a, b = b, a
	}
	return int(a.Start), int(b.Start + b.Len)
}

// add appends the span of one output pixel.
func (t *Table) add(x int) {
	at := int32(len(t.Weights))
	if t.Identity() {
		t.Spans = append(t.Spans, Span{int32(x), 1, at})
		t.Weights = append(t.Weights, 1<<Bits)
		t.Taps = 1
		return
	}
	scale := float64(t.In) / float64(t.Out)
	support := max(scale, 1)
	inverse := 1 / support
	centre := float64((float64(x) + 0.5) * scale)
	lo := max(int(centre-support+0.5), 0)
	hi := min(int(centre+support+0.5), t.In)
	var sum float64
	var stack [64]float64
	raw := stack[:0]
	for k := range hi - lo {
		w := max(1-math.Abs(float64((float64(k+lo)-centre+0.5)*inverse)), 0)
		raw = append(raw, w)
		sum += w
	}
	for _, w := range raw {
		if sum != 0 {
			w /= sum
		}
		t.Weights = append(t.Weights, int32(0.5+float64(w*(1<<Bits))))
	}
	t.Spans = append(t.Spans, Span{int32(lo), int32(hi - lo), at})
	t.Taps = max(t.Taps, hi-lo)
}
