package main

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/stats"
)

// table tells the result to people: a column for each number of workers.
func (m benchResult) table(p *page) {
	columns := m.begun()
	if len(columns) == 0 {
		p.line("", plainInk, "Nothing was measured.")
		return
	}

	totals := make([]benchSlice, len(columns))
	for k, c := range columns {
		totals[k] = c.total()
	}

	rows := m.rows(columns, totals)
	first := len(rows)
	for i := range totals[0].Stats.Stages {
		rows = append(rows, stageRow(totals, i))
	}

	for _, part := range words.Fold(rows, p.width) {
		lines := words.Columns(part, 0)
		p.line("", p.bold, lines[0][0])
		for _, line := range lines[1:first] {
			p.line("", plainInk, line[0])
		}

		p.blank()
		p.line("", p.bold, "time of the stages' workers: % starved · busy · blocked · gated")
		for _, line := range lines[first:] {
			p.line("", plainInk, line[0])
		}
		p.blank()
	}

	p.line("", p.bold, "what limits")
	for k, c := range columns {
		p.line("  "+words.Plural(int64(c.workers), "worker")+": ", plainInk, stats.Verdict(stats.Snapshot{Stats: totals[k].Stats}))
	}

	p.blank()
	p.line("", plainInk, pageCache(totals))
	if text := disturbed(totals, machine.CPUs()); text != "" {
		p.line("", plainInk, text)
	}
}

// rows are the numbers, each with its name before it.
func (m benchResult) rows(columns []benchColumn, totals []benchSlice) [][]string {
	var rows [][]string
	add := func(name string, cell func(k int) string) {
		row := []string{name}
		for k := range columns {
			row = append(row, cell(k))
		}
		rows = append(rows, row)
	}

	add("workers", func(k int) string { return fmt.Sprint(columns[k].workers) })
	add("samples/s", func(k int) string { return rateText(totals[k].rate()) })
	add("  slowest–fastest slice", func(k int) string {
		return rateText(columns[k].slowest()) + "–" + rateText(columns[k].fastest())
	})
	add("speed-up", func(k int) string { return fmt.Sprintf("%.2f", totals[k].rate()/totals[0].rate()) })
	add("batches/s", func(k int) string { return rateText(float64(totals[k].Batches) / totals[k].Seconds) })
	add("read", func(k int) string { return bytesRate(bytesRead(totals[k].Stats), totals[k].Seconds) })

	known := func(has func(t benchSlice) bool) bool {
		return !slices.ContainsFunc(totals, func(t benchSlice) bool { return !has(t) })
	}
	if known(func(t benchSlice) bool { return t.DiskBytes != nil }) {
		add("  of it from disk", func(k int) string { return bytesRate(*totals[k].DiskBytes, totals[k].Seconds) })
	}
	add("written to batches", func(k int) string { return bytesRate(totals[k].Samples*m.ready.SampleBytes, totals[k].Seconds) })
	add("cores used", func(k int) string { return fmt.Sprintf("%.2f", totals[k].CPUSeconds/totals[k].Seconds) })
	if known(func(t benchSlice) bool { return t.Delayed != nil }) {
		add("  and waited for", func(k int) string { return fmt.Sprintf("%.2f", *totals[k].Delayed/totals[k].Seconds) })
	}
	add("CPU s per 1,000 samples", func(k int) string { return fmt.Sprintf("%.3g", perThousand(totals[k])) })
	add("peak memory, RSS", func(k int) string { return bytesize.Text(totals[k].PeakRSS) })
	add("peak of the byte budget", func(k int) string { return bytesize.Text(totals[k].PeakBudget) })

	for _, t := range totals {
		if lostIn(t.Stats) > 0 {
			add("samples lost", func(k int) string { return words.Thousands(lostIn(totals[k].Stats)) })
			break
		}
	}
	return rows
}

func stageRow(totals []benchSlice, i int) []string {
	row := []string{stats.ShortName(totals[0].Stats.Stages[i].Name)}
	for _, t := range totals {
		shares := t.Stats.Stages[i].Shares()
		row = append(row, fmt.Sprintf("%.0f·%.0f·%.0f·%.0f", 100*shares.Starved, 100*shares.Busy, 100*shares.Blocked, 100*shares.Gated))
	}
	return row
}

func perThousand(s benchSlice) float64 { return 1000 * s.CPUSeconds / float64(s.Samples) }

func bytesRate(n int64, seconds float64) string {
	return bytesize.Text(int64(float64(n)/seconds)) + "/s"
}

// pageCache says what the numbers do not: whether the disk was part of them.
func pageCache(totals []benchSlice) string {
	some, all := false, true
	for _, t := range totals {
		if t.DiskBytes == nil {
			return "The system does not say whether files came from disk or from the page cache."
		}
		cold := float64(*t.DiskBytes) > 0.05*float64(bytesRead(t.Stats)) // less than that changes no rate that people compare
		some, all = some || cold, all && cold
	}
	switch {
	case all:
		return "Files came from disk: these rates have the disk in them. Where the data fit into memory, " +
			"a second run shows the rates of later epochs."
	case some:
		return "Files came from disk in some columns more than in others: compare the columns of a second run."
	default:
		return "Files came from the page cache, as far as the system tells: an epoch that reads them from disk may be slower."
	}
}

// disturbed says that CPUs were missing for other reasons than the recipe.
// Threads of a run that uses all of them wait for each other; those of one that does
// not wait for somebody else.
func disturbed(totals []benchSlice, cores int) string {
	const much, most = 0.25, 0.85
	for _, t := range totals {
		if t.Delayed != nil && *t.Delayed > much*t.CPUSeconds && t.CPUSeconds < most*float64(cores)*t.Seconds {
			return "Threads that could run had to wait for a core: something else uses the cores, " +
				"and these rates are lower than the machine's."
		}
	}
	return ""
}
