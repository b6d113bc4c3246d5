package recipe

import "headrace/sample"

var shuffleOp = operation[Shuffle]("shuffle", Ordering, "Visits the samples of each epoch in a random order of its own.")

// Shuffle are the arguments of the operation shuffle.
type Shuffle struct {
	Seed *uint64 `json:"seed,omitempty" doc:"of the order; by default that of the recipe"`
}

// identity writes out whose seed it is.
func (s Shuffle) identity(r Recipe) Args {
	if s.Seed == nil {
		s.Seed = &r.Seed
	}
	return &s
}

// Check implements [Args].
func (s *Shuffle) Check(in sample.Schema) (sample.Schema, error) { return in, nil }
