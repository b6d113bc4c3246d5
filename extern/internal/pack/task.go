package pack

import (
	"context"

	"github.com/headrace/headrace/extern/internal/shared"
)

// A Task is a call together with its reader.
type Task struct {
	Call  *Call
	Yield func([]Value) error // of a stream
	Ctx   context.Context
	Err   error // of a stream: why its reader takes no more
	given int   // of a stream: how many samples were handed on
}

// Alone reports whether the call needs a pack of its own.
func (t *Task) Alone() bool {
	many := t.Yield != nil || t.Call.Rows > 0 || t.Call.Run != nil
	return many || t.Call.Flush || t.Call.State != nil
}

// Small returns the number of bytes that travel with the message.
func (t *Task) Small(heap *shared.Heap) (n int) {
	for i := range t.Call.In {
		v := &t.Call.In[i]
		n += len(v.Text)
		if len(v.Data) <= inlineMost || !heap.Has(v.Data) {
			n += len(v.Data)
		}
	}
	return n
}
