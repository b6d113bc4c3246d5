package oracle

import (
	"bytes"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	p := Picture{40, 30, 3, bytes.Repeat([]byte{200, 100, 50}, 40*30)}
	data := Encode(t, p, Encoding{Quality: 95, Subsampling: "4:4:4"})
	got := Decode(t, data, false)
	if got.Width != 40 || got.Height != 30 || got.Channels != 3 || len(got.Pix) != 40*30*3 {
		t.Fatalf("got %d×%d×%d, %d bytes", got.Width, got.Height, got.Channels, len(got.Pix))
	}
	if r := Resize(t, got, 20, 10); r.Width != 20 || r.Height != 10 {
		t.Errorf("resized to %d×%d", r.Width, r.Height)
	}
	if r := Transform(t, got, Step{"resize", []int{15, 0}}, Step{"center_crop", []int{10, 10}}); r.Width != 10 || r.Height != 10 {
		t.Errorf("transformed to %d×%d", r.Width, r.Height)
	}
	if r := Transpose(t, got, 6); r.Width != 30 || r.Height != 40 {
		t.Errorf("turned to %d×%d", r.Width, r.Height)
	}
	if o := Orientation(t, data); o != 1 {
		t.Errorf("orientation %d", o)
	}
}

func TestLoadPNG(t *testing.T) {
	pix := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if p := LoadPNG(t, WriteImage(t, Image{"I;16", 2, 2, pix}, "PNG", nil)); p.Channels != 1 || !bytes.Equal(p.Pix, pix) {
		t.Errorf("%+v", p)
	}
}

func TestMissingInterpreterSaysWhatToRun(t *testing.T) {
	t.Setenv("HEADRACE_PYTHON", "/nonexistent/python")
	if _, err := start(); err == nil {
		t.Fatal("started")
	}
}

func TestGeometry(t *testing.T) {
	p := Image{"RGBA", 3, 2, []byte("abcdefghijklmnopqrstuvwx")}
	if got := Geometry(t, p, Step{"rot90", []int{1}}, Step{"pad", []int{1, 0, 0, 0, 9, 9, 9, 9}}); got.Width != 3 || got.Height != 3 || len(got.Pix) != 36 {
		t.Errorf("%+v", got)
	}
	if got := Paste(t, p, [3]uint8{1, 2, 3}); got.Mode != "RGB" || len(got.Pix) != 18 {
		t.Errorf("%+v", got)
	}
	if got := Weights(t, 8, [][3]int{{2, 1, 1}}); len(got) != 1 || len(got[0]) != 2 || got[0][0] != 4 {
		t.Errorf("%v", got)
	}
	if got := Buckets(t, [][2]int{{10, 20}}, [][2]int{{1, 1}, {2, 1}}); len(got) != 1 || got[0] != 1 {
		t.Errorf("%v", got)
	}
}

func TestRun(t *testing.T) {
	var sum int
	blobs := Run(t, "def add(args, blob):\n    return sum(args), blob[::-1]\n", "add", []int{1, 2}, &sum, []byte("abc"))
	if sum != 3 || len(blobs) != 1 || string(blobs[0]) != "cba" {
		t.Errorf("%d, %q", sum, blobs)
	}
}
