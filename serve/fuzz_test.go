package serve

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/wire"
)

// FuzzOpen opens sessions with any configuration, state and place. Each is answered,
// and each ends when the client goes.
func FuzzOpen(f *testing.F) {
	f.Add(`{"epochs":1}`, `null`, `null`)
	f.Add(`{"epochs":2,"on_error":"skip","max_errors":0.5,"order":"completion","prefetch":1,"hold_limit":1}`,
		`{"epoch":1,"sources":{"files":{"position":3,"ahead":[[4,5]],"lost":[4]}},"quarantine":[2]}`, `{"epoch":1,"positions":{"files":4}}`)
	f.Add(`{"rank":1,"world_size":2,"workers":3,"memory":100000,"local_world_size":8}`, `{"epoch":9007199254740993}`, `{"epoch":-1}`)
	root := phototest.Folder(f, 6)
	f.Fuzz(func(t *testing.T, config, state, serial string) {
		c := &client{t: t, conn: start(t).connect(), stream: 1, segments: map[uint32]mapping{}}
		payload := `{"recipe":` + recipeFor(root) + `,"config":` + config + `,"state":` + state + `,"serial_until":` + serial + `}`
		if err := c.conn.Send(wire.KindOpen, 1, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		if c.answered(wire.KindOpened) {
			c.next(wire.Next{Waiting: true})
			if config == `{"epochs":1}` && state == "null" {
				c.answered(wire.KindBatch)
			}
			c.send(wire.KindClose, struct{}{})
			c.answered(wire.KindClosed)
		}
	})
}

// FuzzFrames sends any frame to an open session. It is obeyed, or the session ends with
// an error; the engine is there afterwards.
func FuzzFrames(f *testing.F) {
	f.Add(uint16(wire.KindStart), uint32(2),
		[]byte(`{"state":{"epoch":1,"sources":{"files":{"position":3,"ahead":[[4,5]],"lost":[4]}}},"serial_until":{"epoch":1,"positions":{"files":5}}}`))
	f.Add(uint16(wire.KindStart), uint32(1<<32-1), []byte(`{"state":null}`))
	f.Add(uint16(wire.KindNext), uint32(1), wire.AppendNext(nil, wire.Next{Taken: 1, Waiting: true}))
	f.Add(uint16(wire.KindNext), uint32(0), wire.AppendNext(nil, wire.Next{Released: []wire.Slot{{Segment: 0, Slot: 1}}}))
	f.Add(uint16(wire.KindStats), uint32(1), []byte(nil))
	f.Add(uint16(wire.KindClose), uint32(1), []byte(nil))
	f.Add(uint16(wire.KindOpen), uint32(1), []byte(`{}`))
	root := phototest.Folder(f, 6)
	f.Fuzz(func(t *testing.T, kind uint16, stream uint32, payload []byte) {
		h := start(t)
		c := h.open(recipeFor(root), `{"epochs":2}`)
		c.batch()
		if k := wire.Kind(kind); k == wire.KindSession || k == wire.KindSegment {
			return // they bring descriptors
		}
		if err := c.conn.Send(wire.Kind(kind), stream, payload); err != nil {
			t.Fatal(err)
		}
		if err := c.conn.Send(wire.KindClose, stream, nil); err == nil {
			c.answered(wire.KindClosed)
		}
		h.open(recipeFor(root), `{"epochs":1}`).batch()
	})
}

// answered reads until one of the kinds comes, or an error, or the end of the session,
// which is false.
func (c *client) answered(kinds ...wire.Kind) bool {
	c.t.Helper()
	for {
		f, err := c.conn.Receive()
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return false
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if f.Descriptor >= 0 {
			unix.Close(f.Descriptor)
		}
		if f.Kind == wire.KindError {
			var e wire.Error
			if err := json.Unmarshal(f.Payload, &e); err != nil || e.Code == "" || e.Message == "" || e.Code == wire.CodeInternal {
				c.t.Fatalf("%s", f.Payload)
			}
			continue
		}
		for _, k := range kinds {
			if f.Kind == k {
				return true
			}
		}
	}
}
