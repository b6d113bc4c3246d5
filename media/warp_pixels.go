package media

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/headrace/headrace/tensor"
)

// Points have 16 bits of fractions. The x of one outside of the image is outside.
const (
	pointBits = 16
	outside   = -1
)

// warpLine has the points of a row.
type warpLine struct{ x, y []int64 }

var warpLines = sync.Pool{New: func() any { return new(warpLine) }}

// WarpInto makes to, which has the size of the stage's result but for colours, by the
// stage's warp of its input, which it may change. It defines the pixels of
// a warp. Colours are weighted by how opaque they are, around the image too.
func (s *Stage) WarpInto(to, in Pixels) {
	Border(to, Rect{}, s.Fill)
	at := s.Target()
	if at == (Rect{}) {
		return
	}
	to = to.part(at)
	if to.Color == RGBA && s.Warp.Filter != Nearest {
		multiplyAlpha(in)
		multiplyAlpha(to)
		defer divideAlpha(to)
	}
	s.warped(to, in)
}

// warped is WarpInto within the target. Pixels from outside stay as they are.
func (s *Stage) warped(to, in Pixels) {
	l := warpLines.Get().(*warpLine)
	defer warpLines.Put(l)
	if cap(l.x) < to.Width {
		l.x, l.y = make([]int64, to.Width), make([]int64, to.Width)
	}
	w, g := s.Warp, s.Grid()
	fixed, isFixed := w.Fixed(Size{s.Height, s.Width})
	w.waves(Size{s.Height, s.Width}, func(waves []int16) {
		for y := range to.Height {
			xs, ys := l.x[:to.Width], l.y[:to.Width]
			if isFixed {
				w.fixedPoints(xs, ys, &fixed, &g, y)
			} else {
				w.points(xs, ys, &g, y, waves, s.Width)
			}
			sample(to, in, w, y, xs, ys)
		}
	})
}

func (w *Warp) fixedPoints(xs, ys []int64, f *Fixed, g *Grid, row int) {
	px, py := int64(g.X+row*g.DownX), int64(g.Y+row*g.DownY)
	x, y := f.X+px*f.XByX+py*f.XByY, f.Y+px*f.YByX+py*f.YByY
	byX := int64(g.RightX)*f.XByX + int64(g.RightY)*f.XByY
	byY := int64(g.RightX)*f.YByX + int64(g.RightY)*f.YByY
	width, height := int64(w.Of.Width)<<pointBits, int64(w.Of.Height)<<pointBits
	for i := range xs {
		xs[i], ys[i] = x, y
		if x < 0 || x >= width || y < 0 || y >= height {
			xs[i] = outside
		}
		x, y = x+byX, y+byY
	}
}

func (w *Warp) points(xs, ys []int64, g *Grid, row int, waves []int16, width int) {
	for i := range xs {
		px, py := g.X+row*g.DownX+i*g.RightX, g.Y+row*g.DownY+i*g.RightY
		x, y := w.Map.At(float64(px)+.5, float64(py)+.5)
		if waves != nil {
			x += float64(float64(waves[2*(py*width+px)]) * w.Waves.X)
			y += float64(float64(waves[2*(py*width+px)+1]) * w.Waves.Y)
		}
		if !(x >= 0 && x < float64(w.Of.Width) && y >= 0 && y < float64(w.Of.Height)) {
			xs[i] = outside
			continue
		}
		xs[i], ys[i] = int64(float64(x*(1<<pointBits))), int64(float64(y*(1<<pointBits)))
	}
}

// sample takes the pixels of a row from their points.
func sample(to, in Pixels, w *Warp, row int, xs, ys []int64) {
	n := to.PixelBytes()
	out := to.Row(row)
	at := corner{x: w.X, y: w.Y, width: w.Of.Width, height: w.Of.Height}
	switch {
	case w.Filter == Nearest:
		for i, x := range xs {
			if x != outside {
				from := (int(ys[i]>>pointBits)-w.Y)*in.Stride + (int(x>>pointBits)-w.X)*n
				copy(out[i*n:][:n], in.Data[from:])
			}
		}
	case w.Filter == Bicubic:
		for i, x := range xs {
			if x != outside {
				at.bicubic(out[i*n:][:n], in, x, ys[i])
			}
		}
	case to.DType == tensor.Uint16:
		for i, x := range xs {
			if x != outside {
				at.bilinear16(out[i*n:][:n], in, x, ys[i])
			}
		}
	default:
		for i, x := range xs {
			if x != outside {
				at.bilinear8(out[i*n:][:n], in, x, ys[i])
			}
		}
	}
}

// corner is the beginning of the pixels that are there, in an image of a size.
type corner struct{ x, y, width, height int }

// at returns the place of a pixel in memory: of the nearest one within the image.
func (c *corner) at(in Pixels, x, y int) int {
	x, y = min(max(x, 0), c.width-1), min(max(y, 0), c.height-1)
	return (y-c.y)*in.Stride + (x-c.x)*in.PixelBytes()
}

