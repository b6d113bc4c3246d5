package recipe_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What operations say of themselves is read in Python as it is written there.
func TestTextsInPython(t *testing.T) {
	p := parameter{usual: "pad"}
	p.Choices = []string{"pad", "crop"}
	headed, heads := p.headed("how: pad: into the size; crop: over it")
	for _, c := range []struct{ got, want string }{
		{headed, "how: `\"pad\"`, the default: into the size; `\"crop\"`: over it"},
		{p.withChoices("where it is; with size"), "where it is: `\"pad\"`, the default, or `\"crop\"`; with size"},
		{coded("with 'pad', an image's 'max_size', as for resize", p.Choices), "with `\"pad\"`, an image's `max_size`, as for `resize`"},
		{coded("a field_length of 'f(x_y)', as for them", nil), "a `field_length` of `f(x_y)`, as for them"},
		{listed("- one\n- two\n  and three"), "        - one\n        - two and three\n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if !heads {
		t.Error("words with what they mean are heads")
	}
}

// explained is the text about a parameter.
func (p parameter) explained(op string, words []string, seen map[string]string) string {
	text := p.Doc
	if p.tuple {
		text = regexp.MustCompile(`\[([a-z, ]+)\]`).ReplaceAllString(text, "($1)")
	}
	if strings.HasPrefix(text, "as for ") {
		return coded(text, words)
	}

	if p.many {
		text += ": names, or lists of them"
	}

	text, heads := p.headed(text)
	text = coded(text, words)
	if !heads && len(p.Choices) > 1 && p.hint != "Any" && p.turn == "" || p.also != nil {
		text = p.withChoices(text)
	}
	if p.usual != "" && p.spelling.usual == "" && !p.Required && !strings.Contains(text, "default") {
		sign := ", "
		if strings.ContainsAny(text, ",;:.") {
			sign = "; "
		}
		text += sign + "by default `" + value(p.usual) + "`"
		text = regexp.MustCompile("`(True|False|[0-9.]+|\\([^`\"]*\\))`$").ReplaceAllString(text, "$1")
	}

	if p.Choices != nil && !heads && len(text) > 90 {
		if of := seen[p.Name+text]; of != "" {
			return "as for `" + of + "`"
		}
		seen[p.Name+text] = op
	}
	return text
}

// headed is text in which what a word means comes after it: "short: the shorter edge".
func (p parameter) headed(text string) (string, bool) {
	if len(p.Choices) < 2 {
		return text, false
	}
	heads := false
	head := regexp.MustCompile(`(^|; |: |\. )(` + strings.Join(p.Choices, "|") + `): `)
	for head.MatchString(text) { // matches share what is between them
		heads = true
		text = head.ReplaceAllStringFunc(text, func(found string) string {
			parts := head.FindStringSubmatch(found)
			usually := ""
			if parts[2] == p.usual {
				usually = ", the default"
			}
			return fmt.Sprintf("%s`%q`%s: ", parts[1], parts[2], usually)
		})
	}
	return text, heads || strings.Count(text, "'") >= 4
}

// withChoices is text with the words that there are after its first part.
func (p parameter) withChoices(text string) string {
	var all string
	for i, c := range p.Choices {
		switch {
		case i == len(p.Choices)-1:
			all += " or "
		case i > 0:
			all += ", "
		}
		all += fmt.Sprintf("`%q`", c)
		if c == p.usual {
			all += ", the default"
			if i == len(p.Choices)-2 {
				all += ","
			}
		}
	}
	for _, other := range p.also {
		all += ", or " + other
	}
	head, rest, more := strings.Cut(text, "; ")
	if !more {
		return head + ": " + all
	}
	return head + ": " + all + "; " + rest
}

var (
	quoted     = regexp.MustCompile(`(^|[\s(])'([^']+)'`)
	identifier = regexp.MustCompile(`\b[a-z]+(?:_[a-z0-9]+)+\b`)
	likeAnOp   = regexp.MustCompile(`\bas for ([a-z]+)\b`)
)

// coded is text in which code is marked as such: what is in quotes, and names. Of words
// that are values, the quotes are part of the code.
func coded(text string, values []string) string {
	text = quoted.ReplaceAllStringFunc(text, func(found string) string {
		parts := quoted.FindStringSubmatch(found)
		switch code := parts[2]; {
		case slices.Contains(values, code):
			return parts[1] + fmt.Sprintf("`%q`", code)
		case code == "null" || code == "[null]":
			return parts[1] + "`" + value(code) + "`"
		default:
			return parts[1] + "`" + code + "`"
		}
	})
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = identifier.ReplaceAllString(parts[i], "`$0`")
		parts[i] = likeAnOp.ReplaceAllStringFunc(parts[i], func(found string) string {
			name := likeAnOp.FindStringSubmatch(found)[1]
			if !isOperation(name) {
				return found
			}
			return "as for `" + name + "`"
		})
	}
	return strings.Join(parts, "`")
}

// listed wraps a paragraph, or the items of a list.
func listed(text string) string {
	if !strings.HasPrefix(text, "- ") {
		return wrapped("        "+strings.ReplaceAll(text, "\n", " "), "        ")
	}
	var b strings.Builder
	for item := range strings.SplitSeq(text, "\n- ") {
		b.WriteString(wrapped("        - "+strings.TrimPrefix(strings.ReplaceAll(item, "\n", " "), "- "), "          "))
	}
	return b.String()
}

// wrapped is text in lines of at most 140 columns, all but the first indented.
func wrapped(text, indent string) string {
	first := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line, all := first, ""
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case width(line)+1+width(word) > 140:
			all += line + "\n"
			line = indent + word
		default:
			line += " " + word
		}
	}
	return all + line + "\n"
}

func width(text string) int { return len([]rune(strings.TrimSuffix(text, "\n"))) }
