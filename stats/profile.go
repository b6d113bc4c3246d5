package stats

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
)

// ProfileText returns a profile as text: the bottleneck, and a line for each number of
// workers tried with a stage.
func ProfileText(r pipe.Report) string {
	rows := [][]string{{"stage", "workers", "samples/s", "speed-up", "mean", "p50", "p99"}}
	for _, s := range r.Stages {
		name := s.Name
		for _, t := range s.Trials {
			rows = append(rows, []string{name, whole(int64(t.Workers)), count(t.Source), speedUp(s, t),
				opTime(t, t.Mean), opTime(t, t.P50), opTime(t, t.P99)})
			name = ""
		}
	}
	return wrap(ProfileVerdict(r)) + "\n\n" + columns(rows)
}

// ProfileVerdict returns the sentences that say what limits.
func ProfileVerdict(r pipe.Report) string {
	slowest := r.Slowest()
	if slowest.Trials == nil {
		return "No stage has done anything."
	}
	best := slowest.Best()
	text := fmt.Sprintf("The stage %s is the bottleneck: at best %s samples/s, with %s.", ShortName(slowest.Name),
		count(best.Source), words.Plural(int64(best.Workers), "worker"))
	rest := pipe.Report{Stages: make([]pipe.StageProfile, 0, len(r.Stages))}
	for _, s := range r.Stages {
		if s.Name != slowest.Name {
			rest.Stages = append(rest.Stages, s)
		}
	}
	if next := rest.Slowest(); next.Trials != nil {
		text += fmt.Sprintf(" The next is %s, with %s samples/s.", ShortName(next.Name), count(next.Best().Source))
	}
	return text + " Each had the machine for itself; in a run they share it."
}

// speedUp is over the first trial of the stage.
func speedUp(s pipe.StageProfile, t pipe.Trial) string {
	if len(s.Trials) < 2 || s.Trials[0].Rate <= 0 || t.Rate <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", min(t.Rate/s.Trials[0].Rate, 9999))
}

// opTime formats the time that an operation takes.
func opTime(t pipe.Trial, d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case t.Sampled:
		return "~" + duration(d)
	}
	return duration(d)
}
