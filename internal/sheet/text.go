package sheet

import (
	"image"
	"image/color"
	"image/draw"
	"strings"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// hand writes lines of text in one size.
type hand struct {
	own    *sfnt.Font
	size   float64
	others *library
	faces  map[*sfnt.Font]font.Face
	glyphs sfnt.Buffer
}

func newHand(own *sfnt.Font, size float64, others *library) *hand {
	return &hand{own: own, size: size, others: others, faces: map[*sfnt.Font]font.Face{}}
}

// font is one that has a character, nil if there is none.
func (h *hand) font(r rune) *sfnt.Font {
	if i, err := h.own.GlyphIndex(&h.glyphs, r); err == nil && i != 0 {
		return h.own
	}
	return h.others.fallback(r)
}

// has reports whether a character can be drawn.
func (h *hand) has(r rune) bool { return h.font(r) != nil }

// face draws a character that can be drawn.
func (h *hand) face(r rune) font.Face {
	f := h.font(r)
	if h.faces[f] == nil {
		face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: h.size, DPI: 72, Hinting: font.HintingFull})
		if err != nil {
			panic(err) // it fails for a size that is none
		}
		h.faces[f] = face
	}
	return h.faces[f]
}

func (h *hand) advance(r rune) fixed.Int26_6 {
	a, _ := h.face(r).GlyphAdvance(r)
	return a
}

// width is that of a line, in pixels.
func (h *hand) width(line string) int {
	var w fixed.Int26_6
	for _, r := range line {
		w += h.advance(r)
	}
	return w.Ceil()
}

// height is how far lines are apart.
func (h *hand) height() int { return int(h.size*1.35 + 0.5) }

// write draws a line with its upper left corner at (x, y). Nothing is drawn outside clip.
func (h *hand) write(on *image.RGBA, clip image.Rectangle, x, y int, ink color.Color, line string) {
	onto, ok := on.SubImage(clip).(draw.Image)
	if !ok {
		return
	}
	dot := fixed.P(x, y+int(h.size+0.5))
	src := image.NewUniform(ink)
	for _, r := range ordered(line) {
		face := h.face(r)
		if to, mask, at, advance, ok := face.Glyph(dot, r); ok {
			draw.DrawMask(onto, to, src, image.Point{}, mask, at, draw.Over)
			dot.X += advance
		}
	}
}

const ellipsis = "…"

// longest is more characters than any line shows.
const longest = 1000

// shortened returns the line with its middle left out, if it is wider than so many
// pixels: what names begin with and end in tells more. It is made visible.
func (h *hand) shortened(text string, width int) string {
	head, tail := cut(text, longest)
	first, last := []rune(h.visible(head)), []rune(h.visible(tail))
	if tail == "" {
		if h.width(string(first)) <= width {
			return string(first)
		}
		middle := len(first) / 2
		first, last = first[:middle], first[middle:]
	}
	room := fixed.I(width) - h.advance('…')
	take := func(at *int, r rune) bool {
		if room -= h.advance(r); room < 0 {
			return false
		}
		*at++
		return true
	}
	var n, m int // characters taken from the beginning and the end
	for n < len(first) || m < len(last) {
		if m < len(last) && !take(&m, last[len(last)-1-m]) || n < len(first) && !take(&n, first[n]) {
			break
		}
	}
	return string(first[:n]) + ellipsis + string(last[len(last)-m:])
}

// cut returns text, or its first and last n characters if there are more than twice as
// many bytes.
func cut(text string, n int) (head, tail string) {
	if len(text) <= 2*n*utf8.UTFMax {
		return text, ""
	}
	at := len(text) - n*utf8.UTFMax
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[:n*utf8.UTFMax], text[at:]
}

// lines breaks text at blanks, or within words that are too wide, into at most most
// lines; the last one loses its middle if there is more.
func (h *hand) lines(text string, width, most int) []string {
	head, _ := cut(text, longest*4)
	words := strings.Fields(h.visible(head))
	var out []string
	for len(words) > 0 {
		if len(out) == most-1 {
			return append(out, h.shortened(strings.Join(words, " "), width))
		}
		n := 1
		for n < len(words) && h.width(strings.Join(words[:n+1], " ")) <= width {
			n++
		}
		line := strings.Join(words[:n], " ")
		words = words[n:]
		if h.width(line) > width { // a word alone
			begin := h.fitting(line, width)
			line, words = line[:begin], append([]string{line[begin:]}, words...)
		}
		out = append(out, line)
	}
	return out
}

// fitting is how many bytes of a word fit; at least one character.
func (h *hand) fitting(word string, width int) int {
	var w fixed.Int26_6
	for i, r := range word {
		if w += h.advance(r); w.Ceil() > width && i > 0 {
			return i
		}
	}
	return len(word)
}
