package headrace

import (
	"fmt"
	"strings"
	"time"

	"headrace/pipe"
)

// stallAfter is how long nothing moves before somebody is told, unless a configuration says otherwise.
const stallAfter = 300 * time.Second

// stall is who is told when nothing moves.
func (l *Loader) stall() pipe.Stall {
	after := stallAfter
	if l.config.StallAfter != nil {
		after = time.Duration(*l.config.StallAfter * float64(time.Second))
	}
	if after <= 0 {
		return pipe.Stall{}
	}
	return pipe.Stall{After: after, Waits: l.arena.Waiting, Report: func(r pipe.StallReport) { l.options.Warn("stall", l.describeStall(r)) }}
}

// namedOfStage is how many samples of a stage a warning names.
const namedOfStage = 3

// describeStall says what is not finished, and what to do.
func (l *Loader) describeStall(r pipe.StallReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "nothing has moved for %s", seconds(r.For))
	if r.Waiting {
		b.WriteString(", and the program waits for a batch")
	}
	busy := false
	for _, s := range r.Stages {
		for i, o := range s.Operations {
			if i == namedOfStage {
				fmt.Fprintf(&b, ", and %d more", len(s.Operations)-i)
				break
			}
			if i == 0 {
				fmt.Fprintf(&b, "; the stage %s has not finished ", s.Name)
			} else {
				b.WriteString(", ")
			}
			busy = true
			b.WriteString(l.describeOperation(o))
		}
	}
	if busy {
		b.WriteString(". Look whether the disk, the network or whatever else they read from answers; failures with a time_limit give up on such samples")
	} else {
		fmt.Fprintf(&b, ". No sample is being worked on: %s. Let go of batches, or raise memory", waits(r))
	}
	b.WriteString("; stall_after says how long is too long")
	return b.String()
}

func (l *Loader) describeOperation(o pipe.StalledOperation) string {
	if o.Source == "" {
		return "its work of " + seconds(o.For)
	}
	source := l.source(o.Source)
	id, key := source.identify(o.Epoch, o.Pos)
	of := ""
	if len(l.sources) > 1 {
		of = " of " + o.Source
	}
	return fmt.Sprintf("%q (index %d%s, for %s)", key, id.Index, of, seconds(o.For))
}

// waits says which stages wait for what is behind them.
func waits(r pipe.StallReport) string {
	var all []string
	for _, s := range r.Stages {
		if s.Blocked > 0 {
			all = append(all, s.Name)
		}
	}
	if all == nil {
		return "no stage has anything to do"
	}
	return "memory is waited for, behind " + strings.Join(all, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }
