package media_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		layout     testjpeg.Layout
		components int
	}{
		"grey":        {testjpeg.Layout{}, 1},
		"colour":      {testjpeg.Layout{Sampling: testjpeg.S420, Restart: 3}, 3},
		"progressive": {testjpeg.Layout{Sampling: testjpeg.S444, Progressive: true}, 3},
		"segments":    {testjpeg.Layout{Sampling: testjpeg.S422, Segments: [][]byte{append([]byte{0xFE}, make([]byte, 65533)...), {0xE7, 1, 2, 3}}}, 3},
	} {
		got, err := media.Probe(testjpeg.Noise(61, 45, 1, c.layout))
		want := media.Info{Format: media.JPEG, Width: 61, Height: 45, Orientation: 1, Components: c.components, Bits: 8, Progressive: c.layout.Progressive, Scans: c.layout.Progressive}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// damaged is a good image with n bytes replaced, from the at-th of the frame's
// segment on; 0 is its marker's code.
func damaged(l testjpeg.Layout, at int, with ...byte) []byte {
	data := testjpeg.Noise(61, 45, 1, l)
	marker := byte(0xC0)
	if l.Progressive {
		marker = 0xC2
	}
	copy(data[bytes.Index(data, []byte{0xFF, marker, 0x00})+1+at:], with)
	return data
}

func TestProbeRefuses(t *testing.T) {
	colour := testjpeg.Layout{Sampling: testjpeg.S420}
	good := testjpeg.Noise(61, 45, 1, colour)
	frame := bytes.Index(good, []byte{0xFF, 0xC0})
	scan := bytes.Index(good, []byte{0xFF, 0xDA})
	for name, c := range map[string]struct {
		data []byte
		kind error
	}{
		"nothing":                         {nil, media.ErrTruncated},
		"two bytes":                       {good[:2], media.ErrTruncated},
		"end at once":                     {[]byte{0xFF, 0xD8, 0xFF, 0xD9}, media.ErrTruncated},
		"no frame":                        {append(bytes.Clone(good[:frame]), good[scan:]...), media.ErrCorrupt},
		"two frames":                      {append(bytes.Clone(good[:scan]), good[frame:]...), media.ErrCorrupt},
		"short segment":                   {append([]byte{0xFF, 0xD8, 0xFF, 0xE0, 0, 1}, good[2:]...), media.ErrCorrupt},
		"frame of no length":              {damaged(colour, 1, 0, 4), media.ErrCorrupt},
		"components missing":              {damaged(colour, 8, 2), media.ErrCorrupt},
		"no components":                   {damaged(colour, 8, 0), media.ErrCorrupt},
		"zero width":                      {damaged(colour, 6, 0, 0), media.ErrCorrupt},
		"height at the end":               {damaged(colour, 4, 0, 0), media.ErrUnsupported},
		"12 bits":                         {damaged(colour, 3, 12), media.ErrUnsupported},
		"lossless":                        {damaged(colour, 0, 0xC3), media.ErrUnsupported},
		"hierarchical":                    {damaged(colour, 0, 0xC5), media.ErrUnsupported},
		"lossless with arithmetic coding": {damaged(colour, 0, 0xCB), media.ErrUnsupported},
		"two components":                  {testjpeg.Noise(8, 8, 1, testjpeg.Layout{Sampling: [][2]int{{1, 1}, {1, 1}}}), media.ErrUnsupported},
		"bomb":                            {damaged(colour, 4, 0xFF, 0xFF, 0xFF, 0xFF), media.ErrTooLarge},
		"just too large":                  {damaged(colour, 4, 13378>>8, 13378&255, 13378>>8, 13378&255), media.ErrTooLarge},
	} {
		if info, err := media.Probe(c.data); !errors.Is(err, c.kind) {
			t.Errorf("%s: %+v, %v; want %v", name, info, err, c.kind)
		}
	}
	if _, err := media.Probe(damaged(colour, 4, 13377>>8, 13377&255, 13377>>8, 13377&255)); err != nil {
		t.Errorf("just not too large: %v", err)
	}
}

// An image that is refused for what it is says what it is.
func TestProbeTellsWhatItRefuses(t *testing.T) {
	info, err := media.Probe(damaged(testjpeg.Layout{Sampling: testjpeg.S420, Progressive: true}, 3, 12))
	want := media.Info{Format: media.JPEG, Width: 61, Height: 45, Orientation: 1, Components: 3, Bits: 12, Progressive: true, Scans: true}
	if !errors.Is(err, media.ErrUnsupported) || info != want {
		t.Errorf("%+v, %v", info, err)
	}
}

// What only some decoders can do is left to them.
func TestProbeTakesRareJPEGs(t *testing.T) {
	info, err := media.Probe(damaged(testjpeg.Layout{Sampling: testjpeg.S420, Progressive: true}, 0, 0xCA))
	want := media.Info{Format: media.JPEG, Width: 61, Height: 45, Orientation: 1, Components: 3, Bits: 8, Progressive: true, Arithmetic: true, Scans: true}
	if err != nil || info != want {
		t.Errorf("arithmetic coding: %+v, %v", info, err)
	}
	info, err = media.Probe(oracle.Encode(t, oracle.Picture{Width: 8, Height: 6, Channels: 4, Pix: make([]byte, 192)}, oracle.Encoding{}))
	if want = (media.Info{Format: media.JPEG, Width: 8, Height: 6, Orientation: 1, Components: 4, Bits: 8}); err != nil || info != want {
		t.Errorf("CMYK: %+v, %v", info, err)
	}
	together := testjpeg.Noise(61, 45, 1, testjpeg.Layout{Sampling: testjpeg.S420})
	scan := bytes.Index(together, []byte{0xFF, 0xDA})
	apart := append(together[:scan:scan], 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0) // the first of three scans
	info, err = media.Probe(apart)
	if want = (media.Info{Format: media.JPEG, Width: 61, Height: 45, Orientation: 1, Components: 3, Bits: 8, Scans: true}); err != nil || info != want {
		t.Errorf("a scan for each component: %+v, %v", info, err)
	}
	if whole, err := media.Probe(together); err != nil || whole.Scans || whole.WorkingBytes() >= info.WorkingBytes() {
		t.Errorf("%d bytes for one scan, %d for three, %v", whole.WorkingBytes(), info.WorkingBytes(), err)
	}
}

func TestProbeCutAnywhere(t *testing.T) {
	data := testjpeg.Noise(61, 45, 1, testjpeg.Layout{Sampling: testjpeg.S420, Segments: [][]byte{exif("MM", entry{tag: 0x0112, kind: 3, count: 1, value: []byte{0, 6}})}})
	scan := bytes.Index(data, []byte{0xFF, 0xDA})
	for n := range scan {
		if _, err := media.Probe(data[:n]); !errors.Is(err, media.ErrTruncated) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// What is between segments, and any number of fill bytes, is passed over.
func TestProbeIsPatient(t *testing.T) {
	good := testjpeg.Noise(61, 45, 1, testjpeg.Layout{Sampling: testjpeg.S420})
	odd := append([]byte{0xFF, 0xD8, 0xFF, 0xFF, 0xFF, 0xFE, 0, 2, 7, 7, 0xFF, 0, 7}, good[2:]...)
	info, err := media.Probe(odd)
	if err != nil || info.Width != 61 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestProbeAllocatesNothing(t *testing.T) {
	data := testjpeg.Noise(61, 45, 1, testjpeg.Layout{Sampling: testjpeg.S420, Segments: [][]byte{exif("II", entry{tag: 0x0112, kind: 3, count: 1, value: []byte{6, 0}})}})
	if n := testing.AllocsPerRun(100, func() {
		if _, err := media.Probe(data); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzProbe(f *testing.F) {
	f.Add(testjpeg.Noise(8, 8, 1, testjpeg.Layout{}))
	f.Add(testjpeg.Noise(8, 8, 1, testjpeg.Layout{Sampling: testjpeg.S420, Progressive: true}))
	for _, order := range []string{"II", "MM"} {
		f.Add(testjpeg.Noise(8, 8, 1, testjpeg.Layout{Segments: [][]byte{exif(order, entry{tag: 0x0112, kind: 3, count: 1, value: []byte{0, 6}})}}))
	}
	f.Add(testjpeg.Noise(8, 8, 1, testjpeg.Layout{Segments: [][]byte{xmp(`<x tiff:Orientation="8"/>`)}}))
	for _, c := range probes {
		f.Add(oracle.WriteImage(f, c.image, c.format, c.options))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := media.Probe(data)
		if err != nil {
			return
		}
		if info.Width < 1 || info.Height < 1 || info.Width*info.Height > media.MaxPixels || info.Orientation < 1 || info.Orientation > 8 ||
			info.Format == media.JPEG && info.Components != 1 && info.Components != 3 && info.Components != 4 || info.WorkingBytes() <= 0 {
			t.Fatalf("%+v", info)
		}
	})
}
