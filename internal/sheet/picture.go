package sheet

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Undo says what normalized values were before: value·Std + Mean, between 0 and 1, for
// each of red, green and blue.
type Undo struct{ Mean, Std [3]float64 }

// Picture returns an image of a batch as a person sees it: RGB of 8 bits. Of 16 bits
// the upper byte is shown, what is transparent lets a checkerboard through. Floating
// point is undone; where undo is nil, numbers other than uint8 and uint16 are
// stretched, from the least to the greatest. What is no number is magenta.
func Picture(image tensor.Tensor, layout media.Layout, undo *Undo) (media.Pixels, error) {
	if len(image.Shape) != 3 || !image.Contiguous() {
		return media.Pixels{}, fmt.Errorf("sheet: %v %v is not an image", image.DType, image.Shape)
	}
	at := grid{height: image.Shape[0], width: image.Shape[1], channels: image.Shape[2]}
	if layout == media.CHW {
		at = grid{height: image.Shape[1], width: image.Shape[2], channels: image.Shape[0], planes: true}
	}
	seen := at.channels == 1 || at.channels == 3 || at.channels == 4
	if at.height < 1 || at.width < 1 || !seen {
		return media.Pixels{}, fmt.Errorf("sheet: %v %v is not an image: must have 1, 3 or 4 channels",
			image.DType, image.Shape)
	}
	levels, err := levels(image, at, undo)
	if err != nil {
		return media.Pixels{}, err
	}
	out := newPixels(at.width, at.height)
	for y := range at.height {
		row := out.Row(y)
		for x := range at.width {
			copy(row[3*x:], at.color(levels, x, y))
		}
	}
	return out, nil
}

func newPixels(width, height int) media.Pixels {
	return media.Pixels{Data: make([]byte, 3*width*height), Stride: 3 * width, Width: width, Height: height, DType: tensor.Uint8}
}

// grid is where the values of an image are, counted in elements.
type grid struct {
	height, width, channels int
	planes                  bool
}

func (g grid) index(x, y, c int) int {
	if g.planes {
		return (c*g.height+y)*g.width + x
	}
	return (y*g.width+x)*g.channels + c
}

// channelOf is the channel of an element.
func (g grid) channelOf(i int) int {
	if g.planes {
		return i / (g.height * g.width)
	}
	return i % g.channels
}

// notANumber is among levels, which are 0 to 255.
const notANumber = -1

var magenta = []byte{255, 0, 255}

func (g grid) color(levels []int16, x, y int) []byte {
	var v [4]int16
	for c := range g.channels {
		if v[c] = levels[g.index(x, y, c)]; v[c] == notANumber {
			return magenta
		}
	}
	switch g.channels {
	case 1:
		return []byte{byte(v[0]), byte(v[0]), byte(v[0])}
	case 3:
		return []byte{byte(v[0]), byte(v[1]), byte(v[2])}
	}
	under, alpha := checker(x, y), int(v[3])
	mix := func(over int16) byte { return byte((int(over)*alpha + under*(255-alpha) + 127) / 255) }
	return []byte{mix(v[0]), mix(v[1]), mix(v[2])}
}

// checker is the lightness that shows through what is transparent.
func checker(x, y int) int {
	if (x/8+y/8)%2 == 0 {
		return 0xcc
	}
	return 0x88
}

// levels turns every element into 0 to 255.
func levels(image tensor.Tensor, at grid, undo *Undo) ([]int16, error) {
	out := make([]int16, at.height*at.width*at.channels)
	switch image.DType {
	case tensor.Uint8:
		for i := range out {
			out[i] = int16(image.Data[i])
		}
		return out, nil
	case tensor.Uint16:
		for i := range out {
			out[i] = int16(image.Data[2*i+1]) // little-endian: the upper byte
		}
		return out, nil
	}

	read := numbers.Reader(image.DType)
	if read == nil {
		return nil, fmt.Errorf("sheet: %v %v cannot be shown", image.DType, image.Shape)
	}

	scale := func(v float64, _ int) float64 { return v }
	switch {
	case undo != nil:
		scale = func(v float64, c int) float64 { return v*undo.Std[c%3] + undo.Mean[c%3] }
	default:
		if s := numbers.SpreadOf(image.DType, image.Data, len(out)); s.Max > s.Min {
			scale = func(v float64, _ int) float64 { return (v - s.Min) / (s.Max - s.Min) }
		}
	}

	for i := range out {
		v := scale(read(image.Data, i), at.channelOf(i))
		if math.IsNaN(v) {
			out[i] = notANumber
		} else {
			out[i] = int16(math.Round(255 * min(max(v, 0), 1)))
		}
	}
	return out, nil
}
