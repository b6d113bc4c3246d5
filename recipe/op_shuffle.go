package recipe

import (
	"fmt"

	"headrace/internal/words"
	"headrace/sample"
)

var shuffleOp = operation[Shuffle]("shuffle", Ordering, "Visits samples in another random order in each epoch.")

// Shuffle are the arguments of the operation shuffle.
type Shuffle struct {
	Seed   *uint64 `json:"seed,omitempty" doc:"by default the recipe's"`
	Window *int64  `json:"window,omitempty" min:"1" example:"65536" doc:"shuffle this many samples at a time, drawn as runs of neighbours from many places, so that what they share is read once; by default all at once"`
}

// identity writes out whose seed it is.
func (s Shuffle) identity(r Recipe) Args {
	if s.Seed == nil {
		s.Seed = &r.Seed
	}
	return &s
}

// Check implements [Args].
func (s *Shuffle) Check(in sample.Schema) (sample.Schema, error) {
	if w := orElse(s.Window, 1); w < 1 || w > mostSamples {
		return in, Wrong("window", "is %d: must be from 1 to %d", w, int64(mostSamples))
	}
	return in, nil
}

// Traits implements [traited].
func (s *Shuffle) Traits() Traits {
	t := Traits{Seed: s.Seed, Notes: "shuffled again in each"}
	if s.Window != nil {
		t.Notes += fmt.Sprintf(", in windows of %s", words.Plural(*s.Window, "sample"))
	}
	return t
}
