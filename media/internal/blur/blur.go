package blur

import "sync"

// Rows are pixels of 8 bits in memory.
type Rows struct {
	Data                    []byte
	Stride                  int // bytes from row to row
	Width, Height, Channels int
}

// Blur changes pixels in place: across, then down. Beyond its edges an image is
// mirrored; one that is too small for that, as often as need be.
//
// Rows between the passes have Between bits of fractions. Both passes round to the
// nearest, halves up.
func Blur(p Rows, w *Weights, reach int) {
	if reach == 0 {
		return
	}
	n, edge, held := p.Width*p.Channels, reach*p.Channels, Held(p.Height, reach)
	memory := Take(held*n + n + 2*edge)
	defer Give(memory)
	ring, wide := (*memory)[:held*n], (*memory)[held*n:]
	sums := make([]int32, n)
	row := func(y int) []int16 { return ring[y%held*n:][:n] }
	next := 0
	for y := range p.Height {
		for ; next <= min(y+reach, p.Height-1); next++ {
			widen(wide, p.Data[next*p.Stride:][:n], p.Width, p.Channels, reach)
			begin(sums, wide[edge:], int32(w[0]), 1<<(Bits-Between-1))
			for k := 1; k <= reach; k++ {
				add(sums, wide[edge-k*p.Channels:], wide[edge+k*p.Channels:], int32(w[k]))
			}
			for i, to := 0, row(next); i < n; i++ {
				to[i] = int16(sums[i] >> (Bits - Between))
			}
		}
		begin(sums, row(y), int32(w[0]), 1<<(Bits+Between-1))
		for k := 1; k <= reach; k++ {
			add(sums, row(Mirrored(y-k, p.Height)), row(Mirrored(y+k, p.Height)), int32(w[k]))
		}
		for i, to := 0, p.Data[y*p.Stride:][:n]; i < n; i++ {
			to[i] = byte(sums[i] >> (Bits + Between))
		}
	}
}

// Held counts the rows between the passes that are needed at once.
func Held(height, reach int) int { return min(height, 2*reach+1) }

// Mirrored finds a row or column beyond an edge within an image of n: 0 is the first, and
// is not repeated.
func Mirrored(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	if i %= period; i < 0 {
		i += period
	}
	return min(i, period-i)
}

// widen gives a row the pixels beyond both edges.
func widen(to []int16, row []byte, width, channels, reach int) {
	for i, v := range row {
		to[reach*channels+i] = int16(v)
	}
	for k := 1; k <= reach; k++ {
		left, right := to[(reach-k)*channels:], to[(reach+width-1+k)*channels:]
		from, from2 := Mirrored(-k, width)*channels, Mirrored(width-1+k, width)*channels
		for c := range channels {
			left[c], right[c] = int16(row[from+c]), int16(row[from2+c])
		}
	}
}

// begin makes sums of one value, and of the half that rounds them.
func begin(sums []int32, a []int16, weight, half int32) {
	a = a[:len(sums)]
	for i := range sums {
		sums[i] = half + weight*int32(a[i])
	}
}

func add(sums []int32, a, b []int16, weight int32) {
	a, b = a[:len(sums)], b[:len(sums)]
	for i := range sums {
		sums[i] += weight * (int32(a[i]) + int32(b[i]))
	}
}

var memories sync.Pool

// Take returns memory for so many numbers. They hold anything.
func Take(n int) *[]int16 {
	if m, ok := memories.Get().(*[]int16); ok && cap(*m) >= n {
		*m = (*m)[:n]
		return m
	}
	m := make([]int16, n)
	return &m
}

// Give gives memory back; that of a giant among images is not kept.
func Give(m *[]int16) {
	if cap(*m) <= 1<<20 {
		memories.Put(m)
	}
}
