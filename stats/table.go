package stats

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
)

// width is the longest line in characters.
const width = 80

// stageTable draws the stages from the source on, with the queue after each between
// them, and under a stage that calls several functions their shares.
func stageTable(s pipe.Stats, functions []Function) string {
	losses := slices.ContainsFunc(s.Stages, func(t pipe.StageStats) bool { return t.Lost > 0 })
	gates := slices.ContainsFunc(s.Stages, func(t pipe.StageStats) bool { return t.Gated > 0 })
	rows := [][]string{header(losses, gates)}
	for _, t := range s.Stages {
		rows = append(rows, cells(t, s.Elapsed, losses, gates))
	}
	var b strings.Builder
	for i, lines := range words.Columns(rows, width) {
		b.WriteString(strings.Join(lines, "\n") + "\n")
		if i > 0 {
			writeFunctions(&b, functions, s.Stages[i-1].Name)
			writeQueue(&b, s.Queues, s.Stages[i-1].Name)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Columns of which all cells are 0 are left out.
func header(losses, gates bool) []string {
	h := []string{"stage", "in", "out"}
	if losses {
		h = append(h, "lost")
	}
	h = append(h, "ops/s", "starved", "busy", "blocked")
	if gates {
		h = append(h, "gated")
	}
	return append(h, "p50", "p99")
}

func cells(t pipe.StageStats, elapsed time.Duration, losses, gates bool) []string {
	name := t.Name
	if t.Workers > 1 {
		name += fmt.Sprintf(" ×%d", t.Workers)
	}
	shares := t.Shares()
	row := []string{name, whole(t.In), whole(t.Out)}
	if losses {
		row = append(row, whole(t.Lost))
	}
	row = append(row, count(rate(t.In-t.Ahead, elapsed)), percent(shares.Starved), percent(shares.Busy), percent(shares.Blocked))
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

// writeFunctions says what share of the time of a stage's calls each of its functions
// has.
func writeFunctions(b *strings.Builder, all []Function, stage string) {
	all = slices.DeleteFunc(slices.Clone(all), func(f Function) bool { return f.Within != stage })
	total := time.Duration(0)
	for _, f := range all {
		total += f.Time
	}
	if len(all) < 2 || total == 0 {
		return
	}
	line := "│ calls:"
	for i, f := range all {
		one := fmt.Sprintf(" %s %s", f.Stage, percent(share(f.Time, total)))
		if i < len(all)-1 {
			one += ","
		}
		if utf8.RuneCountInString(line+one) > width {
			b.WriteString(line + "\n")
			line = "│"
		}
		line += one
	}
	b.WriteString(line + "\n")
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

// columns makes a table, a line or more for each row.
func columns(rows [][]string) string {
	var all []string
	for _, lines := range words.Columns(rows, width) {
		all = append(all, lines...)
	}
	return strings.Join(all, "\n")
}
