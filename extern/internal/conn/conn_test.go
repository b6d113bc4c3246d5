package conn

import (
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/wire"
	"github.com/headrace/headrace/wire/wiretest"
)

// A frame comes to the stream that it names; streams that are free again are used again,
// and there are never more than were asked for.
func TestStreams(t *testing.T) {
	leak.Check(t)
	ours, worker := wiretest.Pair(t)
	s := NewStreams(ours, 3) // stream 0 is the connection's own
	read := make(chan error, 1)
	go func() { read <- s.Read() }()

	one, first := s.Open()
	two, second := s.Open()
	if none, inbox := s.Open(); one != 1 || two != 2 || none != 0 || inbox != nil {
		t.Fatalf("streams %d, %d, %d", one, two, none)
	}
	for stream, text := range map[uint32]string{two: "for two", one: "for one"} {
		if err := worker.Send(wire.KindResults, stream, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := <-first, <-second; string(a.Payload) != "for one" || string(b.Payload) != "for two" {
		t.Errorf("%q, %q", a.Payload, b.Payload)
	}
	s.Free(one)
	again, inbox := s.Open()
	if err := worker.Send(wire.KindResults, again, []byte("again")); err != nil || again != one {
		t.Fatalf("stream %d, %v", again, err)
	}
	if f := <-inbox; string(f.Payload) != "again" {
		t.Errorf("%q", f.Payload)
	}
	if s.Failure() != nil {
		t.Error(s.Failure())
	}

	// The end of the connection ends all streams, and no others begin.
	worker.Close()
	if err := <-read; err == nil || s.Failure() != err {
		t.Errorf("%v, %v", err, s.Failure())
	}
	if _, open := <-inbox; open {
		t.Error("an inbox is open")
	}
	if _, open := <-second; open {
		t.Error("an inbox is open")
	}
	s.Free(two)
	if stream, _ := s.Open(); stream != 0 {
		t.Errorf("stream %d is opened after the end", stream)
	}
}

// What a worker must not send ends the connection.
func TestFramesThatNobodyAskedFor(t *testing.T) {
	for want, send := range map[string]func(worker *wire.Conn, open uint32){
		"for a call that does not exist": func(w *wire.Conn, open uint32) { w.Send(wire.KindResults, open+1, nil) },
		"before it was asked": func(w *wire.Conn, open uint32) {
			w.Send(wire.KindResults, open, nil)
			w.Send(wire.KindResults, open, nil)
		},
		"the worker has given up: out of memory": func(w *wire.Conn, _ uint32) { w.Send(wire.KindError, 0, []byte("out of memory")) },
		io.EOF.Error():                           func(w *wire.Conn, _ uint32) { w.Close() },
	} {
		ours, worker := wiretest.Pair(t)
		s := NewStreams(ours, 4)
		open, _ := s.Open()
		send(worker, open)
		err := s.Read()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if given := errors.Is(err, ErrGivenUp); given != strings.Contains(want, "given up") {
			t.Errorf("%v: the worker has given up: %v", err, given)
		}
	}
}

// A worker is told once of each segment, and again after it has forgotten it.
func TestSegmentsAreAnnouncedOnce(t *testing.T) {
	heap, err := shared.NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	defer heap.Close()
	var spaces shared.Spaces
	spaces.Init(heap)
	defer spaces.Close()
	fd, err := unix.MemfdCreate("segment", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	memory := make([]byte, 64)
	if err := spaces.Add(t, fd, 9, memory); err != nil {
		t.Fatal(err)
	}
	number, in := spaces.Find(memory)
	if in == nil {
		t.Fatalf("the memory is in no space: %d", number)
	}
	ours, worker := wiretest.Pair(t)
	c := New(ours)
	if c.Lacks(shared.HeapSpace) || !c.Lacks(in.Number) {
		t.Error("a new worker knows the heap alone")
	}
	for range 2 {
		for range 2 {
			if err := c.Announce([]uint64{in.Number}, &spaces); err != nil || c.Lacks(in.Number) {
				t.Fatal(err)
			}
		}
		f, err := worker.Receive()
		if err != nil || f.Kind != wire.KindSegment {
			t.Fatalf("%v, %v", f.Kind, err)
		}
		if c.Forget([]uint64{in.Number}); !c.Lacks(in.Number) {
			t.Error("what is forgotten is known")
		}
	}
	if err := c.Send(wire.KindResults, 0, []byte("the next")); err != nil {
		t.Fatal(err)
	}
	if f, err := worker.Receive(); err != nil || string(f.Payload) != "the next" {
		t.Errorf("%v %q, %v", f.Kind, f.Payload, err)
	}
}
