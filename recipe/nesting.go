package recipe

import (
	"iter"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/sample"
)

// Chain is a list of steps inside of an argument, each of which reads the one before it.
type Chain []Step

// Takes implements [Taker].
func (*Chain) Takes() string { return "a list of steps" }

// What trees may come to. Nobody writes such ones; who sends them means harm.
const (
	maxDepth = 16
	maxSteps = 100_000
)

// Nesting is implemented by arguments that have steps in them.
type Nesting interface {
	Args
	Chains() []Chain       // in the order of the text
	With(all []Chain) Args // a copy that has these
	Inside() Surroundings  // where the steps of each are
	// Join returns what is wrong with the arguments, and the schema of what comes out
	// where the chains give these; nil: that is not known.
	//
	// In is what the operation reads; without a source inside, it is known.
	Join(in sample.Schema, outs []sample.Schema) (sample.Schema, error)
}

// Surroundings say what a chain is in.
type Surroundings struct {
	Op     string // "": the recipe itself
	Step   int    // of the operation, counted from 0
	Begins bool   // whether it begins with a source; otherwise it goes on with what the step around it reads

	making // of what is there
}

// All yields every step of the tree with its number, from 1, in the order of the text: a
// step that holds others comes before them. Mistakes count steps in this way.
func (r Recipe) All() iter.Seq2[int, Step] {
	return func(yield func(int, Step) bool) {
		n := 0
		visit(r.Steps, func(s Step) bool { n++; return yield(n, s) })
	}
}

// Counting yields the steps on which the number of samples of an epoch depends: all but
// those before a mix that counts samples as they arrive.
func (r Recipe) Counting() iter.Seq[Step] {
	return func(yield func(Step) bool) { visitCounting(r.Steps, yield) }
}

func visitCounting(steps []Step, yield func(Step) bool) bool {
	for _, s := range steps {
		if !yield(s) {
			return false
		}
		if m := TraitsOf(s.Args).Merging; m != nil && m.Mix != nil && m.Mix.Arrivals {
			continue
		}
		for _, c := range ChainsOf(s.Args) {
			if !visitCounting(c, yield) {
				return false
			}
		}
	}
	return true
}

// visit goes through a tree, as long as yield wants more.
func visit(steps []Step, yield func(Step) bool) bool {
	for _, s := range steps {
		if !yield(s) {
			return false
		}
		if n, ok := s.Args.(Nesting); ok {
			for _, c := range n.Chains() {
				if !visit(c, yield) {
					return false
				}
			}
		}
	}
	return true
}

// depth is the number of chains around the innermost step.
func depth(steps []Step) int {
	deepest := 0
	for _, s := range steps {
		if n, ok := s.Args.(Nesting); ok {
			for _, c := range n.Chains() {
				deepest = max(deepest, depth(c))
			}
		}
	}
	return 1 + deepest
}

// each does something to every chain of a copy.
func each(chains []Chain, do func([]Step) []Step) []Chain {
	if chains == nil {
		return nil
	}
	all := make([]Chain, len(chains))
	for i, c := range chains {
		all[i] = do(c)
	}
	return all
}

// JSONSchema implements [Schemer].
func (Chain) JSONSchema() map[string]any {
	return jsonschema.Steps()
}
