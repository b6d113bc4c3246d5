// Package stations is a model of a run: a closed network of stations that samples visit.
//
// It says how the rate would change if some stations had less to do, by arithmetic on
// their shares of work. [github.com/headrace/headrace/stats.Advice] makes a network of a
// loader's statistics, and names the papers.
//
// # Concurrency
//
// Networks are values that nobody changes.
//
// # Testing
//
// bench/advice.py makes the changes of generated pipelines, and compares the rates.
package stations

import (
	"cmp"
	"fmt"
	"slices"
)

// Gain is a possible change, and the rate that the consumer would get from it, by
// arithmetic on measured costs of stations.
type Gain struct {
	Change string `json:"change" doc:"'more workers', 'more cores', 'faster step', …: Bench and inspect, in the guide, lists them"`
	Stage  string `json:"stage,omitempty" doc:"the stage that it changes, or the function"`
	From   int    `json:"from,omitempty" gauge:"workers" doc:"workers that there are, or cores"`
	To     int    `json:"to,omitempty" gauge:"workers" doc:"workers that there would be, or cores"`

	Rate  float64 `json:"rate" gauge:"samples/s" doc:"samples a second then"`
	Least float64 `json:"least" gauge:"samples/s" doc:"the rate is expected to be no less"`
	Most  float64 `json:"most" gauge:"samples/s" doc:"the rate is expected to be no more"`

	Text string `json:"text" doc:"the change, for people"`
}

// Kinds of changes.
const (
	MoreCores   = "more cores"
	MoreWorkers = "more workers"
	FasterStep  = "faster step"
	InEngine    = "in the engine"
	FewerBytes  = "fewer bytes"
	ReadAhead   = "more read-ahead"
	FasterLoop  = "faster loop"
)

const (
	// Gains of less than that are not worth a change, and not larger than errors.
	worthwhile = 1.10
	// A rate may be so far below or above what the model says of it: for the pipelines
	// of bench/advice.py that is enough nine times of ten. No range is wider than the
	// second.
	mistake, widest = 0.13, 0.25
	// A change of workers is no leap: what was measured with few says little of many.
	mostWorkers, mostTimes = 64, 8
	// A step of the engine takes these shares of the CPU that a function took which does
	// the same, as functions over Pillow and NumPy did in bench.
	leastInEngine, mostInEngine = 0.08, 0.20
)

// Gains returns the changes that make the rate greater by a tenth or more, the greatest
// first.
func (n Network) Gains() []Gain {
	all := slices.Concat(n.moreWorkers(), n.moreCores(), n.fasterStep(), n.inEngine(), n.fewerBytes(), n.readAhead(), n.fasterLoop())
	all = slices.DeleteFunc(all, func(g Gain) bool { return g.Rate < worthwhile*n.Rate })
	slices.SortStableFunc(all, func(a, b Gain) int { return cmp.Compare(b.Rate, a.Rate) })
	return all
}

// changed returns a gain by comparing the network with how it would be: with at most so
// much to do, and with at least so much.
func (n Network) changed(g Gain, most, least Network) Gain {
	low, high := n.Rate*n.reaches(most), max(n.Rate*n.reaches(most), n.Rate/least.busiest())
	g.Rate = (low + high) / 2
	off := min(widest, mistake+(high-low)/(high+low))
	g.Least, g.Most = (1-off)*g.Rate, (1+off)*g.Rate
	return g
}

// moreWorkers has a gain for each function: with as many workers as bring it below the
// others.
func (n Network) moreWorkers() (all []Gain) {
	for i, t := range n.Stages {
		if !t.Python || t.Here {
			continue
		}
		next := 0.0 // the busiest of the others
		for k, other := range n.all() {
			if k != i {
				next = max(next, other.Share)
			}
		}
		to := min(mostWorkers, mostTimes*t.Workers, int(float64(t.Workers)*t.Share/max(next, 0.01))+1)
		if to <= t.Workers {
			continue
		}
		then := n.clone()
		then.Stages[i] = t.times(float64(t.Workers) / float64(to))
		all = append(all, n.changed(Gain{Change: MoreWorkers, Stage: t.Name, From: t.Workers, To: to,
			Text: fmt.Sprintf("workers=%d for %s, which has %d", to, t.Short, t.Workers)}, then, then))
	}
	return all
}

