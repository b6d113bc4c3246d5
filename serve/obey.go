package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/wire"
)

// session serves one connection until it ends, and leaves nothing after.
func (e *engine) session(ctx context.Context, conn *wire.Conn, number uint32) {
	s := &session{engine: e, conn: conn, number: number}
	s.logs = newLogQueue(s.log, conn.Roomy)
	s.beside = newBeside(s.announce)

	// In reverse: closing the connection ends the writer, which is then waited for.
	var writing sync.WaitGroup
	defer writing.Wait()
	defer conn.CloseDescriptors()
	defer conn.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	writing.Go(func() { s.logs.run(ctx) })

	err := s.serve(ctx)
	if s.program != nil {
		defer s.program.Close()
	}
	if s.giver != nil {
		defer s.giver.close()
	}
	if s.loader != nil {
		s.pump.stop()
		s.published.end()
		s.shown.end()
		s.loader.Close()
		s.beside.close()
		if _, err := s.tracing.end(); err != nil {
			slog.Error("the trace cannot be written", "session", number, "error", err) // the client has gone without a word
		}
		s.logs.flush() // what workers have said at their end
	}

	if err == nil || vanished(err) {
		return
	}
	if deaf := s.report(err); deaf != nil && !vanished(deaf) {
		slog.Error("session ended", "session", number, "error", err, "report", deaf)
	}
}

func (s *session) serve(ctx context.Context) error {
	f, err := s.first()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}

	if s.giver != nil {
		ctx = store.WithGiver(ctx, s.giver.Giver)
	}
	switch f.Kind {
	case wire.KindOpen:
		if err := s.open(ctx, f); err != nil {
			return err
		}
	case wire.KindPreview:
		return s.preview(ctx, f)
	case wire.KindIO:
		return s.engine.serveIO(ctx, s.conn, s.number, f)
	case wire.KindShare:
		return s.engine.serveShare(ctx, s.conn, f)
	default:
		return refuse(f, "as the first frame of a session")
	}

	for {
		f, err := s.conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if done, err := s.obey(ctx, f); done || err != nil {
			return err
		}
	}
}

// first returns the frame that says the purpose of the session. HERE and GIVER may
// precede it.
func (s *session) first() (wire.Frame, error) {
	for {
		f, err := s.conn.Receive()
		if err != nil || f.Kind != wire.KindHere && f.Kind != wire.KindGiver {
			return f, err
		}
		if f.Kind == wire.KindGiver {
			if s.giver, err = newGiver(f); err != nil {
				return f, err
			}
			continue
		}
		program, err := wire.FromDescriptor(f.Descriptor)
		if err != nil {
			return f, err
		}
		s.program = extern.NewProgram(program)
	}
}

// obey does what one frame asks for.
func (s *session) obey(ctx context.Context, f wire.Frame) (done bool, err error) {
	switch f.Kind {
	case wire.KindNext:
		return false, s.handleNext(f)
	case wire.KindStart:
		if f.Stream <= s.stream.Load() { // frames of the streams before are known by their smaller numbers
			return false, fmt.Errorf("%w: START of stream %d after stream %d", wire.ErrProtocol, f.Stream, s.stream.Load())
		}
		var start wire.Start
		if err := parse(f, &start); err != nil {
			return false, err
		}
		from, err := parseState(start.State)
		if err != nil {
			return false, err
		}
		return false, s.start(ctx, f.Stream, from, start.SerialUntil)
	case wire.KindTrace:
		return false, s.trace(f)
	case wire.KindGather:
		return false, s.gather(f)
	case wire.KindWorkers:
		return false, s.setWorkers(f)
	case wire.KindStats:
		return false, s.statistics(f)
	case wire.KindPage:
		return false, s.answerPage(f)
	case wire.KindClose:
		var last wire.Close
		if len(f.Payload) > 0 {
			if err := parse(f, &last); err != nil {
				return false, err
			}
		}
		s.pump.stop()
		s.finish()
		// CLOSED is the last frame, so the last words of workers go before it.
		s.logs.flush()
		return true, s.conn.SendJSON(wire.KindClosed, f.Stream, stats.Report(s.counted(last.Loop)))
	default:
		return false, refuse(f, "from a client")
	}
}

