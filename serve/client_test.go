package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/wire"
)

// client is the other side of a session: what a client library does, in the words of
// docs/protocol.md.
type client struct {
	t        *testing.T
	conn     *wire.Conn
	stream   uint32
	segments map[uint32]mapping
	opened   opened
	notes    []string
}

type mapping struct {
	memory    []byte
	slotBytes int
}

type opened struct {
	Fields []struct {
		Name   string
		Kind   string
		Shape  []int
		Offset int
	}
	Rows            int
	SlotBytes       int   `json:"slot_bytes"`
	BatchesPerEpoch int64 `json:"batches_per_epoch"`
	Classes         []string
	State           json.RawMessage
}

// host is an engine in this process, and its control connection.
type host struct {
	ended   chan struct{} // closed when the control connection has ended
	t       *testing.T
	engine  *engine
	control *wire.Conn
}

// start starts an engine and greets it. With the test, everything ends.
func start(t *testing.T) *host {
	t.Helper()
	return startWith(t, &engine{ioEngine: ioEngine{gate: headrace.NewGate(), cpus: 2}})
}

func startWith(t *testing.T, e *engine) *host {
	t.Helper()
	h := startSilent(t, e)
	h.greet("")
	return h
}

// startSilent starts an engine that nobody has greeted yet.
func startSilent(t *testing.T, e *engine) *host {
	t.Helper()
	h := &host{t: t, engine: e, ended: make(chan struct{})}
	control, theirs := socketPair(t)
	conn := connection(t, theirs)
	go func() {
		defer close(h.ended)
		h.engine.control(context.Background(), conn) // t.Context would end sessions that should end by themselves
		conn.Close()
	}()
	h.control = connection(t, control)
	t.Cleanup(func() {
		h.control.Close()
		<-h.ended
		h.engine.sessions.Wait()
	})
	return h
}

// greet says HELLO as a client of this version, "" for one that has none, and returns
// the engine's.
func (h *host) greet(version string) (theirs wire.Hello) {
	h.t.Helper()
	if err := h.control.SendJSON(wire.KindHello, 0, wire.Hello{Protocol: wire.Version, Client: "test", Version: version}); err != nil {
		h.t.Fatal(err)
	}
	f, err := h.control.Receive()
	if err != nil || f.Kind != wire.KindHello {
		h.t.Fatalf("%v: %v", f.Kind, err)
	}
	if err := json.Unmarshal(f.Payload, &theirs); err != nil {
		h.t.Fatal(err)
	}
	return theirs
}

// connect opens a session's connection.
func (h *host) connect() *wire.Conn {
	h.t.Helper()
	session, theirs := socketPair(h.t)
	s := connection(h.t, session)
	h.t.Cleanup(func() {
		s.Close()
		s.CloseDescriptors()
	})
	if err := h.control.Send(wire.KindSession, 0, nil, theirs); err != nil {
		h.t.Fatal(err)
	}
	unix.Close(theirs)
	return s
}

