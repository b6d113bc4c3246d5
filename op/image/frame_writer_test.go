package image_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/headrace/headrace/media"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/tensor"
)

// Each byte of a clip is where its clip, frame, channel and pixel say, in any layout.
func TestFramesComeToTheirPlaces(t *testing.T) {
	const clips, frames, pixels = 2, 3, 6
	for _, layout := range []media.Layout{media.HWC, media.CHW, media.CTHW} {
		form := media.Form{Height: 2, Width: 3, DType: tensor.Uint8, Layout: layout, Frames: frames, Clips: clips}
		channels := form.Color.Channels()
		got := make([]byte, form.Bytes())
		w := opimage.NewFrameWriter(form, got)

		// Every other frame repeats the one before it.
		value := func(i, c, p int) byte { return byte(i/2*2*50 + c*10 + p) }
		for i := range form.Pictures() {
			if i%2 == 1 {
				w.Repeat(i, i-1)
				continue
			}
			err := w.Frame(i, func(to []byte) error {
				for c := range channels {
					for p := range pixels {
						if layout == media.HWC {
							to[p*channels+c] = value(i, c, p)
						} else {
							to[c*pixels+p] = value(i, c, p)
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}

		want := make([]byte, len(got))
		for i := range form.Pictures() {
			for c := range channels {
				for p := range pixels {
					at := (i*channels+c)*pixels + p
					switch layout {
					case media.HWC:
						at = (i*pixels+p)*channels + c
					case media.CTHW:
						at = ((i/frames*channels+c)*frames+i%frames)*pixels + p
					}
					want[at] = value(i, c, p)
				}
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v: the frames are\n%v, want\n%v", layout, got, want)
		}
	}
}

func TestAFrameThatFailsIsReported(t *testing.T) {
	for _, layout := range []media.Layout{media.HWC, media.CTHW} {
		form := media.Form{Height: 2, Width: 3, DType: tensor.Uint8, Layout: layout, Frames: 2}
		w := opimage.NewFrameWriter(form, make([]byte, form.Bytes()))
		broken := errors.New("broken")
		if err := w.Frame(1, func([]byte) error { return broken }); err != broken {
			t.Errorf("%v: a frame that fails gives %v", layout, err)
		}
	}
}
