package where

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	end    kind = iota
	name        // of a column
	word        // and, or, not, in, is, null, true, false
	number      // without a sign
	text
	sign // everything else
)

type token struct {
	kind kind
	text string // of a word, in lower case
	at   int
	ends int // where the next one may begin
}

// reserved are words that name no column, unless they are in backquotes. None, True and
// False are as Python writes them.
var reserved = []string{"and", "or", "not", "in", "is", "null", "none", "true", "false"}

// reservedAs returns the reserved word that a text is; "": it is none.
func reservedAs(text string) string {
	for _, w := range reserved {
		if strings.EqualFold(w, text) {
			return w
		}
	}
	return ""
}

// signs are those of two characters before those of one that they begin with.
var signs = []string{"==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", "-", "+"}

// habits are signs of other languages, and what stands for them here.
var habits = []struct{ sign, write string }{
	{"<>", "!="}, {"&&", "and"}, {"&", "and"}, {"||", "or"}, {"|", "or"}, {"!", "not"}, {"~", "not"}, {"=", "=="},
}

// next returns the token at a place of the text.
func next(s string, at int) (t token, err error) {
	for at < len(s) && strings.IndexByte(" \t\r\n", s[at]) >= 0 {
		at++
	}
	wrong := func(format string, args ...any) error { return &Error{s, at, fmt.Errorf(format, args...)} }
	t = token{at: at, ends: at}
	if at == len(s) {
		return t, nil
	}
	rest := s[at:]
	for _, h := range habits {
		double := h.sign == "=" || h.sign == "!" // of which == and != begin
		if strings.HasPrefix(rest, h.sign) && !(double && strings.HasPrefix(rest[1:], "=")) {
			return t, wrong("has %q: write %q", h.sign, h.write)
		}
	}
	for _, one := range signs {
		if strings.HasPrefix(rest, one) {
			return token{kind: sign, text: one, at: at, ends: at + len(one)}, nil
		}
	}

	switch c, _ := utf8.DecodeRuneInString(rest); {
	case c == '\'' || c == '"':
		t.kind = text
		t.text, t.ends, err = quoted(s, at)
		return t, err
	case c == '`':
		t.kind = name
		for from := at + 1; ; {
			n := strings.IndexByte(s[from:], '`')
			if n < 0 {
				return t, wrong("has a name whose backquote is not closed")
			}
			t.text, from = t.text+s[from:from+n], from+n+1
			if !strings.HasPrefix(s[from:], "`") {
				t.ends = from
				break
			}
			t.text, from = t.text+"`", from+1
		}
		if t.text == "" {
			return t, wrong("has a name without letters")
		}
		return t, nil
	case '0' <= c && c <= '9' || c == '.':
		t.kind = number
		t.text, t.ends = digits(rest), at+len(digits(rest))
		return t, nil
	case inName(c, true):
		n := strings.IndexFunc(rest, func(r rune) bool { return !inName(r, false) })
		if n < 0 {
			n = len(rest)
		}
		t.kind, t.text, t.ends = name, rest[:n], at+n
		if w := reservedAs(t.text); w != "" {
			t.kind, t.text = word, w
		}
		return t, nil
	default:
		return t, wrong("has %q, which means nothing here: a name that has it is written in backquotes", string(c))
	}
}

// inName tells characters of names that need no backquotes.
func inName(r rune, first bool) bool {
	if r == '_' || unicode.IsLetter(r) {
		return true
	}
	return !first && (unicode.IsDigit(r) || unicode.IsMark(r) || r == '.')
}

// digits is the number with which a text begins, and whatever is joined to it.
func digits(s string) string {
	n := 0
	for n < len(s) {
		c := s[n]
		exponent := (c == '-' || c == '+') && (s[n-1] == 'e' || s[n-1] == 'E')
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !exponent && !letter && strings.IndexByte("._0123456789", c) < 0 {
			break
		}
		n++
	}
	return s[:n]
}

// escapes are the characters that come after a backslash, but for x, u and U.
var escapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'n': '\n', 't': '\t', 'r': '\r'}

// quoted reads text in quotes, with the escapes of Python, so that repr() can write it.
func quoted(s string, at int) (text string, ends int, err error) {
	var b strings.Builder
	for i := at + 1; i < len(s); {
		c := s[i]
		if c == s[at] {
			return b.String(), i + 1, nil
		}
		if c != '\\' {
			b.WriteByte(c)
			i++
			continue
		}
		if i+1 == len(s) {
			break
		}
		wrong := &Error{s, i, fmt.Errorf("has %q in text: a backslash is written twice, %q", s[i:i+1+runeLen(s[i+1:])], `\\`)}
		if to, ok := escapes[s[i+1]]; ok {
			b.WriteByte(to)
			i += 2
			continue
		}

		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i+1]]
		if n == 0 || i+2+n > len(s) {
			return "", 0, wrong
		}
		v, err := strconv.ParseUint(s[i+2:i+2+n], 16, 32)
		if err != nil || !utf8.ValidRune(rune(v)) {
			return "", 0, wrong
		}
		b.WriteRune(rune(v))
		i += 2 + n
	}
	return "", 0, &Error{s, at, fmt.Errorf("has text whose quote is not closed")}
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
