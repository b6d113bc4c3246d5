package pipe

import (
	"errors"
	"fmt"
	"strings"
)

// Skip is what an operation returns to drop its item on purpose: quietly, without spending the failure policy.
var Skip error = skip{}

type skip struct{}

func (skip) Error() string { return "pipe: skip this item" }

var (
	// ErrDone is returned by Next when all epochs have been read.
	ErrDone = errors.New("pipe: the last epoch is over")

	// ErrClosed is returned by Next after Close.
	ErrClosed = errors.New("pipe: the run is closed")

	// ErrBusy is returned by Next while another goroutine is in it: a run has one consumer.
	ErrBusy = errors.New("pipe: Next is called by two goroutines at once")
)

// A StageError is what stopped a run: the stage, the first source position of the item that failed, and why. Where several stages have
// failed, their errors are joined: first the one that ended the run, then one of each other stage, the nearest to the consumer first.
type StageError struct {
	Stage  string
	Source string // whose position it is
	Epoch  int    // -1: of no epoch
	Pos    int64  // -1: of no item
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

// Stop makes an error of an operation one that ends the run, whatever the policy: for what is wrong with the operation and not with its item.
func Stop(err error) error {
	if err == nil || stops(err) {
		return err
	}
	return stopError{err}
}

type stopError struct{ error }

func (e stopError) Unwrap() error  { return e.error }
func (e stopError) stopsRun() bool { return true }

// Stops tells whether an error ends the run, whatever the policy: one of [Stop], or one that says that the machine lacks something. See [Policy].
func Stops(err error) bool { return untolerable(err) }

// Fatal makes an error one that ends the run, whatever the policy.
func Fatal(err error) error { return fatalError{err} }

type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }
func (fatalError) stopsRun() bool  { return true }

// untolerable tells whether an error is a failure that no policy tolerates, and no operation around an operation deals with.
func untolerable(err error) bool { return stops(err) || shortage(err) }

// stops tells whether whoever made the error says that it ends the run.
func stops(err error) bool {
	var e interface{ stopsRun() bool }
	return errors.As(err, &e) && e.stopsRun()
}

// A goexitError is the failure of an item whose operation has ended its goroutine. No policy
// tolerates it, because the worker is gone.
type goexitError struct{}

func (goexitError) Error() string  { return "a function has ended its goroutine, with runtime.Goexit" }
func (goexitError) stopsRun() bool { return true }

var (
	errGoexit     = goexitError{}
	errLostBefore = errors.New("it was lost before the run was resumed")
)
