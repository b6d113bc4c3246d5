package serve

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/wire"
)

// pump sends the batches of one stream, at most so many ahead of the client as its
// buffer holds tokens.
type pump struct {
	ahead  chan func()   // of every batch sent and not taken, what is called when it is
	asked  chan struct{} // a token when the client has waited since the last one was removed
	cancel context.CancelFunc
	done   chan struct{}

	// handing is held while a batch is handed over, and while it is noted that the
	// client waits: noted after the batch that ended the waiting, it would stay so, and
	// a client that only has not read yet would be reported that it holds too much.
	handing sync.Mutex
}

// idlePump returns the pump of a session without a stream.
func idlePump() *pump {
	p := &pump{ahead: make(chan func()), cancel: func() {}, done: make(chan struct{})}
	close(p.done)
	return p
}

// start starts a stream. The one before ends first, so that its last messages still carry
// its number.
func (s *session) start(ctx context.Context, stream uint32, from *headrace.State, serialUntil *wire.Until) error {
	s.pump.stop()
	s.pump = idlePump()
	s.loader.Stop()
	s.loader.SetWaiting(false) // whoever waited has begun elsewhere
	s.stream.Store(stream)
	state := s.loader.Info().State
	if from != nil {
		state = *from
	}
	if err := s.loader.Start(state, (*headrace.Until)(serialUntil)); err != nil {
		return err
	}
	s.pump = startPump(ctx, s, stream)
	return nil
}

func startPump(ctx context.Context, s *session, stream uint32) *pump {
	ctx, cancel := context.WithCancel(ctx)
	ahead := make(chan func(), max(1, s.loader.Prefetch()))
	p := &pump{ahead: ahead, asked: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer cancel()
		if err := p.run(ctx, s, stream); err != nil && ctx.Err() == nil {
			s.report(err)
		}
	}()
	return p
}

// stop ends the pump and waits for it. Unsent batches are dropped.
func (p *pump) stop() {
	p.cancel()
	<-p.done
}

// taken makes room for n batches.
func (p *pump) taken(n uint32) error {
	for i := range n {
		select {
		case taken := <-p.ahead:
			taken()
		default:
			return fmt.Errorf("%w: %d batches taken, %d were sent", wire.ErrProtocol, n, i)
		}
	}
	return nil
}

// waits calls note unless a batch is on its way to the client, which says that it waits.
func (p *pump) waits(note func()) {
	select {
	case p.asked <- struct{}{}:
	default:
	}
	p.handing.Lock()
	defer p.handing.Unlock()
	if len(p.ahead) == 0 {
		note()
	}
}

func (p *pump) run(ctx context.Context, s *session, stream uint32) error {
	for empty := true; ; {
		b, err := s.loader.Next(ctx)
		switch err { // itself: the failure of a sample may wrap io.EOF
		case nil:
			empty = false
			err = p.send(ctx, s, stream, b)
		case io.EOF:
			err = p.endEpoch(ctx, s, stream, empty)
			empty = true
		case pipe.ErrDone:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// endEpoch tells the client that an epoch is over. After one without batches it waits
// to be asked for more: no batch that the client must take would keep epochs from
// following each other as fast as they can be known, for ever where epochs are without
// end.
func (p *pump) endEpoch(ctx context.Context, s *session, stream uint32, empty bool) error {
	e := s.loader.Epoch()
	err := s.conn.SendJSON(wire.KindEpoch, stream, epochFrame(e))
	if err != nil || !empty || e.Last {
		return err
	}
	select {
	case <-p.asked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pump) send(ctx context.Context, s *session, stream uint32, b *headrace.Batch) error {
	state, taken := s.loader.State(), b.Taken()
	epoch, step, samples := b.Epoch(), b.Step(), b.Samples()
	select {
	case p.ahead <- func() { taken(); s.shown.took(epoch, step, samples); s.published.took(epoch, step) }:
	case <-ctx.Done():
		b.Release()
		return ctx.Err()
	}

	s.shown.newest.See(b)
	if err := s.tellRows(b, stream); err != nil {
		b.Release()
		return err
	}

	s.place = state.AppendPlace(s.place[:0])
	segment, slot, pooled := b.Slot()
	frame := wire.Batch{
		Segment: segment, Slot: slot, Rows: uint32(b.Rows()), Step: b.Step(), Epoch: int64(b.Epoch()),
		StateEpoch: int64(state.Epoch), Extents: s.extents(b), Place: s.place,
	}
	for rows, packed := range b.Texts() {
		frame.Text, frame.Packed = append(frame.Text, rows), append(frame.Packed, wire.Packed{})
		if packed != nil {
			frame.Packed[len(frame.Packed)-1] = wire.Packed{Bytes: packed.Bytes, Ends: packed.Ends, Counted: wire.Counted(packed.Counted)}
		}
	}
	if !pooled {
		frame.Flags |= wire.Unpooled
	}
	if b.Alone() {
		frame.Flags |= wire.Alone
	}
	if slot := s.beside.reserve(ctx, frame.TextSize()); slot != nil {
		if err := s.beside.put(slot, &frame); err != nil {
			slot.Drop()
			b.Release()
			return err
		}
	}
	s.text = wire.AppendBatch(s.text[:0], &frame)

	err := p.hand(func() error {
		if s.loader.Waiting() { // who waits takes the batch as it comes, and says so with the next request
			taken()
			s.loop.answered()
		}
		return b.Send()
	})
	if err != nil {
		if frame.Beside != nil {
			s.beside.release(frame.Beside.Slot)
		}
		return err
	}
	if err := s.conn.Send(wire.KindBatch, stream, s.text); err != nil {
		s.loader.Release(segment, slot) // the client never heard of it
		if frame.Beside != nil {
			s.beside.release(frame.Beside.Slot)
		}
		return err
	}
	return nil
}

// extents returns a batch's extents.
func (s *session) extents(b *headrace.Batch) []uint32 {
	s.shape = s.shape[:0]
	for _, n := range b.Extents() {
		s.shape = append(s.shape, uint32(n))
	}
	return s.shape
}

func (p *pump) hand(send func() error) error {
	p.handing.Lock()
	defer p.handing.Unlock()
	return send()
}

func epochFrame(e headrace.EpochSummary) wire.Epoch {
	return wire.Epoch{Epoch: e.Epoch, Batches: e.Batches, Samples: e.Samples, Lost: e.Lost,
		Replaced: e.Replaced, Wrapped: e.Wrapped, Last: e.Last}
}