// Bilinear of 8 bits takes shares of pixels of 1/2048, and weights of 14 bits, which
// make up 1<<14 together and are never below 0. Fractions of levels are cut off, as
// Pillow does.
const (
	shareBits  = 11
	weightBits = 14
)

func (c *corner) bilinear8(to []byte, in Pixels, x, y int64) {
	const rest = pointBits - shareBits
	u, v := int((x-1<<(pointBits-1)+1<<(rest-1))>>rest), int((y-1<<(pointBits-1)+1<<(rest-1))>>rest)
	fx, fy := u&(1<<shareBits-1), v&(1<<shareBits-1)
	x0, y0 := u>>shareBits, v>>shareBits
	both := fx * fy >> (2*shareBits - weightBits)
	right, below := fx<<(weightBits-shareBits)-both, fy<<(weightBits-shareBits)-both
	own := 1<<weightBits - right - below - both
	a, b := in.Data[c.at(in, x0, y0):], in.Data[c.at(in, x0+1, y0):]
	d, e := in.Data[c.at(in, x0, y0+1):], in.Data[c.at(in, x0+1, y0+1):]
	for i := range to {
		to[i] = byte((own*int(a[i]) + right*int(b[i]) + below*int(d[i]) + both*int(e[i])) >> weightBits)
	}
}

// bilinear16 takes all bits of the fractions.
func (c *corner) bilinear16(to []byte, in Pixels, x, y int64) {
	x, y = x-1<<(pointBits-1), y-1<<(pointBits-1)
	fx, fy := uint64(x)&(1<<pointBits-1), uint64(y)&(1<<pointBits-1)
	x0, y0 := int(x>>pointBits), int(y>>pointBits)
	const one = 1 << pointBits
	a, b := in.Data[c.at(in, x0, y0):], in.Data[c.at(in, x0+1, y0):]
	d, e := in.Data[c.at(in, x0, y0+1):], in.Data[c.at(in, x0+1, y0+1):]
	value := func(p []byte, i int) uint64 { return uint64(binary.NativeEndian.Uint16(p[i:])) }
	for i := 0; i < len(to); i += 2 {
		sum := (one-fy)*((one-fx)*value(a, i)+fx*value(b, i)) + fy*((one-fx)*value(d, i)+fx*value(e, i))
		binary.NativeEndian.PutUint16(to[i:], uint16(sum>>(2*pointBits)))
	}
}

// CubicWeights returns those of four pixels in a row by the share of the second that is
// passed: Pillow's curve for this, a = -1, is not that of its resizes.
func CubicWeights() *[1 << shareBits][4]int16 { return cubicWeights() }

var cubicWeights = sync.OnceValue(func() *[1 << shareBits][4]int16 {
	w := new([1 << shareBits][4]int16)
	for i := range w {
		d := float64(i) / (1 << shareBits)
		curve := [4]float64{-d * (1 - d) * (1 - d), 0, d * (1 + d - d*d), -d * d * (1 - d)}
		left := 1 << weightBits
		for k, v := range curve {
			w[i][k] = int16(math.RoundToEven(v * (1 << weightBits))) // products of few bits: exact everywhere
			left -= int(w[i][k])
		}
		w[i][1] = int16(left)
	}
	return w
})

// bicubic rounds rows to 64ths of a level, if it is one of 8 bits, and cuts off fractions
// at last, as Pillow does.
func (c *corner) bicubic(to []byte, in Pixels, x, y int64) {
	const rest = pointBits - shareBits
	u, v := int((x-1<<(pointBits-1)+1<<(rest-1))>>rest), int((y-1<<(pointBits-1)+1<<(rest-1))>>rest)
	across, down := &cubicWeights()[u&(1<<shareBits-1)], &cubicWeights()[v&(1<<shareBits-1)]
	x0, y0 := u>>shareBits-1, v>>shareBits-1
	wide := in.DType == tensor.Uint16
	cut, most, step := 8, 255, 1
	if wide {
		cut, most, step = 0, 65535, 2
	}

	var from [4][4]int
	for k := range from {
		for i := range from[k] {
			from[k][i] = c.at(in, x0+i, y0+k)
		}
	}
	for i := 0; i < len(to); i += step {
		sum := 0
		for k := range from {
			row := 0
			for j, at := range from[k] {
				value := int(in.Data[at+i])
				if wide {
					value = int(binary.NativeEndian.Uint16(in.Data[at+i:]))
				}
				row += int(across[j]) * value
			}
			sum += int(down[k]) * ((row + 1<<cut>>1) >> cut)
		}
		sum = min(max(sum>>(2*weightBits-cut), 0), most)
		if wide {
			binary.NativeEndian.PutUint16(to[i:], uint16(sum))
		} else {
			to[i] = byte(sum)
		}
	}
}
