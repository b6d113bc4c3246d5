package stats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Gain is a change that somebody could make, and the rate that the consumer would get
// from it. It is arithmetic on what was measured, of a network of stations: see [Advice].
type Gain struct {
	Change string `json:"change" doc:"'more cores', 'more workers', 'faster step', 'in the engine', 'fewer bytes', 'more read-ahead' or 'faster loop'"`
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
	// Clocks and CPU times of less than that say little.
	enough = 2 * time.Second
	// Gains of less than that are not worth a change, and not larger than errors.
	worthwhile = 1.10
	// A rate may be so far below or above what the model says of it: for the 40 pipelines of
	// bench/advice.py that is enough nine times of ten. No range is wider than the second.
	mistake, widest = 0.13, 0.25
	// A change of workers is no leap: what was measured with few says little of many.
	mostWorkers, mostTimes = 64, 8
	// A step of the engine takes these shares of the CPU that the function took which does
	// the same, as functions over Pillow and NumPy did in bench.
	leastInEngine, mostInEngine = 0.08, 0.20
)

// Advice returns the changes that would make the consumer faster by a tenth or more, the
// greatest gain first. There are none before two seconds have passed, or while nothing
// can be said of the consumer's loop.
//
// The model is a closed network of stations that samples visit: each stage with its
// workers, the CPUs, which all share, and the consumer's loop. By the utilisation law
// (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978) the
// share of its time that a station works is the rate times what a sample costs there, so
// no rate is greater than that at which the first of them always works. A change makes
// some shares smaller. How much of that bound is reached follows from how much is reached
// now, and from balanced job bounds (Zahorjan, Sevcik, Eager and Galler, 1982): stations
// with about the same to do wait for each other.
func Advice(s Snapshot) []Gain {
	n, ok := networkOf(s)
	if !ok {
		return []Gain{}
	}
	all := slices.Concat(n.moreWorkers(), n.moreCores(), n.fasterStep(), n.inEngine(), n.fewerBytes(), n.readAhead(), n.fasterLoop())
	all = slices.DeleteFunc(all, func(g Gain) bool { return g.Rate < worthwhile*n.rate })
	slices.SortStableFunc(all, func(a, b Gain) int { return cmp.Compare(b.Rate, a.Rate) })
	return all
}

// Helps returns a sentence about the first change of [Advice], or "" if there is none.
func Helps(s Snapshot) string {
	all := Advice(s)
	if len(all) == 0 {
		return ""
	}
	now, _ := Rate(s)
	return fmt.Sprintf("What would help: %s; %s samples/s instead of %s.", all[0].Text, count(all[0].Rate), count(now))
}

// changed returns a gain by comparing the network with how it would be: with at most so
// much to do, and with at least so much.
func (n network) changed(g Gain, most, least network) Gain {
	low, high := n.rate*n.reaches(most), max(n.rate*n.reaches(most), n.rate/least.busiest())
	g.Rate = (low + high) / 2
	off := min(widest, mistake+(high-low)/(high+low))
	g.Least, g.Most = (1-off)*g.Rate, (1+off)*g.Rate
	return g
}

// moreWorkers has a gain for each function: with as many workers as bring it below the
// others.
func (n network) moreWorkers() (all []Gain) {
	for i, t := range n.stages {
		if !t.python || t.here {
			continue
		}
		next := 0.0 // the busiest of the others
		for k, other := range n.all() {
			if k != i {
				next = max(next, other.share)
			}
		}
		to := min(mostWorkers, mostTimes*t.workers, int(float64(t.workers)*t.share/max(next, 0.01))+1)
		if to <= t.workers {
			continue
		}
		then := n.clone()
		then.stages[i] = t.times(float64(t.workers) / float64(to))
		all = append(all, n.changed(Gain{Change: MoreWorkers, Stage: t.name, From: t.workers, To: to,
			Text: fmt.Sprintf("workers=%d for %s, which has %d", to, ShortName(t.name), t.workers)}, then, then))
	}
	return all
}

