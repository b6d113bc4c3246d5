package arena

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Limits hold for a process and cannot always be raised again, so each test of one is a
// process of its own.
func TestMemoryRefused(t *testing.T) {
	for _, name := range []string{"descriptors", "filesize", "addresses"} {
		t.Run(name, func(t *testing.T) {
			if err := helper(t, name).Run(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func refuseDescriptors() error {
	return refuse(Options{Slots: 1, SlotBytes: 1 << 20}, unix.RLIMIT_NOFILE, 0, unix.EMFILE, "ulimit -n")
}

func refuseFileSize() error {
	return refuse(Options{Slots: 1, SlotBytes: 2 << 20}, unix.RLIMIT_FSIZE, 1<<20, unix.EFBIG, "ulimit -f")
}

func refuseAddresses() error {
	used, err := addressesInUse()
	if err != nil {
		return err
	}
	// Room for the runtime, none for the slot.
	return refuse(Options{Slots: 1, SlotBytes: 256 << 20}, unix.RLIMIT_AS, used+128<<20, unix.ENOMEM, "ulimit -v")
}

// refuse lowers a limit below what a segment needs, and expects an error that says so
// and leaves nothing; with the limit raised again the same arena works. It does so for
// the pool, and for the unpooled slot after it.
func refuse(o Options, resource int, limit uint64, want error, remedy string) error {
	var before unix.Rlimit
	if err := unix.Getrlimit(resource, &before); err != nil {
		return err
	}
	a, err := New(o)
	if err != nil {
		return err
	}
	defer a.Close()
	for made := range 2 {
		stats, descriptors := a.Stats(), descriptorsInUse()
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: before.Max}); err != nil {
			return err
		}
		_, err := a.Reserve(background)
		if err2 := unix.Setrlimit(resource, &before); err2 != nil {
			return err2
		}
		var refused *RefusedError
		if !errors.As(err, &refused) || !errors.Is(err, ErrMemory) || !errors.Is(err, want) || !strings.Contains(err.Error(), remedy) {
			return fmt.Errorf("refused with %v, want %v and %q", err, want, remedy)
		}
		if Live() != made || a.Stats() != stats || descriptorsInUse() != descriptors {
			return fmt.Errorf("the refusal left something: %d segments, %+v, %d descriptors", Live(), a.Stats(), descriptorsInUse())
		}
		s, err := a.Reserve(background)
		if err != nil {
			return fmt.Errorf("after the limit was raised: %w", err)
		}
		if err := errors.Join(s.Seal(), s.Send()); err != nil {
			return err
		}
		a.SetWaiting(true)
	}
	return nil
}

func descriptorsInUse() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(entries) - 1
}

func addressesInUse() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var pages uint64
	_, err = fmt.Sscan(string(b), &pages)
	return pages * uint64(os.Getpagesize()), err
}

// More than any address space: refused by whatever the system checks first.
func TestMoreThanThereIs(t *testing.T) {
	a := open(t, Options{Slots: 1, SlotBytes: 1 << 50})
	_, err := a.Reserve(t.Context())
	if !errors.Is(err, ErrMemory) {
		t.Fatalf("Reserve: %v", err)
	}
	t.Log(err)
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{Slots: 1},
		{SlotBytes: 1},
		{Slots: -1, SlotBytes: 1},
		{Slots: 1, SlotBytes: -1},
		{Slots: math.MaxInt, SlotBytes: 1},
		{Slots: 1 << 20, SlotBytes: math.MaxInt / 2},
		{Slots: 1, SlotBytes: math.MaxInt},
		{Slots: 1, SlotBytes: 1, HoldLimit: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) succeeded", o)
		}
	}
}

func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		call string
		err  error
		want string
	}{
		{"memfd_create", unix.EMFILE, "ulimit -n"},
		{"memfd_create", unix.ENFILE, "fs.file-max"},
		{"memfd_create", unix.ENOSYS, "seccomp"},
		{"memfd_create", unix.EPERM, "seccomp"},
		{"ftruncate", unix.EFBIG, "ulimit -f"},
		{"ftruncate", unix.ENOMEM, "overcommit"},
		{"mmap", unix.ENOMEM, "ulimit -v"},
	} {
		err := refused(c.call, 1234, c.err)
		for _, want := range []string{"arena: ", "1234 bytes", c.call, c.err.Error(), c.want} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	}
	if text := refused("mmap", 1, unix.EIO).Error(); strings.HasSuffix(text, ": ") {
		t.Errorf("%q", text)
	}
}

func mapAgain(s Segment) ([]byte, error) {
	return unix.Mmap(s.FD, 0, int(s.Bytes), unix.PROT_READ, unix.MAP_SHARED)
}

func unmapAgain(memory []byte) { unix.Munmap(memory) }
