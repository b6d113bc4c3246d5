package media_test

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/media"
)

type nobody struct{ media.GoJPEG }

func (nobody) Name() string { return "nobody" }

func TestDecoderFor(t *testing.T) {
	before, err := media.DecoderFor(media.JPEG)
	if err != nil || before.Name() != "go" {
		t.Fatalf("%v, %v", before, err)
	}
	media.Register("test", nobody{})
	if d, err := media.DecoderFor("test"); err != nil || d.Name() != "nobody" {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := media.DecoderFor("cuneiform"); !errors.Is(err, media.ErrUnsupported) {
		t.Error(err)
	}
}

func TestInfo(t *testing.T) {
	info := media.Info{Format: media.JPEG, Width: 40, Height: 30, Orientation: 6, Components: 3, Progressive: true, Arithmetic: true}
	if w, h := info.Oriented(); w != 30 || h != 40 {
		t.Errorf("%d×%d upright", w, h)
	}
	if got, want := info.String(), "jpeg 40×30, 3 components, progressive, arithmetic coding, orientation 6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := info.WorkingBytes(); n < 40*30*12 {
		t.Errorf("%d bytes", n)
	}
}

func TestSamePixels(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"jpeg=libjpeg-turbo-2.1.5 png=go", "jpeg=libjpeg-turbo-2.1.5 png=go", true},
		{"jpeg=libjpeg-turbo-2.1.5+headrace-1 png=go", "jpeg=libjpeg-turbo-2.1.5 png=go", true},
		{"jpeg=libjpeg-turbo-2.1.5+headrace-1 png=go", "jpeg=libjpeg-turbo-3.1.0+headrace-1 png=go", false},
		{"jpeg=libjpeg-turbo-2.1.5+headrace-1 png=go", "jpeg=libjpeg-turbo-2.1.5+headrace-1 png=libspng", false},
	} {
		if got := media.SamePixels(c.a, c.b); got != c.same {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}
