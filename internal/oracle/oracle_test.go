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
