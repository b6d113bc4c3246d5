package report

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/pipe"
)

// namedOfStage is how many samples of a stage a warning names.
const namedOfStage = 3

// Stall says of a run in which nothing moves what is not finished, and what to do. Name
// says of the sample of an operation its key, and which one it is.
func Stall(r pipe.StallReport, name func(pipe.StalledOperation) (key, which string)) string {
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
			b.WriteString(operation(o, name))
		}
	}

	if busy {
		b.WriteString(". Check that the disk, the network or whatever else they read from responds; " +
			"failures with a time_limit give up on such samples")
	} else {
		fmt.Fprintf(&b, ". No sample is being worked on: %s. Let go of batches, or raise memory", waits(r))
	}
	b.WriteString("; stall_after sets this limit")

	for _, s := range r.Stages {
		if calls := operationCalls(r.Stacks, s.Name); len(s.Operations) > 0 && calls != nil {
			fmt.Fprintf(&b, "\n%s is in %s", s.Name, strings.Join(calls, " < "))
		}
	}
	return b.String()
}

// Idle tells whether a run stands still because sources that are iterated over have given
// nothing, and all else is done; and says so. The names are those of such sources. If a
// stage waits for room, and not for its turn after another source, the run is not idle.
func Idle(r pipe.StallReport, iterated []string, timed bool) (text string, idle bool) {
	var names []string
	blocked, sources := 0, 0
	for _, s := range r.Stages {
		if s.Kind == "source" {
			sources++
		}
		if blocked += s.Blocked + s.Gated; len(s.Operations) == 0 {
			continue
		}
		if s.Kind != "source" || !slices.Contains(iterated, s.Name) {
			return "", false
		}
		names = append(names, strconv.Quote(s.Name))
	}
	if names == nil || sources == 1 && blocked > 0 {
		return "", false
	}

	text = fmt.Sprintf("the source %s has given nothing for %s, and the loader waits for it: everything that came before is done",
		strings.Join(names, ", "), seconds(r.For))
	if !timed {
		text += ". Samples may wait in a batch that is not full: batch(…, max_wait=seconds) gives it"
	}
	return text + ". This is said once, and stats() says it while it is so; stall_after sets this limit", true
}

// callsOfStage is how many calls of an operation a warning names.
const callsOfStage = 6

// operationCalls are the innermost calls of one of a stage's operations that have not
// returned, from stacks as runtime/pprof writes them: groups, with the stage as a label.
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
			name = strings.TrimPrefix(name, "github.com/headrace/") // the reader knows whose it is
			if strings.HasPrefix(name, "headrace/pipe.") || strings.HasPrefix(name, "headrace/pipe/internal/") {
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

func operation(o pipe.StalledOperation, name func(pipe.StalledOperation) (key, which string)) string {
	if o.Source == "" {
		return "its work of " + seconds(o.For)
	}
	key, which := name(o)
	return fmt.Sprintf("%q (%s, for %s)", key, which, seconds(o.For))
}

// waits says which stages wait for what is after them.
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
	return "stages wait for memory, after " + strings.Join(all, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }
