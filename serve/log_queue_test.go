package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/wire"
)

// A client that does not read keeps nobody waiting who says something, and nothing but
// words is lost: what is in the book is bounded, the rest is counted, and batches still
// find room in the socket.
func TestWordsNeverWaitForTheClient(t *testing.T) {
	ours, theirs := socketPair(t)
	engine, client := connection(t, ours), connection(t, theirs)
	defer engine.Close()
	defer client.Close()
	b := newLogQueue(func(l wire.Log) error { return engine.SendJSON(wire.KindLog, 1, l) }, engine.Roomy)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.run(ctx) })
	defer running.Wait()
	defer cancel()

	const lines = 5000
	for i := range lines {
		b.add(extern.Line{Stage: "map", Level: "INFO", Logger: "stdout", Message: fmt.Sprint(i) + strings.Repeat(".", 1000)})
	}
	if n := len(b.lines); n > mostUnread/1000 || b.bytes > mostUnread {
		t.Errorf("%d lines, %d bytes wait", n, b.bytes)
	}
	for range 50 { // as many as any loader sends ahead; if they had to wait, this would not return
		if err := engine.Send(wire.KindBatch, 1, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	got, dropped, batches := 0, 0, 0
	for last := -1; got+dropped < lines; {
		f, err := client.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == wire.KindBatch {
			batches++
			continue
		}
		var l wire.Log
		if err := json.Unmarshal(f.Payload, &l); err != nil || l.Stage != "map" {
			t.Fatalf("%s: %v", f.Payload, err)
		}
		var n int
		if _, err := fmt.Sscanf(l.Message, "%d messages dropped", &n); err == nil && l.Logger == "headrace" {
			dropped += n
			continue
		}
		if _, err := fmt.Sscanf(l.Message, "%d.", &n); err != nil || n <= last {
			t.Fatalf("line %d comes after line %d", n, last)
		}
		last = n
		got++
	}
	if batches != 50 || dropped == 0 || got < mostUnread/2000 {
		t.Errorf("%d lines and %d batches came, %d lines were dropped", got, batches, dropped)
	}
}

// What is said before something is sent after flush comes before it.
func TestWordsComeInOrder(t *testing.T) {
	var told []string
	b := newLogQueue(func(l wire.Log) error { told = append(told, l.Message); return nil }, func() bool { return true })
	for _, word := range []string{"one", "two", "three"} {
		b.add(extern.Line{Message: word})
		if word == "two" {
			b.flush()
		}
	}
	b.flush()
	if got := strings.Join(told, " "); got != "one two three" {
		t.Error(got)
	}
}

// When the connection has ended, so has the book.
func TestWordsOfNobody(t *testing.T) {
	b := newLogQueue(func(wire.Log) error { return wire.ErrProtocol }, func() bool { return true })
	b.add(extern.Line{Message: "lost"})
	b.run(t.Context())
}
