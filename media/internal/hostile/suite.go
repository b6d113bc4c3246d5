package hostile

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
)

// Run tests how the decoder of a format deals with files that mean harm.
func Run(t *testing.T, d media.Decoder, format string) {
	files := Seeds(t, format)

	t.Run("intact", func(t *testing.T) { intact(t, d, files) })
	t.Run("cut", func(t *testing.T) {
		for _, f := range files {
			cut(t, d, f)
		}
	})
	t.Run("rotten", func(t *testing.T) {
		for i, f := range files {
			harmless(t, d, f, both(format, rotten(f.Data, uint64(i), tier.Cases(50, 250)/slowness)))
		}
	})
	t.Run("extreme", func(t *testing.T) {
		for _, f := range files {
			harmless(t, d, f, both(format, every(extreme(f.Data), tier.Cases(77, 19)*slowness)))
		}
	})
	t.Run("contradictory", func(t *testing.T) {
		for _, f := range files {
			harmless(t, d, f, slices.Values(contradictory(f.Data, format)))
		}
	})
	t.Run("giants", func(t *testing.T) { giants(t, d, format, files) })
	t.Run("bombs", func(t *testing.T) { frugal(t, d, bombs(t, format)) })
	t.Run("lies", func(t *testing.T) { lies(t, d, files) })
}

// every is one of so many files, so that a test ends soon; fuzzing tries all else.
func every(files iter.Seq[File], n int) iter.Seq[File] {
	return func(yield func(File) bool) {
		i := 0
		for f := range files {
			if i++; i%n == 0 && !yield(f) {
				return
			}
		}
	}
}

// intact checks that the files are what they should be: Pillow sees the same, or nearly
// so where the format is lossy. A decoder may say that it does not support a kind.
func intact(t *testing.T, d media.Decoder, files []File) {
	decoded := 0
	for _, f := range files {
		p, bad, err := misbehaviour(d, f.Data, nil, use{options: media.Options{Orient: true}})
		if unsupported(err) {
			continue
		}
		if err != nil || bad != "" {
			t.Errorf("%s: %v %s", f.Name, err, bad)
			continue
		}
		decoded++

		want := oracle.ReadImage(t, f.Data, "RGB", true)
		deep := strings.Contains(f.Name, "16 bits") // which Pillow cuts off where they are too large
		// chroma may be repeated where Pillow interpolates it
		if off := pixeltest.Difference(pixeltest.Packed(p), want.Pix); off > 16 && !deep {
			t.Errorf("%s: %.1f levels from Pillow", f.Name, off)
		}

		for _, u := range uses[1:] {
			if _, bad, err := misbehaviour(d, f.Data, nil, u); err != nil || bad != "" {
				t.Errorf("%s, %s: %v %s", f.Name, u.name, err, bad)
			}
		}
	}

	if decoded == 0 {
		t.Error("none is supported")
	}
}

// cut checks that what is left of an image is not taken for it: it is refused, or
// nothing was lost.
func cut(t *testing.T, d media.Decoder, f File) {
	header, err := media.Probe(f.Data)
	if err != nil && !unsupported(err) {
		t.Fatalf("%s: %v", f.Name, err)
	}
	for _, u := range []use{uses[0], uses[3]} {
		want, _ := attempt(d, f.Data, nil, u)
		for c := range every(truncated(f.Data), tier.Cases(7, 1)) {
			for _, known := range []*media.Info{nil, &header} {
				got, bad, err := misbehaviour(d, c.Data, known, u)
				if err == nil && bad == "" && !bytes.Equal(got.Data, want.Data) {
					bad = "other pixels, and no error"
				}
				if err != nil && !unsupported(err) && !errors.Is(err, media.ErrTruncated) && !errors.Is(err, media.ErrCorrupt) {
					bad = "neither cut off nor corrupt: " + err.Error()
				}
				if bad != "" {
					t.Errorf("%s, %s, %s: %s", f.Name, c.Name, u.name, bad)
				}
			}
		}
	}
}

// harmless checks that a decoder gives an error or an image. What their headers make
// too large for a test is for others.
func harmless(t *testing.T, d media.Decoder, of File, files iter.Seq[File]) {
	i := 0
	for f := range files {
		i++
		info, err := media.Probe(f.Data)
		most := 1 << 19
		if i%16 == 0 { // a few that take longer
			most = 1 << 22
		}
		if err == nil && info.Width > most/info.Height {
			continue
		}
		for _, u := range []use{uses[0], uses[1+i%(len(uses)-1)]} {
			if _, bad, _ := misbehaviour(d, f.Data, nil, u); bad != "" {
				t.Errorf("%s, %s, %s: %s", of.Name, f.Name, u.name, bad)
			}
		}
	}
}

// giants have the sizes of bombs in their headers. Those that are too large are refused
// by name, before anything is decoded; of the others, no more memory is taken than they
// would need.
func giants(t *testing.T, d media.Decoder, format string, files []File) {
	var large []File
	for i, f := range files {
		for _, size := range [][2]uint32{{1 << 24, 1 << 24}, {100_000, 100_000}, {65_500, 65_500}, {16_383, 16_383}, {16_383, 12_000}} {
			b := Resized(f.Data, format, size[0], size[1])
			if b == nil {
				continue
			}
			_, err := media.Probe(b)
			if resized := errors.Is(err, media.ErrTooLarge); !resized && !unsupported(err) && !stays(b, f.Data) {
				t.Errorf("%s, %v: %v", f.Name, size, err)
			}
		}
		if b := Resized(f.Data, format, 7000, 5000); b != nil && i%3 == 0 {
			large = append(large, File{f.Name + ", 7,000×5,000", b})
		}
	}
	frugal(t, d, large)
}

// stays reports whether the header says the same size as before: the format could not
// state another.
func stays(b, before []byte) bool {
	is, _ := media.Probe(b)
	was, _ := media.Probe(before)
	return is.Width == was.Width && is.Height == was.Height
}

// lies gives a decoder the header of one image with the data of another.
func lies(t *testing.T, d media.Decoder, files []File) {
	for i, f := range files {
		header, err := media.Probe(f.Data)
		if err != nil {
			continue
		}
		larger, smaller, turned := header, header, header
		larger.Width, larger.Height = header.Width+1, header.Height*3
		smaller.Width, smaller.Height = header.Width/2, header.Height-1
		turned.Width, turned.Height = header.Height, header.Width
		for _, u := range uses {
			for name, h := range map[string]*media.Info{"larger": &larger, "smaller": &smaller, "turned": &turned} {
				if _, bad, err := misbehaviour(d, f.Data, h, u); err == nil || bad != "" {
					t.Errorf("%s, %s, %s: %v %s", f.Name, name, u.name, err, bad)
				}
			}
			next := files[(i+1)%len(files)]
			if _, bad, _ := misbehaviour(d, next.Data, &header, u); bad != "" {
				t.Errorf("%s for %s, %s: %s", next.Name, f.Name, u.name, bad)
			}
		}
	}
}
