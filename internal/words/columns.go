package words

import (
	"strings"
	"unicode/utf8"
)

// Columns makes lines of the cells of a table: the first column to the left, the others
// to the right. Where a line would be longer than width, the first column is made
// narrower, and its cells may take several lines; 0: lines have any length. It returns
// the lines of each row.
func Columns(rows [][]string, width int) [][]string {
	widths := columnWidths(rows, width)
	all := make([][]string, len(rows))
	for i, row := range rows {
		first := broken(row[0], widths[0])

		var b strings.Builder
		b.WriteString(first[0] + blanks(widths[0], first[0]))
		for k, cell := range row[1:] {
			b.WriteString("  " + blanks(widths[k+1], cell) + cell)
		}
		all[i] = append([]string{b.String()}, first[1:]...)
	}
	return all
}

// columnWidths makes each column as wide as its widest cell, the first as wide as the
// line has room for.
func columnWidths(rows [][]string, width int) (widths []int) {
	for _, row := range rows {
		for k, cell := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	if width == 0 || widths == nil {
		return widths
	}
	for _, w := range widths[1:] {
		width -= 2 + w
	}
	widths[0] = max(1, min(widths[0], width))
	return widths
}

// broken cuts a name into lines: before a + or at a blank where there is one.
func broken(name string, width int) []string {
	var lines []string
	rest := []rune(name)
	for len(rest) > width {
		cut := width
		for i := width; i > 0; i-- {
			if rest[i] == '+' || rest[i] == ' ' {
				cut = i
				break
			}
		}
		lines = append(lines, string(rest[:cut]))
		if rest = rest[cut:]; rest[0] == ' ' {
			rest = rest[1:]
		}
	}
	return append(lines, string(rest))
}

func blanks(width int, cell string) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
}
