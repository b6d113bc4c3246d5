package serve

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/wire"
)

// ioSession is a session without a loader. It carries out tasks on media, one after the
// other.
type ioSession struct {
	engine  *ioEngine
	conn    *wire.Conn
	number  uint32
	inbox   int // descriptor of the file in which the client puts what it has in memory
	cores   int
	results resultMemory

	message wire.Task    // memory used again
	last    []byte       // the last task's text
	task    task         // and its arguments
	plans   []media.Plan // memory used again, one for each worker
	order   []int        // likewise: the order in which inputs are begun
	sizes   []int64      // likewise, by input: of files
	reply   []byte       // likewise

	stream stream // stays open from task to task; nil: there is none
}

// files keeps memory for compressed inputs, of all sessions.
var files = scratch.Pool{Brief: true}

func (s *ioSession) announce(g arena.Segment) error {
	return s.conn.Send(wire.KindSegment, 0, wire.AppendSegment(nil, wire.Segment{
		ID: g.ID, Slots: uint32(g.Slots), SlotBytes: uint64(g.SlotBytes), Bytes: uint64(g.Bytes),
	}), g.FD)
}

func (s *ioSession) input(i int) input {
	in := s.message.Inputs[i]
	if in.Path {
		return input{path: string(s.message.Text[in.At:][:in.Length])}
	}
	return input{inbox: s.inbox, place: in}
}

// computeOn calls do through the gate. Crashes in C code are attributed to the input.
func (s *ioSession) computeOn(ctx context.Context, in *input, do func() error) (err error) {
	key := in.path
	if key == "" {
		key = "input 0"
	}
	waited := s.engine.gate.Do(ctx, func(permit int) {
		defer s.engine.inFlight(s.number, permit, 0, key)()
		err = guarded(do)
	})
	return errors.Join(waited, err)
}

// computedOn is computeOn for a function with a result.
func computedOn[T any](ctx context.Context, s *ioSession, in *input, do func() (T, error)) (got T, err error) {
	err = s.computeOn(ctx, in, func() (err error) {
		got, err = do()
		return err
	})
	return got, err
}

// guarded turns a panic into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &pipe.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call()
}