// gather answers with this rank's state of a run of another world size. A mismatch is an
// answer, too: nothing has started with it.
func (s *session) gather(f wire.Frame) error {
	var asked wire.Gather
	if err := parse(f, &asked); err != nil {
		return err
	}
	records := make([]headrace.State, len(asked.States))
	for i, text := range asked.States {
		if err := json.Unmarshal(text, &records[i]); err != nil {
			return s.conn.SendJSON(wire.KindGathered, f.Stream, wire.Gathered{Error: fmt.Sprintf("%v: %v", headrace.ErrState, err)})
		}
	}
	state, err := s.loader.Gather(records)
	if err != nil {
		return s.conn.SendJSON(wire.KindGathered, f.Stream, wire.Gathered{Error: err.Error()})
	}
	return s.conn.SendJSON(wire.KindGathered, f.Stream, wire.Gathered{State: state})
}

// answer is the reply to a numbered question.
type answer struct {
	Number int64 `json:"number"`
	stats.Document
}

// counted returns the loader's statistics. Times of the training loop are the client's:
// this process only knows when it had nothing to send.
func (s *session) counted(loop *wire.Loop) stats.Snapshot {
	now := s.loader.Stats()
	now.Consumer = "Your training loop"
	if loop != nil {
		now.Yielded, now.Start, now.Loop = loop.Batches, loop.Start, loop.Loop
		now.Waited, now.Handed, now.Main = loop.Waited, loop.Handed, loop.Main
	}
	return now
}

// statistics answers with all counts, or those since an earlier answer. If the two do not
// belong together, the answer says so.
func (s *session) statistics(f wire.Frame) error {
	var asked wire.Stats
	if len(f.Payload) > 0 {
		if err := parse(f, &asked); err != nil {
			return err
		}
	}
	now := s.counted(asked.Loop)
	if asked.Since != nil {
		var earlier stats.Snapshot
		err := json.Unmarshal(asked.Since, &earlier)
		if err == nil {
			now, err = now.Since(earlier)
		}
		if err != nil {
			return s.conn.SendJSON(wire.KindStatistics, f.Stream, wire.Refused{Number: asked.Number, Error: err.Error()})
		}
	}
	return s.conn.SendJSON(wire.KindStatistics, f.Stream, answer{asked.Number, stats.Report(now)})
}

// setWorkers changes a number of workers. That it cannot be is an answer, too.
func (s *session) setWorkers(f wire.Frame) error {
	var asked wire.Workers
	if err := parse(f, &asked); err != nil {
		return err
	}
	if err := s.loader.SetWorkers(asked.Stage, asked.Workers); err != nil {
		return s.conn.SendJSON(wire.KindStages, f.Stream, wire.Stages{Error: err.Error()})
	}
	info := s.loader.Info()
	return s.conn.SendJSON(wire.KindStages, f.Stream, wire.Stages{Workers: info.Workers, Stages: info.Stages})
}

func (s *session) handleNext(f wire.Frame) error {
	if err := wire.ParseNext(f.Payload, &s.next); err != nil {
		return err
	}
	for _, slot := range s.next.Released {
		if err := s.release(slot); err != nil {
			return err
		}
	}
	if f.Stream != s.stream.Load() {
		return nil // of a stream that has ended; its releases count, its batches do not
	}
	s.loader.Asked()
	if err := s.pump.taken(s.next.Taken); err != nil {
		return err
	}
	s.traceWait()
	main := min(s.next.Main, s.next.Waited)
	waited := s.next.Waited - main
	s.loop.next(time.Duration(waited)*time.Microsecond, time.Duration(main)*time.Microsecond, s.next.Taken)
	s.published.waited(waited, s.next.Taken, s.shown.waited)
	if s.next.Waiting {
		s.pump.waits(func() {
			s.loader.SetWaiting(true)
			s.loop.waits()
		})
	}
	return nil
}
