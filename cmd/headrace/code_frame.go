package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headrace/headrace/recipe"
)

// codeFrame is the line that a mistake in a recipe is in, with carets below what is
// wrong; "" for errors without a place, and where the file cannot be read again.
func codeFrame(err error, width int, colour bool) string {
	at := recipe.Position{}
	if e, m := (*recipe.Error)(nil), recipe.Mistake(nil); errors.As(err, &e) {
		at = e.Position
	} else if errors.As(err, &m) {
		at = m.Place()
	}
	text := lineOf(at)
	if at.Column < 1 || at.Column > utf8.RuneCountInString(text) {
		return ""
	}

	margin := fmt.Sprintf("%5d | ", at.Line)
	code, begin := []rune(strings.ReplaceAll(text, "\t", " ")), at.Column-1
	length := wordLength(code[begin:])
	code, begin = cropped(code, begin, length, width-len(margin))
	marks := painted(colour, "31", strings.Repeat("^", max(1, min(length, len(code)-begin))))
	return fmt.Sprintf("%s%s\n%s| %s%s\n", margin, string(code), strings.Repeat(" ", len(margin)-2), strings.Repeat(" ", begin), marks)
}

// lineOf reads a line of a file; "" where there is none.
func lineOf(at recipe.Position) string {
	if at.File == "" || at.File == "stdin" || at.Line < 1 {
		return ""
	}
	f, err := os.Open(at.File)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, _ := io.ReadAll(io.LimitReader(f, mostOfRecipe))
	lines := strings.SplitN(string(data), "\n", at.Line+1)
	if len(lines) < at.Line {
		return ""
	}
	return strings.TrimRightFunc(printable(lines[at.Line-1]), unicode.IsSpace)
}

// mostOfRecipe is more than a recipe may have in a file of YAML.
const mostOfRecipe = 1 << 20

// printable has nothing in it that a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}

// wordLength is how many characters a key or a value of YAML or JSON has: up to the end
// of its quotes, or to what follows it.
func wordLength(code []rune) int {
	if quote := code[0]; quote == '"' || quote == '\'' {
		for i := 1; i < len(code); i++ {
			if code[i] == quote && code[i-1] != '\\' {
				return i + 1
			}
		}
		return len(code)
	}
	if strings.ContainsRune("{[", code[0]) {
		return 1
	}
	for i, r := range code {
		ends := strings.ContainsRune(",}]", r) || unicode.IsSpace(r)
		isKey := r == ':' && (i+1 == len(code) || unicode.IsSpace(code[i+1]))
		if i > 0 && (ends || isKey) {
			return i
		}
	}
	return len(code)
}

// cropped leaves out what is far from a word where a line is wider than there is room.
func cropped(code []rune, begin, length, width int) (short []rune, at int) {
	if len(code) <= width {
		return code, begin
	}
	from := max(0, min(begin-width/3, len(code)-width))
	if begin+length <= width {
		from = 0 // its beginning tells most
	}
	short = append([]rune(nil), code[from:min(len(code), from+width)]...)
	if from > 0 {
		short[0] = '…'
	}
	if from+width < len(code) {
		short[len(short)-1] = '…'
	}
	return short, begin - from
}
