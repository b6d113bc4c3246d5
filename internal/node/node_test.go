package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/node"
)

// here has the test meet others in a folder of its own.
func here(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "place")
	f, err := node.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Use())
	return path
}

const inPlace = "HEADRACE_TEST_PLACE" // set: the test is another process, in this folder

// another starts a process that runs a test of this program in a folder, and waits until
// it says that it is ready.
func another(t *testing.T, test, place string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	c.Env = append(os.Environ(), inPlace+"="+place)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	said := make([]byte, len(ready))
	if _, err := out.Read(said); err != nil || string(said) != ready {
		t.Fatalf("%q, %v", said, err)
	}
	return c
}

const ready = "ready\n"

// meets has another process of a test use the place that it was given; false: it is none.
func meets(t *testing.T) bool {
	place := os.Getenv(inPlace)
	if place == "" {
		return false
	}
	f, err := node.Open(place)
	if err != nil {
		t.Fatal(err)
	}
	f.Use()
	return true
}

// TestMember is the other process of TestAMemberIsKilled.
func TestMember(t *testing.T) {
	if !meets(t) {
		return // it is of the other one
	}
	p := node.Share("host")
	p.Common(0).Store(7)
	p.Mine().Store(30)
	os.Stdout.WriteString(ready)
	time.Sleep(time.Minute)
}

// TestAMemberIsKilled: what it had counts no more, and what all have stays.
func TestAMemberIsKilled(t *testing.T) {
	place := here(t)
	p := node.Share("host")
	defer p.Close()
	if n, sum := p.Others(); n != 0 || sum != 0 {
		t.Errorf("%d others, %d", n, sum)
	}
	c := another(t, "TestMember", place)
	time.Sleep(time.Second + 50*time.Millisecond) // until it is looked for
	if n, sum := p.Others(); n != 1 || sum != 30 || p.Common(0).Load() != 7 {
		t.Errorf("%d others, %d, all: %d", n, sum, p.Common(0).Load())
	}
	c.Process.Kill()
	c.Wait()
	time.Sleep(time.Second + 50*time.Millisecond)
	if n, sum := p.Others(); n != 0 || sum != 0 || p.Common(0).Load() != 7 {
		t.Errorf("after it was killed: %d others, %d, all: %d", n, sum, p.Common(0).Load())
	}
}

// TestPages: each name has its own, and the last one takes it away.
func TestPages(t *testing.T) {
	place := here(t)
	one, two, other := node.Share("a"), node.Share("a"), node.Share("https://user:secret@b")
	one.Mine().Store(1)
	two.Common(3).Store(5)
	if n, sum := two.Others(); n != 1 || sum != 1 || one.Common(3).Load() != 5 || other.Common(3).Load() != 0 {
		t.Errorf("%d others, %d, %d, %d", n, sum, one.Common(3).Load(), other.Common(3).Load())
	}
	files := func() (all []string) {
		filepath.WalkDir(place, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				content, _ := os.ReadFile(path)
				if all = append(all, path); strings.Contains(path+string(content), "secret") {
					t.Errorf("%s has the name", path)
				}
			}
			return err
		})
		return all
	}
	if n := len(files()); n != 2 {
		t.Errorf("%d files", n)
	}
	one.Close()
	two.Close()
	third := node.Share("a")
	if third.Common(3).Load() != 0 {
		t.Error("a page has what was in one that everyone has left")
	}
	third.Close()
	other.Close()
	t.Setenv("XDG_RUNTIME_DIR", filepath.Dir(place))
	if err := os.Rename(place, filepath.Join(filepath.Dir(place), "headrace")); err != nil {
		t.Fatal(err)
	}
	place = filepath.Join(filepath.Dir(place), "headrace")
	if err := os.Chmod(filepath.Dir(place), 0o700); err != nil {
		t.Fatal(err)
	}
	node.Meet()
	last := node.Share("c")
	defer last.Close()
	if n := len(files()); n != 1 {
		t.Errorf("%d files, after those that everyone has left are removed", n)
	}
}

