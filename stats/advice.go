package stats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/stats/stations"
)

// Gain is a possible change, and the rate that the consumer would get from it.
type Gain = stations.Gain

// MoreWorkers is the Change of a [Gain] that gives a stage other numbers of workers.
const MoreWorkers = stations.MoreWorkers

// Advice returns the changes that would make the consumer faster by a tenth or more, the
// greatest gain first. There are none before two seconds have passed, or while nothing
// can be said of the consumer's loop.
//
// The model is a closed network of stations that samples visit: each stage with its
// workers, the CPUs, which all share, and the consumer's loop. By the utilisation law
// (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978) the
// share of its time that a station works is the rate times the cost of a sample there, so
// the rate can grow until the first station always works. A change makes some shares
// smaller. The part of that bound that is reached follows from the part reached now, and
// from balanced job bounds (Zahorjan, Sevcik, Eager and Galler, 1982): stations with
// about the same to do wait for each other.
func Advice(s Snapshot) []Gain {
	n, ok := networkOf(s)
	if !ok {
		return []Gain{}
	}
	return n.Gains()
}

// Helps returns a sentence about the first change of [Advice], or "" if there is none. A
// change of a number comes before one that has to be programmed.
func Helps(s Snapshot) string {
	all := Advice(s)
	if len(all) == 0 {
		return ""
	}
	first := max(0, slices.IndexFunc(all, func(g Gain) bool { return g.Change == MoreWorkers || g.Change == stations.ReadAhead }))
	now, _ := Rate(s)
	return fmt.Sprintf("What would help: %s; %s samples/s instead of %s.", all[first].Text, count(all[first].Rate), count(now))
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
