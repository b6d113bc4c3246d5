package pipe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
)

// A node is the plain face of a stage: what is known about it without its types. Nodes
// make a graph, from the last stage up to the sources.
type node struct {
	name      string
	kind      string
	detail    string // what else to say about it to people
	at        string // where it was described
	workers   int
	buffer    int
	ordered   bool
	gate      *Gate
	inFlight  int       // operations at once for each worker
	onResize  func(int) // learns how many workers there are; may be nil
	policy    *Policy
	ups       []*node  // whose items it takes
	counts    []string // such as turns, that a state counts: the ends of their names there, after its key
	makes     bool     // it makes several items of one, which a state counts
	remembers bool     // a state has what it knows besides
	joins     bool     // it puts several items together
	large     bool     // its results are batches, or made of them
	abandons  bool     // it may go on without an operation, in another order
	timed     bool     // what it puts together depends on time
	oneToOne  bool     // every message that it takes becomes one message
	mistakes  []error

	lane  string // what its key ends with, where it is one of several that are alike; "": it is not
	lanes int    // how many of these there are
	nth   int    // of these, from 0
}

const (
	kindSource    = "source"
	kindMap       = "map"
	kindBatch     = "batch"
	kindFill      = "fill"
	kindFlatMap   = "flatmap"
	kindUnbatch   = "unbatch"
	kindFilter    = "filter"
	kindAggregate = "aggregate"
	kindMerge     = "merge"
	kindMix       = "mix"
	kindRounds    = "rounds"
	kindRoute     = "route"
	kindDivide    = "route of batches"
	kindBranch    = "branch"
	kindJoin      = "join"
)

// joinSuffix is what the name of a join ends with, after that of its router.
const joinSuffix = "/join"

// DefaultBuffer is how many results a stage keeps ready for the next one when its Buffer
// is zero. With fewer, stages of operations that cost little wait for each other longer
// than they work.
const DefaultBuffer = 16

// DefaultBatchBuffer is that number for stages whose results are made of several items: a
// Batch, a Fill, an Aggregate, and the stages after them up to an Unbatch or a FlatMap.
// Such results are large, and so rare that waiting for each costs nothing.
const DefaultBatchBuffer = 2

// SourceBuffer is how many items a source keeps ready for the first stage, the one that
// it is making included.
const SourceBuffer = 16

// FastSourceBuffer is how many it keeps ready while both it and the first stage take less
// than 40 µs for an item.
const FastSourceBuffer = 64

var errEmptyFlow = errors.New("pipe: a flow begins with From, this one is empty")

func (n *node) mistake(format string, args ...any) {
	n.mistakes = append(n.mistakes, n.wrong(format, args...))
}

func (n *node) wrong(format string, args ...any) error {
	return fmt.Errorf("pipe: stage "+n.label()+": "+format, args...)
}

// key returns the stage's name in states: its own with that of its lane.
func (n *node) key() string { return n.name + n.lane }

func (n *node) label() string {
	if n.name == "" {
		return "(" + n.kind + ")"
	}
	return n.name
}

// settle fills in defaults and records what is wrong with the settings that all kinds of
// stages share.
func (n *node) settle() {
	n.at = callSite()
	if n.name == "" {
		n.mistake("it has no name")
	}
	n.bound("Workers", n.workers, MaxWorkers)
	n.bound("Buffer", n.buffer, MaxBuffer)
	n.bound("InFlightPerWorker", n.inFlight, MaxWorkers)
	n.workers = max(1, n.workers)
	n.inFlight = max(1, n.inFlight)
	if tooMany(n.workers, n.inFlight) && n.workers <= MaxWorkers && n.inFlight <= MaxWorkers {
		n.mistake("%d Workers with %d InFlightPerWorker: together they must be at most %d", n.workers, n.inFlight, MaxWorkers)
	}
	n.settleBuffer()
	if n.policy != nil {
		for _, err := range failure.CheckPolicy(*n.policy) {
			n.mistake("Failures: %w", err)
		}
	}
}

// settleBuffer fills in the default, which depends on the stages before.
func (n *node) settleBuffer() {
	n.large = n.joins || !n.makes && slices.ContainsFunc(n.ups, func(up *node) bool { return up != nil && up.large })
	if n.buffer > 0 {
		return
	}
	n.buffer = DefaultBuffer
	if n.large {
		n.buffer = DefaultBatchBuffer
	}
}

// several tells whether more than one operation may run at once.
func (n *node) several() bool { return n.workers > 1 || n.inFlight > 1 }

// router is where the branches begin after which a join is.
func (n *node) router() *node {
	branch := strings.TrimSuffix(n.name, joinSuffix) + "/0"
	for _, at := range n.walk() {
		if at.kind == kindBranch && at.name == branch {
			return at.ups[0]
		}
	}
	return n // a route without branches, which is not run
}

func (n *node) check() error {
	if n == nil {
		return errEmptyFlow
	}

	var all []error
	names := make(map[string]bool)
	users := make(map[*node]*node)
	sources := 0

	for _, at := range n.walk() {
		all = append(all, at.mistakes...)
		if at.name != "" && names[at.key()] {
			all = append(all, at.wrong("another stage has the same name"))
		}
		names[at.key()] = true
		if at.kind == kindSource {
			sources++
		}

		for _, up := range at.ups {
			if up == nil {
				all = append(all, errEmptyFlow)
				continue
			}
			if other := users[up]; other != nil && at.kind != kindBranch {
				all = append(all, up.wrong("its items are taken by two stages, %s and %s: use Route", other.label(), at.label()))
			}
			users[up] = at
		}
	}

	if sources > progress.MaxSources {
		all = append(all, fmt.Errorf("pipe: the flow has %d sources: it must have at most %d", sources, progress.MaxSources))
	}
	return errors.Join(all...)
}

// walk lists the nodes, each once and after those that feed it. Stages on an empty flow
// are there, the empty flow is not.
func (n *node) walk() (all []*node) {
	seen := make(map[*node]bool)
	var visit func(*node)
	visit = func(at *node) {
		if at == nil || seen[at] {
			return
		}
		seen[at] = true
		for _, up := range at.ups {
			visit(up)
		}
		all = append(all, at)
	}
	visit(n)
	return all
}
