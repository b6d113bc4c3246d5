package main

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// page is text for people, in lines that fit. In a pipe it is the same text as on a
// terminal of 80 columns, without colours.
type page struct {
	width  int
	colour bool
	text   strings.Builder
}

func newPage(w io.Writer) *page {
	return &page{width: widthFor(w), colour: colours(w)}
}

// ink colours a piece of a line.
type ink func(string) string

func plainInk(s string) string { return s }

func (p *page) bold(s string) string { return p.paint("1", s) }
func (p *page) dim(s string) string  { return p.paint("2", s) }
func (p *page) red(s string) string  { return p.paint("31", s) }

func (p *page) green(s string) string  { return p.paint("32", s) }
func (p *page) yellow(s string) string { return p.paint("33", s) }

func (p *page) paint(code, s string) string { return painted(p.colour, code, s) }

// painted writes text in a colour of terminals.
func painted(colour bool, code, s string) string {
	if !colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + plain
}

// line writes text in as many lines as it needs; those after the first begin below its
// text. What follows it is not coloured.
func (p *page) line(prefix string, as ink, text string, more ...string) {
	rest := strings.Join(more, "")
	begin := prefix
	for k, part := range wrapped(text+rest, p.width-utf8.RuneCountInString(prefix)) {
		n := 0
		if k == 0 {
			n = min(len(text), len(part))
		} else if rest == "" {
			n = len(part)
		}
		p.text.WriteString(strings.TrimRight(begin+as(part[:n])+part[n:], " ") + "\n")
		begin = continued(prefix)
	}
}

// marked writes a line whose prefix has a mark of one character in a colour of its own.
func (p *page) marked(before, mark string, as ink, after, text string) {
	begin := before + as(mark) + after
	for _, part := range wrapped(text, p.width-utf8.RuneCountInString(before+mark+after)) {
		p.text.WriteString(strings.TrimRight(begin+part, " ") + "\n")
		begin = continued(before + mark + after)
	}
}

// continued is what is before the second line of a text: the frame goes on, its
// marks do not.
func continued(prefix string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case '│', '╭':
			return '│'
		}
		return ' '
	}, prefix)
}

// fact writes a name and what there is to say about it.
func (p *page) fact(name, text string) {
	const column = 10
	p.line("  "+name+strings.Repeat(" ", column-utf8.RuneCountInString(name)), plainInk, text)
}

func (p *page) blank() { p.text.WriteString("\n") }

// wrapped breaks a text at blanks; a word that is longer than a line is broken anywhere.
func wrapped(text string, width int) []string {
	width = max(width, 10)
	var lines []string
	rest := []rune(text)
	for len(rest) > width {
		cut := width
		for k := width; k > width/2; k-- {
			if rest[k] == ' ' {
				cut = k
				break
			}
		}
		lines = append(lines, string(rest[:cut]))
		for rest = rest[cut:]; len(rest) > 0 && rest[0] == ' '; {
			rest = rest[1:]
		}
	}
	return append(lines, string(rest))
}

// visible writes names of files and other text from elsewhere so that nothing in them
// commands the terminal, or breaks a line.
func visible(s string) string {
	for _, c := range s {
		if !strconv.IsPrint(c) {
			return strconv.Quote(s)
		}
	}
	if !utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	return s
}

// printJSON writes a document for programs, in lines that people can read.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
