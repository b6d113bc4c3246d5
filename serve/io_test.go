package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

const decodeBatch = `{"do":"decode","batch":true,"color":"rgb","dtype":"uint8","mode":"exact","orient":true,"fit":"stretch","filter":"bilinear","width":24,"height":16}`

// ioClient is the client's side of a session that IO has begun.
type ioClient struct {
	*client
	inbox    *os.File
	released []wire.Slot
}

func (h *host) io(begin wire.IO) *ioClient {
	h.t.Helper()
	return beginIO(h.t, h.connect(), begin)
}

func beginIO(t *testing.T, conn *wire.Conn, begin wire.IO) *ioClient {
	t.Helper()
	fd, err := unix.MemfdCreate("inbox", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	c := &ioClient{client: &client{t: t, conn: conn, segments: map[uint32]mapping{}}, inbox: os.NewFile(uintptr(fd), "inbox")}
	t.Cleanup(func() {
		c.inbox.Close()
		for _, m := range c.segments {
			unix.Munmap(m.memory)
		}
	})
	payload, err := json.Marshal(begin)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Send(wire.KindIO, 0, payload, fd); err != nil {
		t.Fatal(err)
	}
	return c
}

// task sends one, whose inputs are paths (text) and content (bytes), and returns the
// answer.
func (c *ioClient) task(what string, inputs ...any) (*wire.Done, []wire.Failure) {
	c.t.Helper()
	task := &wire.Task{What: []byte(what), Released: c.released}
	c.released = nil
	at := 0
	for _, in := range inputs {
		switch in := in.(type) {
		case string:
			task.Inputs = append(task.Inputs, wire.Input{Path: true, At: uint64(len(task.Text)), Length: uint64(len(in))})
			task.Text = append(task.Text, in...)
		case []byte:
			if _, err := c.inbox.WriteAt(in, int64(at)); err != nil {
				c.t.Fatal(err)
			}
			task.Inputs = append(task.Inputs, wire.Input{At: uint64(at), Length: uint64(len(in))})
			at += len(in)
		}
	}
	if err := c.conn.Send(wire.KindTask, 0, wire.AppendTask(nil, task)); err != nil {
		c.t.Fatal(err)
	}
	return c.done()
}

func (c *ioClient) done() (*wire.Done, []wire.Failure) {
	c.t.Helper()
	f := c.expect(wire.KindDone)
	d, err := wire.ParseDone(bytes.Clone(f.Payload))
	if err != nil {
		c.t.Fatal(err)
	}
	var failures []wire.Failure
	if len(d.Failures) > 0 {
		if err := json.Unmarshal(d.Failures, &failures); err != nil {
			c.t.Fatal(err)
		}
	}
	return d, failures
}

// bytes are a copy of a result.
func (c *ioClient) bytes(d *wire.Done) []byte {
	c.t.Helper()
	if d.Flags&wire.HasResult == 0 {
		c.t.Fatal("there is no result")
	}
	n := uint64(d.Bits / 8)
	for _, e := range d.Extents {
		n *= e
	}
	m := c.segments[d.Segment]
	return bytes.Clone(m.memory[int(d.Slot)*m.slotBytes:][:n])
}

func (c *ioClient) giveBack(d *wire.Done) {
	c.released = append(c.released, wire.Slot{Segment: d.Segment, Slot: d.Slot})
}

func photographs(t testing.TB, n int) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(phototest.Folder(t, n), "*", "*.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// resized is what media.Decode makes of a file at the size of decodeBatch.
func resized(t testing.TB, data []byte) []byte {
	t.Helper()
	p, err := media.Decode(data, media.Options{Orient: true}, []media.Step{{Op: media.ResizeExact{Height: 16, Width: 24}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Data
}

func TestABatchOfFilesAndBytesHasTheirPixelsInOrder(t *testing.T) {
	leak.Check(t)
	c := start(t).io(wire.IO{Protocol: wire.Version})
	var inputs []any
	var want []byte
	for i, path := range photographs(t, 9) {
		data := content(t, path)
		want = append(want, resized(t, data)...)
		if i%2 == 0 {
			inputs = append(inputs, path)
		} else {
			inputs = append(inputs, data)
		}
	}
	d, failures := c.task(decodeBatch, inputs...)
	if failures != nil || !slices.Equal(d.Extents, []uint64{9, 16, 24, 3}) || d.Bits != 8 || !bytes.Equal(c.bytes(d), want) {
		t.Fatalf("%+v %v", d, failures)
	}
}

func TestFailedInputsAreNamedAndTheirRowsAreZeros(t *testing.T) {
	leak.Check(t)
	c := start(t).io(wire.IO{Protocol: wire.Version})
	paths := photographs(t, 2)
	good := resized(t, content(t, paths[1]))
	c.task(decodeBatch, paths[0], paths[0], paths[0]) // so that something is in the slot
	d, failures := c.task(decodeBatch, "/nowhere", paths[1], []byte("no image"))
	if len(failures) != 2 || *failures[0].Index != 0 || failures[0].Errno != int(unix.ENOENT) || *failures[1].Index != 2 || failures[1].Code != wire.CodeSample {
		t.Fatalf("%+v", failures)
	}
	zeros := make([]byte, len(good))
	if want := slices.Concat(zeros, good, zeros); !bytes.Equal(c.bytes(d), want) {
		t.Fatal("other pixels")
	}
	strict := strings.Replace(decodeBatch, `"batch"`, `"strict":true,"batch"`, 1)
	d, failures = c.task(strict, paths[0], []byte("no image"), "/nowhere", paths[1])
	if d.Flags != 0 || len(failures) == 0 || *failures[0].Index != 1 {
		t.Fatalf("%+v %+v", d, failures)
	}
}

func TestWithoutASizeAllImagesHaveThatOfTheFirst(t *testing.T) {
	c := start(t).io(wire.IO{Protocol: wire.Version})
	paths := photographs(t, 2) // no two are alike
	what := strings.Replace(decodeBatch, `,"width":24,"height":16`, "", 1)
	d, failures := c.task(what, "/nowhere", paths[0], paths[1], paths[0])
	if len(failures) != 2 || *failures[1].Index != 2 || !strings.Contains(failures[1].Message, "give width and height") {
		t.Fatalf("%+v", failures)
	}
	p, err := media.Decode(content(t, paths[0]), media.Options{Orient: true}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, len(p.Data))
	if !bytes.Equal(c.bytes(d), slices.Concat(zeros, p.Data, zeros, p.Data)) {
		t.Fatal("other pixels")
	}
	if d, failures = c.task(what, "/nowhere"); d.Flags != 0 || len(failures) != 1 {
		t.Fatalf("%+v %+v", d, failures)
	}
}

// What is written is what media.Encode writes.
func TestEncode(t *testing.T) {
	c := start(t).io(wire.IO{Protocol: wire.Version})
	pixels := make([]byte, 2*3*5*4)
	for i := range pixels {
		pixels[i] = byte(i * 7)
	}
	d, failures := c.task(`{"do":"encode","format":"png","dtype":"uint16","shape":[3,5,4],"effort":9}`, pixels)
	if failures != nil {
		t.Fatalf("%+v", failures)
	}
	want, err := media.Encode(nil, media.Pixels{Data: pixels, Stride: 40, Width: 5, Height: 3,
		Color: media.RGBA, DType: tensor.Uint16}, media.EncodeOptions{Format: media.PNG, Effort: 9})
	if err != nil || !bytes.Equal(c.bytes(d), want) {
		t.Fatal(err)
	}
	for _, what := range []string{
		`{"do":"encode","format":"jpeg","dtype":"uint16","shape":[3,5,4]}`,
		`{"do":"encode","format":"gif","dtype":"uint16","shape":[3,5,4]}`,
		`{"do":"encode","format":"png","dtype":"uint16","shape":[30,5,4]}`,
		`{"do":"encode","format":"png","dtype":"float32","shape":[3,5,4]}`,
		`{"do":"encode","format":"png","dtype":"uint8","shape":[3,5,2]}`, `{"do":"encode","format":"png","dtype":"uint8","shape":[0,5,3]}`,
		`{"do":"encode","format":"png","dtype":"uint8","shape":[-1,-5,3]}`,
		`{"do":"encode","format":"png","dtype":"uint8","shape":[9223372036854775807,2,3]}`,
	} {
		if d, failures := c.task(what, pixels); d.Flags != 0 || len(failures) != 1 || failures[0].Index != nil {
			t.Errorf("%s: %+v %+v", what, d, failures)
		}
	}
}

// What cannot be is reported, and the session goes on.
func TestTasksThatCannotBe(t *testing.T) {
	leak.Check(t)
	c := start(t).io(wire.IO{Protocol: wire.Version})
	path := photographs(t, 1)[0]
	for old, to := range map[string]string{
		`"width":24`: `"width":0`, `"height":16`: `"height":-1`, `"bilinear"`: `"area"`, `"rgb"`: `"cmyk"`,
		`"uint8"`: `"int8"`, `"exact"`: `"quick"`,
		`"decode"`: `"run"`, `"stretch"`: `"contain"`, `"orient"`: `"oriented"`, `"batch":true`: `"batch":3`,
		`"width":24,"height":16`: `"width":60000,"height":60000`,
		`"rgb","dtype"`:          `"rgba","background":[1,2,3],"dtype"`,
	} {
		d, failures := c.task(strings.Replace(decodeBatch, old, to, 1), path)
		if d.Flags != 0 || len(failures) != 1 || failures[0].Index != nil || failures[0].Code != wire.CodeRecipe {
			t.Errorf("%s: %+v %+v", to, d, failures)
		}
	}
	if d, failures := c.task(strings.Replace(decodeBatch, `"batch"`, `"format":"png","batch"`, 1), path); len(failures) != 1 || !strings.Contains(failures[0].Message, "jpeg") {
		t.Errorf("%+v %+v", d, failures)
	}
	if _, failures := c.task(decodeBatch, path); failures != nil {
		t.Errorf("%+v", failures)
	}
}

// A slot that is given back is the next one's; the last free one says so; beyond it,
// there are slots all the same.
func TestSlotsAreUsedAgain(t *testing.T) {
	leak.Check(t)
	c := start(t).io(wire.IO{Protocol: wire.Version})
	path := photographs(t, 1)[0]
	what := strings.Replace(decodeBatch, `"width":24,"height":16`, `"width":4096,"height":1400`, 1) // 17 MB: a pool of two
	first, _ := c.task(what, path)
	if first.Flags != wire.HasResult {
		t.Fatalf("%+v", first)
	}
	c.giveBack(first)
	if again, _ := c.task(what, path); again.Segment != first.Segment || again.Slot != first.Slot {
		t.Fatalf("%+v after %+v", again, first)
	}
	last, _ := c.task(what, path)
	if last.Flags != wire.HasResult|wire.LastSlot {
		t.Fatalf("%+v", last)
	}
	if own, _ := c.task(what, path); own.Flags != wire.HasResult|wire.LastSlot || own.Segment == first.Segment {
		t.Fatalf("%+v", own)
	}
	if other, _ := c.task(decodeBatch, path); other.Flags != wire.HasResult || other.Segment == first.Segment {
		t.Fatalf("%+v", other)
	}
	if n := arena.Live(); n != 3 {
		t.Fatalf("%d segments", n)
	}
}

// slowDecoder counts how many run at once.
type slowDecoder struct {
	media.Decoder
	running, most atomic.Int64
}

func (d *slowDecoder) DecodeInto(dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
	n := d.running.Add(1)
	defer d.running.Add(-1)
	for {
		most := d.most.Load()
		if n <= most || d.most.CompareAndSwap(most, n) {
			break
		}
	}
	time.Sleep(time.Millisecond)
	return d.Decoder.DecodeInto(dst, stride, src, info, plan)
}

// A session may ask for one core; all sessions together use those that there are.
func TestCores(t *testing.T) {
	real, err := media.DecoderFor(media.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	defer media.Register(media.JPEG, real)
	paths := photographs(t, 12)
	inputs := make([]any, len(paths))
	for i := range inputs {
		inputs[i] = paths[i]
	}
	for _, ask := range []struct {
		begin    []wire.IO
		at, most int64
	}{
		{[]wire.IO{{Protocol: wire.Version, Cores: 1}}, 1, 1},
		{[]wire.IO{{Protocol: wire.Version, Ranks: 8}}, 1, 1},
		{[]wire.IO{{Protocol: wire.Version}}, 2, 2},
		{[]wire.IO{{Protocol: wire.Version}, {Protocol: wire.Version}, {Protocol: wire.Version}}, 2, 2},
	} {
		slow := &slowDecoder{Decoder: real}
		media.Register(media.JPEG, slow)
		h := start(t)
		var all sync.WaitGroup
		for _, begin := range ask.begin {
			c := h.io(begin)
			all.Go(func() {
				if _, failures := c.task(decodeBatch, inputs...); failures != nil {
					t.Errorf("%+v", failures)
				}
			})
		}
		all.Wait()
		if got := slow.most.Load(); got < ask.at || got > ask.most {
			t.Errorf("%+v: %d at once", ask.begin, got)
		}
	}
}

// panicking means a mistake of ours.
type panicking struct{ media.Decoder }

func (panicking) DecodeInto([]byte, int, []byte, *media.Info, *media.Plan) error { panic("ouch") }

func TestAPanicIsTheFailureOfItsInput(t *testing.T) {
	real, err := media.DecoderFor(media.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	defer media.Register(media.JPEG, real)
	media.Register(media.JPEG, panicking{real})
	c := start(t).io(wire.IO{Protocol: wire.Version})
	path := photographs(t, 1)[0]
	if _, failures := c.task(decodeBatch, path, path); len(failures) != 2 || failures[0].Code != wire.CodeInternal || !strings.Contains(failures[0].Message, "ouch") {
		t.Fatalf("%+v", failures)
	}
	media.Register(media.JPEG, real)
	if _, failures := c.task(decodeBatch, path, path); failures != nil {
		t.Fatalf("%+v", failures)
	}
}

// What breaks the protocol ends the session alone.
func TestBrokenTasksEndTheSession(t *testing.T) {
	leak.Check(t)
	h := start(t)
	for name, broken := range map[string]func(c *ioClient) error{
		"no task": func(c *ioClient) error { return c.conn.Send(wire.KindStats, 0, nil) },
		"cut":     func(c *ioClient) error { return c.conn.Send(wire.KindTask, 0, []byte{1, 2, 3}) },
		"a foreign slot": func(c *ioClient) error {
			return c.conn.Send(wire.KindTask, 0, wire.AppendTask(nil, &wire.Task{Released: []wire.Slot{{}}}))
		},
		"a second IO": func(c *ioClient) error { return c.conn.Send(wire.KindIO, 0, []byte(`{}`), int(c.inbox.Fd())) },
		"several for one": func(c *ioClient) error {
			return c.send2(strings.Replace(decodeBatch, `"batch":true`, `"batch":false`, 1))
		},
		"a path to encode": func(c *ioClient) error {
			return c.send2(`{"do":"encode","format":"png","dtype":"uint8","shape":[1,1,1]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.io(wire.IO{Protocol: wire.Version})
			c.t = t
			if err := broken(c); err != nil {
				t.Fatal(err)
			}
			var e wire.Error
			if c.decode(c.expect(wire.KindError), &e); e.Code != wire.CodeProtocol {
				t.Fatalf("%+v", e)
			}
		})
	}
	c := h.io(wire.IO{Protocol: wire.Version + 1})
	var e wire.Error
	if c.decode(c.expect(wire.KindError), &e); !strings.Contains(e.Message, "install the two from one release") {
		t.Fatalf("%+v", e)
	}
	if _, failures := h.io(wire.IO{Protocol: wire.Version}).task(decodeBatch, photographs(t, 1)[0]); failures != nil {
		t.Fatalf("%+v", failures)
	}
}

func (c *ioClient) send2(what string) error {
	path := []byte("/a")
	task := &wire.Task{What: []byte(what), Text: path, Inputs: []wire.Input{{Path: true, Length: 2}, {Path: true, Length: 2}}}
	return c.conn.Send(wire.KindTask, 0, wire.AppendTask(nil, task))
}

// An inbox may be anything that can be sent, and may say anything of itself.
func TestAnInboxThatIsNone(t *testing.T) {
	leak.Check(t)
	h := start(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	conn := h.connect()
	c := &ioClient{client: &client{t: t, conn: conn, segments: map[uint32]mapping{}}}
	if err := conn.Send(wire.KindIO, 0, []byte(fmt.Sprintf(`{"protocol":%d}`, wire.Version)), int(r.Fd())); err != nil {
		t.Fatal(err)
	}
	for _, in := range []wire.Input{{Length: 1}, {At: 1 << 40, Length: 1}, {Length: 1<<63 - 1}} {
		if err := conn.Send(wire.KindTask, 0, wire.AppendTask(nil, &wire.Task{What: []byte(decodeBatch), Inputs: []wire.Input{in}})); err != nil {
			t.Fatal(err)
		}
		if _, failures := c.done(); len(failures) != 1 || !strings.Contains(failures[0].Message, "inbox") {
			t.Fatalf("%+v", failures)
		}
	}
}

// Memory is made of what the client has, not of what it says: a file may be a petabyte
// of holes, and an image named a thousand times.
func TestAnInboxOfHoles(t *testing.T) {
	leak.Check(t)
	c := start(t).io(wire.IO{Protocol: wire.Version})
	if err := c.inbox.Truncate(1 << 50); err != nil {
		t.Fatal(err)
	}
	if _, err := c.inbox.WriteAt(make([]byte, 8192), 1<<40); err != nil {
		t.Fatal(err)
	}
	whole, again := wire.Input{At: 1 << 40, Length: 8192}, wire.Input{At: 1 << 40, Length: 1}
	for _, inputs := range [][]wire.Input{{{Length: 1 << 49}}, {{At: 1 << 40, Length: 8193}}, {whole, again}} {
		if err := c.conn.Send(wire.KindTask, 0, wire.AppendTask(nil, &wire.Task{What: []byte(decodeBatch), Inputs: inputs})); err != nil {
			t.Fatal(err)
		}
		if _, failures := c.done(); len(failures) != 1 || failures[0].Index != nil || !strings.Contains(failures[0].Message, "inbox") {
			t.Fatalf("%+v", failures)
		}
	}
	if err := c.conn.Send(wire.KindTask, 0, wire.AppendTask(nil, &wire.Task{What: []byte(decodeBatch), Inputs: []wire.Input{whole}})); err != nil {
		t.Fatal(err)
	}
	if _, failures := c.done(); len(failures) != 1 || failures[0].Index == nil { // it is read, and is no image
		t.Fatalf("%+v", failures)
	}
}

// A client that goes in the middle of a long task leaves nothing, and nobody goes on
// for it.
func TestAClientThatGoesEndsItsTask(t *testing.T) {
	leak.Check(t)
	h := start(t)
	c := h.io(wire.IO{Protocol: wire.Version})
	path := photographs(t, 1)[0]
	task := &wire.Task{What: []byte(strings.Replace(decodeBatch, `"width":24,"height":16`,
		`"width":400,"height":400`, 1)), Text: []byte(path)}
	for range 2000 {
		task.Inputs = append(task.Inputs, wire.Input{Path: true, Length: uint64(len(path))})
	}
	if err := c.conn.Send(wire.KindTask, 0, wire.AppendTask(nil, task)); err != nil {
		t.Fatal(err)
	}
	c.conn.Close()
}

// Tasks of any content are answered, or end their session with an error that is reported.
func FuzzTask(f *testing.F) {
	paths := photographs(f, 1)
	data := content(f, paths[0])
	f.Add(wire.AppendTask(nil, &wire.Task{What: []byte(decodeBatch),
		Inputs: []wire.Input{{Length: uint64(len(data))}, {At: 3, Length: 9}}}), data)
	f.Add(wire.AppendTask(nil, &wire.Task{What: []byte(decodeBatch), Text: []byte(paths[0]),
		Inputs: []wire.Input{{Path: true, Length: uint64(len(paths[0]))}}}), data)
	f.Add(wire.AppendTask(nil,
		&wire.Task{What: []byte(`{"do":"encode","format":"webp","dtype":"uint8","shape":[2,2,3],"lossless":true}`),
			Inputs: []wire.Input{{Length: 12}}}), data)
	f.Add(wire.AppendTask(nil, &wire.Task{What: []byte(`{}`), Released: []wire.Slot{{Segment: 1, Slot: 2}}}), data)
	f.Fuzz(func(t *testing.T, payload, inbox []byte) {
		h := start(t)
		c := h.io(wire.IO{Protocol: wire.Version})
		if _, err := c.inbox.WriteAt(inbox, 0); err != nil {
			t.Fatal(err)
		}
		if err := c.conn.Send(wire.KindTask, 0, payload); err != nil {
			t.Fatal(err)
		}
		c.answered(wire.KindDone)
		if _, failures := h.io(wire.IO{Protocol: wire.Version}).task(decodeBatch, paths[0]); failures != nil {
			t.Fatalf("%+v", failures)
		}
	})
}

// listening returns a socket that listens under a name of the test's own.
func listening(t testing.TB) (name string, listener *os.File) {
	t.Helper()
	name = "@headrace-test-" + rand.Text()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 16); err != nil {
		t.Fatal(err)
	}
	return name, os.NewFile(uintptr(fd), "listener")
}

func knock(t *testing.T, name string) (fd int, err error) {
	t.Helper()
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err = unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		unix.Close(fd)
	}
	return fd, err
}

func dial(t *testing.T, name string) *wire.Conn {
	t.Helper()
	fd, err := knock(t, name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := wire.FromDescriptor(fd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		conn.CloseDescriptors()
	})
	return conn
}

const testToken = "0123456789abcdef0123456789abcdef"

// Who knows the token comes in, and is served for as long as the share lasts; nothing
// is left behind.
func TestShare(t *testing.T) {
	leak.Check(t)
	h := start(t)
	name, listener := listening(t)
	share := h.connect()
	if err := share.Send(wire.KindShare, 0, []byte(fmt.Sprintf(`{"token":%q}`, testToken)), int(listener.Fd())); err != nil {
		t.Fatal(err)
	}
	listener.Close()
	path := photographs(t, 1)[0]
	for _, first := range []struct {
		kind    wire.Kind
		payload string
	}{
		{wire.KindIO, `{"protocol":2,"token":"` + strings.ToUpper(testToken) + `"}`}, {wire.KindIO, `{"protocol":2}`},
		{wire.KindIO, `what`},
		{wire.KindOpen, `{}`}, {wire.KindTask, ``}, {wire.KindShare, `{}`}, {wire.KindSession, ``},
	} {
		conn := dial(t, name)
		c := &client{t: t, conn: conn}
		var fds []int
		if first.kind == wire.KindIO || first.kind == wire.KindShare || first.kind == wire.KindSession {
			fds = []int{0}
		}
		if err := conn.Send(first.kind, 0, []byte(first.payload), fds...); err != nil {
			t.Fatal(err)
		}
		var e wire.Error
		if c.decode(c.expect(wire.KindError), &e); e.Code != wire.CodeProtocol {
			t.Fatalf("%v %s: %+v", first.kind, first.payload, e)
		}
	}
	dial(t, name) // says nothing
	var guests []*ioClient
	for range 3 {
		guest := beginIO(t, dial(t, name), wire.IO{Protocol: wire.Version, Token: testToken})
		if _, failures := guest.task(decodeBatch, path); failures != nil {
			t.Fatalf("%+v", failures)
		}
		guests = append(guests, guest)
	}
	if n := arena.Live(); n != 3 {
		t.Fatalf("%d segments", n)
	}
	guests[0].conn.Close() // what a process held that ends is let go of
	for deadline := time.Now().Add(10 * time.Second); arena.Live() != 2; {
		if time.Now().After(deadline) {
			t.Fatalf("%d segments", arena.Live())
		}
		time.Sleep(time.Millisecond)
	}
	if err := share.Close(); err != nil {
		t.Fatal(err)
	}
	if guests[1].answered(wire.KindDone) {
		t.Fatal("a guest is served after the end")
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		fd, err := knock(t, name)
		if err == unix.ECONNREFUSED {
			break
		}
		unix.Close(fd)
		if time.Now().After(deadline) {
			t.Fatal("the socket is still there")
		}
	}
}

func TestSharesThatCannotBe(t *testing.T) {
	leak.Check(t)
	h := start(t)
	_, listener := listening(t)
	defer listener.Close()
	for payload, fd := range map[string]int{
		`{"token":"short"}`: int(listener.Fd()), `what`: int(listener.Fd()), `{"token":"` + testToken + `"}`: 0,
	} {
		c := &client{t: t, conn: h.connect()}
		if err := c.conn.Send(wire.KindShare, 0, []byte(payload), fd); err != nil {
			t.Fatal(err)
		}
		var e wire.Error
		if c.decode(c.expect(wire.KindError), &e); e.Code != wire.CodeProtocol {
			t.Fatalf("%s: %+v", payload, e)
		}
	}
}

func TestABreathEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	if !breathe(ctx) {
		t.Fatal("there was time")
	}
	cancel()
	if breathe(ctx) {
		t.Fatal("there was none")
	}
}
