package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Conn carries frames over a Unix stream socket. It owns the socket and every
// descriptor received and not yet taken.
type Conn struct {
	socket *socket

	// Reading: one goroutine's.
	buf         []byte // bytes received; buf[read:] not yet returned as frames
	read        int
	oob         []byte
	descriptors []int // received, in order, not yet taken by a frame
	cut         bool  // a descriptor was lost that belongs to a frame that was not read yet
	receiveSeq  uint32

	sending sync.Mutex
	sendSeq uint32 // guarded by sending, as out is
	out     []byte
}

// Frame is one message. Payload is valid until the next [Conn.Receive]; Descriptor, -1
// if the kind brings none, is the caller's to close.
type Frame struct {
	Kind       Kind
	Stream     uint32
	Payload    []byte
	Descriptor int
}

const (
	readSize    = 16 << 10 // enough for hundreds of NEXT frames at once
	keptSize    = 1 << 20  // of a buffer: that of a rare large frame, such as a recipe that lists its files, goes with it
	mostPending = 16       // descriptors that no frame has taken yet
	atOnce      = 16       // descriptors in one message
)

// FromDescriptor takes over fd, one end of a Unix stream socket, and makes a connection
// of it.
func FromDescriptor(fd int) (*Conn, error) {
	socket, err := newSocket(fd)
	if err != nil {
		return nil, err
	}
	return &Conn{socket: socket, oob: make([]byte, unix.CmsgSpace(4*atOnce))}, nil
}

// Send writes one frame. It may be called by several goroutines.
func (c *Conn) Send(kind Kind, stream uint32, payload []byte, descriptors ...int) error {
	return c.send(kind, stream, [2][]byte{payload}, descriptors)
}

// SendParts writes one frame, whose payload is in two parts.
func (c *Conn) SendParts(kind Kind, stream uint32, head, rest []byte) error {
	return c.send(kind, stream, [2][]byte{head, rest}, nil)
}

func (c *Conn) send(kind Kind, stream uint32, parts [2][]byte, descriptors []int) error {
	size := len(parts[0]) + len(parts[1])
	if size > MaxPayload {
		return fmt.Errorf("wire: %v of %d bytes is larger than a frame may be (%d)", kind, size, MaxPayload)
	}
	if len(descriptors) != kind.descriptors() {
		return fmt.Errorf("wire: %v takes %d descriptors, got %d", kind, kind.descriptors(), len(descriptors))
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.out = AppendHeader(c.out[:0], Header{Length: uint32(size), Kind: kind, Stream: stream, Seq: c.sendSeq})
	c.out = append(append(c.out, parts[0]...), parts[1]...)
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	if err := c.write(c.out, rights); err != nil {
		return fmt.Errorf("wire: send %v: %w", kind, gone(err))
	}
	c.sendSeq++
	if cap(c.out) > keptSize {
		c.out = nil
	}
	return nil
}

// SendJSON writes one frame whose payload is v in JSON.
func (c *Conn) SendJSON(kind Kind, stream uint32, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("wire: %v: %w", kind, err)
	}
	return c.Send(kind, stream, payload)
}

func (c *Conn) write(b, rights []byte) error {
	if rights == nil {
		_, err := c.socket.Write(b)
		return err
	}
	n, err := c.socket.send(b, rights)
	if err == nil && n < len(b) {
		_, err = c.socket.Write(b[n:]) // the descriptors went with the first byte
	}
	return err
}

// Receive returns the next frame, or io.EOF when the peer has closed between frames. When
// the connection has ended in another way the error is ErrGone.
func (c *Conn) Receive() (Frame, error) {
	if err := c.fill(HeaderSize); err != nil {
		return Frame{}, err
	}
	h, err := ParseHeader(c.buf[c.read:])
	if err != nil {
		return Frame{}, err
	}
	if h.Seq != c.receiveSeq {
		return Frame{}, fmt.Errorf("%w: %v has number %d, expected %d", ErrProtocol, h.Kind, h.Seq, c.receiveSeq)
	}
	c.receiveSeq++
	if err := c.fill(HeaderSize + int(h.Length)); err != nil {
		return Frame{}, unexpected(err)
	}
	f := Frame{Kind: h.Kind, Stream: h.Stream, Payload: c.buf[c.read+HeaderSize:][:h.Length], Descriptor: -1}
	c.read += HeaderSize + int(h.Length)
	if h.Kind.descriptors() > 0 {
		if len(c.descriptors) == 0 && c.cut {
			c.cut = false
			return Frame{}, fmt.Errorf("%w: %w", ErrCut, unix.EMFILE)
		}
		if len(c.descriptors) == 0 {
			return Frame{}, fmt.Errorf("%w: %v without its descriptor", ErrProtocol, h.Kind)
		}
		f.Descriptor = c.descriptors[0]
		c.descriptors = c.descriptors[1:]
	}
	return f, nil
}

