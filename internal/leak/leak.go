// Package leak fails tests that leave something after: goroutines, open descriptors,
// child processes, shared memory.
package leak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/arena"
)

// patience is how long something may take to go: tenfold what a busy machine needs.
var patience = 10 * time.Second

// Check notes what there is, and fails the test if there is more after it and all
// cleanups registered later. It does not fit parallel tests, whose belongings it cannot
// tell apart.
func Check(t testing.TB) {
	t.Helper()
	running := goleak.IgnoreCurrent()
	before := count()
	t.Cleanup(func() {
		if err := goleak.Find(running); err != nil {
			t.Error(err)
		}
		var left string
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if left = count().beyond(before); left == "" {
				return
			}
			if time.Now().After(deadline) {
				break
			}
		}
		t.Error("leak: left behind: " + left)
	})
}

// belongings are what a process has; descriptors by what they are open on.
type belongings struct {
	descriptors map[string]int
	children    int
	segments    int
}

func count() belongings {
	b := belongings{descriptors: map[string]int{}, segments: arena.Live()}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil {
			b.descriptors[kind(name)]++
		}
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		b.children += len(strings.Fields(string(children)))
	}
	return b
}

// kind drops the number of "socket:[123]", so that another socket is one more of them.
func kind(name string) string {
	if i := strings.Index(name, ":["); i > 0 && !strings.HasPrefix(name, "/") {
		return name[:i]
	}
	return name
}

// beyond says what b has more than a.
func (b belongings) beyond(a belongings) string {
	var more []string
	for name, n := range b.descriptors {
		// The runtime's poller opens its own at the first use, and keeps them.
		if extra := n - a.descriptors[name]; extra > 0 && name != "anon_inode:[eventpoll]" && name != "anon_inode:[eventfd]" {
			more = append(more, fmt.Sprintf("%d descriptors of %s", extra, name))
		}
	}
	if extra := b.children - a.children; extra > 0 {
		more = append(more, fmt.Sprintf("%d processes", extra))
	}
	if extra := b.segments - a.segments; extra > 0 {
		more = append(more, fmt.Sprintf("%d segments", extra))
	}
	return strings.Join(more, ", ")
}
