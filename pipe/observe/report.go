package observe

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is what Profile has found.
type Report struct {
	Items  int64          `json:"items"`  // that the sources gave
	Stages []StageProfile `json:"stages"` // from the source on
}

// A StageProfile is what a stage can do alone.
type StageProfile struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"` // as in StageStats; of a Route "join"
	Trials []Trial `json:"trials"`
}

// A Trial is what a stage has done alone, with so many workers.
type Trial struct {
	Workers int           `json:"workers"`
	In      int64         `json:"in"`
	Out     int64         `json:"out"`
	Took    time.Duration `json:"took_ns"`

	Rate   float64 `json:"rate"`   // items of its own input per second
	Source float64 `json:"source"` // items of the sources per second that this is enough for

	Mean    time.Duration `json:"mean_ns"` // as in StageStats
	P50     time.Duration `json:"p50_ns"`
	P90     time.Duration `json:"p90_ns"`
	P99     time.Duration `json:"p99_ns"`
	Sampled bool          `json:"sampled"`
}

// Best is the trial with the highest rate.
func (p StageProfile) Best() (best Trial) {
	for _, t := range p.Trials {
		if t.Source > best.Source {
			best = t
		}
	}
	return best
}

// Slowest is the stage whose best trial is the slowest, of those that did something. The
// flow cannot be much faster.
func (r Report) Slowest() (slowest StageProfile) {
	for _, p := range r.Stages {
		if best := p.Best().Source; best > 0 && (slowest.Trials == nil || best < slowest.Best().Source) {
			slowest = p
		}
	}
	return slowest
}

// String is a table for people: a line per trial.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "stage\tworkers\tin\tout\tin/s\tof source/s\tmean\tp50\tp99\t\n")
	for _, p := range r.Stages {
		name := p.Name
		for _, t := range p.Trials {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.4g\t%.4g\t", name, t.Workers, t.In, t.Out, t.Rate, t.Source)
			for _, d := range []time.Duration{t.Mean, t.P50, t.P99} {
				fmt.Fprintf(w, "%s\t", t.mayBe(d))
			}
			fmt.Fprint(w, "\n")
			name = ""
		}
	}
	w.Flush() // into memory: no error
	if s := r.Slowest(); s.Trials != nil {
		best := s.Best()
		fmt.Fprintf(&b, "%s is the slowest: %.4g items of the source per second at best, with %s\n",
			s.Name, best.Source, plural(best.Workers, "worker"))
	}
	return b.String()
}

func (t Trial) mayBe(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case t.Sampled:
		return "~" + short(d)
	}
	return short(d)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
