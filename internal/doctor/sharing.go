package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/wire"
)

const system = "system"

func (e *examiner) system() {
	release := strings.TrimSpace(e.read("proc/sys/kernel/osrelease"))
	if release == "" {
		release = "unknown"
	}
	f := Finding{Topic: system, Name: "Linux", Fact: release, Value: release}
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && (major < 5 || major == 5 && minor < 3) {
		f.Status, f.Advice = Low, "the engine of a Python program needs Linux 5.3 or newer, to notice when that program is gone"
	}
	e.add(f)
}

// few descriptors are enough for a loader, but not for a program with several.
const few = 256

func (e *examiner) descriptors() {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return
	}
	f := Finding{Topic: system, Name: "open files", Fact: fmt.Sprintf("%d at once", r.Cur), Value: r.Cur}
	if r.Cur < few {
		f.Status, f.Advice = Low, "a loader reads up to 32 files at once, and has sockets and memory open besides: "+
			"ulimit -n 4096, or docker run --ulimit nofile=4096"
	}
	e.add(f)
}

// fewThreads are fewer than a loader, its workers and whatever else its user runs may
// need together.
const fewThreads = 512

// processes looks at the limit of threads and processes of a user, which the kernel
// does not apply to root.
func (e *examiner) processes() {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &r); err != nil || r.Cur >= fewThreads {
		return
	}
	e.add(Finding{Topic: system, Name: "processes", Status: Low,
		Fact: fmt.Sprintf("limited to %d, threads included, for all that this user runs", r.Cur), Value: r.Cur,
		Advice: "the engine starts a thread for each core and for each file it waits for: ulimit -u 4096"})
}

// limits are those that are rarely set, and surprise where they are.
func (e *examiner) limits() {
	for _, l := range []struct {
		name, command string
		resource      int
	}{{"file size", "ulimit -f unlimited", unix.RLIMIT_FSIZE}, {"addresses", "ulimit -v unlimited", unix.RLIMIT_AS}} {
		var r unix.Rlimit
		if err := unix.Getrlimit(l.resource, &r); err == nil && r.Cur != unix.RLIM_INFINITY {
			e.add(Finding{Topic: system, Name: l.name, Status: Low, Fact: "limited to " +
				bytesize.Text(int64(min(r.Cur, 1<<62))), Value: r.Cur,
				Advice: "batches are in shared memory, which the limit counts too: " + l.command})
		}
	}
}

// sharing goes the way of a batch to another process: memory is made, sealed, filled,
// sent over a socket, mapped and read.
func (e *examiner) sharing() {
	f := Finding{Topic: system, Name: "shared memory", Essential: true, Fact: "made, sealed, and passed over a socket"}
	if err := share(); err != nil {
		f.Status, f.Fact = Missing, err.Error()
		f.Advice = "batches reach a program through memfd_create and Unix sockets: a seccomp profile or a limit forbids them here"
		if errors.Is(err, unix.EMFILE) {
			f.Advice = "there are too few descriptors: ulimit -n 4096"
		}
	}
	e.add(f)
}

func share() (err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socketpair: %w", err)
	}

	var ends [2]*wire.Conn
	for i, fd := range fds {
		if ends[i], err = wire.FromDescriptor(fd); err != nil {
			if i == 0 {
				unix.Close(fds[1])
			}
			return err
		}
		defer ends[i].CloseDescriptors()
		defer ends[i].Close()
	}

	said := []byte("headrace doctor")
	a, err := arena.New(arena.Options{Slots: 1, SlotBytes: len(said), Announce: func(s arena.Segment) error {
		return ends[0].Send(wire.KindSegment, 0,
			wire.AppendSegment(nil, wire.Segment{ID: s.ID, Slots: uint32(s.Slots), SlotBytes: uint64(s.SlotBytes),
				Bytes: uint64(s.Bytes)}), s.FD)
	}})
	if err != nil {
		return err
	}
	defer a.Close()

	slot, err := a.Reserve(context.Background())
	if err != nil {
		return err
	}
	defer slot.Drop()
	copy(slot.Bytes(), said)

	got, err := receive(ends[1], len(said))
	if err == nil && !bytes.Equal(got, said) {
		err = errors.New("memory that was passed over a socket has other contents at the other end")
	}
	return err
}

// receive maps memory that comes over a socket, looks at its seals, and reads its first
// n bytes.
func receive(c *wire.Conn, n int) ([]byte, error) {
	frame, err := c.Receive()
	if err != nil {
		return nil, err
	}
	defer unix.Close(frame.Descriptor)
	seals, err := unix.FcntlInt(uintptr(frame.Descriptor), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("F_GET_SEALS: %w", err)
	}
	if seals&unix.F_SEAL_SHRINK == 0 {
		return nil, errors.New("memory that was sealed has lost its seal")
	}
	memory, err := unix.Mmap(frame.Descriptor, 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	defer unix.Munmap(memory)
	return bytes.Clone(memory), nil
}

// watching asks for what the engine notices the end of its program by.
func (e *examiner) watching() {
	f := Finding{Topic: system, Name: "pidfd", Essential: true, Fact: "the engine sees when its program ends"}
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		f.Status, f.Fact = Missing, fmt.Sprintf("pidfd_open: %v", err)
		f.Advice = "the engine would outlive a Python program that is killed, so it does not start: " +
			"Linux 5.3 has it, unless a seccomp profile forbids it (docker 20.10 or newer allows it)"
	} else {
		unix.Close(fd)
	}
	e.add(f)
}

// shm says that nobody has to care.
func (e *examiner) shm() {
	var s unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &s); err != nil {
		return
	}
	e.add(Finding{Topic: system, Name: "/dev/shm", Fact: bytesize.Text(int64(s.Blocks)*s.Bsize) +
		", which is not used: docker needs no --shm-size"})
}
