package sheet

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"github.com/headrace/headrace/media"
)

// Sheet is what is to be drawn.
type Sheet struct {
	Title   string
	Notes   []string // below the title; long ones are broken
	Tiles   []Tile
	Columns int // 0: so that the sheet is wider than high
	Size    int // of a tile, in pixels on a side; 0: as large as the images, where that is between 128 and 256
}

// Tile is one image, or why there is none, with what is written below it.
type Tile struct {
	Picture media.Pixels // RGB of 8 bits; none if there is an Error
	Error   string
	Label   string // may be empty
	Key     string
}

const (
	margin      = 16 // around everything
	gap         = 12 // between tiles
	smallest    = 128
	largest     = 256
	headerWidth = 560 // a narrow sheet is at least so wide, for its text
)

var (
	paper   = color.RGBA{0x18, 0x1a, 0x1e, 0xff}
	plain   = color.RGBA{0xf0, 0xf0, 0xf0, 0xff}
	faint   = color.RGBA{0x9a, 0xa1, 0xae, 0xff}
	failing = color.RGBA{0x4a, 0x1d, 0x22, 0xff}
	alarm   = color.RGBA{0xff, 0xb4, 0xab, 0xff}
	empty   = color.RGBA{0x22, 0x25, 0x2b, 0xff}
)

// Draw returns the sheet, RGB of 8 bits.
func (s Sheet) Draw() (media.Pixels, error) {
	p, err := s.plan()
	if err != nil {
		return media.Pixels{}, err
	}
	on := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	draw.Draw(on, on.Rect, image.NewUniform(paper), image.Point{}, draw.Src)
	y := margin
	p.title.write(on, on.Rect, margin, y, plain, p.title.shortened(s.Title, p.width-2*margin))
	y += p.title.height() + 2
	for _, line := range p.notes {
		p.text.write(on, on.Rect, margin, y, faint, line)
		y += p.text.height()
	}
	for i, tile := range s.Tiles {
		at := image.Pt(margin+i%p.columns*(p.box.X+gap), p.top+i/p.columns*(p.tileHeight+gap))
		if err := p.draw(on, at, tile); err != nil {
			return media.Pixels{}, err
		}
	}
	return opaque(on), nil
}

// plan is where everything goes.
type plan struct {
	title, label, text *hand
	size               int         // of images
	box                image.Point // of the images' part of a tile
	columns            int
	tileHeight         int
	labels             bool
	notes              []string // broken into lines
	top                int      // of the tiles
	width, height      int
}

func (s Sheet) plan() (*plan, error) {
	p := &plan{
		title: newHand(bold(), 18, machineFonts), label: newHand(bold(), 13, machineFonts),
		text: newHand(regular(), 12.5, machineFonts), size: s.Size,
	}
	if p.size == 0 {
		p.size = min(max(s.longSide(), smallest), largest)
	}

	for _, t := range s.Tiles {
		p.labels = p.labels || t.Label != ""
		fitted := p.fitted(t)
		p.box = image.Pt(max(p.box.X, fitted.X), max(p.box.Y, fitted.Y))
	}
	if p.box == (image.Point{}) {
		p.box = image.Pt(p.size, p.size)
	}

	p.box.X = max(p.box.X, min(p.size, smallest)) // text needs room below narrow images
	p.tileHeight = p.box.Y + 4 + p.text.height()
	if p.labels {
		p.tileHeight += p.label.height()
	}

	n := len(s.Tiles)
	if p.columns = s.Columns; p.columns == 0 {
		p.columns = columnsFor(n)
	}
	p.columns = max(1, min(p.columns, n))
	p.width = max(2*margin+p.columns*(p.box.X+gap)-gap, headerWidth)

	for _, note := range s.Notes {
		p.notes = append(p.notes, p.text.lines(note, p.width-2*margin, 4)...)
	}
	p.top = margin + p.title.height() + 2 + len(p.notes)*p.text.height() + margin

	rows := (n + p.columns - 1) / p.columns
	p.height = p.top + rows*(p.tileHeight+gap) - gap + margin
	if p.width > media.MaxPixels/p.height {
		return nil, fmt.Errorf("sheet: %d tiles of %d×%d pixels make a sheet of %d×%d, which no program opens: use fewer or smaller ones",
			n, p.box.X, p.box.Y, p.width, p.height)
	}
	return p, nil
}