// moreCores is a machine with twice the cores. Stages that have a worker for each core
// by default have twice the workers.
func (n Network) moreCores() []Gain {
	with := func(waits float64) Network { // the share of waits for a CPU that stays: 0.3 to 0.6 did in bench
		then := n.clone()
		then.CPU = n.CPU.times(0.5)
		then.Loop.Share = n.Loop.Alone + waits*(n.Loop.Share-n.Loop.Alone)
		for i, t := range n.Stages {
			t.Share = t.Alone + waits*(t.Share-t.Alone)
			if t.Workers >= n.Cores && !t.Given {
				t = t.times(0.5)
			}
			then.Stages[i] = t
		}
		return then
	}
	return []Gain{n.changed(Gain{Change: MoreCores, From: n.Cores, To: 2 * n.Cores,
		Text: fmt.Sprintf("%d cores instead of %d", 2*n.Cores, n.Cores)}, with(0.6), with(0.3))}
}

// fasterStep halves the time of the busiest stage: of a function its own time, without
// the way to a worker and back.
func (n Network) fasterStep() []Gain {
	i := n.slowest()
	if i < 0 {
		return nil
	}
	t := n.Stages[i]
	saved := t.Share / 2
	if t.Python {
		saved = t.Function / 2
	}
	then := n.clone()
	then.Stages[i] = t.less(saved)
	then.CPU = n.CPU.less(t.CPU * saved / t.Share)
	g := Gain{Change: FasterStep, Stage: t.Name, Text: fmt.Sprintf("%s in half the time", t.Short)}
	return []Gain{n.changed(g, then, then)}
}

// inEngine has a gain for each stage of functions whose work steps of the engine can do.
func (n Network) inEngine() (all []Gain) {
	for i, t := range n.Stages {
		if !t.Python || t.Source {
			continue
		}
		with := func(factor float64) Network {
			then := n.clone()
			then.Stages[i] = t.times(factor)
			then.CPU = n.CPU.less((1 - factor) * t.CPU)
			return then
		}
		all = append(all, n.changed(Gain{Change: InEngine, Stage: t.Name,
			Text: fmt.Sprintf("steps of the engine that do the work of %s, if there are any", t.Short)},
			with(mostInEngine), with(leastInEngine)))
	}
	return all
}

// fewerBytes halves the time in which batches are handed over.
func (n Network) fewerBytes() []Gain {
	if n.Handed < 0.05 {
		return nil
	}
	then := n.clone()
	then.Loop = n.Loop.less(n.Handed / 2)
	return []Gain{n.changed(Gain{Change: FewerBytes, Text: "batches of half the bytes, as uint8 instead of floats"}, then, then)}
}

// readAhead has batches made while the consumer works, instead of when it asks.
func (n Network) readAhead() []Gain {
	if !n.OnDemand {
		return nil
	}
	then := n.clone()
	then.OnDemand = false
	return []Gain{n.changed(Gain{Change: ReadAhead, Text: "batches made ahead: prefetch=2 instead of 0"}, then, then)}
}

// fasterLoop halves the time of the consumer's own work.
func (n Network) fasterLoop() []Gain {
	if i := n.slowest(); i >= 0 && n.Stages[i].Share > n.Loop.Share {
		return nil
	}
	then := n.clone()
	then.Loop = n.Loop.times(0.5)
	then.CPU = n.CPU.less(n.Loop.CPU / 2)
	return []Gain{n.changed(Gain{Change: FasterLoop, Text: "your loop in half the time"}, then, then)}
}
