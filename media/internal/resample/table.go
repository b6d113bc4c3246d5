package resample

import (
	"math"
	"slices"
)

// Bits is the number of bits after the point of a weight for pixels of 8 bits.
const Bits = 22

// WideBits is the same for pixels of 16 bits: with 22, the roundings of the weights of
// a strong reduction would add up to more than a level.
const WideBits = 30

// Axis is what a table is for: how a row of In pixels becomes Out pixels, of which only
// N from First on are computed.
type Axis struct {
	In, Out, First, N int
	Filter            Filter
	Flip              bool // spans are in reverse order: the last pixel of the window comes first
	Wide              bool // weights have WideBits instead of Bits

	// From and Size, where Size is not 0, are the part of the row that is taken for the
	// whole: with fractions, for rows whose pixels do not be where those of the
	// image do. No pixel is looked at that is outside it altogether, unless Beside
	// says so: then the filter reaches beyond it.
	From, Size float64
	Beside     bool
}

// Table has the weights of an axis.
type Table struct {
	Axis
	Spans   []Span // one for each pixel computed
	Weights []int32
	Taps    int // length of the longest span

	// Version counts how often the table was filled: the same number means the same
	// table.
	Version uint64

	raw []float64
}

// Span is the run of input pixels that make one output pixel, and where its weights
// begin.
type Span struct{ Start, Len, At int32 }

// Set fills the table. If it holds what is asked for already, that takes no time:
// neighbours in a data set are often of one size.
func (t *Table) Set(a Axis) {
	if t.Version > 0 && t.Axis == a {
		return
	}
	t.Axis = a
	t.Version++
	t.Spans, t.Weights, t.Taps = t.Spans[:0], t.Weights[:0], 0
	if a.Filter == Nearest && !t.Identity() {
		t.nearest()
		return
	}
	for i := range a.N {
		if a.Flip {
			i = a.N - 1 - i
		}
		t.add(a.First + i)
	}
}

// nearest fills a table of single pixels. Pillow adds up the steps from pixel to pixel,
// and so is this: a product would now and then be rounded to the pixel beside it.
func (t *Table) nearest() {
	from, size, one := 0.0, float64(t.In), int32(1)<<Bits
	if t.Size != 0 {
		from, size = t.From, t.Size
	}
	if t.Wide {
		one = 1 << WideBits
	}
	step := size / float64(t.Out)
	centre := from + float64(step*0.5)
	for x := range t.First + t.N {
		if x >= t.First {
			at := min(max(int(centre), 0), t.In-1)
			t.Spans = append(t.Spans, Span{int32(at), 1, int32(len(t.Weights))})
			t.Weights = append(t.Weights, one)
		}
		centre += step
	}
	if t.Taps = 1; t.Flip {
		slices.Reverse(t.Spans)
	}
}

// VerticalFirst tells the order of the passes, which matters because there is rounding
// in between: the vertical one comes first where it shortens the image by more than
// twice what the horizontal one takes from its width.
func VerticalFirst(x, y *Table) bool {
	if x.Identity() || y.Identity() {
		return false
	}
	return y.In > y.Out && y.In-y.Out > 2*(x.In-x.Out)
}

// Reach is at most how many pixels of in one of out is made of.
func (f Filter) Reach(in, out int) int64 {
	return min(int64(in), int64(2*supports[f]*max(float64(in)/float64(out), 1))+2)
}

// TableBytes is at most what a table takes for n of the pixels, and what kernels make
// of it.
func TableBytes(in, out, n int, f Filter) int64 { return int64(n) * (f.Reach(in, out)*16 + 64) }

// Identity reports whether the table copies its window unchanged.
func (t *Table) Identity() bool { return t.In == t.Out && t.Size == 0 }

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
	one := float64(int(1) << Bits)
	if t.Wide {
		one = 1 << WideBits
	}

	at := int32(len(t.Weights))
	if t.Identity() {
		t.Spans = append(t.Spans, Span{int32(x), 1, at})
		t.Weights = append(t.Weights, int32(one))
		t.Taps = 1
		return
	}

	from, size, first, end := 0.0, float64(t.In), 0, t.In
	if t.Size != 0 {
		from, size = t.From, t.Size
		if !t.Beside {
			first, end = int(t.From), min(int(math.Ceil(t.From+t.Size)), t.In)
		}
	}

	scale := size / float64(t.Out)
	widened := max(scale, 1)
	support := float64(supports[t.Filter] * widened)
	centre := from + float64((float64(x)+0.5)*scale)
	lo := max(int(centre-support+0.5), first)
	hi := min(int(centre+support+0.5), end)

	t.raw = t.Filter.sample(t.raw[:0], lo, hi-lo, centre, 1/widened)
	var sum float64
	for _, w := range t.raw {
		sum += w
	}
	for _, w := range t.raw {
		if sum != 0 {
			w /= sum
		}
		t.Weights = append(t.Weights, int32(math.Copysign(0.5, w)+float64(w*one)))
	}

	t.Spans = append(t.Spans, Span{int32(lo), int32(hi - lo), at})
	t.Taps = max(t.Taps, hi-lo)
}
