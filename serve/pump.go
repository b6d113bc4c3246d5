package serve

import (
	"context"
	"errors"
	"fmt"
	"io"

	"headrace"
	"headrace/pipe"
	"headrace/wire"
)

// pump sends the batches of one stream, at most so many ahead of the client as its buffer holds tokens.
type pump struct {
	ahead  chan struct{} // a token for every batch sent and not taken
	cancel context.CancelFunc
	done   chan struct{}
}

// idlePump stands where no stream has begun.
func idlePump() *pump {
	p := &pump{ahead: make(chan struct{}), cancel: func() {}, done: make(chan struct{})}
	close(p.done)
	return p
}

func startPump(ctx context.Context, s *session, stream uint32) *pump {
	ctx, cancel := context.WithCancel(ctx)
	p := &pump{ahead: make(chan struct{}, s.loader.Prefetch()), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer cancel()
		if err := p.run(ctx, s, stream); err != nil && ctx.Err() == nil {
			s.report(err)
		}
	}()
	return p
}

// stop ends the pump and waits for it. What it had not sent is dropped.
func (p *pump) stop() {
	p.cancel()
	<-p.done
}

// taken makes room for n batches.
func (p *pump) taken(n uint32) error {
	for i := range n {
		select {
		case <-p.ahead:
		default:
			return fmt.Errorf("%w: %d batches taken, %d were sent", wire.ErrProtocol, n, i)
		}
	}
	return nil
}

// empty tells whether the client has taken every batch that was sent.
func (p *pump) empty() bool { return len(p.ahead) == 0 }

func (p *pump) run(ctx context.Context, s *session, stream uint32) error {
	for {
		b, err := s.loader.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			if err := s.conn.SendJSON(wire.KindEpoch, stream, epochFrame(s.loader.Epoch())); err != nil {
				return err
			}
		case errors.Is(err, pipe.ErrDone):
			return nil
		case err != nil:
			return err
		default:
			if err := p.send(ctx, s, stream, b); err != nil {
				return err
			}
		}
	}
}

func (p *pump) send(ctx context.Context, s *session, stream uint32, b *headrace.Batch) error {
	state := s.loader.State()
	select {
	case p.ahead <- struct{}{}:
	case <-ctx.Done():
		b.Release()
		return ctx.Err()
	}
	s.loader.SetWaiting(false)
	segment, slot, pooled := b.Slot()
	frame := wire.Batch{
		Segment: segment, Slot: slot, Rows: uint32(b.Rows()), Step: b.Step(), Epoch: int64(b.Epoch()),
		StateEpoch: int64(state.Epoch), Position: state.Position, Ahead: state.Ahead, Text: b.Texts(),
	}
	if !pooled {
		frame.Flags |= wire.Unpooled
	}
	s.text = wire.AppendBatch(s.text[:0], &frame)
	if err := b.Send(); err != nil {
		return err
	}
	return s.conn.Send(wire.KindBatch, stream, s.text)
}

func epochFrame(e headrace.EpochSummary) wire.Epoch {
	return wire.Epoch{Epoch: e.Epoch, Batches: e.Batches, Samples: e.Samples, Lost: e.Lost, Wrapped: e.Wrapped, Last: e.Last}
}
