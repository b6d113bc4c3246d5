package recipe

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Path is a file's name or a pattern: bytes, mostly UTF-8. In JSON a byte that is not becomes a lone surrogate from \udc80 to \udcff, which
// is what Python's surrogateescape makes of it (docs/protocol.md).
type Path string

// MarshalJSON writes p with escapes for what is not UTF-8.
func (p Path) MarshalJSON() ([]byte, error) { return appendPath(nil, string(p)), nil }

func appendPath(b []byte, p string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for len(p) > 0 {
		c, n := utf8.DecodeRuneInString(p)
		switch {
		case c == utf8.RuneError && n == 1:
			b = append(b, '\\', 'u', 'd', 'c', hex[p[0]>>4], hex[p[0]&15])
		case c == '"' || c == '\\':
			b = append(b, '\\', p[0])
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[p[0]>>4], hex[p[0]&15])
		default:
			b = append(b, p[:n]...)
		}
		p = p[n:]
	}
	return append(b, '"')
}

// UnmarshalJSON reads what MarshalJSON wrote, and what Python's json.dumps writes.
func (p *Path) UnmarshalJSON(b []byte) error {
	if string(b) == "null" { // as encoding/json wants it: null changes nothing
		return nil
	}
	s, err := unquote(b, true)
	*p = Path(s)
	return err
}

var errText = errors.New("takes text")

// badText says what is wrong with something that is text.
type badText string

func (e badText) Error() string { return string(e) }

// unquote reads a JSON string. With bytes, lone surrogates from \udc80 to \udcff are the bytes from 0x80 to 0xff; all others are
// refused, as they are in no text.
func unquote(b []byte, bytes bool) (string, error) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", errText
	}
	b = b[1 : len(b)-1]
	if !utf8.Valid(b) {
		return "", badText("is not valid UTF-8")
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] != '\\' {
			out = append(out, b[0])
			b = b[1:]
			continue
		}
		c, n, err := escape(b)
		if err != nil {
			return "", err
		}
		b = b[n:]
		switch {
		case !utf16.IsSurrogate(c):
			out = utf8.AppendRune(out, c)
		case bytes && c >= 0xdc80 && c <= 0xdcff:
			out = append(out, byte(c))
		default:
			return "", badText(fmt.Sprintf(`has the lone surrogate \u%04x, which stands for nothing`, c))
		}
	}
	return string(out), nil
}

const errEscape = badText("has an escape that JSON does not know")

// escape reads the escape at the beginning of b, and the second half of a pair too.
func escape(b []byte) (c rune, n int, err error) {
	if len(b) < 2 {
		return 0, 0, errEscape
	}
	if b[1] != 'u' {
		const plain, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		for i := range len(plain) {
			if b[1] == plain[i] {
				return rune(meant[i]), 2, nil
			}
		}
		return 0, 0, errEscape
	}
	if c = unit(b); c < 0 {
		return 0, 0, errEscape
	}
	if c < 0xd800 || c > 0xdbff { // what cannot be a first half
		return c, 6, nil
	}
	if pair := utf16.DecodeRune(c, unit(b[6:])); pair != utf8.RuneError {
		return pair, 12, nil
	}
	return c, 6, nil
}

// unit reads \uXXXX; -1 where there is none.
func unit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}
