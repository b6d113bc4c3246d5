package flow

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var batchOp = Ops.Add(recipe.NewOp[Batch]("batch", recipe.Batching, "Stack samples into batches; images must have one size."))

// Batch are the arguments of the operation batch. Exactly one of Size and GlobalSize is
// given.
type Batch struct {
	Size       int  `json:"size,omitempty" min:"1" example:"32" doc:"samples per batch, on each rank"`
	GlobalSize int  `json:"global_size,omitempty" min:"1"`
	DropLast   bool `json:"drop_last" doc:"drop the epoch's last batch if it is not full"`
	Lists      bool `json:"lists,omitempty" doc:"the batches are the lists that sampler gives; size is the most samples in one"`

	MaxWait *float64 `json:"max_wait,omitempty" min:"0.001" max:"86400" example:"0.05" unit:"seconds"`

	Collate *recipe.Collate `json:"collate,omitempty"`
	Ragged  []string        `json:"ragged,omitempty"`
}

// Docs implements [argument.Documented].
func (*Batch) Docs() map[string]string {
	return map[string]string{
		"global_size": "samples per batch over all ranks, each taking a contiguous part: these batches stay the " +
			"same with another number of ranks",
		"max_wait": "give a batch that is not full when its first sample has waited for so many seconds; " +
			"which samples share a batch then depends on time",
		"collate": "a Python function, with arguments as for map: it is passed a list of samples and returns the " +
			"batch's fields; by default arrays of one shape are stacked, text and objects become lists",
		"ragged": "fields whose arrays differ in their first extent, such as boxes: a batch has a list of them, " +
			"one per row, in one memory",
	}
}

// Complete implements [recipe.Completer].
func (b Batch) Complete() recipe.Args {
	b.Collate = b.Collate.Complete()
	return &b
}

// Identity implements [recipe.Identifier].
func (b Batch) Identity(recipe.Recipe) recipe.Args {
	b.Collate = b.Collate.Identity()
	return &b
}

// CheckFailures implements [recipe.Failing]: only a function can fail.
func (b *Batch) CheckFailures(f *recipe.Failures) error {
	if b.Collate == nil {
		return recipe.NoneFail(batchOp.Name)
	}
	return b.Collate.CheckFailures(f)
}

// Check implements [recipe.Args]. The schema that comes out is that of a row: each field
// is stacked, text and objects become lists. With Collate it is that of a whole batch,
// and nil if its fields are unknown.
func (b *Batch) Check(in sample.Schema) (sample.Schema, error) { return b.CheckSizes(in, nil, false) }

// CheckSizes is Check for images of one of these shapes. Inside says that there is
// a resize_to_bucket in a chain of a merge or route.
func (b *Batch) CheckSizes(in sample.Schema, shapes []tensor.Shape, inside bool) (sample.Schema, error) {
	errs := checkSizes(b.Size, b.GlobalSize)
	if b.Size == 0 && b.GlobalSize == 0 {
		errs = append(errs, errNoSize)
	}
	if b.Lists && (b.GlobalSize != 0 || b.DropLast) {
		errs = append(errs, errors.New("has lists, and global_size or drop_last: the lists are the batches, so give size alone"))
	}

	if b.MaxWait != nil {
		errs = append(errs, b.checkWait(shapes != nil || inside))
	}

	// A collate makes arrays of samples itself, so they need not be stackable.
	if b.Collate != nil {
		if b.Ragged != nil {
			errs = append(errs, recipe.Wrong("ragged", "is given with collate, which makes the whole batch: leave one of them out"))
		}
		out, err := b.Collate.Check(in, shapes != nil || inside)
		return out, errors.Join(append(errs, err)...)
	}
	errs = append(errs, b.checkRagged(in)...)

	for _, f := range in {
		switch {
		case slices.Contains(b.Ragged, f.Name):
		case !recipe.IsImage(f.Type):
			errs = append(errs, recipe.Stackable(f))
		case shapes != nil:
		case inside && !f.Type.Fixed():
			errs = append(errs, fmt.Errorf("cannot stack images of different sizes: the field %q is %v; "+
				"put resize_to_bucket after the merge or route, and not into it", f.Name, f.Type))
		default:
			errs = append(errs, recipe.Stackable(f))
		}
	}
	return in, errors.Join(errs...)
}

