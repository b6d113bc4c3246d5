package leak

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/arena"
)

// A test that leaves something after fails, and its failure names it; what goes a
// little later is waited for.
func TestCheckFailsTests(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(t *testing.T) (undo func())
		want  string
	}{
		"nothing":    {func(*testing.T) func() { return func() {} }, ""},
		"goroutine":  {leaveGoroutine, "leaveGoroutine"},
		"descriptor": {leaveDescriptor, "1 descriptors of /dev/zero"},
		"socket":     {leavePipe, "2 descriptors of pipe"},
		"process":    {leaveProcess, "1 processes"},
		"segment":    {leaveSegment, "1 segments"},
	} {
		t.Run(name, func(t *testing.T) {
			patience = 50 * time.Millisecond
			defer func() { patience = 10 * time.Second }()
			r := &recorder{TB: t}
			Check(r)
			undo := c.leave(t)
			r.finish()
			undo()
			if (c.want == "") != (r.failures == "") || !strings.Contains(r.failures, c.want) {
				t.Errorf("failed with %q, want %q", r.failures, c.want)
			}
		})
	}
}

func TestCheckWaitsForWhatIsGoing(t *testing.T) {
	r := &recorder{TB: t}
	Check(r)
	undo := leaveDescriptor(t)
	late := time.AfterFunc(100*time.Millisecond, undo)
	defer late.Stop()
	r.finish()
	if r.failures != "" {
		t.Error(r.failures)
	}
}

// recorder is a test that remembers its failures instead of failing, and ends when told.
type recorder struct {
	testing.TB
	cleanups []func()
	failures string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(v ...any)   { r.failures += fmt.Sprintln(v...) }

func (r *recorder) finish() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func leaveGoroutine(*testing.T) func() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		<-stop
		close(stopped)
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

func leaveDescriptor(t *testing.T) func() {
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func leavePipe(t *testing.T) func() {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		r.Close()
		w.Close()
	}
}

func leaveProcess(t *testing.T) func() {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		child.Process.Kill()
		child.Wait()
	}
}

func leaveSegment(t *testing.T) func() {
	a, err := arena.New(arena.Options{Slots: 1, SlotBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() { a.Close() }
}
