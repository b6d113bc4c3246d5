package extern

import "context"

// task is a call, and what who waits for it takes.
type task struct {
	call  *Call
	yield func([]Value) error // of a stream
	ctx   context.Context
	err   error
	given int // of a stream: how many samples were handed on
}
