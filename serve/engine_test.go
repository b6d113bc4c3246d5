package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/wire"
)

// Sessions of one engine share its gate, and nothing else: each has its own pixels,
// also while one of them runs one operation at a time.
func TestSessionsAtOnceDoNotDisturbEachOther(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 30)
	_, want, _ := open(t, recipeFor(root), `{"epochs":1}`).epoch()
	h := start(t)
	clients := []*client{
		h.openWith(wire.Open{Recipe: json.RawMessage(recipeFor(root)),
			Config: json.RawMessage(`{"epochs":1,"workers":3}`), SerialUntil: &wire.Until{Positions: map[string]int64{"files": 20}}}),
		h.openWith(wire.Open{Recipe: json.RawMessage(recipeFor(root)),
			Config: json.RawMessage(`{"epochs":1,"workers":5}`), SerialUntil: &wire.Until{Positions: map[string]int64{"files": 9}}}),
		h.open(recipeFor(root), `{"epochs":1}`),
	}
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			for stream := uint32(1); stream < 4; stream++ {
				if stream > 1 {
					c.stream = stream
					c.send(wire.KindStart, wire.Start{SerialUntil: &wire.Until{Positions: map[string]int64{"files": int64(10 * i)}}})
				}
				var got [][]byte
				for over := false; !over; {
					switch f := c.receive(); {
					case f.Kind == wire.KindBatch:
						b := c.parse(f)
						got = append(got, c.pixels(b))
						c.next(wire.Next{Taken: 1, Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}})
					case f.Kind == wire.KindEpoch:
						over = true
					default:
						t.Errorf("session %d: %v %.200s", i, f.Kind, f.Payload)
						return
					}
				}
				if len(got) != len(want) {
					t.Errorf("session %d: %d batches", i, len(got))
					return
				}
				for k := range want {
					if !bytes.Equal(got[k], want[k]) {
						t.Errorf("session %d, stream %d: batch %d is another one", i, stream, k)
					}
				}
			}
		})
	}
	all.Wait()
}

// What breaks the protocol on the control connection is reported before it ends; sessions
// go on.
func TestABrokenControlConnectionIsToldWhy(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	h := start(t)
	c := h.open(recipeFor(root), `{"epochs":1}`)
	if err := h.control.Send(wire.KindNote, 0, nil); err != nil {
		t.Fatal(err)
	}
	f, err := h.control.Receive()
	var e wire.Error
	if err != nil || f.Kind != wire.KindError || json.Unmarshal(f.Payload, &e) != nil || e.Code != wire.CodeProtocol {
		t.Fatalf("%v %s %v", f.Kind, f.Payload, err)
	}
	if _, err := h.control.Receive(); err != io.EOF {
		t.Fatal(err)
	}
	c.epoch()
}