// TestPlacesOfOthers: a folder that others can use is none.
func TestPlacesOfOthers(t *testing.T) {
	dir := t.TempDir()
	for name, mend := range map[string]func(path string) error{
		"can be used by others": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o755)) },
		"is not a folder":       func(path string) error { return os.WriteFile(path, nil, 0o700) },
		"not a folder: remove":  func(path string) error { return os.Symlink(dir, path) },
		"belongs to the user":   func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 1, 1)) },
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := mend(path); err != nil {
			if errors.Is(err, os.ErrPermission) {
				continue // only root can give a folder away
			}
			t.Fatal(err)
		}
		if _, err := node.Open(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := node.Open(filepath.Join(dir, "a", "b")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// work takes a while, and comes to a text.
type work struct {
	takes time.Duration
	fails error
	done  *atomic.Int32
	text  string
}

func (w *work) Do() error {
	time.Sleep(w.takes)
	w.done.Add(1)
	w.text = "done"
	return w.fails
}

func (w *work) Tell(to io.Writer) error {
	_, err := io.WriteString(to, strings.Repeat("told ", 1<<20))
	return err
}

func (w *work) Hear(from io.Reader) error {
	text, err := io.ReadAll(from)
	if len(text) != 5<<20 {
		err = errors.New("it is not all")
	}
	w.text = string(text[:4])
	return err
}

// TestOnce: of those who want it at the same time, one does it.
func TestOnce(t *testing.T) {
	place := here(t)
	var done atomic.Int32
	var told atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			w := &work{takes: 300 * time.Millisecond, done: &done}
			if err := node.Once(t.Context(), "x", w); err != nil {
				t.Error(err)
			}
			if w.text == "told" {
				told.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 || told.Load() != 7 {
		t.Errorf("done %d times, and told %d", done.Load(), told.Load())
	}
	if err := node.Once(t.Context(), "x", &work{done: &done}); err != nil || done.Load() != 2 {
		t.Errorf("later it is not done again: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(place, "turns")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestOnceFails: the others do it themselves.
func TestOnceFails(t *testing.T) {
	here(t)
	failed, err := errors.New("failed"), make(chan error)
	var done atomic.Int32
	go func() {
		err <- node.Once(t.Context(), "x", &work{takes: 100 * time.Millisecond, fails: failed, done: &done})
	}()
	time.Sleep(50 * time.Millisecond)
	if w := (&work{done: &done}); node.Once(t.Context(), "x", w) != nil || w.text != "done" || done.Load() != 2 {
		t.Errorf("%q, done %d times", w.text, done.Load())
	}
	if err := <-err; err != failed {
		t.Error(err)
	}
}

// TestOnceFailsAgain: one of those who wait does it again, and what comes of that is for
// all.
func TestOnceFailsAgain(t *testing.T) {
	here(t)
	var done atomic.Int32
	var all sync.WaitGroup
	errs := make([]error, 8)
	failed := fmt.Errorf("it is %w", fs.ErrPermission)
	for i := range errs {
		all.Go(func() {
			errs[i] = node.Once(t.Context(), "x", &work{takes: 500 * time.Millisecond, fails: failed, done: &done})
		})
	}
	all.Wait()
	others := 0
	for _, err := range errs {
		if other := (*node.OtherError)(nil); errors.As(err, &other) {
			others++
		}
		if !errors.Is(err, fs.ErrPermission) || err.Error() != failed.Error() {
			t.Error(err)
		}
	}
	if done.Load() != 2 || others != 6 {
		t.Errorf("done %d times, and %d took the outcome of others", done.Load(), others)
	}
	if w := (&work{done: &done}); node.Once(t.Context(), "x", w) != nil || w.text != "done" {
		t.Errorf("later it is not done again: %q", w.text)
	}
}

// TestOnceIsCancelled: a process that ends says nothing of the work.
func TestOnceIsCancelled(t *testing.T) {
	here(t)
	var done atomic.Int32
	go node.Once(t.Context(), "x", &work{takes: 100 * time.Millisecond, fails: context.Canceled, done: &done})
	time.Sleep(50 * time.Millisecond)
	if w := (&work{done: &done}); node.Once(t.Context(), "x", w) != nil || w.text != "done" || done.Load() != 2 {
		t.Errorf("%q, done %d times", w.text, done.Load())
	}
}

// TestDoer is the other process of TestOnceIsKilled.
func TestDoer(t *testing.T) {
	if !meets(t) {
		return // it is of the other one
	}
	time.AfterFunc(100*time.Millisecond, func() { os.Stdout.WriteString(ready) })
	node.Once(t.Context(), "x", &work{takes: time.Minute, done: new(atomic.Int32)})
}

// TestOnceIsKilled: who waits takes over, or ends with its context.
func TestOnceIsKilled(t *testing.T) {
	place := here(t)
	c := another(t, "TestDoer", place)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var done atomic.Int32
	if err := node.Once(ctx, "x", &work{done: &done}); !errors.Is(err, context.DeadlineExceeded) || done.Load() != 0 {
		t.Errorf("%v, done %d times", err, done.Load())
	}
	time.AfterFunc(200*time.Millisecond, func() { c.Process.Kill() })
	if w := (&work{done: &done}); node.Once(t.Context(), "x", w) != nil || w.text != "done" {
		t.Errorf("%q", w.text)
	}
}

// TestAlone: without a place, nothing is shared, and all works.
func TestAlone(t *testing.T) {
	one, two := node.Share("a"), node.Share("a")
	one.Common(0).Store(1)
	one.Mine().Store(1)
	if n, sum := two.Others(); n != 0 || sum != 0 || two.Common(0).Load() != 0 {
		t.Errorf("%d others, %d", n, sum)
	}
	one.Close()
	if w := (&work{done: new(atomic.Int32)}); node.Once(t.Context(), "x", w) != nil || w.text != "done" {
		t.Errorf("%q", w.text)
	}
}

// A process shares so many pages: each takes a descriptor, and there may be a page for
// each of thousands of hosts. A page that is closed makes room for another.
func TestPagesOfAProcessAreBounded(t *testing.T) {
	f, err := node.Open(filepath.Join(t.TempDir(), "place"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Use()()
	var all []*node.Page
	meet := func() bool {
		one, other := node.Share("host"), node.Share("host")
		all = append(all, one, other)
		n, _ := other.Others()
		return n > 0
	}
	if !meet() {
		t.Fatal("two members of a page do not see each other")
	}
	for i := range 100 {
		all = append(all, node.Share(strconv.Itoa(i)))
	}
	if meet() {
		t.Error("there are more pages than a process may share")
	}
	for _, p := range all {
		p.Close()
	}
	if all = nil; !meet() {
		t.Error("closed pages make no room")
	}
	for _, p := range all {
		p.Close()
	}
}
