package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/headrace/headrace/media"
)

var steps = map[string][]media.Step{
	"whole": nil,
	"val":   {{Op: media.Resize{Size: 256}}, {Op: media.CenterCrop{Height: 224, Width: 224}}},
	"train": {{Op: media.RandomResizedCrop{Height: 224, Width: 224}}, {Op: media.RandomFlip{P: 0.5}, ID: 1}},
}

// pictures decodes one image after the other into the same memory.
type pictures struct {
	steps   []media.Step
	options media.Options
	plain   bool
	plan    media.Plan
	pixels  []byte // of the image decoded last
}

// done says what was done to an image.
type done struct {
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Decoder string `json:"decoder"`
	// Crop of the upright image was resized to Size, of which Window was kept and
	// then, perhaps, flipped: x, y, width and height each.
	Crop   [4]int `json:"crop"`
	Size   [2]int `json:"size"`
	Window [4]int `json:"window"`
	Flip   bool   `json:"flip"`
}

func newPictures(work, mode string, plain bool) (*pictures, error) {
	p := &pictures{plain: plain, options: media.Options{Orient: true}}
	var ok bool
	if p.steps, ok = steps[work]; !ok {
		return nil, fmt.Errorf("no work is called %q", work)
	}
	switch mode {
	case "exact":
	case "fast":
		p.options.Mode = media.Fast
	default:
		return nil, fmt.Errorf("no mode is called %q", mode)
	}
	return p, nil
}

// decode decodes the image, whose number decides what is random.
func (p *pictures) decode(number int, data []byte) (done, error) {
	info, err := media.Probe(data)
	if err != nil {
		return done{}, err
	}
	if err := media.MakePlan(info, p.options, p.steps, drawn(number), &p.plan); err != nil {
		return done{}, err
	}
	var d media.Decoder = media.GoJPEG{}
	if !p.plain {
		if d, err = media.DecoderFor(info.Format); err != nil {
			return done{}, err
		}
	}
	stride := p.plan.Form().RowBytes()
	if n := stride * p.plan.Height; cap(p.pixels) < n {
		p.pixels = make([]byte, n)
	} else {
		p.pixels = p.pixels[:n]
	}
	if err := d.DecodeInto(p.pixels, stride, data, &info, &p.plan); err != nil {
		return done{}, err
	}
	return p.done(d.Name()), nil
}

func (p *pictures) done(decoder string) done {
	s := p.plan.Stages[0]
	return done{
		Width: p.plan.Width, Height: p.plan.Height, Decoder: decoder,
		Crop: extents(s.Crop), Size: [2]int{s.Width, s.Height}, Window: extents(s.Window), Flip: s.Turn == 2,
	}
}

func extents(r media.Rect) [4]int { return [4]int{r.X, r.Y, r.Width, r.Height} }

// drawn is a media.Rand that is a function of its arguments.
type drawn int

func (d drawn) Float64(op uint64, draw uint32) float64 {
	return rand.New(rand.NewPCG(uint64(d), op<<32|uint64(draw))).Float64()
}
