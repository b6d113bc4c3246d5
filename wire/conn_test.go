package wire

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/leak"
)

// pair returns both ends of a session.
func pair(t testing.TB) (*Conn, *Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*Conn
	for i, fd := range fds {
		if ends[i], err = FromDescriptor(fd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

func TestFramesArriveWholeAndInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := pair(t)
		defer a.Close()
		defer b.Close()
		payloads := rapid.SliceOf(rapid.Custom(func(r *rapid.T) []byte {
			return bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(r, "bytes"),
				rapid.SampledFrom([]int{0, 1, 1000, 40_000}).Draw(r, "times"))
		})).Draw(r, "payloads")
		go func() {
			for i, p := range payloads {
				if err := a.Send(KindNext, uint32(i), p); err != nil {
					t.Error(err)
				}
			}
			a.Close()
		}()
		for i, p := range payloads {
			f, err := b.Receive()
			if err != nil {
				r.Fatalf("frame %d: %v", i, err)
			}
			if f.Kind != KindNext || f.Stream != uint32(i) || !bytes.Equal(f.Payload, p) || f.Descriptor != -1 {
				r.Fatalf("frame %d: got %v of stream %d with %d bytes", i, f.Kind, f.Stream, len(f.Payload))
			}
		}
		if _, err := b.Receive(); err != io.EOF {
			r.Fatalf("after the last frame: %v, expected io.EOF", err)
		}
	})
}

