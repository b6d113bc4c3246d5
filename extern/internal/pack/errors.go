package pack

import (
	"context"
	"fmt"
	"time"
)

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
