package sheet

import (
	"fmt"
	"image"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
)

// colored is an image of one colour, which nothing else on a sheet has.
func colored(width, height int) media.Pixels {
	p := newPixels(width, height)
	for i := range width * height {
		copy(p.Data[3*i:], []byte{1, 250, 3})
	}
	return p
}

var hostile = []string{
	"", " ", "\x00", "a\nb\tc\r", "\x1b[31mred\x1b[0m", "\u202etxt.exe", "\xff\xfe", strings.Repeat("long/", 100_000),
	strings.Repeat("W", 3000),
	strings.Repeat("e\u0301", 2000), strings.Repeat("\u0301", 3000), strings.Repeat("\xf0", 9000),
	"שלום/תמונה.jpg", "العربية 12", "你好", "😀", "\U0010ffff", "\ufeff", "\u200b\u200d",
	strings.Repeat("ש", 4000), "%s%d", "${root}", strings.Repeat("\n", 5000),
}

// Whatever keys, labels and errors say, images are whole and text stays below its
// image.
func TestEverythingStaysInItsPlace(t *testing.T) {
	var s Sheet
	for i, text := range hostile {
		tile := Tile{Picture: colored(100, 60), Label: text, Key: text}
		if i%3 == 2 {
			tile = Tile{Error: "broken: " + text, Key: text, Label: text}
		}
		s.Tiles = append(s.Tiles, tile)
	}
	s.Title, s.Notes, s.Columns, s.Size = hostile[7], hostile, 5, 100
	drawn, err := s.Draw()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.plan()
	if err != nil {
		t.Fatal(err)
	}
	var free []image.Rectangle // where nothing may be: between tiles
	for i := range s.Tiles {
		x, y := margin+i%p.columns*(p.box.X+gap), p.top+i/p.columns*(p.tileHeight+gap)
		free = append(free, image.Rect(x+p.box.X, y, x+p.box.X+gap, y+p.tileHeight),
			image.Rect(x, y+p.tileHeight, x+p.box.X, y+p.tileHeight+gap))
		if s.Tiles[i].Error != "" {
			continue
		}
		left, top := x+(p.box.X-100)/2, y
		for py := top; py < top+60; py++ {
			for px := left; px < left+100; px++ {
				if at := drawn.Row(py)[3*px:][:3]; string(at) != "\x01\xfa\x03" {
					t.Fatalf("tile %d: pixel %d, %d is %v", i, px-left, py-top, at)
				}
			}
		}
	}
	for _, r := range free {
		for y := r.Min.Y; y < r.Max.Y && y < drawn.Height; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				if at := drawn.Row(y)[3*x:][:3]; at[0] != paper.R || at[1] != paper.G || at[2] != paper.B {
					t.Fatalf("something is drawn at %d, %d: %v", x, y, at)
				}
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		n, columns, size, width, height int
		wantBox                         image.Point
		wantColumns                     int
	}{
		{24, 0, 0, 224, 224, image.Pt(224, 224), 6},
		{24, 0, 0, 32, 32, image.Pt(128, 128), 6},   // ×4
		{32, 0, 0, 512, 256, image.Pt(256, 128), 8}, // halved
		{12, 3, 64, 224, 224, image.Pt(64, 64), 3},
		{2, 9, 0, 224, 100, image.Pt(224, 100), 2},
		{1, 0, 0, 10, 200, image.Pt(128, 200), 1}, // text needs room
	} {
		s := Sheet{Columns: c.columns, Size: c.size}
		for range c.n {
			s.Tiles = append(s.Tiles, Tile{Picture: colored(c.width, c.height)})
		}
		p, err := s.plan()
		if err != nil || p.box != c.wantBox || p.columns != c.wantColumns {
			t.Errorf("%+v: box %v, %d columns, %v", c, p.box, p.columns, err)
		}
		drawn, err := s.Draw()
		if err != nil || drawn.Width != p.width || drawn.Height != p.height || drawn.Check() != nil {
			t.Errorf("%+v: %d×%d, %v", c, drawn.Width, drawn.Height, err)
		}
	}
}

func TestASheetWithoutPictures(t *testing.T) {
	for _, s := range []Sheet{{}, {Tiles: []Tile{{Error: "gone", Key: "a"}, {Error: "gone", Key: "b"}}}, {Size: 1, Tiles: []Tile{{Error: "gone", Key: "a"}}}} {
		if p, err := s.Draw(); err != nil || p.Check() != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

func TestASheetThatNoProgramOpens(t *testing.T) {
	s := Sheet{Size: 20_000, Tiles: make([]Tile, 1000)}
	for i := range s.Tiles {
		s.Tiles[i].Picture = media.Pixels{Width: 20_000, Height: 20_000}
	}
	if _, err := s.Draw(); err == nil || !strings.Contains(err.Error(), "use fewer or smaller ones") {
		t.Error(err)
	}
}

func TestColumns(t *testing.T) {
	for n := range 400 {
		if c := columnsFor(n); n > 0 && (c < 1 || c*c < n || c*c > max(16, 2*n)) {
			t.Error(fmt.Sprint(n), c)
		}
	}
}
