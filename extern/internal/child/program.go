package child

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/wire"
)

// Program is the program that opened the recipe. Its threads call functions that need its
// objects.
type Program struct {
	conn     *wire.Conn
	starting sync.Mutex
	leaves   chan struct{}

	mu    sync.Mutex
	gone  []byte // numbers of objects to let go of, not yet sent; guarded by mu
	tells bool   // a goroutine is sending them; guarded by mu
}

// NewProgram returns the program at the other end of a connection, which a HERE message
// brought.
func NewProgram(conn *wire.Conn) *Program {
	p := &Program{conn: conn, leaves: make(chan struct{})}
	go func() {
		defer close(p.leaves)
		conn.Receive() // it says nothing: this is the end
	}()
	return p
}

// Leaves is closed when the program closes its loader, or has ended.
func (p *Program) Leaves() <-chan struct{} { return p.leaves }

// Close closes the connection. Threads that were started have their own.
func (p *Program) Close() {
	p.conn.Shutdown()
	<-p.leaves
	p.conn.Close()
	p.conn.CloseDescriptors()
}

// LetGo tells the program soon that the object with a number is no longer needed. It does
// not wait: dropping a sample must not wait for a thread of the program.
func (p *Program) LetGo(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = binary.LittleEndian.AppendUint64(p.gone, number)
	if !p.tells {
		p.tells = true
		go p.tell()
	}
}

// tell tells the program the numbers of objects to let go of, until none are left.
func (p *Program) tell() {
	for {
		p.mu.Lock()
		gone := p.gone
		if p.gone = nil; len(gone) == 0 {
			p.tells = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.starting.Lock()
		p.conn.Send(wire.KindLetGo, 0, gone) // a program that has left has let go of all
		p.starting.Unlock()
	}
}

// start asks the program to start threads. They share a control connection, on which each
// is sent its own; closing the control connection ends them.
func (p *Program) start(o Options) (*Child, error) {
	c := &Child{tell: o.Tell, exited: make(chan struct{})}
	together, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c.program = together

	err = together.Send(wire.KindSegment, 0, wire.AppendSegment(nil, wire.Segment{ID: 1, Slots: 1}), int(o.Heap.Fd()))
	for i := 0; i < o.Conns && err == nil; i++ {
		err = c.addConn()
	}
	if err == nil {
		err = together.CloseWrite()
	}
	if err == nil {
		p.starting.Lock()
		err = p.conn.Send(wire.KindSession, 0, nil, int(theirs.Fd()))
		p.starting.Unlock()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("extern: threads of the program: %w", err)
	}

	go c.awaitProgram()
	return c, nil
}

func (c *Child) addConn() error {
	conn, theirs, err := pair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	c.Conns = append(c.Conns, conn)
	return c.program.Send(wire.KindSession, 0, nil, int(theirs.Fd()))
}

// pair returns a connection, and its other end to give away.
func pair() (*wire.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("extern: socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "lane")
	conn, err := wire.FromDescriptor(fds[0])
	if err != nil {
		theirs.Close()
	}
	return conn, theirs, err
}

// awaitProgram waits for the end of the program's threads.
func (c *Child) awaitProgram() {
	var told struct{ Message string }
	if f, err := c.program.Receive(); err == nil && f.Kind == wire.KindError {
		json.Unmarshal(f.Payload, &told)
	}
	c.killing.Do(func() {
		if told.Message != "" {
			c.refusal = errors.New(told.Message)
		}
		c.disconnect()
	})
}

// disconnect closes the connections of the program's threads. A function that is running
// goes on, but its result is lost.
func (c *Child) disconnect() {
	for _, conn := range c.Conns {
		conn.Shutdown()
	}
	c.program.Shutdown()
	close(c.exited)
}
