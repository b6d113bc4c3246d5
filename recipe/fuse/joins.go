package fuse

import (
	"slices"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Joins tells whether a step is called by the same workers as the step before it, right
// after that, with what it has returned: both are maps or filters of Python, and say the
// same about their workers and their order. Steps on columns join each other, too. A step
// that has failures of its own stays alone, as a limit, a retry or a count of losses is
// of that step.
func Joins(before, s recipe.Step) bool {
	if recipe.TraitsOf(before.Args).Columns && recipe.TraitsOf(s.Args).Columns {
		return before.Failures == nil && s.Failures == nil
	}
	a, b := linked(before.Args), linked(s.Args)
	if a == nil || b == nil || before.Failures != nil || s.Failures != nil {
		return false
	}
	return alike(a, b) && orderOf(before) == orderOf(s)
}

func orderOf(s recipe.Step) string { return recipe.TraitsOf(s.Args).Call.Order }

// alike tells whether two functions say the same about their workers.
func alike(a, b *recipe.Python) bool {
	if a.Where != b.Where || !equal(a.Workers, b.Workers) {
		return false
	}
	// Threads share the generators that are seeded for each call, so there is one; and a
	// worker runs coroutines beside each other unless they are seeded.
	if a.Where == "process" {
		return (len(a.Seed) == 0) == (len(b.Seed) == 0)
	}
	return slices.Equal(a.Seed, b.Seed)
}

// readBy tells whether the object that a flow begins with is read by the workers that
// call the functions of its only part, right before these: they get the numbers of
// samples to read, and no sample goes from one worker to another. It has to be a source
// of which nothing else is known of a sample, such as its name, before that is there.
// What is an object of Python is pickled on its way, so that no function can change that
// of the source; tuples of arrays are copied.
func readBy(f *Flow, p *Part) bool {
	chain := p.Chain()
	object := f.Source.object()
	switch {
	case object == nil, len(f.Nodes) != 1, len(chain) == 0,
		f.Source.Failures != nil, p.Failures != nil: // each has a policy of its own
		return false
	}
	first := linked(chain[0].Args)
	if first == nil || object.Iterated() || object.Named() || orderOf(chain[0]) != "" {
		return false
	}
	for _, field := range object.Gives.Schema {
		if field.Type.Kind == sample.Object && !copies(object) {
			return false
		}
	}
	return alike(&object.Python, first)
}

// copies tells whether samples are tuples of arrays, numbers and texts, which workers
// copy quickly.
func copies(object *recipe.Call) bool {
	if object.Where == recipe.Here { // what they hold may be the program's own
		return false
	}
	for _, v := range object.Gives.Values {
		if v.Type.Kind != sample.Tensor && v.Type.Kind != sample.Text {
			return false
		}
	}
	return object.Gives.Values != nil
}

// linked are the arguments of a function that can be part of a chain; nil: it cannot.
func linked(args recipe.Args) *recipe.Python {
	call := recipe.TraitsOf(args).Call
	if call == nil || call.Kind != recipe.MapCall && call.Kind != recipe.FilterCall {
		return nil
	}
	return &call.Python
}

func equal(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
