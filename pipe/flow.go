package pipe

import (
	"errors"
	"fmt"
)

// A Flow describes a pipeline whose last stage makes items of type T. It holds nothing of a run, so it can be started any
// number of times, also at once. The zero Flow is refused by Start.
type Flow[T any] struct {
	node *node
	open func(o *opening, below *stage) *ring[T] // prepares the stages up to here for a run; below takes the items
	drop func(T)                                 // disposes of items that nobody takes; may be nil
}

// Check returns every mistake in the description, joined, or nil. Start does the same.
func (f Flow[T]) Check() error {
	return f.node.check()
}

// into prepares the flow for a run in which stage below (nil: the consumer) takes its items.
func (f Flow[T]) into(o *opening, below *stage) *ring[T] {
	r := f.open(o, below)
	r.drop = f.drop
	return r
}

// Discard returns f with drop as the one who disposes of its items that were made but not handed on: when a run is closed,
// cancelled or has failed. Without it they are left to the garbage collector.
func Discard[T any](f Flow[T], drop func(T)) Flow[T] {
	f.drop = drop
	return f
}

// A node is the plain face of a stage: what is known about it without its types.
type node struct {
	name     string
	kind     string
	workers  int
	buffer   int
	ordered  bool
	gate     *Gate
	policy   *Policy
	up       *node
	mistakes []error
}

func (n *node) mistake(format string, args ...any) {
	n.mistakes = append(n.mistakes, fmt.Errorf("pipe: stage "+n.label()+": "+format, args...))
}

func (n *node) label() string {
	if n.name == "" {
		return "(" + n.kind + ")"
	}
	return n.name
}

// settle fills in defaults and records what is wrong with the settings that all kinds of stages share.
func (n *node) settle() *node {
	if n.name == "" {
		n.mistake("it has no name")
	}
	if n.workers < 0 {
		n.mistake("Workers is %d", n.workers)
	}
	if n.buffer < 0 {
		n.mistake("Buffer is %d", n.buffer)
	}
	if n.workers <= 0 {
		n.workers = 1
	}
	if n.buffer <= 0 {
		n.buffer = DefaultBuffer
	}
	if n.policy != nil {
		for _, err := range n.policy.mistakes() {
			n.mistake("Failures: %w", err)
		}
	}
	return n
}

func (n *node) check() error {
	if n == nil {
		return errEmptyFlow
	}
	var all []error
	names := make(map[string]bool)
	for _, at := range n.chain() {
		if at == nil {
			all = append(all, errEmptyFlow)
			continue
		}
		all = append(all, at.mistakes...)
		if at.name != "" && names[at.name] {
			at := *at
			at.mistakes = nil
			at.mistake("another stage has the same name")
			all = append(all, at.mistakes...)
		}
		names[at.name] = true
	}
	return errors.Join(all...)
}

// chain lists the nodes from the source on; the first is nil when a stage was put on an empty flow.
func (n *node) chain() []*node {
	if n == nil || n.kind == kindSource {
		return []*node{n}
	}
	return append(n.up.chain(), n)
}

var errEmptyFlow = errors.New("pipe: a flow begins with From, this one is empty")

const (
	kindSource = "source"
	kindMap    = "map"
	kindBatch  = "batch"
	kindFill   = "fill"
)

// DefaultBuffer is how many results a stage keeps ready for the next one when its Buffer is zero.
const DefaultBuffer = 2

// SourceBuffer is how many items a source keeps ready for the first stage, the one that it is making included.
const SourceBuffer = 16
