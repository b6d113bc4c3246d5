package failure

import "errors"

// Skip is what an operation returns to drop its item on purpose: quietly, without
// spending the failure policy.
var Skip error = skip{}

type skip struct{}

func (skip) Error() string { return "pipe: skip this item" }

// Stop makes an error of an operation one that ends the run, whatever the policy: for
// what is wrong with the operation and not with its item.
func Stop(err error) error {
	if err == nil || Declared(err) {
		return err
	}
	return stopError{err}
}

type stopError struct{ error }

func (e stopError) Unwrap() error  { return e.error }
func (e stopError) stopsRun() bool { return true }

// Stops tells whether an error ends the run, whatever the policy: one of [Stop], or one
// that says that the machine lacks something. See [Policy].

// Fatal makes an error one that ends the run, whatever the policy.
func Fatal(err error) error { return fatalError{err} }

type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }
func (fatalError) stopsRun() bool  { return true }

// Stops tells whether an error is a failure that no policy tolerates, and no operation
// around an operation deals with: one of [Stop], or one that says that the machine lacks
// something.
func Stops(err error) bool { return Declared(err) || Shortage(err) }

// Declared tells whether whoever made the error says that it ends the run.
func Declared(err error) bool {
	var e interface{ stopsRun() bool }
	return errors.As(err, &e) && e.stopsRun()
}

// A goexitError is the failure of an item whose operation has ended its goroutine. No
// policy tolerates it, because the worker is gone.
type goexitError struct{}

func (goexitError) Error() string  { return "a function has ended its goroutine, with runtime.Goexit" }
func (goexitError) stopsRun() bool { return true }

var (
	// ErrGoexit is the failure of a function that has ended its goroutine.
	ErrGoexit = goexitError{}
	// ErrLostBefore is the failure of an item that a state says is lost.
	ErrLostBefore = errors.New("it was lost before the run was resumed")
)