// columnsFor is a number of columns that makes a sheet wider than high, and leaves few
// places of the last row empty.
func columnsFor(n int) int {
	if n <= 4 {
		return n
	}
	best, fewest := 1, n
	for c := 1; c*c <= 2*n; c++ {
		if left := (c - n%c) % c; c*c >= n && left <= fewest {
			best, fewest = c, left
		}
	}
	return best
}

// longSide is that of the largest image.
func (s Sheet) longSide() (n int) {
	for _, t := range s.Tiles {
		n = max(n, t.Picture.Width, t.Picture.Height)
	}
	return n
}

// fitted is the size that fit gives an image.
func (p *plan) fitted(t Tile) image.Point {
	w, h := t.Picture.Width, t.Picture.Height
	switch long := max(w, h); {
	case long == 0:
		return image.Point{}
	case long > p.size:
		return image.Pt(max(1, w*p.size/long), max(1, h*p.size/long))
	default:
		return image.Pt(w*(p.size/long), h*(p.size/long))
	}
}

func (p *plan) draw(on *image.RGBA, at image.Point, t Tile) error {
	box := image.Rectangle{at, at.Add(p.box)}
	if t.Error != "" {
		p.drawError(on, box, t.Error)
	} else if err := p.drawPicture(on, box, t.Picture); err != nil {
		return err
	}
	y := box.Max.Y + 4
	below := image.Rect(box.Min.X, y, box.Max.X, at.Y+p.tileHeight)
	if p.labels {
		p.label.write(on, below, at.X, y, plain, p.label.shortened(t.Label, p.box.X))
		y += p.label.height()
	}
	p.text.write(on, below, at.X, y, faint, p.text.shortened(t.Key, p.box.X))
	return nil
}

// drawPicture puts an image into the middle of its box.
func (p *plan) drawPicture(on *image.RGBA, box image.Rectangle, picture media.Pixels) error {
	fitted, err := Fit(picture, p.size)
	if err != nil {
		return err
	}
	left, top := box.Min.X+(p.box.X-fitted.Width)/2, box.Min.Y+(p.box.Y-fitted.Height)/2
	if fitted.Width < p.box.X || fitted.Height < p.box.Y {
		draw.Draw(on, box, image.NewUniform(empty), image.Point{}, draw.Src)
	}
	for y := range fitted.Height {
		from, to := fitted.Row(y), on.Pix[on.PixOffset(left, top+y):]
		for x := range fitted.Width {
			to[4*x], to[4*x+1], to[4*x+2] = from[3*x], from[3*x+1], from[3*x+2]
		}
	}
	return nil
}

// drawError fills a box with the reason why there is no image in it.
func (p *plan) drawError(on *image.RGBA, box image.Rectangle, why string) {
	draw.Draw(on, box, image.NewUniform(failing), image.Point{}, draw.Src)
	inside := box.Inset(8)
	if inside.Empty() {
		return
	}
	for i, line := range p.text.lines(why, inside.Dx(), max(1, inside.Dy()/p.text.height())) {
		p.text.write(on, inside, inside.Min.X, inside.Min.Y+i*p.text.height(), alarm, line)
	}
}

// opaque is an image without the alpha channel that it does not need.
func opaque(from *image.RGBA) media.Pixels {
	out := newPixels(from.Rect.Dx(), from.Rect.Dy())
	for i := range out.Width * out.Height {
		copy(out.Data[3*i:3*i+3], from.Pix[4*i:])
	}
	return out
}
