package extern

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/headrace/headrace/extern/internal/child"
)

// ErrClosed is what calls get once the pool is closed.
var ErrClosed = errors.New("extern: the pool is closed")

var errGone = errors.New("the program has ended")

var errUnstoppable = errors.New("time_limit: threads of your program cannot be stopped; " +
	"use an async function, whose call is cancelled, or where=\"process\"")

// WorkerError says that the process which worked on the sample has ended. But for objects
// that gather samples or are iterated over, it is the second one: the sample was tried
// again, alone.
type WorkerError struct {
	Stage  string
	PID    int
	Again  bool           // a process had ended under the sample before
	Signal syscall.Signal // that ended it, 0: none
	Exit   int            // its exit status where no signal ended it
	Memory string         // what is known of whether the kernel did it for lack of memory; empty where that is out of the question
	Last   string         // the last lines that it wrote to standard error
	Stack  string         // the stacks of its Python threads, where a fatal signal had them written
}

func (e *WorkerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the worker of %s (process %d) ", e.Stage, e.PID)
	if e.Signal != 0 {
		fmt.Fprintf(&b, "was ended by %s", child.SignalText(e.Signal))
	} else {
		fmt.Fprintf(&b, "ended with status %d (os._exit?)", e.Exit)
	}
	b.WriteString(" while it worked on this sample")
	if e.Again {
		b.WriteString(" alone, as another one had before")
	}
	if e.Memory != "" {
		b.WriteString("; " + e.Memory)
	}
	if e.Stack != "" {
		b.WriteString("\n" + e.Stack)
	}
	if e.Last != "" {
		b.WriteString("\nits last lines:\n" + e.Last)
	}
	return b.String()
}

// LostError says that the process has ended which had an object that gathers samples.
// Calls fail with it until one begins with a new object.
type LostError struct {
	Stage  string
	Ending string // "was ended by SIGKILL (killed)"
	Last   string // the last lines that it wrote to standard error
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("the worker of %s %s, and what its object had gathered is lost", e.Stage, e.Ending)
	if e.Last != "" {
		text += "\nits last lines:\n" + e.Last
	}
	return text
}

// StartError says why no worker can work: the function cannot be imported, the
// interpreter is not there, or processes die before their first sample. Every call of the
// pool fails with it, now and later, so it is no matter of one sample.
type StartError struct {
	Stage string
	Cause error  // a *CallError where Python said why
	Last  string // the last lines that the worker wrote to standard error
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("no worker of %s can start: %v", e.Stage, e.Cause)
	if call, ok := errors.AsType[*CallError](e.Cause); ok && call.Traceback != "" {
		text += "\n" + strings.TrimRight(call.Traceback, "\n")
	}
	if e.Last != "" {
		text += "\nits last lines:\n" + e.Last
	}
	return text
}

func (e *StartError) Unwrap() error { return e.Cause }

// failure returns the error for a sample whose process has died.
func failure(proc *child.Child, stage string, again bool) error {
	e := &WorkerError{Stage: stage, PID: proc.PID, Again: again, Last: proc.LastLines(), Stack: proc.Stack()}
	if status := proc.Status(); !status.Signaled() {
		e.Exit = status.ExitStatus()
	} else if e.Signal = status.Signal(); e.Signal == syscall.SIGKILL {
		e.Memory = proc.OutOfMemory()
	}
	return e
}

// ErrApart says that the samples of a run have to be called for one by one: a worker has
// died with several, or the function takes more than their numbers.
var ErrApart = errors.New("extern: these samples have to be called for one by one")
