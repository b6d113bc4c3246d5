package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/wire"
)

// serveIO serves a session that IO has begun, until it ends.
// ioPools is how many bytes a pool of slots for results of one size has.
const ioPools = 64 << 20

func (e *ioEngine) serveIO(ctx context.Context, conn *wire.Conn, number uint32, f wire.Frame) error {
	defer unix.Close(f.Descriptor)

	var asked wire.IO
	if err := parse(f, &asked); err != nil {
		return err
	}
	if err := checkProtocol(asked.Protocol); err != nil {
		return err
	}

	// Ranks of one machine call at the same time, so each gets a share of the cores.
	cores := max(1, e.cpus/max(1, asked.Ranks))
	if asked.Cores > 0 {
		cores = min(cores, asked.Cores)
	}
	e.gate.Widen(cores)

	s := &ioSession{engine: e, conn: conn, number: number, inbox: f.Descriptor, cores: cores}
	s.plans = make([]media.Plan, workersPerCore*cores)
	s.results.announce, s.results.poolBytes = s.announce, ioPools
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
			return fmt.Errorf("serve: inbox: %d bytes are more than are left of the %d in it that are not holes",
				in.Length, stat.Blocks*512)
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

func parseTask(text []byte) (t task, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	t.Audio, t.Video = sound.StandaloneArgs(), video.StandaloneArgs()
	if err := d.Decode(&t); err != nil {
		return t, err
	}
	switch t.Do {
	case "decode":
		err = t.prepareDecode()
	case "encode":
		t.encode = true
		err = t.prepareEncode()
	default:
		d, known := handlers[t.Do]
		if !known {
			return t, fmt.Errorf(`serve: there is no task %q: must be "decode", "encode", or one of %s`, t.Do, handlerNames())
		}
		err = d.prepare(&t)
	}
	return t, err
}
