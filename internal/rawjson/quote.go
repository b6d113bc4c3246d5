package rawjson

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendQuote writes text as JSON. A byte that is not UTF-8 becomes a lone surrogate from
// \udc80 to \udcff, as Python's surrogateescape has it (docs/protocol.md).
func AppendQuote(b []byte, p string) []byte {
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

var errText = errors.New("must be text")

// BadText says what is wrong with something that is text.
type BadText string

func (e BadText) Error() string { return string(e) }

// Unquote reads a JSON string. Lone surrogates are refused: they are in no text.
func Unquote(v Value) (string, error) { return unquote(v, false) }

// UnquoteBytes reads a JSON string in which lone surrogates from \udc80 to \udcff are the
// bytes from 0x80 to 0xff. All others are refused.
func UnquoteBytes(v Value) (string, error) { return unquote(v, true) }

func unquote(b []byte, bytes bool) (string, error) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", errText
	}
	b = b[1 : len(b)-1]
	if !utf8.Valid(b) {
		return "", BadText("is not valid UTF-8")
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
			return "", BadText(fmt.Sprintf(`has the lone surrogate \u%04x, which means nothing`, c))
		}
	}
	return string(out), nil
}

// ErrEscape is what [Unquote] finds wrong with an escape that is none.
const ErrEscape = BadText("has an escape that JSON does not know")

// escape reads the escape at the beginning of b, and the second half of a pair too.
func escape(b []byte) (c rune, n int, err error) {
	if len(b) < 2 {
		return 0, 0, ErrEscape
	}
	if b[1] != 'u' {
		const plain, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		for i := range len(plain) {
			if b[1] == plain[i] {
				return rune(meant[i]), 2, nil
			}
		}
		return 0, 0, ErrEscape
	}
	if c = unit(b); c < 0 {
		return 0, 0, ErrEscape
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
