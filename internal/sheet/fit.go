package sheet

import (
	"github.com/headrace/headrace/media"
)

// Fit brings an image to a box of so many pixels on a side: larger ones are scaled
// down, antialiased; of much smaller ones every pixel becomes a square, so that it can
// be seen what there is.
func Fit(p media.Pixels, box int) (media.Pixels, error) {
	if long := max(p.Width, p.Height); long > box {
		return shrunk(p, max(1, p.Width*box/long), max(1, p.Height*box/long))
	} else if times := box / long; times > 1 {
		return enlarged(p, times), nil
	}
	return p, nil
}

func shrunk(p media.Pixels, width, height int) (media.Pixels, error) {
	var plan media.Plan
	resize := []media.Step{{Op: media.ResizeExact{Height: height, Width: width}}}
	if err := media.MakePlan(media.Info{Width: p.Width, Height: p.Height}, media.Options{}, resize, nil, &plan); err != nil {
		return p, err
	}
	out := newPixels(width, height)
	return out, media.CurrentRunner().Run(out.Data, out.Stride, p, &plan)
}

func enlarged(p media.Pixels, times int) media.Pixels {
	out := newPixels(p.Width*times, p.Height*times)
	for y := range out.Height {
		from, to := p.Row(y/times), out.Row(y)
		for x := range out.Width {
			copy(to[3*x:3*x+3], from[x/times*3:])
		}
	}
	return out
}
