package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/wire"
)

// traceTo asks for a trace, or for its end, and returns the answer. Batches that were
// sent before are in ahead.
func (c *client) traceTo(path string, ahead *int) (answer wire.Traced) {
	c.t.Helper()
	var asked wire.Trace
	if path != "" {
		asked.Path, _ = recipe.Path(path).MarshalJSON()
	}
	c.send(wire.KindTrace, asked)
	f := c.receive()
	for f.Kind == wire.KindBatch {
		c.parse(f)
		*ahead++
		f = c.receive()
	}
	if f.Kind != wire.KindTraced {
		c.t.Fatalf("%v: %s", f.Kind, f.Payload)
	}
	c.decode(f, &answer)
	return answer
}

// A client may have its loader traced at any time, in any file that the engine may
// write, whatever its name. That it cannot be written is an answer.
func TestTraceIsWrittenAndAnswered(t *testing.T) {
	root := phototest.Folder(t, 22)
	folder := t.TempDir()
	c := open(t, recipeFor(root), `{"epochs":1}`)
	ahead := 0
	pipe := filepath.Join(folder, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]wire.Traced{
		filepath.Join(folder, "none", "trace.json"): {Error: "no such file or directory", Errno: int(syscall.ENOENT)},
		folder: {Error: "is a directory", Errno: int(syscall.EISDIR)},
		pipe:   {Error: "no such device or address", Errno: int(syscall.ENXIO)}, // nobody reads from it
	} {
		if got := c.traceTo(path, &ahead); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := c.traceTo("", &ahead); got != (wire.Traced{}) {
		t.Errorf("the end of no trace: %+v", got)
	}
	name := filepath.Join(folder, "tr\xffce.json")
	if got := c.traceTo(name, &ahead); got != (wire.Traced{}) {
		t.Fatalf("%+v", got)
	}
	if got := c.traceTo(filepath.Join(folder, "second.json"), &ahead); !strings.Contains(got.Error, "a trace is being written already") {
		t.Errorf("a second one: %+v", got)
	}
	c.next(wire.Next{Taken: uint32(ahead), Waiting: true})
	c.batch()
	got := c.traceTo("", new(int))
	text, err := os.ReadFile(name)
	var all []struct{ Ph, Cat string }
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || got.Error != "" || got.Bytes != int64(len(text)) || got.Events != int64(len(all)) {
		t.Errorf("%+v, %v: %d bytes, %d events", got, err, len(text), len(all))
	}
	if got := c.traceTo("/dev/full", new(int)); got != (wire.Traced{}) {
		t.Fatalf("%+v", got)
	}
	if got := c.traceTo("", new(int)); got.Errno != int(syscall.ENOSPC) || got.Error != "no space left on device; the file system is full: free some space, or write elsewhere" || got.Dropped == 0 {
		t.Errorf("a full disk: %+v", got)
	}
}

// A client that ends its session without ending its trace learns what became of it,
// before it hangs up.
func TestATraceOfAFullDiskIsSaidBeforeTheEnd(t *testing.T) {
	c := start(t).open(recipeFor(phototest.Folder(t, 22)), `{"epochs":1}`)
	if got := c.traceTo("/dev/full", new(int)); got != (wire.Traced{}) {
		t.Fatalf("%+v", got)
	}
	c.send(wire.KindClose, nil)
	for f := c.receive(); f.Kind != wire.KindClosed; f = c.receive() {
	}
	if n := len(c.notes); n == 0 || !strings.Contains(c.notes[n-1], `"trace"`) || !strings.Contains(c.notes[n-1], "write /dev/full: no space left on device; the file system is full") {
		t.Errorf("%q", c.notes)
	}
}

// A session that ends leaves a whole file.
func TestTraceEndsWithTheSession(t *testing.T) {
	for _, polite := range []bool{true, false} {
		name := filepath.Join(t.TempDir(), "trace.json")
		h := start(t)
		c := h.open(recipeFor(phototest.Folder(t, 22)), `{"epochs":1}`)
		if got := c.traceTo(name, new(int)); got != (wire.Traced{}) {
			t.Fatalf("%+v", got)
		}
		if polite {
			c.send(wire.KindClose, nil)
			for f := c.receive(); f.Kind != wire.KindClosed; f = c.receive() {
			}
		} else {
			c.conn.Close()
			h.control.Close()
			<-h.ended // no session begins any more
			h.engine.sessions.Wait()
		}
		text, err := os.ReadFile(name)
		var all []struct{ Ph string }
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil || len(all) < 3 {
			t.Errorf("polite %v: %v, %d events", polite, err, len(all))
		}
	}
}
