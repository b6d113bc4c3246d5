package source_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// ppm is a format of one's own: this file has all of it, and touches no other.
type ppm struct{}

func (ppm) Name() string { return "toy" }

func (ppm) header(data []byte) (info media.Info, pixels []byte, err error) {
	info = media.Info{Format: "ppm", Orientation: 1, Components: 3, Bits: 8}
	lines := bytes.SplitN(data, []byte("\n"), 4)
	if len(lines) < 4 {
		return info, nil, fmt.Errorf("%w: ppm without a whole header", media.ErrTruncated)
	}
	if _, err := fmt.Sscanf(string(lines[1]), "%d %d", &info.Width, &info.Height); err != nil {
		return info, nil, fmt.Errorf("%w: ppm: %w", media.ErrCorrupt, err)
	}
	return info, lines[3], nil
}

func (p ppm) DecodePixels(dst media.Pixels, src []byte, _ *media.Info) error {
	info, pixels, err := p.header(src)
	if err != nil {
		return err
	}
	if len(pixels) < info.Width*info.Height*3 {
		return fmt.Errorf("%w: ppm with too few pixels", media.ErrTruncated)
	}
	for y := range dst.Height {
		copy(dst.Row(y), pixels[y*info.Width*3:])
	}
	return nil
}

func init() {
	media.AddFormat(media.Format{
		Name: "ppm", Title: "PPM", Suffixes: []string{".ppm"},
		Begins: func(data []byte) bool { return bytes.HasPrefix(data, []byte("P6\n")) },
		Probe: func(data []byte) (media.Info, error) {
			info, _, err := ppm{}.header(data)
			return info, err
		},
	})
	media.Register("ppm", media.Whole(ppm{}))
}

// An image in a format of one's own goes through all operations like any other: Pillow
// makes a PPM, which it reads itself.
func TestAFormatOfOnesOwn(t *testing.T) {
	img := oracle.Image{Mode: "RGB", Width: 37, Height: 23}
	for i := range img.Width * img.Height * 3 {
		img.Pix = append(img.Pix, byte(i*7+i/100))
	}
	data := oracle.WriteImage(t, img, "PPM", nil)
	want := oracle.Resize(t, oracle.Picture{Width: img.Width, Height: img.Height, Channels: 3, Pix: img.Pix}, 16, 12)

	info, err := media.Probe(data)
	if err != nil || info.Format != "ppm" || info.Width != 37 || info.Height != 23 {
		t.Fatalf("%+v, %v", info, err)
	}
	d, err := media.DecoderFor(info.Format)
	if err != nil {
		t.Fatal(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{DType: tensor.Uint8}, []media.Step{{Op: media.ResizeExact{Height: 12, Width: 16}}}, nil, &plan); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 16*12*3)
	if err := d.DecodeInto(got, 16*3, data, &info, &plan); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Pix) {
		t.Error("other pixels than Pillow's")
	}

	if !slices.Contains(media.Suffixes(), ".ppm") {
		t.Errorf("folders are listed for %v", media.Suffixes())
	}
	if _, err := media.Probe([]byte("nothing that is known")); !strings.Contains(err.Error(), "BMP, TIFF and PPM are known") {
		t.Error(err)
	}
}