// moreCores is a machine with twice the cores, where all that has a worker for each core
// by default has twice the workers.
func (n network) moreCores() []Gain {
	with := func(waits float64) network { // the share of waits for a CPU that stays
		then := n.clone()
		then.cpu = n.cpu.times(0.5)
		then.loop.share = n.loop.alone + waits*(n.loop.share-n.loop.alone)
		for i, t := range n.stages {
			t.share = t.alone + waits*(t.share-t.alone)
			if t.workers >= n.cores && !t.given {
				t = t.times(0.5)
			}
			then.stages[i] = t
		}
		return then
	}
	return []Gain{n.changed(Gain{Change: MoreCores, From: n.cores, To: 2 * n.cores,
		Text: fmt.Sprintf("%d cores instead of %d", 2*n.cores, n.cores)}, with(0.25), with(0))}
}

// fasterStep halves the time of the busiest stage: of a function what it takes itself,
// and not its way to a worker and back.
func (n network) fasterStep() []Gain {
	i := n.slowest()
	if i < 0 {
		return nil
	}
	t := n.stages[i]
	saved := t.share / 2
	if t.python {
		saved = t.function / 2
	}
	then := n.clone()
	then.stages[i] = t.less(saved)
	then.cpu = n.cpu.less(t.cpu * saved / t.share)
	return []Gain{n.changed(Gain{Change: FasterStep, Stage: t.name, Text: fmt.Sprintf("%s in half the time", ShortName(t.name))}, then, then)}
}

// inEngine has a gain for each stage of functions whose work steps of the engine can do.
func (n network) inEngine() (all []Gain) {
	for i, t := range n.stages {
		if !t.python || t.source {
			continue
		}
		with := func(factor float64) network {
			then := n.clone()
			then.stages[i] = t.times(factor)
			then.cpu = n.cpu.less((1 - factor) * t.cpu)
			return then
		}
		all = append(all, n.changed(Gain{Change: InEngine, Stage: t.name,
			Text: fmt.Sprintf("steps of the engine that do the work of %s, if there are any", ShortName(t.name))},
			with(mostInEngine), with(leastInEngine)))
	}
	return all
}

// fewerBytes halves the time in which batches are handed over.
func (n network) fewerBytes() []Gain {
	if n.handed < 0.05 {
		return nil
	}
	then := n.clone()
	then.loop = n.loop.less(n.handed / 2)
	return []Gain{n.changed(Gain{Change: FewerBytes, Text: "batches of half the bytes, as uint8 instead of floats"}, then, then)}
}

// readAhead has batches made while the consumer works, where they are made when it asks.
func (n network) readAhead() []Gain {
	if !n.onDemand {
		return nil
	}
	then := n.clone()
	then.onDemand = false
	return []Gain{n.changed(Gain{Change: ReadAhead, Text: "batches made ahead: prefetch=2 instead of 0"}, then, then)}
}

// fasterLoop halves the time of the consumer's own work.
func (n network) fasterLoop() []Gain {
	if i := n.slowest(); i >= 0 && n.stages[i].share > n.loop.share {
		return nil
	}
	then := n.clone()
	then.loop = n.loop.times(0.5)
	then.cpu = n.cpu.less(n.loop.cpu / 2)
	return []Gain{n.changed(Gain{Change: FasterLoop, Text: "your loop in half the time"}, then, then)}
}

// advice draws a line for each change.
func advice(s Snapshot) string {
	all := Advice(s)
	if len(all) == 0 {
		return ""
	}
	rows := [][]string{{"what would help", "samples/s", "expected"}}
	for _, g := range all {
		rows = append(rows, []string{g.Text, count(g.Rate), count(g.Least) + "–" + count(g.Most)})
	}
	return strings.TrimRight(columns(rows), "\n")
}