func connection(t *testing.T, fd int) *wire.Conn {
	t.Helper()
	c, err := wire.FromDescriptor(fd)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connect starts an engine and opens a session's connection to it.
func connect(t *testing.T) *wire.Conn {
	t.Helper()
	return start(t).connect()
}

func socketPair(t *testing.T) (int, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fds[0], fds[1]
}

// open opens a session with an engine of its own and expects OPENED.
func open(t *testing.T, recipe string, config string) *client {
	t.Helper()
	return start(t).open(recipe, config)
}

// open opens a session and expects OPENED.
func (h *host) open(recipe string, config string) *client {
	h.t.Helper()
	return h.openWith(wire.Open{Recipe: json.RawMessage(recipe), Config: json.RawMessage(config)})
}

func (h *host) openWith(o wire.Open) *client {
	h.t.Helper()
	c := &client{t: h.t, conn: h.connect(), stream: 1, segments: map[uint32]mapping{}}
	h.t.Cleanup(func() {
		for _, m := range c.segments {
			unix.Munmap(m.memory)
		}
	})
	c.send(wire.KindOpen, o)
	f := c.receive()
	if f.Kind != wire.KindOpened {
		h.t.Fatalf("%v: %s", f.Kind, f.Payload)
	}
	c.decode(f, &c.opened)
	return c
}

func (c *client) send(kind wire.Kind, v any) {
	c.t.Helper()
	if err := c.conn.SendJSON(kind, c.stream, v); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next(n wire.Next) {
	c.t.Helper()
	if err := c.conn.Send(wire.KindNext, c.stream, wire.AppendNext(nil, n)); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next frame. SEGMENT frames it maps, and notes it keeps.
func (c *client) receive() wire.Frame {
	c.t.Helper()
	for {
		f, err := c.conn.Receive()
		if err != nil {
			c.t.Fatal(err)
		}
		if f.Kind == wire.KindNote {
			c.notes = append(c.notes, string(f.Payload))
			continue
		}
		if f.Kind != wire.KindSegment {
			return f
		}
		s, err := wire.ParseSegment(f.Payload)
		if err != nil {
			c.t.Fatal(err)
		}
		memory, err := unix.Mmap(f.Descriptor, 0, int(s.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			c.t.Fatal(err)
		}
		unix.Close(f.Descriptor)
		c.segments[s.ID] = mapping{memory, int(s.SlotBytes)}
	}
}

func (c *client) expect(kind wire.Kind) wire.Frame {
	c.t.Helper()
	f := c.receive()
	if f.Kind != kind {
		c.t.Fatalf("got %v, expected %v: %.300s", f.Kind, kind, f.Payload)
	}
	return f
}

func (c *client) decode(f wire.Frame, v any) {
	c.t.Helper()
	if err := json.Unmarshal(f.Payload, v); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) batch() *wire.Batch {
	c.t.Helper()
	return c.parse(c.expect(wire.KindBatch))
}

func (c *client) parse(f wire.Frame) *wire.Batch {
	c.t.Helper()
	b, err := wire.ParseBatch(bytes.Clone(f.Payload), 1, 0)
	if err == nil && b.Beside != nil {
		m := c.segments[b.Beside.Slot.Segment]
		err = b.ParseText(m.memory[int(b.Beside.Slot.Slot)*m.slotBytes:][:b.Beside.Bytes], 1)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// place is what a batch says of the record after it.
func (c *client) place(b *wire.Batch) (s headrace.State) {
	c.t.Helper()
	if err := json.Unmarshal(b.Place, &s); err != nil {
		c.t.Fatalf("%s: %v", b.Place, err)
	}
	s.Epoch = int(b.StateEpoch)
	return s
}

// at is a place in the first epoch.
func at(position int64) headrace.State {
	return headrace.State{Sources: map[string]headrace.SourceState{"files": {Position: position}}}
}

// pixels is a copy of the first tensor field of a batch.
func (c *client) pixels(b *wire.Batch) []byte {
	m := c.segments[b.Segment]
	row := 1
	for _, n := range c.opened.Fields[c.field("image")].Shape {
		row *= n
	}
	at := int(b.Slot)*m.slotBytes + c.opened.Fields[c.field("image")].Offset
	return bytes.Clone(m.memory[at : at+row*int(b.Rows)])
}

func (c *client) field(name string) int {
	for i, f := range c.opened.Fields {
		if f.Name == name {
			return i
		}
	}
	c.t.Fatalf("no field %q", name)
	return -1
}

// epoch takes batches until EPOCH, giving each back at once.
func (c *client) epoch() (batches []*wire.Batch, pixels [][]byte, e wire.Epoch) {
	c.t.Helper()
	for {
		switch f := c.receive(); f.Kind {
		case wire.KindBatch:
			b := c.parse(f)
			batches, pixels = append(batches, b), append(pixels, c.pixels(b))
			c.next(wire.Next{Taken: 1, Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}})
		case wire.KindEpoch:
			c.decode(f, &e)
			return batches, pixels, e
		default:
			c.t.Fatalf("%v: %s", f.Kind, f.Payload)
		}
	}
}

// quiet fails if a frame comes within the time, and then hangs up.
func (c *client) quiet(d time.Duration) {
	c.t.Helper()
	came := make(chan wire.Frame, 1)
	go func() {
		defer close(came)
		if f, err := c.conn.Receive(); err == nil {
			came <- f
		}
	}()
	time.Sleep(d)
	c.conn.Close()
	if f, ok := <-came; ok {
		c.t.Fatalf("%v came: %.200s", f.Kind, f.Payload)
	}
}

// recipeFor decodes, crops to 16×16 and batches by four, with a shuffle.
func recipeFor(root string) string {
	return fmt.Sprintf(`{"headrace":1,"seed":7,"steps":[
		{"files":{"pattern":%q,"root":"/","label":"parent"}},
		{"shuffle":{"seed":3}},
		"decode_image",
		{"random_resized_crop":{"size":16}},
		{"random_flip":{"p":0.5}},
		{"batch":{"size":4}}]}`, root)
}
