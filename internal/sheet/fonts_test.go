package sheet

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/image/font/gofont/gomono"
)

// A character that the program's font lacks comes from the machine, if a font there has
// it; files that are no fonts do no harm.
func TestFontsOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/0.ttf", []byte("no font"))
	write(t, dir+"/1.otf", nil)
	write(t, dir+"/2.txt", goFont)
	l := &library{folders: []string{dir, dir + "/missing"}}
	if l.fallback('x') != nil {
		t.Error("there is a font in a text")
	}
	write(t, dir+"/3.TTF", goFont)
	l = &library{folders: []string{dir}}
	for range 2 {
		if l.fallback('x') == nil || l.fallback('你') != nil {
			t.Error("a font was not found, or not looked into")
		}
	}
	if len(l.open) != 1 || len(l.files) != 0 {
		t.Errorf("%d fonts are open, %d to be looked at", len(l.open), len(l.files))
	}
}

// A font may have a character in a form that cannot be drawn: here, its outlines are
// broken.
func TestAFontThatCannotBeDrawn(t *testing.T) {
	broken := bytes.Clone(goFont)
	at := bytes.Index(broken, []byte("glyf")) + 8
	from, size := binary.BigEndian.Uint32(broken[at:]), binary.BigEndian.Uint32(broken[at+4:])
	for i := range broken[from : from+size] {
		broken[int(from)+i] = 0x7f
	}
	dir := t.TempDir()
	write(t, dir+"/broken.ttf", broken)
	if f := readFont(dir + "/broken.ttf"); f == nil {
		t.Fatal("the font cannot even be read")
	}
	l := &library{folders: []string{dir}}
	if l.fallback('x') != nil {
		t.Error("a character without an outline was found")
	}
	h := newHand(regular(), 12.5, l)
	if got := h.visible("x你"); got != `x\u4f60` {
		t.Errorf("%q", got)
	}
}

var goFont = gomono.TTF

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
