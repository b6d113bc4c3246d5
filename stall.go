package headrace

import (
	"fmt"
	"path"
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

	for _, s := range r.Stages {
		if calls := operationCalls(r.Stacks, s.Name); len(s.Operations) > 0 && calls != nil {
			fmt.Fprintf(&b, "\n%s is in %s", s.Name, strings.Join(calls, " < "))
		}
	}
	return b.String()
}

// callsOfStage is how many calls of an operation a warning names.
const callsOfStage = 6

// operationCalls are the innermost calls of one of a stage's operations that have not returned, from stacks as runtime/pprof writes them: groups, with the stage as a label.
func operationCalls(stacks, stage string) []string {
	for group := range strings.SplitSeq(stacks, "\n\n") {
		if !strings.Contains(group, fmt.Sprintf(`"stage":%q`, stage)) {
			continue
		}
		calls, operates := []string(nil), false
		for line := range strings.SplitSeq(group, "\n") {
			f := strings.Split(line, "\t") // "#", the address, the function and an offset, the place
			if len(f) < 4 || len(calls) == callsOfStage {
				continue
			}
			name, _, _ := strings.Cut(f[2], "+0x")
			if strings.HasPrefix(name, "headrace/pipe.") {
				break // what called the operation, or waits for one
			}
			operates = operates || strings.Contains(name, "headrace")
			calls = append(calls, fmt.Sprintf("%s (%s)", name, path.Base(f[len(f)-1])))
		}
		if operates {
			return calls
		}
	}
	return nil
}

func (l *Loader) describeOperation(o pipe.StalledOperation) string {
	if o.Source == "" {
		return "its work of " + seconds(o.For)
	}
	source := l.source(o.Source)
	id, key := source.Identify(o.Epoch, o.Pos)
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
