package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/wire"
)

// failure reads until ERROR.
func (c *client) failure() (e wire.Error) {
	c.t.Helper()
	for {
		f := c.receive()
		if f.Kind == wire.KindError {
			c.decode(f, &e)
			return e
		}
	}
}

// ended fails unless the engine ends the connection next.
func (c *client) ended() {
	c.t.Helper()
	if f, err := c.conn.Receive(); !errors.Is(err, io.EOF) {
		c.t.Fatalf("%v %.200s came, or %v, and not the end", f.Kind, f.Payload, err)
	}
}

// Epochs without a batch have nothing that the client must take. Still they must not
// follow each other faster than it asks, or an engine with endless ones would write for
// ever.
func TestEpochsWithoutBatchesAreToldWhenAskedFor(t *testing.T) {
	leak.Check(t)
	few := phototest.Folder(t, 3)
	bad := phototest.Folder(t, 2)
	phototest.Spoil(t, bad, "000.jpg")
	phototest.Spoil(t, bad, "001.jpg")
	for name, c := range map[string]*client{
		"too few samples": open(t, strings.Replace(recipeFor(few), `"size":4`, `"size":4,"drop_last":true`, 1), `{}`),
		"all are lost":    open(t, recipeFor(bad), `{"on_error":"skip","max_errors":1.0}`),
	} {
		for epoch := range 5 {
			c.next(wire.Next{Waiting: true})
			var e wire.Epoch
			for {
				f := c.receive()
				if f.Kind == wire.KindLost {
					continue
				}
				if f.Kind != wire.KindEpoch {
					t.Fatalf("%s: %v %s", name, f.Kind, f.Payload)
				}
				c.decode(f, &e)
				break
			}
			if e.Epoch != epoch || e.Samples != 0 || e.Last {
				t.Fatalf("%s: %+v, expected epoch %d", name, e, epoch)
			}
		}
		// One may come that was asked for before; then there is silence.
		time.Sleep(50 * time.Millisecond)
		c.send(wire.KindClose, struct{}{})
		more := 0
		for f := c.receive(); f.Kind != wire.KindClosed; f = c.receive() {
			if f.Kind == wire.KindEpoch {
				more++
			}
		}
		if more > 2 {
			t.Errorf("%s: %d more epochs were told, and nobody asked", name, more)
		}
	}
}

func TestNothingIsLeftToDoBehindTheLastEpoch(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 8)), `{"epochs":2}`)
	for stream, epoch := range []int{7, 2, 0} {
		c.stream = uint32(2 + stream)
		c.send(wire.KindStart, map[string]any{"state": map[string]any{"epoch": epoch}})
	}
	for {
		f := c.receive()
		if f.Stream == 2 || f.Stream == 3 {
			t.Fatalf("%v of an epoch that is none: %s", f.Kind, f.Payload)
		}
		if f.Kind == wire.KindEpoch && f.Stream == 4 {
			return
		}
		if f.Kind == wire.KindBatch && f.Stream == 4 {
			c.next(wire.Next{Taken: 1})
		}
	}
}

func TestAStateThatDoesNotFitEndsTheSession(t *testing.T) {
	leak.Check(t)
	good := recipeFor(phototest.Folder(t, 8))
	h := start(t)
	conn := h.connect()
	c := &client{t: t, conn: conn, stream: 1, segments: map[uint32]mapping{}}
	c.send(wire.KindOpen, wire.Open{Recipe: json.RawMessage(good), Config: json.RawMessage(`{}`),
		State: json.RawMessage(`{"sources":{"files":{"position":99}}}`)})
	var e wire.Error
	if c.decode(c.expect(wire.KindError), &e); e.Code != wire.CodeRecipe {
		t.Fatalf("%+v", e)
	}
	c.ended()

	c = h.open(good, `{}`)
	c.batch()
	c.stream = 2
	c.send(wire.KindStart, map[string]any{"state": map[string]any{"sources": map[string]any{"files": map[string]any{"samples": 9}}}})
	if e := c.failure(); e.Code != wire.CodeRecipe {
		t.Fatalf("%+v", e)
	}
	c.ended()
}

