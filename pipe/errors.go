package pipe

import (
	"errors"

	"github.com/headrace/headrace/pipe/internal/failure"
)

// Skip is what an operation returns to drop its item on purpose: quietly, without
// spending the failure policy.
var Skip = failure.Skip

var (
	// ErrDone is returned by Next when all epochs have been read.
	ErrDone = errors.New("pipe: the last epoch is over")

	// ErrClosed is returned by Next after Close.
	ErrClosed = errors.New("pipe: the run is closed")

	// ErrBusy is returned by Next while another goroutine is in it: a run has one
	// consumer.
	ErrBusy = errors.New("pipe: Next is called by two goroutines at once")
)

// Stop makes an error of an operation one that ends the run, whatever the policy: for
// what is wrong with the operation and not with its item.
func Stop(err error) error { return failure.Stop(err) }

// Stops tells whether an error ends the run, whatever the policy: one of [Stop], or one
// that says that the machine lacks something. See [Policy].
func Stops(err error) bool { return failure.Stops(err) }

// Within says which position has failed of an item that stands for several ([Spanning]):
// the n-th, counted from 0. It is that of the [StageError].
func Within(err error, n int64) error { return failure.Within(err, n) }

// Fatal makes an error one that ends the run, whatever the policy.
func Fatal(err error) error { return failure.Fatal(err) }

// A Policy says what a failed item means. The zero Policy stops the run at the first
// failure. With Skip, failed items are lost as long as their number in this epoch is
// within Count, or their share within Rate; the first that is beyond both stops the run.
//
//	Skip  bool
//	Count int     // losses tolerated per epoch; NoLimit, or any negative number: all
//	Rate  float64 // share of an epoch's items so far that may be lost, in (0, 1]; 0: no share is tolerated, only Count
//	After int     // Rate is judged from this many items on; until then it tolerates everything
//
// What the machine lacks is no item's failure, and stops the run whatever the policy:
// descriptors (EMFILE, ENFILE), memory (ENOMEM, ENOBUFS), space (ENOSPC, EDQUOT),
// processes (EAGAIN of starting one). [Retry] tries again, for these pass.
type Policy = failure.Policy

// NoLimit is the Count of a [Policy] that tolerates any number of losses, and the Epochs
// of a [Config] without end.
const NoLimit = failure.NoLimit

// A LossError is the failure of an item that was one more than a policy tolerates: of
// Seen items of the epoch, Lost were lost, the last one because of Err. It is inside of
// the [StageError].
type LossError = failure.LossError

// A StageError is what stopped a run: the Stage, the Epoch and the first position Pos
// in Source of the item that failed, and why, Err. Epoch and Pos are -1 where it is
// about none. Output says which of several things that stages made of that item has
// failed: [3, 1] is output 1, counted from 0, of output 3 of it; nil: the item
// itself. An element of a batch that was taken apart is what it was when it came into
// the batch. Where several stages have failed, their errors are joined: first the one
// that ended the run, then one of each other stage, the nearest to the consumer
// first.
type StageError = failure.StageError

// A BusyError says that a run was closed, and operations of its Stages still run.
type BusyError = failure.BusyError

// A BusyStage is a Stage with the number of its Operations that run.
type BusyStage = failure.BusyStage

// A PanicError is the failure of an item whose operation panicked: the Value that panic
// was called with, and the Stack of the goroutine, at the panic.
type PanicError = failure.PanicError

// A LimitError is the failure of an item whose operation took longer than its Limit. Err
// is what it returned, unless it was Abandoned: then it had not returned, and may still
// run.
type LimitError = failure.LimitError

// A HookError is the end of a run of which a hook has panicked, or ended its goroutine.
type HookError = failure.HookError
