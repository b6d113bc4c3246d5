package arena

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperVariable names the helper that the test binary, started once more, is to be
// instead of running tests.
const helperVariable = "HEADRACE_ARENA_TEST_HELPER"

// helpers are the programs that tests run in another process.
var helpers = map[string]func() error{
	"consumer":    consume,
	"descriptors": refuseDescriptors,
	"filesize":    refuseFileSize,
	"addresses":   refuseAddresses,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		if err := helpers[name](); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// leaveNothing fails the test where it ends with more segments or descriptors than it
// began with.
func leaveNothing(t testing.TB) {
	t.Helper()
	segments, descriptors := Live(), openDescriptors(t)
	t.Cleanup(func() {
		if n := Live(); n != segments {
			t.Errorf("%d segments are mapped, %d before the test", n, segments)
		}
		if n := openDescriptors(t); n != descriptors {
			t.Errorf("%d descriptors are open, %d before the test", n, descriptors)
		}
	})
}

func openDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) - 1 // the folder's own
}

// open returns an arena that is closed when the test ends.
func open(t testing.TB, o Options) *Arena {
	t.Helper()
	leaveNothing(t)
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func reserve(t testing.TB, a *Arena) *Slot {
	t.Helper()
	s, err := a.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func do(t testing.TB, verbs ...func() error) {
	t.Helper()
	for i, verb := range verbs {
		if err := verb(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
}
