package core

import (
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Learner is implemented by arguments of steps whose results a first sample tells, unless
// the recipe does.
type Learner interface {
	Linker
	recipe.Giving
	// Learns reports whether the recipe does not.
	Learns() bool
	// Learn returns a function that returns the fields of a sample's result, for the
	// step's place in a pipeline.
	Learn(t *Scope) func(*record.Record) (sample.Schema, error)
}