// A listing may take as long as it likes, but not for a client that has gone.
func TestAClientThatGoesDuringTheListingEndsIt(t *testing.T) {
	leak.Check(t)
	root := t.TempDir()
	for i := range 40 { // two ways from each folder to the next: 2⁴⁰ paths
		dir := filepath.Join(root, fmt.Sprint(i))
		os.Mkdir(dir, 0o755)
		os.Symlink(fmt.Sprintf("../%d", i+1), filepath.Join(dir, "a"))
		os.Symlink(fmt.Sprintf("../%d", i+1), filepath.Join(dir, "b"))
	}
	os.Mkdir(filepath.Join(root, "40"), 0o755)
	h := start(t)
	conn := h.connect()
	recipe := recipeFor(filepath.Join(root, "0"))
	if err := conn.SendJSON(wire.KindOpen, 1, wire.Open{Recipe: json.RawMessage(recipe), Config: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	conn.Close() // the test ends only with the session
}

// A client that is busy elsewhere for long leaves the engine waiting for room in the
// socket. Whatever it asked for meanwhile is done when it reads.
func TestAClientThatReadsLate(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 1)

	name := root + "/" + strings.Repeat("./", 100) + "class0/000.jpg"
	paths, _ := json.Marshal(slices.Repeat([]string{name}, 3000))
	recipe := fmt.Sprintf(`{"headrace":1,"steps":[{"files":{"paths":%s,"root":"/"}},"decode_image",
		{"center_crop":{"size":2}},{"batch":{"size":1000}}]}`, paths)
	c := open(t, recipe, `{"epochs":1,"prefetch":3}`)
	time.Sleep(200 * time.Millisecond) // three batches with 250 KB of text each
	for range 5 {
		c.next(wire.Next{Waiting: true})
		c.stream++
		c.send(wire.KindStart, wire.Start{})
		c.send(wire.KindStats, struct{}{})
	}
	c.send(wire.KindClose, struct{}{})
	texts := 0
	for f := c.receive(); f.Kind != wire.KindClosed; f = c.receive() {
		if f.Kind == wire.KindStatistics {
			texts++
		}
	}
	if texts != 5 {
		t.Fatalf("%d answers of 5", texts)
	}
}

// Requests as fast as a client can write them: each START ends the one before, and the
// last is served.
func TestFloods(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 22)), `{"epochs":1,"on_error":"skip"}`)
	const last = 150
	written := make(chan struct{})
	go func() {
		defer close(written)
		for c.stream < last {
			c.next(wire.Next{Waiting: c.stream%3 == 0})
			c.stream++
			c.send(wire.KindStart, map[string]any{"state": at(int64((last - c.stream) % 22)),
				"serial_until": wire.Until{Positions: map[string]int64{"files": int64(c.stream % 30)}}})
			if c.stream%10 == 0 {
				c.send(wire.KindStats, struct{}{})
			}
		}
	}()
	rows := uint32(0)
	for {
		f := c.receive()
		switch {
		case f.Kind == wire.KindError:
			t.Fatalf("%s", f.Payload)
		case f.Kind == wire.KindBatch && f.Stream < last: // nobody wants it, and the slot goes back
			b := c.parse(f)
			if err := c.conn.Send(wire.KindNext, f.Stream, wire.AppendNext(nil, wire.Next{Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}})); err != nil {
				t.Fatal(err)
			}
		case f.Kind == wire.KindBatch:
			<-written
			b := c.parse(f)
			rows += b.Rows
			c.next(wire.Next{Taken: 1, Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}})
		case f.Kind == wire.KindEpoch && f.Stream == last:
			if rows != 22 {
				t.Fatalf("%d rows", rows)
			}
			return
		}
	}
}

// Names are bytes. In every message they come as the client can turn back into these
// bytes.
func TestNamesThatAreNotUTF8(t *testing.T) {
	leak.Check(t)
	plain := phototest.Folder(t, 6)
	root := filepath.Join(t.TempDir(), "x\xff")
	for i := range 2 {
		dir := filepath.Join(root, fmt.Sprintf("class%d\xfe\"\n", i))
		os.MkdirAll(dir, 0o755)
		for k := range 3 {
			data, _ := os.ReadFile(filepath.Join(plain, "class0", "000.jpg"))
			os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d\xfd.jpg", k)), data[:len(data)*k/2], 0o644) // 0 and 1 are cut short
		}
	}
	pattern := strings.ReplaceAll(root, "\xff", `\udcff`)
	recipe := strings.Replace(recipeFor("PATTERN"), "PATTERN", pattern, 1)
	h := start(t)
	c := h.open(recipe, `{"epochs":1,"on_error":"skip"}`)
	if !strings.HasSuffix(c.opened.Classes[0], "\ufffd\"\n") { // what Go makes of a lone surrogate
		t.Errorf("classes %q", c.opened.Classes)
	}
	lost := 0
	for over := false; !over; {
		f := c.receive()
		if !json.Valid(f.Payload) && f.Kind != wire.KindBatch {
			t.Errorf("%v is not JSON: %q", f.Kind, f.Payload)
		}
		switch f.Kind {
		case wire.KindLost:
			lost++
			if !bytes.Contains(f.Payload, []byte(`x\udcff/class`)) || !bytes.Contains(f.Payload, []byte(`\udcfd.jpg"`)) {
				t.Errorf("%s", f.Payload)
			}
		case wire.KindBatch:
			if key := c.parse(f).Text[0][0]; !strings.Contains(key, "x\xff/class") || !strings.HasSuffix(key, "2\xfd.jpg") {
				t.Errorf("key %q", key)
			}
		case wire.KindEpoch:
			over = true
		}
	}
	if lost != 4 {
		t.Fatalf("%d lost", lost)
	}
	c = h.open(recipe, `{"epochs":1}`)
	f := c.receive()
	for f.Kind != wire.KindError {
		f = c.receive()
	}
	if !bytes.Contains(f.Payload, []byte(`\udcfd.jpg"`)) || !json.Valid(f.Payload) {
		t.Errorf("%s", f.Payload)
	}
}
