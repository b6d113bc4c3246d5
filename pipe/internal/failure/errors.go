package failure

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A StageError is what stopped a run: the stage, the first source position of the item
// that failed, and why. Where several stages have failed, their errors are joined: first
// the one that ended the run, then one of each other stage, the nearest to the consumer
// first.
type StageError struct {
	Stage  string
	Source string // whose position it is
	Epoch  int    // -1: of no epoch
	Pos    int64  // -1: of no item
	Output []int64
	Err    error
}

func (e *StageError) Error() string {
	where := ""
	if e.Epoch >= 0 {
		where = fmt.Sprintf("epoch %d", e.Epoch)
	}
	if e.Epoch >= 0 && e.Pos >= 0 {
		where += fmt.Sprintf(", item %d", e.Pos)
	}
	for i, n := range e.Output {
		where += []string{", output ", "."}[min(i, 1)] + strconv.FormatInt(n, 10)
	}
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("pipe: stage %s: %s%v", e.Stage, where, e.Err)
}

func (e *StageError) Unwrap() error { return e.Err }

// A BusyError says that a run was closed, and operations of it still run.
type BusyError struct {
	Stages []BusyStage
}

// A BusyStage is a stage with the number of its operations that run.
type BusyStage struct {
	Stage      string
	Operations int
}

func (e *BusyError) Error() string {
	var all []string
	for _, s := range e.Stages {
		all = append(all, fmt.Sprintf("%d of stage %s", s.Operations, s.Stage))
	}
	return "pipe: the run is closed, but operations still run: " + strings.Join(all, ", ")
}

// A PanicError is the failure of an item whose operation panicked.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine, at the panic
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the value of the panic where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A LimitError is the failure of an item whose operation took longer than its Limit.
type LimitError struct {
	Limit     time.Duration
	Abandoned bool  // it had not returned, and may still run
	Err       error // what it returned, unless it was abandoned
	stops     bool
}

// AbandonedAfter is the failure of an operation that was abandoned; stops: as one more
// than the stage has workers, which no policy tolerates.
func AbandonedAfter(most time.Duration, stops bool) *LimitError {
	return &LimitError{Limit: most, Abandoned: true, stops: stops}
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("it took longer than %v", e.Limit)
	switch {
	case e.stops:
		text += ", and was abandoned, as one more than the stage has workers"
	case e.Abandoned:
		text += ", and was abandoned"
	case e.Err != nil:
		text += ": " + e.Err.Error()
	}
	return text
}

// Is tells that a LimitError is a context.DeadlineExceeded.
func (e *LimitError) Is(target error) bool { return target == context.DeadlineExceeded }

func (e *LimitError) Unwrap() error { return e.Err }

func (e *LimitError) stopsRun() bool { return e.stops }

// A HookError is the end of a run of which a hook has panicked, or ended its goroutine.
type HookError struct {
	Err error // of a panic a *PanicError
}

func (e *HookError) Error() string  { return fmt.Sprintf("a hook: %v", e.Err) }
func (e *HookError) Unwrap() error  { return e.Err }
func (e *HookError) stopsRun() bool { return true }

// A beginError is the failure of an item whose worker could not begin. No policy
// tolerates it.
type BeginError struct{ Err error }

func (e *BeginError) Error() string { return "a worker could not begin: " + e.Err.Error() }
func (e *BeginError) Unwrap() error { return e.Err }

func (e *BeginError) stopsRun() bool { return true }
