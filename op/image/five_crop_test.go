package image

import (
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Parts have the pixels that top, left, middle and mirrored say, in each layout.
func TestPartsOfAnImage(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const height, width, channels, gap = 9, 13, 3, 5
	for _, layout := range []media.Layout{media.HWC, media.CHW} {
		image := record.Image{Layout: layout}
		image.Width, image.Height, image.Color, image.DType = width, height, media.RGB, tensor.Uint8
		image.Stride = image.Form().RowBytes() + gap
		image.Data = make([]byte, image.Stride*height*channels)
		for i := range image.Data {
			image.Data[i] = byte(r.Uint32())
		}
		at := func(x, y, c int) byte {
			if layout == media.HWC {
				return image.Data[y*image.Stride+x*channels+c]
			}
			return image.Data[(c*height+y)*image.Stride+x]
		}
		for _, upside := range []bool{false, true} {
			p := &crops{height: 4, width: 6, upside: upside}
			places := [5][2]int{{0, 0}, {7, 0}, {0, 5}, {7, 5}, {4, 2}} // 3.5 and 2.5, to the even number
			for i := range 10 {
				got := make([]byte, p.height*p.width*channels)
				p.cut(got, image, i)
				for n, v := range got {
					x, y, c := n/channels%p.width, n/channels/p.width, n%channels
					if layout == media.CHW {
						x, y, c = n%p.width, n/p.width%p.height, n/p.width/p.height
					}
					x, y = x+places[i%5][0], y+places[i%5][1]
					if i >= 5 && upside {
						y = height - 1 - y
					} else if i >= 5 {
						x = width - 1 - x
					}
					if v != at(x, y, c) {
						t.Fatalf("%v, part %d, upside down %v: %d, want %d", layout, i, upside, v, at(x, y, c))
					}
				}
			}
		}
	}
}
