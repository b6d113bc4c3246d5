package fuse

import (
	"slices"

	"headrace/recipe"
)

// Joins tells whether a step is called by the same workers as the step before it, right
// after that, with what it has returned: both are maps or filters of Python, and say the
// same about their workers. A step that has failures of its own stays alone, as a limit,
// a retry or a count of losses is of that step.
func Joins(before, s recipe.Step) bool {
	a, b := linked(before.Args), linked(s.Args)
	if a == nil || b == nil || before.Failures != nil || s.Failures != nil {
		return false
	}
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

// linked are the arguments of a function that can be part of a chain; nil: it cannot.
func linked(args recipe.Args) *recipe.Python {
	switch args := args.(type) {
	case *recipe.Map:
		return &args.Python
	case *recipe.Filter:
		return &args.Python
	}
	return nil
}

func equal(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
