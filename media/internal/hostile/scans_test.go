package hostile

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// Each scan costs a pass over all blocks: hundreds of a large image are refused, those
// of a small one are decoded.
func TestImagesOfHundredsOfScans(t *testing.T) {
	decoders := []media.Decoder{media.GoJPEG{}}
	if d, err := media.DecoderFor(media.JPEG); err == nil && d.Name() != decoders[0].Name() {
		decoders = append(decoders, d)
	}
	for _, d := range decoders {
		for name, c := range map[string]struct {
			data  []byte
			fails bool
		}{
			"490 scans of 1,024 blocks":   {testjpeg.ManyScans(256, 256, 490), false},
			"501 scans of 1,024 blocks":   {testjpeg.ManyScans(256, 256, 501), true},
			"490 scans of 262,144 blocks": {testjpeg.ManyScans(4096, 4096, 490), true},
			"32 scans of 262,144 blocks":  {testjpeg.ManyScans(4096, 4096, 32), false},
		} {
			info, err := media.Probe(c.data)
			if err != nil {
				t.Fatal(err)
			}
			var plan media.Plan
			if err := media.MakePlan(info, media.Options{}, []media.Step{{Op: media.ResizeExact{Height: 8, Width: 8}}}, nil, &plan); err != nil {
				t.Fatal(err)
			}
			pixels := make([]byte, 8*8*3)
			err = d.DecodeInto(pixels, 8*3, c.data, &info, &plan)
			if c.fails && (!errors.Is(err, media.ErrCorrupt) || !strings.Contains(err.Error(), "than any image needs")) {
				t.Errorf("%s, %s: %v", d.Name(), name, err)
			}
			if !c.fails && (err != nil || pixels[0] != 128) {
				t.Errorf("%s, %s: %v, %d", d.Name(), name, err, pixels[0])
			}
		}
	}
}
