package serve

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/node"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/wire"
)

// alone has loaders of this test meet no others.
func alone(t *testing.T) {
	t.Helper()
	f, err := node.Open(filepath.Join(t.TempDir(), "place"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Use())
}

// TestPage: a client that asks gets the address, once more the same; with the session the
// page ends.
func TestPage(t *testing.T) {
	alone(t)
	c := open(t, recipeFor(phototest.Folder(t, 8)), `{"epochs":1}`)
	ask := func(port int) (told wire.Paged) {
		c.send(wire.KindPage, wire.Page{Port: port})
		for {
			if f := c.receive(); f.Kind == wire.KindPaged {
				c.decode(f, &told)
				return told
			}
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	told := ask(taken.Addr().(*net.TCPAddr).Port)
	if told.Address != "" || !strings.Contains(told.Error, "address already in use; the loader goes on") {
		t.Errorf("%+v", told)
	}
	told = ask(0)
	if again := ask(0); again != told || told.Error != "" {
		t.Errorf("%+v, then %+v", told, again)
	}
	answer, err := http.Get(told.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); !strings.Contains(string(text), "<title>Headrace</title>") {
		t.Errorf("%.200s", text)
	}
	c.conn.Close()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := http.Get(told.Address); err != nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("the page outlives its session")
		}
	}
}

// TestLoopClock: waits count from the first batch on, also while they go on, and the sum
// never falls.
func TestLoopClock(t *testing.T) {
	var c loopClock
	at := func() (s stats.Snapshot) {
		s.Waited, s.Handed = time.Hour, time.Hour // the engine's own
		c.put(&s)
		return s
	}
	const pause = 20 * time.Millisecond
	c.next(0, 0, 0)
	c.waits()
	time.Sleep(pause)
	if s := at(); s.Start < pause || s.Loop != 0 || s.Waited != 0 || s.Handed != 0 {
		t.Errorf("before the first batch: %v, %v, %v", s.Start, s.Loop, s.Waited)
	}
	c.next(pause, 0, 1)
	if s := at(); s.Start != pause || s.Waited != 0 || s.Yielded != 1 {
		t.Errorf("with the first batch: %v, %v, %d", s.Start, s.Waited, s.Yielded)
	}

	c.next(0, 0, 0)
	c.waits()
	time.Sleep(pause)
	goes := at()
	c.answered() // the batch is on its way, and nothing was told of its wait
	time.Sleep(pause)
	works := at()
	if goes.Waited < pause || works.Waited < goes.Waited || works.Loop-works.Waited < pause {
		t.Errorf("in a wait: %v, then %v of %v", goes.Waited, works.Waited, works.Loop)
	}
	c.next(works.Waited+pause, 0, 1)
	if s := at(); s.Waited != works.Waited+pause || s.Yielded != 2 || s.Loop-s.Waited < works.Loop-works.Waited {
		t.Errorf("after a wait: %v, %d", s.Waited, s.Yielded)
	}

	// What the client's own functions took is apart, and no part ever falls.
	before := at()
	time.Sleep(pause)
	c.next(0, pause, 1)
	s := at()
	if s.Main != pause || s.Waited != before.Waited+pause || s.Loop-s.Waited < before.Loop-before.Waited {
		t.Errorf("with functions of the client's: %v, %v of %v", s.Main, s.Waited, s.Loop)
	}
}
