package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
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

// ioEngine is the state that sessions of tasks share with each other and with loaders.
type ioEngine struct {
	gate   *headrace.Gate
	memory inputMemory
	page   *page // nil: nothing is noted
	cpus   int
}

// serveIO serves a session that IO has begun, until it ends.
func (e *ioEngine) serveIO(ctx context.Context, conn *wire.Conn, number uint32, f wire.Frame) error {
	defer unix.Close(f.Descriptor)

	var asked wire.IO
	if err := parse(f, &asked); err != nil {
		return err
	}
	if asked.Protocol != wire.Version {
		return fmt.Errorf("%w: the client speaks protocol %d, the engine %d; install the two from one release", wire.ErrProtocol, asked.Protocol, wire.Version)
	}

	cores := max(1, e.cpus/max(1, asked.Ranks))
	if asked.Cores > 0 {
		cores = min(cores, asked.Cores)
	}
	e.gate.Widen(cores)

	s := &ioSession{engine: e, conn: conn, number: number, inbox: f.Descriptor, cores: cores}
	s.plans = make([]media.Plan, workersPerCore*cores)
	s.results.announce = s.announce
	defer s.results.close()
	defer s.endStream()

	for {
		f, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.Kind != wire.KindTask {
			return refuse(f, "in a session that IO has begun")
		}
		if err := s.do(ctx, f.Payload); err != nil {
			return err
		}
	}
}

func (s *ioSession) announce(g arena.Segment) error {
	return s.conn.Send(wire.KindSegment, 0, wire.AppendSegment(nil, wire.Segment{
		ID: g.ID, Slots: uint32(g.Slots), SlotBytes: uint64(g.SlotBytes), Bytes: uint64(g.Bytes),
	}), g.FD)
}

// do carries out one task, and answers. An error ends the session.
func (s *ioSession) do(ctx context.Context, payload []byte) error {
	if err := wire.ParseTask(payload, &s.message); err != nil {
		return err
	}

	for _, slot := range s.message.Released {
		if err := s.results.release(slot); err != nil {
			return fmt.Errorf("%w: %w", wire.ErrProtocol, err)
		}
	}

	if s.last == nil || !bytes.Equal(s.last, s.message.What) {
		s.last = nil
		what, err := parseTask(s.message.What)
		if err != nil {
			return s.answer(nil, []wire.Failure{failure(nil, coded(wire.CodeRecipe, err))})
		}
		s.task, s.last = what, bytes.Clone(s.message.What)
	}

	if len(s.message.Inputs) > 1 {
		// A client that dies must not keep the cores busy.
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer s.conn.WatchHangup(func() { cancel(errVanished) })()
	}

	if err := s.checkInbox(); err != nil {
		return s.answer(nil, []wire.Failure{failure(nil, err)})
	}

	result, failures, err := s.carryOut(ctx)
	if ctx.Err() != nil {
		result.drop()
		return context.Cause(ctx)
	}
	if errors.Is(err, wire.ErrProtocol) {
		return err
	}
	if err != nil {
		return s.answer(nil, []wire.Failure{failure(nil, err)})
	}
	return s.answer(result, failures)
}

// checkInbox refuses inputs that are not in the inbox. Memory is allocated for each by
// the length that the client states, so all of them together may be no longer than the
// data that the client itself has in memory: holes do not count.
func (s *ioSession) checkInbox() error {
	var stat unix.Stat_t
	if err := unix.Fstat(s.inbox, &stat); err != nil {
		return fmt.Errorf("serve: inbox: %w", err)
	}
	size, left := uint64(max(0, stat.Size)), uint64(max(0, stat.Blocks))*512
	for _, in := range s.message.Inputs {
		switch {
		case in.Path:
		case in.At > size || in.Length > size-in.At:
			return fmt.Errorf("serve: inbox: %d bytes from %d on, of %d", in.Length, in.At, size)
		case in.Length > left:
			return fmt.Errorf("serve: inbox: %d bytes are more than are left of the %d in it that are not holes", in.Length, stat.Blocks*512)
		default:
			left -= in.Length
		}
	}
	return nil
}

func (s *ioSession) carryOut(ctx context.Context) (*result, []wire.Failure, error) {
	if s.task.encode {
		r, err := s.encode(ctx)
		return r, nil, err
	}
	if d, known := handlers[s.task.Do]; known {
		return s.handle(ctx, d)
	}
	if s.task.Audio != nil {
		return s.single(ctx, s.decodeAudio)
	}
	if s.task.Video != nil {
		return s.single(ctx, s.decodeClip)
	}
	return s.decode(ctx)
}

// answer sends the outcome of a task. From then on the slot of the result is the
// client's.
func (s *ioSession) answer(r *result, failures []wire.Failure) error {
	var done wire.Done
	if r != nil {
		if err := r.slot.Seal(); err != nil {
			return err
		}
		done.Segment, done.Slot, done.Flags, done.Bits = r.slot.Segment(), r.slot.Index(), wire.HasResult, uint32(r.bits)
		for _, n := range r.shape {
			done.Extents = append(done.Extents, uint64(n))
		}
		if s.results.isLast(r.slot) {
			done.Flags |= wire.LastSlot
		}
		if err := r.slot.Send(); err != nil {
			return err
		}
	}
	if len(failures) > 0 {
		var err error
		if done.Failures, err = json.Marshal(failures); err != nil {
			return err
		}
	}
	s.reply = wire.AppendDone(s.reply[:0], &done)
	return s.conn.Send(wire.KindDone, 0, s.reply)
}

// failure returns an error in the form that the client gets.
func failure(index *int, err error) wire.Failure {
	f := wire.Failure{Index: index, Code: wire.CodeSample, Message: err.Error()}
	var known codedError
	var errno syscall.Errno
	var panicked *pipe.PanicError
	switch {
	case errors.As(err, &known):
		f.Code = known.code
	case errors.As(err, &panicked):
		f.Code = wire.CodeInternal
		slog.Error("an operation on media panicked", "value", panicked.Value, "stack", string(panicked.Stack))
	case errors.Is(err, arena.ErrMemory), machine.BlameOf(err) == machine.BlameMachine:
		f.Code = wire.CodeMemory // no input's fault, so the policy for bad ones has no say
	case errors.As(err, &errno):
		f.Errno = int(errno)
	case errors.Is(err, fs.ErrNotExist): // of a store, which has no such numbers
		f.Errno = int(syscall.ENOENT)
	}
	return f
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

func (s *ioSession) input(i int) input {
	in := s.message.Inputs[i]
	if in.Path {
		return input{path: string(s.message.Text[in.At:][:in.Length])}
	}
	return input{inbox: s.inbox, place: in}
}

// inFlight records that C code works on an input, until end is called.
func (e *ioEngine) inFlight(session uint32, permit, i int, key string) (end func()) {
	if e.page == nil {
		return func() {}
	}
	w := inFlight(cellWriter{page: e.page, session: session})
	w.Begin(permit, sample.ID{Index: int64(i)}, key)
	return func() { w.End(permit) }
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

// breathe waits a moment, and returns false if ctx has ended.
func breathe(ctx context.Context) bool {
	select {
	case <-time.After(100 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
