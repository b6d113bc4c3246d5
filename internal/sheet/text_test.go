package sheet

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func text() *hand { return newHand(regular(), 12.5, &library{}) }

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain.jpg": "plain.jpg", "a\nb": `a\nb`, "\x1b[31m": `\x1b[31m`, "\u202ex": `\u202ex`,
		"\xffy": `\xffy`, "\ufffd": "\ufffd", "кошка": "кошка",
		"\U0001f600": `\U0001f600`, `back\slash`: `back\slash`, "\u00a0": "\u00a0", "'": "'",
	} {
		if got := text().visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestShortened(t *testing.T) {
	h := text()
	if got := h.shortened("a/short.jpg", 200); got != "a/short.jpg" {
		t.Errorf("%q", got)
	}
	long := "data/train/n01440764/n01440764_10026.JPEG"
	if got := h.shortened(long, 150); !strings.HasPrefix(got, "data/") || !strings.HasSuffix(got, "026.JPEG") || strings.Count(got, "…") != 1 {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.StringN(900, 9000, -1),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		width := rapid.IntRange(20, 400).Draw(t, "width")
		got := h.shortened(in, width)
		if h.width(got) > width || !utf8.ValidString(got) {
			t.Fatalf("%q takes %d pixels of %d", got, h.width(got), width)
		}
	})
}

func TestLines(t *testing.T) {
	h := text()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "text")
		width, most := rapid.IntRange(20, 400).Draw(t, "width"), rapid.IntRange(1, 9).Draw(t, "most")
		got := h.lines(in, width, most)
		if len(got) > most {
			t.Fatalf("%d lines of %d", len(got), most)
		}
		for _, line := range got {
			if h.width(line) > width {
				t.Fatalf("%q takes %d pixels of %d", line, h.width(line), width)
			}
		}
		whole := strings.Join(strings.Fields(h.visible(in)), "")
		if said := strings.ReplaceAll(strings.Join(got, ""), " ", ""); !strings.Contains(said, "…") && said != whole {
			t.Fatalf("%q became %q", whole, said)
		}
	})
}

// Compared with how such names are read aloud: the last letter of a word is first.
func TestOrdered(t *testing.T) {
	for in, want := range map[string]string{
		"abc/1.jpg": "abc/1.jpg",
		"אבג.jpg":   "גבא.jpg",
		"אב/גד.jpg": "בא/דג.jpg",
		"אב גד-1":   "דג בא-1",
		"xאבy":      "xבאy",
	} {
		if got := ordered(in); got != want {
			t.Errorf("%q is written %q, want %q", in, got, want)
		}
	}
}
