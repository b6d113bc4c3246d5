package observe

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// String is a table for people: a line per stage, with the share of their lives that its
// workers spent on each thing, and how full the queue after it was; then a line per
// queue.
func (s Stats) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "stage\tworkers\tin\tout\tlost\tskipped\tstarved\tbusy\tblocked\tgated\tmean\tp50\tp90\tp99\tqueue\t\n")
	for i, t := range s.Stages {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t", t.Name, t.Workers, t.In, t.Out, t.Lost, t.Skipped)
		for _, part := range t.shown() {
			fmt.Fprintf(w, "%s\t", part)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", short(t.Mean), t.mayBe(t.P50), t.mayBe(t.P90), t.mayBe(t.P99))
		if i < len(s.Queues) {
			fmt.Fprintf(w, "%.1f/%d", s.Queues[i].Mean, s.Queues[i].Cap)
		}
		fmt.Fprint(w, "\t\n")
	}
	w.Flush() // into memory: no error
	s.drawQueues(&b)
	fmt.Fprintf(&b, "%d items in %s; the consumer waited %s for the first, then %s of its loop\n",
		s.Yielded, short(s.Elapsed), short(s.Start), percent(s.Waited, s.Loop))
	return b.String()
}

// drawQueues is a line per queue: how full it is, and how long who waited for whom.
func (s Stats) drawQueues(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "queue\tgets\tgets/s\tnow\tmean\tof\tempty\tfull\tput wait\tget wait\t\n")
	for _, q := range s.Queues {
		if q.Cap == 0 {
			continue // after a router, whose branches have queues of their own
		}
		to := q.To
		if to == "" {
			to = "consumer"
		}
		fmt.Fprintf(w, "%s → %s\t%d\t%.4g\t%d\t%.1f\t%d\t%s\t%s\t%s\t%s\t\n", q.From, to, q.Gets, q.Rate(), q.Len, q.Mean, q.Cap,
			percent(q.Empty, q.Observed), percent(q.Full, q.Observed), short(q.PutWait), short(q.GetWait))
	}
	w.Flush() // into memory: no error
}

// Rate is how many messages were taken per second.
func (q QueueStats) Rate() float64 {
	if q.Observed <= 0 {
		return 0
	}
	return float64(q.Gets) / q.Observed.Seconds()
}

// shown are the shares of a stage's workers, where there are any.
func (t StageStats) shown() [4]string {
	s := t.Shares()
	if s == (Shares{}) {
		return [4]string{"-", "-", "-", "-"}
	}
	var all [4]string
	for i, part := range [4]float64{s.Starved, s.Busy, s.Blocked, s.Gated} {
		all[i] = fmt.Sprintf("%.0f%%", 100*part)
	}
	return all
}

// mayBe shows a percentile: nothing where there is none, and a mark where only some
// operations were timed.
func (t StageStats) mayBe(d time.Duration) string {
	switch {
	case len(t.Times) == 0:
		return "-"
	case t.Sampled:
		return "~" + short(d)
	}
	return short(d)
}

func percent(part, whole time.Duration) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// short keeps three digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
