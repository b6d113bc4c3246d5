package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

const (
	prefetch  = 2
	slotBytes = 32 * 224 * 224 * 3
	batches   = 1 << 40 // more than anybody takes
)

// alone greets the client and serves its one session.
func alone(control int) error {
	conn, err := wire.FromDescriptor(control)
	if err != nil {
		return err
	}
	if _, err := conn.Receive(); err != nil {
		return err
	}
	hello := wire.Hello{Protocol: wire.Version, PID: os.Getpid(), Decoder: "nothing", CPUs: 1}
	if err := conn.SendJSON(wire.KindHello, 0, hello); err != nil {
		return err
	}
	f, err := conn.Receive()
	if err != nil {
		return err
	}
	session, err := wire.FromDescriptor(f.Descriptor)
	if err != nil {
		return err
	}
	return hand(session)
}

// hand opens the session, then sends slots and takes them back until the client has
// enough.
func hand(conn *wire.Conn) error {
	if _, err := conn.Receive(); err != nil { // OPEN: whatever it asks for, it gets empty batches
		return err
	}
	info := headrace.Info{
		Fields: []headrace.Field{{Name: "image", Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{224, 224, 3}}},
		Rows:   32, SlotBytes: slotBytes, Samples: 32 * batches, SamplesPerEpoch: 32 * batches, BatchesPerEpoch: batches, Exact: true,
		Sources: []headrace.Source{{Name: "files", Samples: 32 * batches, SamplesPerEpoch: 32 * batches}},
		State: headrace.State{Version: headrace.StateVersion, Order: order.Version, WorldSize: 1,
			Sources: map[string]headrace.SourceState{"files": {Samples: 32 * batches}}},
	}
	if err := conn.SendJSON(wire.KindOpened, 0, info); err != nil {
		return err
	}
	slots, err := arena.New(arena.Options{Slots: prefetch + 3, SlotBytes: slotBytes, HoldLimit: 1 << 40,
		Announce: func(g arena.Segment) error {
			s := wire.Segment{ID: g.ID, Slots: uint32(g.Slots), SlotBytes: uint64(g.SlotBytes), Bytes: uint64(g.Bytes)}
			return conn.Send(wire.KindSegment, 1, wire.AppendSegment(nil, s), g.FD)
		}})
	if err != nil {
		return err
	}
	defer slots.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ahead := make(chan struct{}, prefetch)
	failed := make(chan error, 1)
	go func() { failed <- send(ctx, conn, slots, ahead) }()
	err = takeBack(conn, slots, ahead)
	cancel()
	return errors.Join(err, <-failed)
}

// send sends empty batches, at most prefetch of them ahead of the client.
func send(ctx context.Context, conn *wire.Conn, slots *arena.Arena, ahead chan struct{}) error {
	var payload, place []byte
	for step := int64(0); ; step++ {
		slot, err := slots.Reserve(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = slot.Seal()
		}
		if err != nil {
			return err
		}
		select {
		case ahead <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		place = fmt.Appendf(place[:0], `{"sources":{"files":{"samples":1000000,"position":%d}}}`, 32*(step+1))
		b := wire.Batch{Segment: slot.Segment(), Slot: slot.Index(), Rows: 32, Step: step, Place: place}
		payload = wire.AppendBatch(payload[:0], &b)
		if err := slot.Send(); err != nil {
			return err
		}
		if err := conn.Send(wire.KindBatch, 1, payload); err != nil {
			return err
		}
	}
}

// takeBack obeys the client until it closes the session.
func takeBack(conn *wire.Conn, slots *arena.Arena, ahead chan struct{}) error {
	var next wire.Next
	for {
		f, err := conn.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case f.Kind == wire.KindClose:
			return conn.SendJSON(wire.KindClosed, f.Stream, json.RawMessage(`{"text": "", "stages": [], "queues": []}`))
		case f.Kind != wire.KindNext:
			return fmt.Errorf("%v was not expected", f.Kind)
		}
		if err := wire.ParseNext(f.Payload, &next); err != nil {
			return err
		}
		for _, s := range next.Released {
			if err := slots.Release(s.Segment, s.Slot); err != nil {
				return err
			}
		}
		for range next.Taken {
			<-ahead
		}
	}
}
