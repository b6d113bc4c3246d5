package stats

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/observe/counters"
)

// Text returns the report for people, without a line break at its end. No line is wider
// than 80 characters.
func Text(s Snapshot) string {
	if len(s.Stages) == 0 {
		return Verdict(s)
	}
	parts := []string{Brief(s), "", stageTable(s.Stats, s.Functions)}
	if s.Memory.Limit > 0 {
		parts = append(parts, "", wrap(memory(s.Memory)), wrap(batches(s.Memory.Batches)))
	}
	for _, m := range s.Mixes {
		if line := mixed(m); line != "" {
			parts = append(parts, wrap(line))
		}
	}
	if s.Shards.Used > 0 {
		parts = append(parts, wrap(shards(s.Shards)))
	}
	for _, c := range s.Tuned {
		parts = append(parts, wrap(tuned(c)))
	}
	for _, h := range s.Hosts {
		parts = append(parts, wrap(host(h)))
	}
	if s.Decoder != "" {
		parts = append(parts, wrap("decoder: "+s.Decoder))
	}
	if table := resources(s.Resources); table != "" {
		parts = append(parts, "", table)
	}
	if lines := advice(s); lines != "" {
		parts = append(parts, "", lines)
	}
	return strings.Join(parts, "\n")
}

// Brief returns the first sentences of [Text]: the verdict, the output, and the losses.
func Brief(s Snapshot) string {
	if len(s.Stages) == 0 {
		return Verdict(s)
	}
	parts := []string{wrap(Verdict(s)), wrap(summary(s))}
	if s.Stalled != nil {
		parts = append(parts, wrap("As it was reported: "+s.Stalled.Report))
	}
	for _, line := range slices.Concat([]string{failures(s.Stages)}, told(s.Counts), []string{restarts(s.Functions)}) {
		if line != "" {
			parts = append(parts, wrap(line))
		}
	}
	return strings.Join(parts, "\n")
}

// summary says how much came out, and how long that took.
func summary(s Snapshot) string {
	last := s.Stages[len(s.Stages)-1]
	what := fmt.Sprintf("%d items", s.Yielded)
	unit := "items"
	made, ahead := s.Yielded, int64(0)
	if makesBatches(last) {
		at := gathering(s.Stages)
		unit, made, ahead = "samples", at.In, at.Ahead
		switch {
		case last.Name != delivers:
			what = fmt.Sprintf("%d batches; %d samples", s.Yielded, made)
		case slices.ContainsFunc(s.Stages[:len(s.Stages)-1], makesBatches):
			what = fmt.Sprintf("%d results of %d samples", s.Yielded, made)
		default:
			what = words.Plural(made, "sample")
		}
	}
	switch { // or the rate would not look like the quotient that it is
	case ahead > 0 && ahead == made:
		what += ", all of them read ahead,"
	case float64(ahead) > waits*float64(made):
		what += fmt.Sprintf(", %d of them read ahead,", ahead)
	}
	what += " in " + duration(s.Elapsed)
	if made > ahead || made == 0 {
		what += fmt.Sprintf(", %s %s/s", count(rate(made-ahead, s.Elapsed)), unit)
	}
	return fmt.Sprintf("%s. Waits: %s for the first, then %s.", what, duration(s.Start), duration(s.Waited))
}

// delivers is the stage that gives out what no step puts into batches.
const delivers = "deliver samples"

func makesBatches(t pipe.StageStats) bool { return t.Kind == "batch" || t.Kind == "fill" }

// gathering is the first stage that makes batches of samples: of those that a function
// of Python makes, the stage that gathers them.
func gathering(stages []pipe.StageStats) pipe.StageStats {
	last := stages[slices.IndexFunc(stages, makesBatches)]
	if i := slices.IndexFunc(stages, func(t pipe.StageStats) bool { return t.Name == "group "+last.Name }); i >= 0 {
		return stages[i]
	}
	return last
}

// failures says which stages have lost, replaced and tried again how many, or is empty.
func failures(stages []pipe.StageStats) string {
	var all []string
	for _, what := range []struct {
		name  string
		count func(pipe.StageStats) int64
	}{
		{"Lost", func(t pipe.StageStats) int64 { return t.Lost }},
		{"Replaced", func(t pipe.StageStats) int64 { return t.Replaced }},
		{"Tried again", func(t pipe.StageStats) int64 { return t.Retried }},
	} {
		var parts []string
		for _, t := range stages {
			if n := what.count(t); n > 0 {
				parts = append(parts, fmt.Sprintf("%d in %s", n, ShortName(t.Name)))
			}
		}
		if parts != nil {
			all = append(all, what.name+": "+strings.Join(parts, ", ")+".")
		}
	}
	return strings.Join(all, " ")
}

// told has a sentence for each of the counts that is not 0.
func told(c Counts) (sentences []string) {
	for field, n := range reflect.ValueOf(c).Fields() {
		f := counters.FigureOf(field)
		if f.Kind == counters.CounterKind && n.Int() != 0 {
			sentences = append(sentences, fmt.Sprintf("%s%s: %d.", strings.ToUpper(f.Doc[:1]), f.Doc[1:], n.Int()))
		}
	}
	return sentences
}

// restarts says how many processes have taken the place of others that died or were
// ended, or is empty.
func restarts(all []Function) string {
	var parts []string
	for _, f := range all {
		if f.Restarts > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s", f.Restarts, ShortName(f.Stage)))
		}
	}
	if parts == nil {
		return ""
	}
	return "Replaced workers: " + strings.Join(parts, ", ") + "."
}

// shards says how much was read for what samples use of it.
func shards(s Shards) string {
	times := float64(s.Read) / float64(s.Used)
	line := fmt.Sprintf("shards: %s read for %s of samples, %.2f ×", bytesize.Text(s.Read), bytesize.Text(s.Used), times)
	if times > 2 {
		line += "; shuffle(window=…) reads what samples share once"
	}
	return line
}

func memory(m Memory) string {
	line := fmt.Sprintf("memory: %s of %s, at most %s", bytesize.Text(m.Used), bytesize.Text(m.Limit), bytesize.Text(m.Peak))
	var parts []string
	for _, p := range m.Purposes {
		parts = append(parts, p.Name+" "+bytesize.Text(p.Peak))
	}
	if parts != nil {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	return line
}

func tuned(c Tuned) string {
	line := fmt.Sprintf("tuned: %s, %s instead of %d: %s samples/s, then %s (expected %s)", ShortName(c.Stage),
		words.Plural(int64(c.To), "worker"), c.From, count(c.Before), count(c.After), count(c.Told))
	if !c.Kept {
		line += "; taken back"
	}
	return line
}

func batches(b Batches) string {
	line := fmt.Sprintf("batches: %d of %d slots held by the consumer", b.Leased-b.Unpooled, b.Slots)
	if b.Unpooled > 0 {
		line += fmt.Sprintf(", and %d made for it beyond the pool", b.Unpooled)
	}
	return line
}

// wrap breaks a line between words.
func wrap(line string) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
		case at+1+n > width:
			b.WriteString("\n")
			at = 0
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
