package wire

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a Unix stream socket. Package net has one, too, but also looks up names of
// hosts, by C where it is built with that: programs that import package headrace need
// no C compiler.
type socket struct {
	file   *os.File
	raw    syscall.RawConn
	closed atomic.Bool

	in     message // one goroutine's
	take   func(fd uintptr) bool
	out    message // guarded by the connection's lock
	handOn func(fd uintptr) bool
}

// message is what one system call takes or gives.
type message struct {
	b, oob  []byte
	n, oobn int
	flags   int
	err     error
}

// newSocket takes over a descriptor, and closes it where that is none of a Unix stream
// socket.
func newSocket(fd int) (*socket, error) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind := 0
	if err == nil {
		kind, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	}
	switch {
	case err == nil && (domain != unix.AF_UNIX || kind != unix.SOCK_STREAM):
		err = fmt.Errorf("is a socket of domain %d and type %d, not a Unix stream", domain, kind)
	case err == nil:
		err = unix.SetNonblock(fd, true) // for Go's poller
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("wire: descriptor %d: %w", fd, err)
	}

	unix.CloseOnExec(fd)
	s := &socket{file: os.NewFile(uintptr(fd), "session")}
	s.raw, err = s.file.SyscallConn()

	s.take = func(fd uintptr) bool {
		for again := true; again; again = s.in.err == unix.EINTR {
			s.in.n, s.in.oobn, s.in.flags, _, s.in.err = unix.Recvmsg(int(fd), s.in.b, s.in.oob, unix.MSG_CMSG_CLOEXEC)
		}
		return s.in.err != unix.EAGAIN
	}
	s.handOn = func(fd uintptr) bool {
		for again := true; again; again = s.out.err == unix.EINTR {
			s.out.n, s.out.err = unix.SendmsgN(int(fd), s.out.b, s.out.oob, nil, 0)
		}
		return s.out.err != unix.EAGAIN
	}

	return s, err
}

// Write writes all of b.
func (s *socket) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	return n, s.known(err)
}

// send writes b with descriptors, or as much of it as there is room for.
func (s *socket) send(b, rights []byte) (int, error) {
	s.out = message{b: b, oob: rights}
	if err := s.raw.Write(s.handOn); err != nil {
		return 0, s.known(err)
	}
	n, err := max(0, s.out.n), s.out.err
	s.out = message{}
	return n, s.known(err)
}

// receive reads what there is.
func (s *socket) receive(b, oob []byte) (n, oobn, flags int, err error) {
	s.in = message{b: b, oob: oob}
	if err := s.raw.Read(s.take); err != nil {
		return 0, 0, 0, s.known(err)
	}
	m := s.in
	s.in = message{}
	return m.n, m.oobn, m.flags, s.known(m.err)
}

// known is os.ErrClosed for what comes of a socket that was closed: the error of the
// poller is nobody's to know.
func (s *socket) known(err error) error {
	if err != nil && s.closed.Load() && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%w: %w", os.ErrClosed, err)
	}
	return err
}

// SyscallConn gives the descriptor to functions.
func (s *socket) SyscallConn() (syscall.RawConn, error) {
	if s.closed.Load() {
		return nil, os.ErrClosed
	}
	return s.raw, nil
}

func (s *socket) SetReadDeadline(t time.Time) error { return s.file.SetReadDeadline(t) }

func (s *socket) CloseWrite() error {
	var err error
	if wrong := s.raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) }); wrong != nil {
		return s.known(wrong)
	}
	return err
}

func (s *socket) Close() error {
	s.closed.Store(true)
	return s.file.Close()
}
