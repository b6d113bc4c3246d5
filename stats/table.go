package stats

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"headrace/pipe"
)

// width is the longest line in characters.
const width = 100

// stageTable draws the stages from the source on, with the queue behind each between them.
func stageTable(s pipe.Stats) string {
	gates := slices.ContainsFunc(s.Stages, func(t pipe.StageStats) bool { return t.Gated > 0 })
	rows := [][]string{header(gates)}
	for _, t := range s.Stages {
		rows = append(rows, cells(t, s.Elapsed, gates))
	}
	widths := columnWidths(rows)
	var b strings.Builder
	for i, row := range rows {
		writeRow(&b, row, widths)
		if i > 0 {
			writeQueue(&b, s.Queues, s.Stages[i-1].Name)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func header(gates bool) []string {
	h := []string{"stage", "in", "out", "lost", "ops/s", "starved", "busy", "blocked"}
	if gates {
		h = append(h, "gated")
	}
	return append(h, "p50", "p99")
}

func cells(t pipe.StageStats, elapsed time.Duration, gates bool) []string {
	name := t.Name
	if t.Workers > 1 {
		name += fmt.Sprintf(" ×%d", t.Workers)
	}
	shares := t.Shares()
	row := []string{
		name, whole(t.In), whole(t.Out), whole(t.Lost), count(rate(t.In, elapsed)),
		percent(shares.Starved), percent(shares.Busy), percent(shares.Blocked),
	}
	if gates {
		row = append(row, percent(shares.Gated))
	}
	about := ""
	if t.Sampled {
		about = "~"
	}
	for _, p := range []time.Duration{t.P50, t.P99} {
		if p == 0 {
			row = append(row, "-")
		} else {
			row = append(row, about+duration(p))
		}
	}
	return row
}

// columnWidths makes each column as wide as its widest cell, the first as wide as the line has room for.
func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rest := 0
	for _, w := range widths[1:] {
		rest += 2 + w
	}
	widths[0] = max(1, min(widths[0], width-rest))
	return widths
}

// writeRow writes a line, and more where the first cell is too long for one.
func writeRow(b *strings.Builder, row []string, widths []int) {
	lines := broken(row[0], widths[0])
	b.WriteString(padRight(lines[0], widths[0]))
	for i, cell := range row[1:] {
		b.WriteString("  " + strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(cell)) + cell)
	}
	b.WriteString("\n")
	for _, line := range lines[1:] {
		b.WriteString(line + "\n")
	}
}

func writeQueue(b *strings.Builder, queues []pipe.QueueStats, from string) {
	for _, q := range queues {
		if q.From != from {
			continue
		}
		to := ""
		if q.To == "" {
			to = " for the consumer"
		}
		fmt.Fprintf(b, "│ %s of %d ready%s; empty for %s, full for %s of the time\n",
			digits(q.Mean), q.Cap, to, percent(share(q.Empty, q.Observed)), percent(share(q.Full, q.Observed)))
	}
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

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
