package arena

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A consumer in another process maps the segment that it was sent, sees what was
// written here, and writes what is seen here. It cannot take the memory away under us,
// and neither can its death, nor our closing take it away under it.
func TestAnotherProcess(t *testing.T) {
	leaveNothing(t)
	consumer := startConsumer(t)
	a, err := New(Options{Slots: 2, SlotBytes: 10_000, Announce: consumer.announce})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		a.SetWaiting(true)
		s := reserve(t, a)
		memory := s.Bytes()
		fillWith(memory, byte(round))
		do(t, s.Seal, s.Send)
		consumer.tell(fmt.Sprintf("read %d %d %d %d", s.Segment(), s.Index(), len(memory), round))
		consumer.hear("read")
		if want := bytes.Repeat([]byte{^byte(round)}, len(memory)); !bytes.Equal(memory, want) {
			t.Fatalf("round %d: what the consumer wrote is not here", round)
		}
		if round%2 == 0 { // otherwise it keeps the batch
			do(t, func() error { return a.Release(s.Segment(), s.Index()) })
		}
	}
	if s := a.Stats(); s.Leased != 3 || s.Unpooled != 1 {
		t.Fatalf("%+v", s)
	}
	consumer.tell("attack")
	consumer.hear("sealed")

	do(t, a.Close)
	consumer.tell("reread")
	consumer.hear("still there")
	consumer.kill()
}

// A consumer that is killed while it holds everything leaves nothing after, and its
// death is nothing to our mappings.
func TestKilledConsumer(t *testing.T) {
	leaveNothing(t)
	consumer := startConsumer(t)
	a, err := New(Options{Slots: 2, SlotBytes: 4096, Announce: consumer.announce})
	if err != nil {
		t.Fatal(err)
	}
	var memories [][]byte
	for range 5 {
		a.SetWaiting(true)
		s := reserve(t, a)
		memories = append(memories, s.Bytes())
		do(t, s.Seal, s.Send)
		consumer.tell(fmt.Sprintf("read %d %d 4096 0", s.Segment(), s.Index()))
		consumer.hear("read")
	}
	consumer.kill()
	for _, m := range memories {
		fillWith(m, 7)
	}
	do(t, a.Close)
}

// peer is the helper process, and the socket to it.
type peer struct {
	t      *testing.T
	socket int
	cmd    *exec.Cmd
}

func startConsumer(t *testing.T) *peer {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	cmd := helper(t, "consumer")
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, socket: pair[0], cmd: cmd}
	t.Cleanup(func() {
		p.kill()
		unix.Close(p.socket)
	})
	return p
}

// helper is the command that starts this test binary as one of the helpers.
func helper(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func (p *peer) kill() {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
}

func (p *peer) announce(s Segment) error {
	text := fmt.Sprintf("map %d %d %d", s.ID, s.SlotBytes, s.Bytes)
	return unix.Sendmsg(p.socket, []byte(text), unix.UnixRights(s.FD), nil, 0)
}

func (p *peer) tell(text string) {
	p.t.Helper()
	if err := unix.Sendmsg(p.socket, []byte(text), nil, nil, 0); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) hear(want string) {
	p.t.Helper()
	got := make([]byte, 1000)
	n, err := unix.Read(p.socket, got)
	if err != nil || string(got[:n]) != want {
		p.t.Fatalf("the consumer said %q, %v, want %q", got[:n], err, want)
	}
}

// consume is the helper: it does what it is reported until it is killed.
func consume() error {
	c := consumer{segments: map[uint32]mapped{}}
	buf, oob := make([]byte, 1000), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(3, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err != nil || n == 0 {
			return err
		}
		reply, err := c.obey(string(buf[:n]), oob[:oobn])
		if err != nil {
			reply = err.Error()
		}
		if reply != "" {
			if _, err := unix.Write(3, []byte(reply)); err != nil {
				return err
			}
		}
	}
}

type consumer struct {
	segments map[uint32]mapped
	last     []byte
}

type mapped struct {
	fd     int
	memory []byte
	stride int
}

func (c *consumer) obey(order string, oob []byte) (reply string, err error) {
	var segment uint32
	var index, round, size int
	var m mapped
	switch {
	case order == "attack":
		return "sealed", c.attack()
	case order == "reread":
		for _, b := range c.last {
			if b != c.last[0] {
				return "", errors.New("the memory changed")
			}
		}
		return "still there", nil
	case scan(order, "map %d %d %d", &segment, &m.stride, &size):
		m.fd, m.memory, err = mapReceived(oob, size)
		c.segments[segment] = m
		return "", err
	case scan(order, "read %d %d %d %d", &segment, &index, &size, &round):
		m := c.segments[segment]
		c.last = m.memory[index*m.stride:][:size]
		for i, b := range c.last {
			if b != byte(round) {
				return "", fmt.Errorf("byte %d is %d, want %d", i, b, round)
			}
			c.last[i] = ^b
		}
		return "read", nil
	}
	return "", fmt.Errorf("unknown order %q", order)
}

func scan(text, format string, to ...any) bool {
	n, err := fmt.Sscanf(text, format, to...)
	return err == nil && n == len(to)
}

func mapReceived(oob []byte, size int) (fd int, memory []byte, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return -1, nil, fmt.Errorf("%d control messages, %v", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, nil, fmt.Errorf("descriptors %v, %v", fds, err)
	}
	var s unix.Stat_t
	if err := unix.Fstat(fds[0], &s); err != nil || s.Size != int64(size) {
		return -1, nil, fmt.Errorf("the memfd has %d bytes, announced were %d: %v", s.Size, size, err)
	}
	memory, err = unix.Mmap(fds[0], 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return fds[0], memory, err
}

// attack tries what the seals forbid.
func (c *consumer) attack() error {
	for id, m := range c.segments {
		seals, err := unix.FcntlInt(uintptr(m.fd), unix.F_GET_SEALS, 0)
		const wanted = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
		if err != nil || seals&wanted != wanted {
			return fmt.Errorf("segment %d has seals %#x, %v", id, seals, err)
		}
		for _, size := range []int64{0, int64(len(m.memory)) - 1, int64(len(m.memory)) + 1} {
			if err := unix.Ftruncate(m.fd, size); !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("segment %d cut to %d bytes: %v", id, size, err)
			}
		}
		if err := unix.Fallocate(m.fd, 0, int64(len(m.memory)), 4096); !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("segment %d grown: %v", id, err)
		}
		if _, err := unix.FcntlInt(uintptr(m.fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("segment %d sealed further: %v", id, err)
		}
		if seals&unix.F_SEAL_EXEC != 0 {
			if err := unix.Fchmod(m.fd, 0o777); !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("segment %d made executable: %v", id, err)
			}
		}
	}
	return nil
}

func fillWith(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}
