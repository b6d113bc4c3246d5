package serve

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/wire"
)

// leastToken is the shortest token that is taken, in characters: that of 128 bits in
// hexadecimal digits.
const leastToken = 32

// serveShare lets other processes in for as long as the connection lasts.
func (e *engine) serveShare(ctx context.Context, conn *wire.Conn, f wire.Frame) error {
	listener, err := listenAt(f.Descriptor)
	if err != nil {
		return err
	}
	defer listener.Close()

	var asked wire.Share
	if err := parse(f, &asked); err != nil {
		return err
	}
	if len(asked.Token) < leastToken {
		return fmt.Errorf("%w: SHARE with a token of %d characters: must have at least %d", wire.ErrProtocol, len(asked.Token), leastToken)
	}

	var guests sync.WaitGroup
	defer guests.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	guests.Go(func() { e.letIn(ctx, listener, asked.Token, &guests) })

	// The deferred Close above comes after guests.Wait, and letIn ends only with a Close.
	defer listener.Close()

	f, err = conn.Receive()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return refuse(f, "after SHARE")
}

// listenAt takes over a descriptor, and listens there.
func listenAt(fd int) (*net.UnixListener, error) {
	file := os.NewFile(uintptr(fd), "door")
	defer file.Close() // FileListener keeps a duplicate
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("%w: SHARE: %v", wire.ErrProtocol, err)
	}
	listener, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("%w: SHARE with a %s socket, not a Unix one", wire.ErrProtocol, l.Addr().Network())
	}
	listener.SetUnlinkOnClose(false)
	return listener, nil
}

// letIn serves new connections until the listener is closed.
func (e *engine) letIn(ctx context.Context, listener *net.UnixListener, token string, guests *sync.WaitGroup) {
	for {
		socket, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		if err != nil { // the other end has gone already, or there are no descriptors left, which passes
			if !breathe(ctx) {
				return
			}
			continue
		}
		fd, err := ofSameUser(socket)
		socket.Close()
		if err != nil {
			continue
		}
		conn, err := wire.FromDescriptor(fd)
		if err != nil {
			continue
		}
		guests.Go(func() { e.guest(ctx, conn, token) })
	}
}

var errOtherUser = errors.New("serve: another user")

// ofSameUser returns a descriptor of a connection whose other end was opened by a
// process of this one's user.
func ofSameUser(socket *net.UnixConn) (fd int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return -1, err
	}
	var failed error
	err = raw.Control(func(own uintptr) {
		peer, err := unix.GetsockoptUcred(int(own), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil && int(peer.Uid) != os.Geteuid() {
			err = errOtherUser
		}
		if err == nil {
			fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
		}
		failed = err
	})
	return fd, errors.Join(err, failed)
}

// guest serves a process that has connected, if it knows the token.
func (e *engine) guest(ctx context.Context, conn *wire.Conn, token string) {
	defer conn.CloseDescriptors()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err := e.serveGuest(ctx, conn, token)
	if err != nil && !vanished(err) {
		conn.SendJSON(wire.KindError, 0, describe(err))
	}
}

func (e *engine) serveGuest(ctx context.Context, conn *wire.Conn, token string) error {
	f, err := conn.Receive()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.Kind != wire.KindIO {
		return refuse(f, "at a shared socket, where sessions begin with IO")
	}
	var asked wire.IO
	if err := json.Unmarshal(f.Payload, &asked); err != nil || subtle.ConstantTimeCompare([]byte(asked.Token), []byte(token)) != 1 {
		return refuse(f, "with another token than this socket's")
	}
	return e.serveIO(ctx, conn, guestNumber, f)
}

// guestNumber is in the crash page for sessions that its reader did not begin.
const guestNumber = 1<<32 - 1

// breathe waits a moment, and returns false if ctx has ended.
func breathe(ctx context.Context) bool {
	select {
	case <-time.After(100 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
