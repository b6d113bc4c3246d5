package recipe

import (
	"fmt"
	"slices"

	"headrace/sample"
)

// Version is the number of the notation, the value of the key "headrace".
const Version = 1

// Recipe is a graph of steps. The last step is what comes out.
type Recipe struct {
	Seed  uint64 // of all random operations, and of shuffle where that has none of its own
	Steps []Step
}

// Step is an operation at its place.
type Step struct {
	Op   string   // the operation's name; may be left out where Args say it
	Name string   // by default Op, numbered where it occurs again
	From []string // names of the steps it reads; by default the step before
	Args Args     // of the type that the operation has; nil: all by default
}

// Args are the arguments of an operation: a pointer to a struct whose fields have the tags `json` (the argument's name) and `doc`.
type Args interface {
	// Check returns what is wrong with the arguments and with samples of this schema as input, and the schema of the output. A
	// schema that is not nil although there is an error is what would come out but for the mistake: the check goes on with it.
	Check(in sample.Schema) (sample.Schema, error)
}

// completer is implemented by arguments with defaults that are not zero.
type completer interface {
	// complete returns the arguments with all defaults written out, in the one form that equal arguments have.
	complete() Args
}

// Complete returns r with everything written out that may be left out: names of steps and operations, defaults of arguments. Two
// recipes that mean the same are equal then, and a recipe that was saved keeps its meaning when a default changes.
func (r Recipe) Complete() Recipe {
	steps := make([]Step, len(r.Steps))
	seen := make(map[string]int)
	for i, s := range r.Steps {
		op, known := Find(s.Op)
		if s.Op == "" && s.Args != nil {
			op, known = findArgs(s.Args)
			s.Op = op.Name
		}
		if s.Args == nil && known {
			s.Args = op.New()
		}
		if c, ok := s.Args.(completer); ok {
			s.Args = c.complete()
		}
		// All steps of the operation count, so that giving one a name does not rename another.
		if seen[s.Op]++; s.Name == "" {
			s.Name = numbered(s.Op, seen[s.Op])
		}
		if i > 0 && slices.Equal(s.From, []string{steps[i-1].Name}) {
			s.From = nil
		}
		steps[i] = s
	}
	r.Steps = steps
	return r
}

// numbered is the name of the n-th step of an operation, from 1.
func numbered(op string, n int) string {
	if n == 1 {
		return op
	}
	return fmt.Sprintf("%s_%d", op, n)
}
