package oracle

import (
	"encoding/binary"
	"testing"
)

// Weights are those of Pillow's resize as multiples of 1/one, rounded. Each case is the
// number of pixels before and after, and the filter: 0 bilinear, 1 box, 2 hamming, 3
// bicubic, 4 lanczos. Each answer has, for every input pixel, its weights in all output
// pixels.
func Weights(t testing.TB, one int, cases [][3]int) (weights [][]int32) {
	t.Helper()
	for _, b := range ask(t, "weights", map[string]any{"cases": cases, "one": one}).Blobs {
		w := make([]int32, len(b)/4)
		for i := range w {
			w[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
		weights = append(weights, w)
	}
	return weights
}

// Geometry applies transforms to an image, one after the other. They are those of
// [Transform], whose resizes have the filter as one more argument, and vflip, rot90
// (turns), pad (left, top, right, bottom, then the colour by channel) and gray
// (Pillow's conversion); fit (height, width, filter, and the anchor: across and down in
// halves), fit_and_pad (the same, then the colour) and pad_to (height, width, anchor,
// colour), as ImageOps has them.
func Geometry(t testing.TB, img Image, steps ...Step) Image {
	t.Helper()
	return ask(t, "geometry", map[string]any{"mode": img.Mode, "size": [2]int{img.Width, img.Height}, "steps": steps}, img.Pix).image(t)
}

// Paste lays an RGBA image over a colour, with its alpha as the mask, and returns RGB.
func Paste(t testing.TB, img Image, background [3]uint8) Image {
	t.Helper()
	colour := []int{int(background[0]), int(background[1]), int(background[2])}
	return ask(t, "paste", map[string]any{"size": [2]int{img.Width, img.Height}, "background": colour}, img.Pix).image(t)
}

// Buckets tells, for pictures of some width and height, which of the sizes (height,
// width) has the nearest proportions by their logarithms.
func Buckets(t testing.TB, pictures, sizes [][2]int) (chosen []int) {
	t.Helper()
	ask(t, "buckets", map[string]any{"pictures": pictures, "sizes": sizes}).into(t, &chosen)
	return chosen
}

func (r reply) image(t testing.TB) Image {
	t.Helper()
	var form [3]any
	r.into(t, &form)
	return Image{form[0].(string), int(form[1].(float64)), int(form[2].(float64)), r.Blobs[0]}
}
