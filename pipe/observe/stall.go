package observe

import (
	"fmt"
	"strings"
	"time"
)

// A StallReport says what a run that stands still is waiting for.
type StallReport struct {
	For     time.Duration  // since when nothing has moved, at least
	Waiting bool           // somebody waits for an item
	Stages  []StalledStage // from the sources on
	Queues  []QueueStats   // the queue after each stage, as in Stats
	Stacks  string         // of the run's goroutines: the same ones together, each with the stage as a label

	Recording string // the file with what the runtime did before; "": none
	Err       error  // why there is none, although it was asked for
}

// A StalledStage says what the workers of a stage do.
type StalledStage struct {
	Name    string
	Kind    string // as in StageStats
	Workers int    // that are there

	Operations []StalledOperation // that have not returned
	Starved    int                // workers that wait for the stage before
	Blocked    int                // for the stage after, for their turn, for a Store, or in WaitBlocked
	Gated      int                // for a Gate
}

// A StalledOperation is one that has not returned. It is about the first of the source
// items that its item is made of; Source is empty where it has none yet, as at the
// beginning of a MapWith.
type StalledOperation struct {
	For    time.Duration // at least
	Source string
	Epoch  int
	Pos    int64
}

// String says it for people, in a few lines, without the stacks.
func (r StallReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nothing has moved for %v", r.For.Round(time.Millisecond))
	if r.Waiting {
		b.WriteString(", and the consumer waits")
	}
	for i, s := range r.Stages {
		fmt.Fprintf(&b, "\n%s: ", s.Name)
		b.WriteString(s.String())
		if q := r.Queues[i]; q.Cap > 0 {
			fmt.Fprintf(&b, "; %d of %d ready after it", q.Len, q.Cap)
		}
	}
	return b.String()
}

// String says what the workers do.
func (s StalledStage) String() string {
	var all []string
	for i, o := range s.Operations {
		if i == mostNamed && i < len(s.Operations)-1 {
			all = append(all, fmt.Sprintf("and %d more operations", len(s.Operations)-i))
			break
		}
		all = append(all, o.String())
	}
	for _, w := range []struct {
		n    int
		what string
	}{{s.Starved, "waiting for the stage before"}, {s.Blocked, "waiting for the next stage"}, {s.Gated, "waiting for a gate"}} {
		if w.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", w.n, w.what))
		}
	}
	if all == nil {
		return "it is through"
	}
	return strings.Join(all, ", ")
}

// mostNamed is how many operations of a stage a text names.
const mostNamed = 5

func (o StalledOperation) String() string {
	if o.Source == "" {
		return fmt.Sprintf("an operation for %v", o.For.Round(time.Millisecond))
	}
	return fmt.Sprintf("item %d of %s in epoch %d for %v", o.Pos, o.Source, o.Epoch, o.For.Round(time.Millisecond))
}
