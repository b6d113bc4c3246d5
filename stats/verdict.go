package stats

import (
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/pipe"
)

const (
	// Below this share of the time, nobody would notice that the consumer did not wait.
	waits = 0.10
	// A stage that is at work for this share of the time hands on what it is given as
	// fast as it can.
	saturated = 0.50
)

// Verdict returns the sentences that say what limits, and that most of the time was a
// cold start.
func Verdict(s Snapshot) string { return limitVerdict(s) + coldVerdict(s) }

func limitVerdict(s Snapshot) string {
	switch {
	case len(s.Stages) == 0:
		return "Nothing has run yet."
	case s.Stalled != nil:
		return fmt.Sprintf("Nothing has moved for %s.", duration(s.Stalled.For))
	case s.Elapsed == 0 && s.Yielded == 0:
		return "Nothing has been asked for yet."
	case s.Yielded == 0 && idle(s) != "":
		return "Nothing has come out yet. " + idle(s)
	case s.Yielded == 0:
		return "Nothing has come out yet."
	case idle(s) != "":
		return idle(s)
	case !judged(s):
		return stageVerdict(s) + othersVerdict(s)
	}
	w, main, handed := min(1, share(s.Waited-s.Handed, s.Loop)), share(s.Main, s.Loop), share(s.Handed, s.Loop)
	switch {
	case w < waits && handed > saturated:
		return fmt.Sprintf("Handing over is the bottleneck: batches are ready, and getting them takes %s of the time, "+
			"%s each. Larger batches would help.",
			percent(handed), duration(s.Handed/time.Duration(s.Yielded)))
	case w < waits:
		return fmt.Sprintf("%s is the bottleneck: it waits for data only %s of the time. A faster loader would not help.",
			s.consumer(), percent(w))
	case main > w/2:
		return fmt.Sprintf("%s waits for data %s of the time, %s of it in the steps with where=\"main\", which are the bottleneck.",
			s.consumer(), percent(w), percent(main/w))
	default:
		return fmt.Sprintf("%s waits for data %s of the time. %s", s.consumer(), percent(w), stageVerdict(s)) + othersVerdict(s)
	}
}

// coldFrom is the shortest wait for a first batch that is worth a sentence.
const coldFrom = time.Second

// coldVerdict says that most of the time was the wait for the first batch, if it was:
// that is over, and a longer run has it once.
func coldVerdict(s Snapshot) string {
	if s.Yielded == 0 || s.Stalled != nil || s.Start < coldFrom || s.Start < s.Loop {
		return ""
	}
	text := fmt.Sprintf(" The start is %s of the time so far: the first batch took %s", percent(share(s.Start, s.Start+s.Loop)),
		duration(s.Start))
	imports := time.Duration(0)
	for _, f := range s.Functions {
		imports = max(imports, f.ImportTime)
	}
	if imports > s.Start/10 {
		text += fmt.Sprintf(", %s of it to import the modules of workers", duration(min(imports, s.Start)))
	}
	return text + "."
}

// idleAfter is how long a source has given nothing before that is said.
const idleAfter = time.Second

// idle says that all samples so far are done, and the next takes long: a queue is empty,
// or a service has no requests. "": it is not so.
func idle(s Snapshot) string {
	t, waits := awaited(s)
	if !waits {
		return ""
	}
	return fmt.Sprintf("The loader waits for the source: %q has given nothing for %s.", ShortName(t.Name), duration(t.Awaited))
}

// awaited returns the source of which all else waits for the next sample, if one is: of
// several the one that gave a sample last.
func awaited(s Snapshot) (last pipe.StageStats, waits bool) {
	for _, t := range s.Stages {
		if t.Awaited >= idleAfter && (!waits || t.Awaited < last.Awaited) {
			last, waits = t, true
		}
	}
	return last, waits
}

// othersVerdict says that other programs hold the CPUs, if they do: then no stage looks
// busy, and none is to blame.
func othersVerdict(s Snapshot) string {
	used, all, ok := s.Resources.others()
	if !ok {
		return ""
	}
	return fmt.Sprintf(" Other programs use %.1f of the machine's %.0f CPUs, and leave none idle.", used, all)
}

// stageVerdict says which of the stages limits.
func stageVerdict(s Snapshot) string {
	t, work := busiest(s.Stages)
	t.Name = ShortName(t.Name)
	switch gated := t.Shares().Gated; {
	case work < saturated:
		return fmt.Sprintf("No stage is clearly the bottleneck: the busiest is %s, at work %s of the time.", t.Name, percent(work))
	case gated > waits:
		return fmt.Sprintf("The CPU is the bottleneck: %s has work %s of the time, and waits for a core %s.",
			t.Name, percent(work), percent(gated))
	case t.Kind == "source":
		return fmt.Sprintf("The bottleneck is %s: to give the next sample takes it %s of the time.", t.Name, percent(work))
	case t.Workers == 1:
		return fmt.Sprintf("The bottleneck is %s: its worker is busy %s of the time.", t.Name, percent(work)) + hostVerdict(s, t)
	default:
		return fmt.Sprintf("The bottleneck is %s: its %d workers are busy %s of the time.",
			t.Name, t.Workers, percent(work)) + hostVerdict(s, t)
	}
}

// judged tells whether the consumer's loop says anything: it begins with the first batch.
func judged(s Snapshot) bool { return s.Yielded > 1 && s.Loop > 0 }

func (s Snapshot) consumer() string {
	if s.Consumer == "" {
		return "The consumer"
	}
	return s.Consumer
}

// Limits returns the name of the stage that is the bottleneck, or "" if it is the
// consumer or no stage clearly.
func Limits(s Snapshot) string {
	if s.Stalled != nil {
		return ""
	}
	if t, waits := awaited(s); waits {
		return t.Name
	}
	if len(s.Stages) == 0 || s.Elapsed == 0 || s.Yielded == 0 {
		return ""
	}
	if w := share(s.Waited-s.Handed, s.Loop); judged(s) && (w < waits || share(s.Main, s.Loop) > w/2) {
		return ""
	}
	if t, work := busiest(s.Stages); work >= saturated {
		return t.Name
	}
	return ""
}

// busiest returns the stage that has work for the greatest share of its time, be it
// that it waits for a CPU meanwhile, or for a worker elsewhere. Several stages
// may wait for the same workers: of those that have work for about as long, the one
// that keeps workers busy the longest is it.
func busiest(stages []pipe.StageStats) (most pipe.StageStats, work float64) {
	const about = 0.9
	best := 0.0
	for _, t := range stages {
		best = max(best, hasWork(t))
	}
	works := -1.0
	for _, t := range stages {
		if w := t.Worked() + t.Shares().Gated; hasWork(t) >= about*best && w > works {
			most, works = t, w
		}
	}
	return most, hasWork(most)
}

func hasWork(t pipe.StageStats) float64 {
	s := t.Shares()
	return s.Busy + s.Gated
}

func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// ShortName fits a stage's name into a sentence: "decode_image+…+batch".
func ShortName(name string) string {
	parts := strings.Split(name, "+")
	if len(parts) > 2 {
		name = parts[0] + "+…+" + parts[len(parts)-1]
	}
	if r := []rune(name); len(r) > 40 {
		name = string(r[:39]) + "…"
	}
	return name
}
