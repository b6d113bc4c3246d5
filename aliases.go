package headrace

import (
	"context"

	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/state"
)

type (
	// Lost is a sample that failed under a policy that tolerates it.
	Lost = sample.Lost
	// Origin says which sample a row of a batch holds. A loader whose [Options] ask for a
	// Ledger knows that of every row.
	Origin = sample.Origin
	// Draw is what a step drew for one sample.
	Draw = sample.Draw

	// Rand gives an operation the random numbers of its sample: a field of this type in
	// In is filled. They depend only on the recipe's seed, the epoch, the sample, the
	// name of the step and how many were drawn before.
	Rand = custom.Rand
	// Canvas gives an operation memory for the image that it makes: a field of this type
	// in In is filled.
	Canvas = custom.Canvas

	// InFlight learns which samples are being worked on by C code. Cell is the number of
	// the operation among those that run at once.
	InFlight = core.InFlight

	// State is the place of a run between two batches: everything before it was yielded
	// or lost, nothing else. It is small, readable JSON; docs/protocol.md states it.
	State = state.State
	// SourceState is how far one source has come. Its positions count this rank's share
	// of its epoch.
	SourceState = state.Source
	// Until is a place up to which samples are tried one at a time: every position before
	// those that it names, of an epoch.
	Until = state.Until

	// ObjectState is what an object of Python that is iterated over has said of itself.
	ObjectState = state.Object
)

// OnError is what happens to a sample that fails.
type OnError = core.OnError

// Raise stops the run with the sample's error. Skip drops the sample, counts it, and goes
// on while the losses stay within MaxErrors. Replace puts another sample of the same
// source in its place, drawn by the recipe's seed and the identity of the one that
// failed, within MaxErrors too: batches stay full, and all ranks yield as many.
const (
	Raise   = core.Raise
	Skip    = core.Skip
	Replace = core.Replace
)

// List returns the names of the files that the operation files reads by a pattern or a
// folder of images, in their order.
func List(ctx context.Context, root, pattern string) ([]string, error) {
	return input.List(ctx, root, pattern)
}

// StateVersion is the version of [State]'s form.
const StateVersion = state.Version

// ErrState marks a state that does not fit what is to be run.
var ErrState = state.Err

// Operation is what a program adds to the operations of recipes: [Register] gives it a
// name. It is a pointer to a struct whose fields are its arguments, and is shared by all
// samples: Do is called by several goroutines at once and changes nothing in it.
//
// In and Out are structs. Each of their fields has a tag with the name of the field of
// samples that it takes or gives:
//
//	type in struct {
//		Image media.Pixels `field:"image"`
//		Bytes []byte       `field:"bytes,take"`
//	}
//	type out struct {
//		Lightness float32 `field:"lightness"`
//	}
//
// A field is a bool, a number of a stated size (int64, uint8, float32, …), an array of
// these, text (string), bytes ([]byte) or an image (media.Pixels). What is given takes
// the place of a field of the same name, or is a new one, which batches then have too. A
// field that In takes with ",take" is not passed on. In may besides have a [Rand], a
// [Canvas] and a sample.ID, without tags.
//
// What In holds is the sample's: it must not be kept after the call, and changed only
// where Out gives it back under the same name. What Out holds is given away.
//
// An error is the failure of the sample, as is a panic; the error pipe.Skip drops it
// without one. A step whose failures say so tries again: Do is then called with the same
// In, which it must have left as it was. With a time limit, Do may still run when it is
// called for the same sample again. The context ends when the loader is stopped. At most
// as many operations run at once as there are cores to use, so Do should compute and not
// wait.
//
// An operation may have two methods more, called before anything runs:
//
//	Check() error                                // what is wrong with the arguments; recipe.Wrong names one
//	Result(media.Form) (media.Form, error)       // what becomes of the form of the image
//
// Without Result the image that Out gives has the form of the one in In. Result is given
// that form, or the zero Form where In has no image; a height or width may be
// media.Unknown, before and after. It is asked again for each sample, by several
// goroutines at once, for how much memory will be needed.
type Operation[In, Out any] = custom.Operation[In, Out]

// Register adds an operation, so that recipes can name it. New returns one whose fields
// hold their defaults; they have the tags `json`, the name of the argument, and `doc`, a
// sentence about it; `choices`, `min` and `max` may say what it takes. The random numbers
// of an operation are those of its step's name in a recipe.
//
// A saved state counts arguments as part of the recipe, but not the code: it cannot tell
// that an operation has been changed.
func Register[In, Out any](name, doc string, new func() Operation[In, Out]) error {
	return custom.Register(name, doc, new)
}

// Args makes arguments of a recipe's step of an operation that was registered:
//
//	recipe.Step{Args: headrace.Args(&Solarize{Threshold: 100})}
func Args[In, Out any](op Operation[In, Out]) recipe.Args { return custom.Args(op) }

// Batching is what a program adds to the operations that make batches: samples of one
// class come together. [RegisterBatching] gives it a name. It is a pointer to a struct
// whose fields are its arguments, and In a struct as [Operation] says, of what it looks
// at. Class is called by several goroutines at once, and changes nothing.
//
// Size says how many rows a full batch has, and how many classes there are; Class gives
// that of a sample, from 0 on. An error is the failure of the sample. In the end of an
// epoch each class gives what it has, or leaves it out, where a method DropLast() bool
// says so.
type Batching[In any] = custom.Batching[In]

// RegisterBatching adds an operation that makes batches, as [Register] adds others.
func RegisterBatching[In any](name, doc string, new func() Batching[In]) error {
	return custom.RegisterBatching(name, doc, new)
}
