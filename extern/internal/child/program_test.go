package child

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/wire"
)

// connected returns a program of the engine, and its other end.
func connected(t *testing.T) (*Program, *wire.Conn) {
	t.Helper()
	leak.Check(t)
	ours, file, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	p := NewProgram(ours)
	t.Cleanup(p.Close)
	return p, adopted(t, file)
}

// adopted makes a connection of a descriptor that is given away.
func adopted(t *testing.T, file *os.File) *wire.Conn {
	t.Helper()
	defer file.Close()
	return connection(t, dup(t, int(file.Fd())))
}

func connection(t *testing.T, fd int) *wire.Conn {
	t.Helper()
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

func received(t *testing.T, conn *wire.Conn, kind wire.Kind) wire.Frame {
	t.Helper()
	f, err := conn.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if f.Kind != kind {
		t.Fatalf("it is %v, want %v", f.Kind, kind)
	}
	return f
}

// begun starts threads of the program, and returns the program's end of their control
// connection.
func begun(t *testing.T, p *Program, program *wire.Conn, conns int) (*Child, *wire.Conn) {
	t.Helper()
	python := (&Interpreter{Program: p}).Here()
	if python.Own() != p {
		t.Error("the interpreter is not the program")
	}
	var none Starter // no process is started
	c, err := none.Start(Options{Python: python, Heap: heapFile(t, "heap"), Conns: conns, Tell: func(Line) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, connection(t, received(t, program, wire.KindSession).Descriptor)
}

// Threads of the program get the heap and a connection each, and end when their control
// connection does.
func TestThreadsOfTheProgram(t *testing.T) {
	p, program := connected(t)
	c, control := begun(t, p, program, 2)
	if c.PID != 0 {
		t.Errorf("it is process %d", c.PID)
	}

	heap := os.NewFile(uintptr(received(t, control, wire.KindSegment).Descriptor), "heap")
	defer heap.Close()
	content := make([]byte, 4)
	if _, err := heap.ReadAt(content, 0); err != nil || string(content) != "heap" {
		t.Errorf("%q, %v", content, err)
	}
	for i := range 2 {
		thread := connection(t, received(t, control, wire.KindSession).Descriptor)
		if err := thread.Send(wire.KindReady, 0, []byte{byte(i)}); err != nil {
			t.Error(err)
		}
		if f := received(t, c.Conns[i], wire.KindReady); f.Payload[0] != byte(i) {
			t.Errorf("connection %d is that of thread %d", i, f.Payload[0])
		}
	}
	if _, err := control.Receive(); err != io.EOF {
		t.Errorf("after that comes %v", err)
	}

	control.Close()
	ended(t, c)
	if c.Refusal() != nil {
		t.Error(c.Refusal())
	}
	if _, err := c.Conns[0].Receive(); err == nil {
		t.Error("the threads' connections are open")
	}
}

// Killing threads closes their connections, and does not wait for them.
func TestThreadsAreKilled(t *testing.T) {
	p, program := connected(t)
	c, control := begun(t, p, program, 1)
	c.Kill()
	c.Kill()
	ended(t, c)
	unix.Close(received(t, control, wire.KindSegment).Descriptor)
	thread := connection(t, received(t, control, wire.KindSession).Descriptor)
	if _, err := thread.Receive(); err == nil {
		t.Error("the thread's connection is open")
	}
	select {
	case <-p.Leaves():
		t.Error("the program has left")
	default:
	}
}

// A program that cannot start threads says why.
func TestAProgramRefuses(t *testing.T) {
	p, program := connected(t)
	c, control := begun(t, p, program, 1)
	why, _ := json.Marshal(map[string]string{"message": "can't start new thread"})
	if err := control.Send(wire.KindError, 0, why); err != nil {
		t.Fatal(err)
	}
	ended(t, c)
	if err := c.Refusal(); err == nil || err.Error() != "can't start new thread" {
		t.Errorf("the reason is %v", err)
	}
}

// A program that has ended is known to have left, and starts nothing.
func TestAProgramLeaves(t *testing.T) {
	p, program := connected(t)
	program.Close()
	select {
	case <-p.Leaves():
	case <-time.After(time.Minute):
		t.Fatal("nobody notices")
	}
	var none Starter
	_, err := none.Start(Options{Python: (&Interpreter{Program: p}).Here(), Heap: heapFile(t, ""), Conns: 1})
	if err == nil || !strings.Contains(err.Error(), "threads of the program") {
		t.Error(err)
	}
}
