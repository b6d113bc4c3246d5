package extern

import (
	"context"
	"errors"
	"fmt"
	"headrace/extern/internal/child"
	"strings"
	"syscall"
	"time"
)

// ErrClosed is what calls get once the pool is closed.
var ErrClosed = errors.New("extern: the pool is closed")

var errWorker = errors.New("extern: the worker has given up")

var errGone = errors.New("the program has left")

var errUnstoppable = errors.New("time_limit: nobody can stop a thread of your program; use an async function, whose call is cancelled, or where=\"process\"")

// CallError is an exception that the function raised, or what is wrong with its result.
// The worker lives on.
type CallError struct {
	Where     string `json:"where"`     // the user's own line: "augment (train.py:12)"
	Type      string `json:"type"`      // "ValueError", with its module where that is not builtins
	Message   string `json:"message"`   // str() of the exception
	Traceback string `json:"traceback"` // as Python writes it, from the user's function on
	Field     string `json:"field"`     // of a result that does not fit: which
	Ends      bool   `json:"ends"`      // it is no matter of a sample: the object's state_dict() has failed
	Key       string `json:"key"`       // the name of the sample, where Options.Keys tells it
	Errno     int    `json:"errno"`     // of an OSError that no sample is to blame for: descriptors, memory or space are used up; 0: none
	Step      string `json:"step"`      // of a chain: the step whose function it was
	Overdue   bool   `json:"overdue"`   // it is no exception: a coroutine took longer than its time limit, and was cancelled; Traceback is where it was
}

// Unwrap returns the system's error where no sample is to blame.
func (e *CallError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return syscall.Errno(e.Errno)
}

// Error is like "augment (train.py:12): ValueError: no such crop".
func (e *CallError) Error() string {
	text := e.Type
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Where != "" {
		text = e.Where + ": " + text
	}
	if e.Step != "" {
		text = e.Step + ": " + text
	}
	return text
}

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

// LimitError says that the function took longer than its time limit. Its worker was
// ended, and another one started; of an async function the one call was cancelled.
type LimitError struct {
	Stage     string
	PID       int
	Limit     time.Duration
	Cancelled bool   // and the worker goes on
	Stack     string // where its Python threads were, or the coroutine
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("%s took longer than its time limit of %v; ", e.Stage, e.Limit)
	if e.Cancelled {
		text += "the call was cancelled"
	} else {
		text += fmt.Sprintf("its worker (process %d) was ended", e.PID)
	}
	if e.Stack != "" {
		text += "; it was here:\n" + e.Stack
	}
	return text
}

// Is tells that a LimitError is a context.DeadlineExceeded.
func (e *LimitError) Is(target error) bool { return target == context.DeadlineExceeded }

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
	var call *CallError
	if errors.As(e.Cause, &call) && call.Traceback != "" {
		text += "\n" + strings.TrimRight(call.Traceback, "\n")
	}
	if e.Last != "" {
		text += "\nits last lines:\n" + e.Last
	}
	return text
}

func (e *StartError) Unwrap() error { return e.Cause }

// failure is what a sample learns that the process has died under.
func failure(proc *child.Child, stage string, again bool) error {
	e := &WorkerError{Stage: stage, PID: proc.PID, Again: again, Last: proc.Words(), Stack: proc.Stack()}
	if status := proc.Status(); !status.Signaled() {
		e.Exit = status.ExitStatus()
	} else if e.Signal = status.Signal(); e.Signal == syscall.SIGKILL {
		e.Memory = proc.OutOfMemory()
	}
	return e
}