// checkRagged refuses fields of which a batch cannot have a list of arrays.
func (b *Batch) checkRagged(in sample.Schema) (errs []error) {
	for i, name := range b.Ragged {
		at := in.Find(name)
		switch {
		case slices.Contains(b.Ragged[:i], name):
			errs = append(errs, recipe.Wrong("ragged", "has %q twice", name))
		case in == nil: // what is wrong with earlier steps was found
		case at < 0:
			errs = append(errs, recipe.Wrong("ragged", "has %q, and there is no such field: the samples have %s", name, in))
		case !recipe.Raggable(in[at].Type):
			errs = append(errs, recipe.Wrong("ragged", "has the field %q, which is %v: must be an array whose first extent alone differs "+
				"between samples, such as float32 [?, 4]", name, in[at].Type))
		}
	}
	return errs
}

// The bounds of MaxWait, in seconds: timers of less come late, and longer than a day
// nobody waits.
const (
	shortestWait = 0.001
	longestWait  = 86400
)

// checkWait refuses max_wait beside what says of its own which samples share a batch, or
// how many batches have.
func (b *Batch) checkWait(shapes bool) error {
	const so = "max_wait and %s cannot both be given: %s; leave one of them out"
	switch w := *b.MaxWait; {
	case !(w >= shortestWait && w <= longestWait): // NaN is neither
		return recipe.Wrong("max_wait", "is %v: must be from %v to %v seconds", w, shortestWait, float64(longestWait))
	case b.GlobalSize != 0:
		return fmt.Errorf(so, "global_size", "ranks would have other batches at other times")
	case b.DropLast:
		return fmt.Errorf(so, "drop_last", "any batch may have fewer samples, not only the last")
	case b.Lists:
		return fmt.Errorf(so, "a sampler of lists", "the lists are the batches")
	case shapes:
		return fmt.Errorf(so, "resize_to_bucket", "images wait for others of their size")
	}
	return nil
}

var errNoSize = errors.New("has no size, or 0: needs either size or global_size, at least 1")

// checkSizes checks the size of a batch, which is that of a rank's or of a global one.
func checkSizes(size, global int) (errs []error) {
	if size != 0 && global != 0 {
		errs = append(errs, errors.New("has both size and global_size: give one of them"))
	}
	return append(errs, checkRows("size", size), checkRows("global_size", global))
}

func checkRows(name string, n int) error {
	if n < 0 || n > math.MaxInt32 {
		return recipe.Wrong(name, "is %d: must be from 1 to %d", n, math.MaxInt32)
	}
	return nil
}

// checkSome asks for a number that has no default.
func checkSome(name string, n int) error {
	if n == 0 {
		return fmt.Errorf("lacks the argument %s, or has 0 there: must be at least 1", name)
	}
	return nil
}

// Traits implements [recipe.Traited].
func (b *Batch) Traits() recipe.Traits {
	return b.Collate.Calls(recipe.Traits{Batches: &recipe.Batches{Size: b.Size, GlobalSize: b.GlobalSize, DropLast: b.DropLast,
		Lists: b.Lists, Collate: b.Collate, Ragged: b.Ragged, MaxWait: b.wait()}})
}

// wait is MaxWait as a duration; 0: none is given.
func (b *Batch) wait() time.Duration {
	if b.MaxWait == nil {
		return 0
	}
	return time.Duration(*b.MaxWait * float64(time.Second))
}

// WithGives implements [recipe.Giving].
func (b Batch) WithGives(g recipe.Gives) recipe.Args {
	b.Collate = &recipe.Collate{Python: b.Collate.Python, Gives: g}
	return &b
}

// WithBatches implements [recipe.Stacker]. Batches that a survey makes wait for nobody.
func (*Batch) WithBatches(b recipe.Batches) recipe.Args {
	return &Batch{Size: b.Size, GlobalSize: b.GlobalSize, DropLast: b.DropLast, Lists: b.Lists, Collate: b.Collate, Ragged: b.Ragged}
}