func TestManySendersNeverTearAFrame(t *testing.T) {
	a, b := pair(t)
	var senders sync.WaitGroup
	for i := range byte(8) {
		senders.Go(func() {
			for range 100 {
				if err := a.Send(KindNext, 0, bytes.Repeat([]byte{i}, 3000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { senders.Wait(); a.Close() }()
	got := 0
	for {
		f, err := b.Receive()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Payload, bytes.Repeat(f.Payload[:1], 3000)) {
			t.Fatal("a frame holds bytes of two senders")
		}
		got++
	}
	if got != 800 {
		t.Fatalf("%d frames arrived of 800", got)
	}
}

func TestDescriptorsTravelWithTheirFrames(t *testing.T) {
	a, b := pair(t)
	for i := range 3 {
		file, err := os.CreateTemp(t.TempDir(), "segment")
		if err != nil {
			t.Fatal(err)
		}
		file.WriteString(strings.Repeat("x", i+1))
		if err := a.Send(KindSegment, 1, AppendSegment(nil, Segment{ID: uint32(i)}), int(file.Fd())); err != nil {
			t.Fatal(err)
		}
		if err := a.Send(KindNote, 1, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	for i := range 3 {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(f.Descriptor, &stat); err != nil || stat.Size != int64(i+1) {
			t.Fatalf("segment %d: descriptor %d of size %d: %v", i, f.Descriptor, stat.Size, err)
		}
		if flags, _ := unix.FcntlInt(uintptr(f.Descriptor), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
			t.Fatal("a received descriptor would leak into programs that are started")
		}
		unix.Close(f.Descriptor)
		if f, err = b.Receive(); err != nil || f.Kind != KindNote {
			t.Fatalf("%v %v", f.Kind, err)
		}
	}
}

func TestBrokenStreamsAreRefused(t *testing.T) {
	good := AppendHeader(nil, Header{Kind: KindNote, Length: 2})
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"cut in the header":  {good[:7], io.ErrUnexpectedEOF},
		"cut in the payload": {append(bytes.Clone(good), '{'), io.ErrUnexpectedEOF},
		"unknown kind":       {AppendHeader(nil, Header{Kind: 99}), ErrProtocol},
		"too long":           {AppendHeader(nil, Header{Kind: KindNote, Length: MaxPayload + 1}), ErrProtocol},
		"number skipped":     {AppendHeader(nil, Header{Kind: KindNote, Seq: 1}), ErrProtocol},
		"no descriptor":      {AppendHeader(nil, Header{Kind: KindSession}), ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			a.socket.Write(c.bytes)
			a.Close()
			if _, err := b.Receive(); !errors.Is(err, c.want) {
				t.Fatalf("got %v, expected %v", err, c.want)
			}
		})
	}
}

func TestALongLengthTakesNoMemoryBeforeItsBytesCome(t *testing.T) {
	a, b := pair(t)
	a.socket.Write(AppendHeader(nil, Header{Kind: KindNote, Length: MaxPayload}))
	a.Close()
	if _, err := b.Receive(); !errors.Is(err, ErrGone) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if err := b.Send(KindNote, 0, nil); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if cap(b.buf) > 1<<20 {
		t.Fatalf("%d bytes were set aside on the word of the peer", cap(b.buf))
	}
}

func TestALargeFrameLeavesNoLargeBuffer(t *testing.T) {
	a, b := pair(t)
	for _, want := range []int{8 << 20, 0, 100} {
		go a.Send(KindOpen, 0, make([]byte, want))
		f, err := b.Receive()
		if err != nil || len(f.Payload) != want {
			t.Fatalf("%d bytes, expected %d: %v", len(f.Payload), want, err)
		}
	}
	if cap(b.buf) > keptSize {
		t.Fatalf("%d bytes are kept after a small frame", cap(b.buf))
	}
}

// Descriptors that no frame names would pile up in the process that receives them.
func TestDescriptorsThatNoFrameNamesEndTheConnection(t *testing.T) {
	leak.Check(t)
	a, b := pair(t)
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	raw, err := a.socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		raw.Write(func(fd uintptr) bool {
			err = unix.Sendmsg(int(fd), AppendHeader(nil, Header{Kind: KindStats, Seq: uint32(i)}), unix.UnixRights(int(file.Fd())), nil, 0)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 40 {
		if _, err = b.Receive(); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrProtocol) {
		t.Fatalf("%v", err)
	}
	b.CloseDescriptors()
}

func TestAHangupIsSeenBehindUnreadFrames(t *testing.T) {
	leak.Check(t)
	a, b := pair(t)
	gone := make(chan struct{})
	stop := b.WatchHangup(func() { close(gone) })
	if err := a.Send(KindNote, 0, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
		t.Fatal("a frame was taken for the end")
	case <-time.After(20 * time.Millisecond):
	}
	a.Close()
	<-gone
	stop()
	if f, err := b.Receive(); err != nil || f.Kind != KindNote {
		t.Fatalf("%v %v", f.Kind, err)
	}
	if _, err := b.Receive(); err != io.EOF {
		t.Fatal(err)
	}
}

func TestAConnectionGoesOnAfterItWasWatched(t *testing.T) {
	leak.Check(t)
	a, b := pair(t)
	for i := range 20 {
		stop := b.WatchHangup(func() { t.Error("the peer is there") })
		sent := make(chan error)
		go func() { sent <- a.Send(KindNote, uint32(i), []byte("{}")) }()
		stop()
		if f, err := b.Receive(); err != nil || f.Stream != uint32(i) {
			t.Fatalf("%v %v", f, err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	gone := false
	b.WatchHangup(func() { gone = true })()
	if !gone {
		t.Fatal("a closed connection was waited for")
	}
}

func TestSendRefusesWhatTheProtocolDoesNotAllow(t *testing.T) {
	a, _ := pair(t)
	if err := a.Send(KindSession, 0, nil); err == nil {
		t.Fatal("SESSION without a descriptor was sent")
	}
	if err := a.Send(KindNote, 0, nil, 0); err == nil {
		t.Fatal("NOTE with a descriptor was sent")
	}
}

func TestFromDescriptorRefusesWhatIsNoUnixSocket(t *testing.T) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(p[1])
	if _, err := FromDescriptor(p[0]); err == nil {
		t.Fatal("a pipe was taken for a connection")
	}
}

func TestCloseWakesReceive(t *testing.T) {
	a, _ := pair(t)
	done := make(chan error, 1)
	go func() { _, err := a.Receive(); done <- err }()
	a.Close()
	if err := <-done; err == nil {
		t.Fatal("Receive returned a frame from a closed connection")
	}
}

func TestAPayloadInTwoParts(t *testing.T) {
	leak.Check(t)
	a, b := pair(t)
	for _, parts := range [][2]string{{"head", "rest"}, {"", "rest"}, {"head", ""}, {"", ""}} {
		if err := a.SendParts(KindPack, 0, []byte(parts[0]), []byte(parts[1])); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Receive(); err != nil || string(f.Payload) != parts[0]+parts[1] {
			t.Errorf("%q, %v", f.Payload, err)
		}
	}
	if err := a.SendParts(KindPack, 0, make([]byte, MaxPayload), []byte{1}); err == nil {
		t.Error("a payload that is too large was sent")
	}
}

// After CloseWrite the peer reads the end, and what it sends arrives.
func TestCloseWriteLeavesTheOtherDirection(t *testing.T) {
	leak.Check(t)
	a, b := pair(t)
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Receive(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := b.Send(KindResults, 0, []byte("last")); err != nil {
		t.Fatal(err)
	}
	if f, err := a.Receive(); err != nil || string(f.Payload) != "last" {
		t.Errorf("%q, %v", f.Payload, err)
	}
}

// After Shutdown what has come can be read, and then comes the end, though somebody
// still holds the other end.
func TestShutdownKeepsWhatHasCome(t *testing.T) {
	leak.Check(t)
	a, b := pair(t)
	for range 3 {
		if err := b.Send(KindResults, 0, []byte("last")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Shutdown(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if f, err := a.Receive(); err != nil || string(f.Payload) != "last" {
			t.Fatalf("%q, %v", f.Payload, err)
		}
	}
	if _, err := a.Receive(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	a.Close()
	if err := a.Shutdown(); err == nil {
		t.Error("a connection that is closed was shut down")
	}
}