func TestStreamsHaveRisingNumbers(t *testing.T) {
	leak.Check(t)
	good := recipeFor(phototest.Folder(t, 8))
	for _, stream := range []uint32{0, 1} {
		c := open(t, good, `{}`)
		c.stream = stream
		c.send(wire.KindStart, wire.Start{})
		if e := c.failure(); e.Code != wire.CodeProtocol {
			t.Fatalf("%+v", e)
		}
	}
}

// A client whose batches come from elsewhere has an engine for what it may ask later: it
// makes nothing, and loses nothing, before a START.
func TestAnIdleSessionMakesNothingBeforeAStart(t *testing.T) {
	leak.Check(t)
	folder := phototest.Folder(t, 8)
	phototest.Spoil(t, folder, "003.jpg")
	idle := wire.Open{Recipe: json.RawMessage(recipeFor(folder)), Config: json.RawMessage(`{"on_error":"skip"}`), Idle: true}

	c := start(t).openWith(idle)
	c.next(wire.Next{Waiting: true})
	time.Sleep(50 * time.Millisecond) // for what would be made now, and come before anything of the stream that begins

	c.stream = 2
	c.send(wire.KindStart, wire.Start{})
	came := map[wire.Kind]int{}
	for came[wire.KindEpoch] == 0 {
		f := c.receive()
		if f.Stream != 2 {
			t.Fatalf("%v of stream %d", f.Kind, f.Stream)
		}
		came[f.Kind]++
	}
	if came[wire.KindBatch] != 2 || came[wire.KindLost] != 1 {
		t.Error(came)
	}
}

// A client that waited, and begins elsewhere, does not wait any more: the new stream
// must not think that it holds too much.
func TestWaitingEndsWithTheStream(t *testing.T) {
	leak.Check(t)
	// four batches of 3,200 bytes, and the pool has four
	c := open(t, recipeFor(phototest.Folder(t, 60)), `{"hold_limit":13000,"prefetch":1}`)
	held := 0
	for held < 4 {
		c.next(wire.Next{Waiting: true})
		c.batch()
		c.next(wire.Next{Taken: 1})
		held++
	}
	c.next(wire.Next{Waiting: true})
	if e := c.failure(); e.Code != wire.CodeHeld {
		t.Fatalf("%+v", e)
	}
	for range 20 {
		c.next(wire.Next{Waiting: true})
		c.stream++
		c.send(wire.KindStart, wire.Start{})
	}
	time.Sleep(50 * time.Millisecond)
	c.send(wire.KindClose, struct{}{})
	for {
		f := c.receive()
		if f.Kind == wire.KindClosed {
			return
		}
		if f.Kind == wire.KindError && f.Stream == c.stream {
			t.Fatalf("the stream that nobody has asked for anything: %s", f.Payload)
		}
	}
}

// However a batch's leaving and the client's word that it waits cross each other: once
// a batch is on its way, the client does not wait.
func TestABatchOnItsWayEndsTheWaiting(t *testing.T) {
	for range 2000 {
		p := &pump{ahead: make(chan func(), 1), asked: make(chan struct{}, 1)}
		waiting := false // guarded as the arena guards its own; the lock is the arena's
		var arena sync.Mutex
		var both sync.WaitGroup
		both.Go(func() {
			p.waits(func() {
				runtime.Gosched()
				arena.Lock()
				defer arena.Unlock()
				waiting = true
			})
		})
		both.Go(func() {
			p.ahead <- func() {}
			p.hand(func() error {
				arena.Lock()
				defer arena.Unlock()
				waiting = false
				return nil
			})
		})
		both.Wait()
		if waiting {
			t.Fatal("the client counts as waiting while a batch is on its way to it")
		}
	}
}

