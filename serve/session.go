package serve

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/wire"
)

// session is one connection with one loader.
type session struct {
	engine *engine
	conn   *wire.Conn
	number uint32
	loader *headrace.Loader
	stream atomic.Uint32 // the number of the last START
	pump   *pump         // of that stream
	beside *beside       // what is not in the slots of its batches
	next   wire.Next     // memory used again
	text   []byte        // likewise
	place  []byte        // likewise
	shape  []uint32      // likewise

	asked   time.Time // when the client began to wait; its zero value: it does not
	tracing tracing
	logs    *logQueue
	program *extern.Program // whose threads call functions; nil: it calls none
	giver   *giver          // of credentials; nil: the environment has them

	loop      loopClock // the client's
	published published // to Prometheus
	shown     shown     // in browsers
}

// announce tells the client about a segment, before the first batch in it. When the
// client is gone its connection says so to the reader.
func (s *session) announce(g arena.Segment) error {
	s2 := wire.Segment{ID: g.ID, Slots: uint32(g.Slots), SlotBytes: uint64(g.SlotBytes), Bytes: uint64(g.Bytes)}
	return s.conn.Send(wire.KindSegment, s.stream.Load(), wire.AppendSegment(nil, s2), g.FD)
}

func (s *session) held(err *arena.HeldError) {
	s.conn.SendJSON(wire.KindError, s.stream.Load(), describe(err))
}

func (s *session) lost(l headrace.Lost) {
	s.shown.lost(l)
	s.conn.SendJSON(wire.KindLost, s.stream.Load(), wire.Lost{
		Epoch: l.ID.Epoch, Source: l.ID.Source, Place: l.Place, Position: l.ID.Pos, Index: l.ID.Index, Output: l.ID.Output.Numbers(),
		Key: pathJSON(l.Key), Stage: l.Stage, Step: report.Step(l.Err), Error: l.Cause().Error(), Replaced: l.Replaced,
	})
}

func (s *session) note(code, message string) {
	s.shown.note(code, message)
	s.conn.SendJSON(wire.KindNote, s.stream.Load(), wire.Note{Code: code, Message: message})
}

func parseState(b []byte) (*headrace.State, error) {
	if len(b) == 0 || string(b) == "null" {
		return nil, nil
	}
	s := new(headrace.State)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, coded(wire.CodeRecipe, fmt.Errorf("%w: %v", headrace.ErrState, err))
	}
	return s, nil
}

// log sends a line that a worker said.
func (s *session) log(l wire.Log) error { return s.conn.SendJSON(wire.KindLog, s.stream.Load(), l) }

// report sends an error to the client after all earlier output of workers. It names the
// stage and the sample, if there are any.
func (s *session) report(err error) error {
	s.logs.flush()
	return s.conn.SendJSON(wire.KindError, s.stream.Load(), describe(err))
}
