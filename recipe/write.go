package recipe

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// YAML writes r as a file for people: complete, but without the names that steps have by default. [Read] makes the same recipe of it. It is nil where
// an argument has no form at all, as NaN has none.
func (r Recipe) YAML() []byte { return File{Recipe: r}.YAML() }

// YAML writes the recipe and its section "loader", if it has one. Variables are replaced.
func (f File) YAML() []byte { return f.write(writer{}) }

// JSON writes what [File.YAML] does, in JSON. What "${" means in files makes it differ from what [Recipe.MarshalJSON] writes.
func (f File) JSON() []byte { return f.write(writer{json: true}) }

func (f File) write(w writer) []byte {
	doc, err := f.Recipe.MarshalJSON()
	if err != nil {
		return nil
	}
	v := value(doc)
	w.section("headrace", v.member("headrace"))
	w.section("seed", v.member("seed"))
	w.steps(v.member("steps"))
	if f.Loader != nil {
		w.section("loader", value(bytes.TrimSpace(f.Loader)))
	}
	return w.end()
}

// writer writes a file, in YAML or JSON. A step is a line, as long as it is not too long in YAML.
type writer struct {
	json bool
	b    []byte
}

const yamlWidth = 120

func (w *writer) section(key string, v value) {
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

func (w *writer) steps(v value) {
	w.begin("steps")
	switch {
	case len(v) == len("[]"):
		w.b = append(w.b, " []"...)
	case !w.json:
		w.block(v, 2, false)
	default:
		for i, s := range v.elements() {
			w.b = append(w.b, []string{" [\n    ", ",\n    "}[min(i, 1)]...)
			w.b = w.inline(w.b, s)
		}
		w.b = append(w.b, "\n  ]"...)
	}
}

// fits reports whether a value is written on the line that has some letters already. Lists of steps have a line for each.
func (w *writer) fits(v value, column int) bool {
	return len(v) < 4*yamlWidth && column+len(w.inline(nil, v)) <= yamlWidth && !v.hasSteps(false)
}

// hasSteps reports whether a list of objects is somewhere in v; inside says that v is in a list.
func (v value) hasSteps(inside bool) bool {
	switch v.kind() {
	case '[':
		for _, e := range v.elements() {
			if e.hasSteps(true) {
				return true
			}
		}
	case '{':
		for _, m := range v.members() {
			if inside || m.hasSteps(false) {
				return true
			}
		}
	}
	return false
}

// block writes a list or an object with a line for each part, indented, after the end of a line; anything else on the same line. Where it is
// asked to, it begins here: behind the dash of another list.
func (w *writer) block(v value, indent int, here bool) {
	switch v.kind() {
	case '[':
		for i, e := range v.elements() {
			if i == 0 && here {
				w.b = append(w.b, ' ')
			} else {
				w.newline(indent)
			}
			w.b = append(w.b, '-')
			switch {
			case e.kind() == '{' && len(e) > len("{}"):
				w.members(e, indent+2, true)
			case e.kind() == '[' && !w.fits(e, indent+2):
				w.block(e, indent+2, true)
			default:
				w.b = w.inline(append(w.b, ' '), e)
			}
		}
	case '{':
		w.members(v, indent, false)
	default:
		w.b = w.inline(append(w.b, ' '), v)
	}
}

// members writes an object, its first key on the same line if so asked.
func (w *writer) members(v value, indent int, here bool) {
	for key, m := range v.members() {
		if here {
			w.b = append(w.b, ' ')
		} else {
			w.newline(indent)
		}
		here = false
		before := len(w.b)
		w.b = append(w.key(w.b, key), ':')
		if len(m) > len("{}") && (m.kind() == '{' || m.kind() == '[') && !w.fits(m, indent+1+len(w.b)-before) {
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
func (w *writer) inline(b []byte, v value) []byte {
	switch v.kind() {
	case '[':
		b = append(b, '[')
		for i, e := range v.elements() {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = w.inline(b, e)
		}
		return append(b, ']')
	case '{':
		b = append(b, '{')
		first := true
		for key, m := range v.members() {
			if !first {
				b = append(b, ", "...)
			}
			first = false
			b = w.inline(append(w.key(b, key), ": "...), m)
		}
		return append(b, '}')
	case '"':
		return w.text(b, v)
	case '0':
		return append(b, w.number(string(v))...)
	}
	return append(b, v...)
}

// number gives a number with an exponent the form that YAML 1.1 takes for a number, too: 1.0e-07.
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

func (w *writer) text(b []byte, quoted value) []byte {
	text, err := unquote(quoted, true)
	if err != nil {
		return append(b, quoted...) // of an operation from elsewhere, with a form of its own
	}
	return w.words(b, strings.ReplaceAll(text, "$", "$$"))
}

// key is the key of an object, in which no variable can stand.
func (w *writer) key(b []byte, quoted value) []byte {
	text, err := unquote(quoted, true)
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
	b = appendPath(b, text)
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

// unprintable are the characters that YAML wants escaped, or may take for the end of a line.
func unprintable(c rune) bool {
	return c >= 0x80 && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff
}