// The record for another world size is an answer like any other, and so is that there
// is none: the run goes on meanwhile.
func TestGatherAnswersWithARecordOrTheReason(t *testing.T) {
	root := phototest.Folder(t, 22)
	states := make([]json.RawMessage, 2)
	for rank := range states {
		c := open(t, recipeFor(root), fmt.Sprintf(`{"world_size":2,"rank":%d}`, rank))
		state := c.place(c.batch())
		state.Version, state.WorldSize, state.Rank = headrace.StateVersion, 2, rank
		states[rank], _ = json.Marshal(state)
	}
	c := open(t, recipeFor(root), `{"epochs":1}`)
	ahead := []*wire.Batch{c.batch()}
	for want, asked := range map[string][]json.RawMessage{
		"":                         states,
		"there is none of rank 0":  states[1:],
		"there is no record":       nil,
		"cannot unmarshal":         {states[0], json.RawMessage(`7`)},
		"two states of rank 1":     {states[1], states[1]},
		"state does not fit: json": {json.RawMessage(`{"epoch":"x"}`)},
	} {
		c.send(wire.KindGather, wire.Gather{States: asked})
		var got struct {
			State headrace.State
			Error string
		}
		f := c.receive()
		for f.Kind == wire.KindBatch { // sent before
			ahead = append(ahead, c.parse(f))
			f = c.receive()
		}
		if f.Kind != wire.KindGathered {
			t.Fatalf("%v: %s", f.Kind, f.Payload)
		}
		c.decode(f, &got)
		if want != "" {
			if !strings.Contains(got.Error, want) {
				t.Errorf("%q, want %q", got.Error, want)
			}
			continue
		}
		if done := got.State.Sources["files"].Done; got.Error != "" || len(done) != 1 || done[0] != [2]int64{0, 8} || got.State.WorldSize != 1 {
			t.Errorf("%+v", got)
		}
	}
	c.next(wire.Next{Taken: uint32(len(ahead)), Waiting: true})
	if b := c.batch(); b.Step != int64(len(ahead)) {
		t.Errorf("the run goes on with step %d", b.Step)
	}
}

// A session that replays begins after the batches that it was asked to pass, and tells
// of every row before its batch.
func TestReplayTellsOfRows(t *testing.T) {
	root := phototest.Folder(t, 22)
	whole := open(t, recipeFor(root), `{"epochs":2}`)
	batches, pixels, _ := whole.epoch()
	c := start(t).openWith(wire.Open{Recipe: json.RawMessage(recipeFor(root)), Config: json.RawMessage(`{}`), Replay: new(int64(2))})
	f := c.receive()
	var rows wire.Rows
	if c.decode(f, &rows); f.Kind != wire.KindRows || len(rows.Rows) != 4 {
		t.Fatalf("%v: %s", f.Kind, f.Payload)
	}
	b := c.batch()
	if b.Step != 2 || !bytes.Equal(c.pixels(b), pixels[2]) {
		t.Errorf("step %d, or other pixels", b.Step)
	}
	for i, r := range rows.Rows {
		var key string
		if json.Unmarshal(r.Key, &key); key != batches[2].Text[0][i] || r.Source != "files" || r.Position != int64(8+i) {
			t.Errorf("row %d: %+v, want %s", i, r, batches[2].Text[0][i])
		}
	}
	for _, replay := range []int64{-1, 1 << 40} {
		conn := start(t).connect()
		bad := &client{t: t, conn: conn, stream: 1, segments: map[uint32]mapping{}}
		bad.send(wire.KindOpen, wire.Open{Recipe: json.RawMessage(recipeFor(root)),
			Config: json.RawMessage(`{"epochs":3}`), Replay: &replay})
		if e := bad.failure(); e.Code != wire.CodeRecipe || !strings.Contains(e.Message, fmt.Sprint("batch ", replay)) {
			t.Errorf("%+v", e)
		}
	}
}
