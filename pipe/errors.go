package pipe

import (
	"errors"
	"fmt"
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

// A StageError is what stopped a run: the stage, the first source position of the item that failed, and why. Where several flows
// that are merged have failed, their errors are joined.
type StageError struct {
	Stage  string
	Source string // whose position it is
	Epoch  int
	Pos    int64
	Err    error
}

func (e *StageError) Error() string {
	return fmt.Sprintf("pipe: stage %s: epoch %d, item %d: %v", e.Stage, e.Epoch, e.Pos, e.Err)
}

func (e *StageError) Unwrap() error { return e.Err }

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

var (
	errGoexit     = errors.New("an operation has ended its goroutine, with runtime.Goexit")
	errLostBefore = errors.New("it was lost before the run was resumed")
)
