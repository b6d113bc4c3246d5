package words

import (
	"strings"
	"unicode/utf8"
)

// Columns makes lines of the cells of a table: the first column to the left, the others
// to the right. Where a line would be longer than width, the first column is made
// narrower, and cells that no longer fit get lines of their own, above the others of
// their row; 0: lines have any length. It returns the lines of each row.
func Columns(rows [][]string, width int) [][]string {
	widths := columnWidths(rows, width)
	all := make([][]string, len(rows))
	for i, row := range rows {
		first := row[0]
		if utf8.RuneCountInString(first) > widths[0] {
			all[i], first = broken(first, width), ""
		}

		var b strings.Builder
		b.WriteString(first + blanks(widths[0], first))
		for k, cell := range row[1:] {
			b.WriteString("  " + blanks(widths[k+1], cell) + cell)
		}
		all[i] = append(all[i], b.String())
	}
	return all
}

// Fold cuts a table into several that are no wider than width, each with the first
// column and as many of the others as fit, one at least.
func Fold(rows [][]string, width int) (parts [][][]string) {
	widths := columnWidths(rows, 0)
	for from := 1; from < len(widths); {
		line, to := widths[0], from
		for ; to < len(widths) && (to == from || line+2+widths[to] <= width); to++ {
			line += 2 + widths[to]
		}
		part := make([][]string, len(rows))
		for i, row := range rows {
			part[i] = append([]string{row[0]}, row[from:to]...)
		}
		parts = append(parts, part)
		from = to
	}
	return parts
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
