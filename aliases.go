package headrace

import (
	"context"

	"headrace/internal/batch"
	"headrace/internal/compile"
	"headrace/internal/gate"
	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/internal/resume"
	"headrace/internal/source"
)

type (
	// Lost is a sample that failed under a policy that tolerates it.
	Lost = record.Lost
	// Origin says which sample a row of a batch holds. A loader whose [Options] ask for a
	// Ledger knows that of every row.
	Origin = record.Origin
	// Draw is what a step drew for one sample.
	Draw = record.Draw

	// InFlight learns which samples are being worked on by C code. Cell is the number of
	// the operation among those that run at once.
	InFlight = ops.InFlight

	// Gate bounds how many operations run at once over all loaders that share it: as many
	// as the largest of their shares of the usable cores. While any of them looks for the
	// sample that crashes C code, it is one for all, so that a crash has one suspect.
	Gate = gate.Gate

	// Stage is what runs as one: it has a line of its own in the statistics, under the
	// same name.
	Stage = compile.Stage

	// Batch is a number of samples, stacked, in shared memory that its holder owns until
	// [Batch.Release], or until [Batch.Send] gives it to a consumer in another process.
	Batch = batch.Batch
	// Field is one field of a batch.
	Field = batch.Field

	// State is the place of a run between two batches: everything before it was yielded
	// or lost, nothing else. It is small, readable JSON; docs/protocol.md states it.
	State = resume.State
	// SourceState is how far one source has come. Its positions count this rank's share
	// of its epoch.
	SourceState = resume.SourceState
	// Until is a place up to which samples are tried one at a time: every position before
	// those that it names, of an epoch.
	Until = resume.Until

	// ObjectState is what an object of Python that is iterated over has said of itself.
	ObjectState = source.ObjectState
)

// NewGate returns a gate for one operation; every loader that is opened widens it to what
// it needs.
func NewGate() *Gate { return gate.New() }

// OnError is what happens to a sample that fails.
type OnError = ops.OnError

// Raise stops the run with the sample's error. Skip drops the sample, counts it, and goes
// on while the losses stay within MaxErrors. Replace puts another sample of the same
// source in its place, drawn by the recipe's seed and the identity of the one that
// failed, within MaxErrors too: batches stay full, and all ranks yield as many.
const (
	Raise   = ops.Raise
	Skip    = ops.Skip
	Replace = ops.Replace
)

// List returns the names of the files that the operation files reads by a pattern or a
// folder of images, in their order.
func List(ctx context.Context, root, pattern string) ([]string, error) {
	return source.List(ctx, root, pattern)
}

// StateVersion is the version of [State]'s form.
const StateVersion = resume.Version

// ErrState marks a state that does not fit what is to be run.
var ErrState = resume.ErrState