// fill reads until n bytes are unread in the buffer.
func (c *Conn) fill(n int) error {
	if len(c.buf)-c.read >= n {
		return nil
	}

	rest := c.buf[c.read:]
	if c.buf = c.buf[:0]; cap(c.buf) > keptSize && n <= keptSize {
		c.buf = nil
	}
	c.buf = append(c.buf, rest...)
	c.read = 0

	for len(c.buf) < n {
		// The peer says how long its frame is; memory follows what has really come.
		c.buf = slices.Grow(c.buf, max(readSize, min(n-len(c.buf), len(c.buf))))
		got, oobGot, flags, err := c.socket.receive(c.buf[len(c.buf):cap(c.buf)], c.oob)
		if rightsErr := c.takeRights(c.oob[:oobGot], flags); rightsErr != nil {
			return rightsErr
		}
		c.buf = c.buf[:len(c.buf)+max(0, got)] // -1 goes with an error

		if err == nil && got > 0 {
			continue
		}
		if err == nil || errors.Is(err, io.EOF) {
			if len(c.buf) > 0 {
				return gone(io.ErrUnexpectedEOF)
			}
			return io.EOF
		}
		return gone(err)
	}
	return nil
}

func (c *Conn) takeRights(oob []byte, flags int) error {
	if flags&unix.MSG_CTRUNC != 0 {
		c.cut = true // the frame that needs one tells; its bytes have come
	}
	if len(oob) == 0 {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrProtocol, err)
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
		}
		c.descriptors = append(c.descriptors, fds...)
	}
	if len(c.descriptors) > mostPending {
		return fmt.Errorf("%w: %d descriptors came that no frame names", ErrProtocol, len(c.descriptors))
	}
	return nil
}

// unexpected tells an end between frames from an end within one.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return gone(io.ErrUnexpectedEOF)
	}
	return err
}

// gone marks the errors of a connection that has ended. Reading a file fails with the
// same ones, and says nothing about the peer.
func gone(err error) error {
	for _, end := range []error{io.ErrUnexpectedEOF, os.ErrClosed, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
	return err
}

// WatchHangup calls gone when the peer closes its end, in a goroutine of its own, until
// stop is called. It is for the time in which nobody is in Receive, and there must be
// nobody.
func (c *Conn) WatchHangup(gone func()) (stop func()) {
	ended := make(chan struct{})
	raw, err := c.socket.SyscallConn()
	if err != nil { // closed already
		close(ended)
		gone()
		return func() {}
	}
	go func() {
		defer close(ended)
		if err := raw.Read(hungUp); !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
	}()
	return func() {
		c.socket.SetReadDeadline(time.Unix(1, 0))
		<-ended
		c.socket.SetReadDeadline(time.Time{})
	}
}

// Roomy tells whether the peer has read most of what was sent to it, so that a small
// frame would not wait for it. Of a connection that is closed that is true, too.
func (c *Conn) Roomy() bool {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return true
	}
	roomy := true
	raw.Control(func(fd uintptr) {
		// A stream socket of Linux calls itself writable while no more than a quarter
		// of its buffer is taken.
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(poll, 0)
		roomy = n > 0 || err != nil
	})
	return roomy
}

// hungUp tells whether the other end of a socket is closed. Bytes may be left to be read.
func hungUp(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, _ := unix.Poll(poll, 0)
	return n > 0 && poll[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// Close ends the connection: a blocked Receive or Send returns. It may be called more
// than once, by any goroutine.
func (c *Conn) Close() error {
	return c.socket.Close()
}

// CloseWrite tells the peer that no more frames come. Those that it sends can still be
// received.
func (c *Conn) CloseWrite() error { return c.socket.CloseWrite() }

// Shutdown ends the connection, also where other processes hold copies of the peer's
// end. What has come already can be received, and then comes the end.
func (c *Conn) Shutdown() error {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) {
		unix.Shutdown(int(fd), unix.SHUT_RDWR) // fails where the peer was quicker
	})
}

// CloseDescriptors closes descriptors that came and that no frame took. The reading
// goroutine calls it when it is done.
func (c *Conn) CloseDescriptors() {
	for _, fd := range c.descriptors {
		unix.Close(fd)
	}
	c.descriptors = nil
}
