package recipe

import (
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/sample"
)

// Version is the number of the notation, the value of the key "headrace".
const Version = 1

// Recipe is a tree of steps: a chain, in which merge and route hold chains in turn. Each
// step reads the one before it, and the last is what comes out.
type Recipe struct {
	Seed  uint64 // of all random operations, and of shuffle and merge where they have none of their own
	Steps []Step
}

// Step is an operation at its place.
type Step struct {
	Op       string    // the operation's name; may be left out where Args say it
	Name     string    // by default Op, numbered where it occurs again anywhere in the tree
	Args     Args      // of the type that the operation has; nil: all by default
	Failures *Failures // what becomes of samples that fail in this step; nil: what the loader says
}

// Args are the arguments of an operation: a pointer to a struct whose fields have the
// tags `json` (the argument's name) and `doc`.
type Args interface {
	// Check returns what is wrong with the arguments and with samples of this schema as
	// input, and the schema of the output. A schema that is not nil although there is an
	// error is what would come out but for the mistake: the check goes on with it.
	Check(in sample.Schema) (sample.Schema, error)
}

// Completer is implemented by arguments of which a tag does not say all: their defaults
// depend on each other, or they can be given in several forms.
type Completer interface {
	// Complete returns the arguments, which have the defaults of the tags, with all
	// others, and in the one form that equal arguments have.
	Complete() Args
}

// Completed returns arguments with all defaults written out.
func Completed(args Args) Args {
	args = argument.Complete(args)
	if d, ok := args.(Completer); ok {
		return d.Complete()
	}
	return args
}

// Complete returns r with everything written out that may be left out: names of steps and
// operations, defaults of arguments. Two recipes that mean the same are equal then, and a
// recipe that was saved keeps its meaning when a default changes.
func (r Recipe) Complete() Recipe {
	r.Steps = completion{}.chain(r.Steps)
	return r
}

// completion counts the steps of each operation, through the whole tree and in the order
// of the text. All of them count, so that giving one a name does not rename another.
type completion map[string]int

func (c completion) chain(steps []Step) []Step {
	all := make([]Step, len(steps))
	for i, s := range steps {
		op, known := Find(s.Op)
		if s.Op == "" && s.Args != nil {
			op, known = FindArgs(s.Args)
			s.Op = op.Name
		}
		if s.Args == nil && known {
			s.Args = op.New()
		}

		if c[s.Op]++; s.Name == "" {
			s.Name = numbered(s.Op, c[s.Op])
		}

		s.Args = Completed(s.Args)
		if n, ok := s.Args.(Nesting); ok {
			s.Args = n.With(each(n.Chains(), c.chain))
		}
		s.Failures = s.Failures.complete()
		all[i] = s
	}
	return all
}

// numbered is the name of the n-th step of an operation, from 1.
func numbered(op string, n int) string {
	if n == 1 {
		return op
	}
	return fmt.Sprintf("%s_%d", op, n)
}
