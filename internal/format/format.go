// Package format writes recipes as files for people, in YAML or JSON.
package format

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/rawjson"
)

// A Section is a key at the top of a file, with its value. That of "steps" has a line for
// each.
type Section struct {
	Key   string
	Value rawjson.Value
}

// YAML writes the sections so that YAML 1.1 and 1.2 read the same.
func YAML(sections []Section) []byte { return write(writer{}, sections) }

// JSON writes the sections as JSON.
func JSON(sections []Section) []byte { return write(writer{json: true}, sections) }

func write(w writer, sections []Section) []byte {
	for _, s := range sections {
		if s.Key == "steps" {
			w.steps(s.Value)
		} else {
			w.section(s.Key, s.Value)
		}
	}
	return w.end()
}

// writer writes a file, in YAML or JSON. A step is a line, as long as it is not too long
// in YAML.
type writer struct {
	json bool
	b    []byte
}

const yamlWidth = 120

func (w *writer) section(key string, v rawjson.Value) {
	w.begin(key)
	if w.json || w.fits(v, len(key)+2) {
		w.b = w.inline(append(w.b, ' '), v)
	} else {
		w.block(v, 2, false)
	}
}

// begin writes the key of a section, on a line of its own.
func (w *writer) begin(key string) {
	switch {
	case !w.json:
		if len(w.b) > 0 {
			w.b = append(w.b, '\n')
		}
		w.b = append(w.b, key+":"...)
	case len(w.b) > 0:
		w.b = fmt.Appendf(w.b, ",\n  %q:", key)
	default:
		w.b = fmt.Appendf(w.b, "{\n  %q:", key)
	}
}

func (w *writer) end() []byte {
	if w.json {
		return append(w.b, "\n}\n"...)
	}
	return append(w.b, '\n')
}

func (w *writer) steps(v rawjson.Value) {
	w.begin("steps")
	switch {
	case len(v) == len("[]"):
		w.b = append(w.b, " []"...)
	case !w.json:
		w.block(v, 2, false)
	default:
		for i, s := range v.Elements() {
			w.b = append(w.b, []string{" [\n    ", ",\n    "}[min(i, 1)]...)
			w.b = w.inline(w.b, s)
		}
		w.b = append(w.b, "\n  ]"...)
	}
}

// fits reports whether a value is written on the line that has some letters already.
// Lists of steps have a line for each.
func (w *writer) fits(v rawjson.Value, column int) bool {
	return len(v) < 4*yamlWidth && column+len(w.inline(nil, v)) <= yamlWidth && !hasSteps(v, false)
}

// hasSteps reports whether a list of objects is somewhere in v; inside says that v is in
// a list.
func hasSteps(v rawjson.Value, inside bool) bool {
	switch v.Kind() {
	case rawjson.List:
		for _, e := range v.Elements() {
			if hasSteps(e, true) {
				return true
			}
		}
	case rawjson.Object:
		for _, m := range v.Members() {
			if inside || hasSteps(m, false) {
				return true
			}
		}
	}
	return false
}

// block writes a list or an object with a line for each part, indented, after the end of
// a line; anything else on the same line. Where it is asked to, it begins here: after
// the dash of another list.
func (w *writer) block(v rawjson.Value, indent int, here bool) {
	switch v.Kind() {
	case rawjson.List:
		for i, e := range v.Elements() {
			if i == 0 && here {
				w.b = append(w.b, ' ')
			} else {
				w.newline(indent)
			}

			w.b = append(w.b, '-')
			switch {
			case e.Kind() == rawjson.Object && len(e) > len("{}"):
				w.members(e, indent+2, true)
			case e.Kind() == rawjson.List && !w.fits(e, indent+2):
				w.block(e, indent+2, true)
			default:
				w.b = w.inline(append(w.b, ' '), e)
			}
		}
	case rawjson.Object:
		w.members(v, indent, false)
	default:
		w.b = w.inline(append(w.b, ' '), v)
	}
}

// members writes an object, its first key on the same line if so asked.
func (w *writer) members(v rawjson.Value, indent int, here bool) {
	for key, m := range v.Members() {
		if here {
			w.b = append(w.b, ' ')
		} else {
			w.newline(indent)
		}
		here = false
		before := len(w.b)
		w.b = append(w.key(w.b, key), ':')
		if len(m) > len("{}") && (m.Kind() == rawjson.Object || m.Kind() == rawjson.List) && !w.fits(m, indent+1+len(w.b)-before) {
			w.block(m, indent+2, false)
		} else {
			w.b = w.inline(append(w.b, ' '), m)
		}
	}
}

func (w *writer) newline(indent int) {
	w.b = append(w.b, '\n')
	w.b = append(w.b, strings.Repeat(" ", indent)...)
}

// inline appends a value on one line.
func (w *writer) inline(b []byte, v rawjson.Value) []byte {
	switch v.Kind() {
	case rawjson.List:
		b = append(b, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = w.inline(b, e)
		}
		return append(b, ']')

	case rawjson.Object:
		b = append(b, '{')
		first := true
		for key, m := range v.Members() {
			if !first {
				b = append(b, ", "...)
			}
			first = false
			b = w.inline(append(w.key(b, key), ": "...), m)
		}
		return append(b, '}')

	case rawjson.Text:
		return w.text(b, v)
	case rawjson.Number:
		return append(b, w.number(string(v))...)
	}
	return append(b, v...)
}

// number gives a number with an exponent the form that YAML 1.1 takes for a number, too:
// 1.0e-07.
func (w *writer) number(n string) string {
	digits, exponent, ok := strings.Cut(strings.ToLower(n), "e")
	if w.json || !ok {
		return n
	}
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	if exponent[0] != '-' && exponent[0] != '+' {
		exponent = "+" + exponent
	}
	return digits + "e" + exponent
}

// plainText is what needs no quotes, whichever version of YAML it is read by.
var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.-]*$`)

// notText are words that YAML 1.1 or 1.2 takes for something else.
var notText = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

func (w *writer) text(b []byte, quoted rawjson.Value) []byte {
	text, err := rawjson.UnquoteBytes(quoted)
	if err != nil {
		return append(b, quoted...) // of an operation from elsewhere, with a form of its own
	}
	return w.words(b, strings.ReplaceAll(text, "$", "$$"))
}

// key is the key of an object, in which no variable can be.
func (w *writer) key(b []byte, quoted rawjson.Value) []byte {
	text, err := rawjson.UnquoteBytes(quoted)
	if err != nil {
		return append(b, quoted...)
	}
	return w.words(b, text)
}

func (w *writer) words(b []byte, text string) []byte {
	if !w.json && plainText.MatchString(text) && !slices.Contains(notText, strings.ToLower(text)) {
		return append(b, text...)
	}
	start := len(b)
	b = rawjson.AppendQuote(b, text)
	if w.json || bytes.IndexFunc(b[start:], unprintable) < 0 {
		return b
	}
	var escaped bytes.Buffer
	for _, c := range string(b[start:]) {
		if unprintable(c) {
			fmt.Fprintf(&escaped, `\u%04x`, c)
		} else {
			escaped.WriteRune(c)
		}
	}
	return append(b[:start], escaped.Bytes()...)
}

// unprintable are the characters that YAML wants escaped, or may take for the end of a
// line.
func unprintable(c rune) bool {
	switch c {
	case 0x2028, 0x2029, // ends of lines and paragraphs
		0xfeff, 0xfffe, 0xffff: // byte order marks, and no character
		return true
	}
	return c >= 0x80 && c < 0xa0
}
