package child

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/leak"
)

// server returns a server that is closed when the test ends.
func server(t *testing.T, i *Interpreter) *Server {
	t.Helper()
	leak.Check(t)
	s := ServerOf(i)
	t.Cleanup(s.Close)
	return s
}

// modules makes modules that Python finds, by their names.
func modules(t *testing.T, i *Interpreter, all map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(folder, name+".py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n, entry := range i.Environment {
		if strings.HasPrefix(entry, "PYTHONPATH=") {
			i.Environment[n] = entry + ":" + folder
		}
	}
}

// prepared makes the server import modules.
func prepared(t *testing.T, s *Server, o Options, modules ...string) {
	t.Helper()
	late := make(chan struct{})
	timer := time.AfterFunc(time.Minute, func() { close(late) })
	defer timer.Stop()
	s.Prepare(late, o, modules)
	select {
	case <-late:
		t.Fatal("the server does not answer")
	default:
	}
}

// forked starts a worker that must be forked from the server.
func forked(t *testing.T, s *Server, o Options) *Child {
	t.Helper()
	var none Starter // a worker that is not forked would need one that is open
	o.Server, o.Python, o.Conns = s, s.python, 2
	c, err := none.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		<-c.Exited()
		c.Close()
	})
	if c.cmd != nil {
		t.Fatal("it was not forked")
	}
	return c
}

// Workers are forked from one process that has imported their modules, once.
func TestFork(t *testing.T) {
	python := python(t)
	modules(t, python, map[string]string{"first": "print('imported first', flush=True)", "second": "print('imported second', flush=True)"})
	var out said
	o := Options{Heap: heapFile(t, "heap"), Tell: out.tell}
	s := server(t, python)
	prepared(t, s, o, "first")
	prepared(t, s, o, "first", "second", "second", "missing_module")
	prepared(t, s, o)

	a, b := forked(t, s, o), forked(t, s, o)
	if a.PID == b.PID || a.PID == s.process.PID || a.PID <= 0 {
		t.Errorf("processes %d and %d, forked from %d", a.PID, b.PID, s.process.PID)
	}
	a.Kill()
	ended(t, a)
	if a.Status().Signal() != syscall.SIGKILL || a.Ending() != "was ended by SIGKILL (killed)" {
		t.Error(a.Ending())
	}

	// One that nobody needs ends by itself.
	for _, conn := range b.Conns {
		conn.CloseWrite()
	}
	ended(t, b)
	if b.Ending() != "ended with status 0" {
		t.Error(b.Ending(), b.LastLines())
	}

	if why := s.Spawns(); why != "" {
		t.Errorf("workers are not forked: %s", why)
	}
	got := map[string]int{}
	for _, l := range out.all() {
		got[l.Message]++
	}
	if got["imported first"] != 1 || got["imported second"] != 1 || len(got) != 2 {
		t.Errorf("it said %v", got)
	}
}

// If an import leaves something that a fork would lose, workers are started one by one.
func TestImportsThatPreventForks(t *testing.T) {
	python := python(t)
	modules(t, python, map[string]string{"threaded": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"})
	s := server(t, python)
	o := Options{Heap: heapFile(t, "heap"), Tell: func(Line) {}, Conns: 2, Server: s, Python: python}
	prepared(t, s, o, "threaded")
	if why := s.Spawns(); !strings.Contains(why, "importing threaded") || !strings.Contains(why, "thread") {
		t.Errorf("the reason is %q", why)
	}
	if _, err := s.fork(o); err != errCannotFork {
		t.Error(err)
	}

	c, err := (&s.starter).Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if c.cmd == nil {
		t.Error("it was forked")
	}
	c.Kill()
	ended(t, c)
	c.Close()
}

// When the server dies, the kernel ends its workers, and no others are forked.
func TestTheServerDies(t *testing.T) {
	s := server(t, python(t))
	o := Options{Heap: heapFile(t, "heap"), Tell: func(Line) {}}
	prepared(t, s, o)
	c := forked(t, s, o)
	unix.Kill(s.process.PID, unix.SIGKILL)
	ended(t, c)
	if c.Status().Signal() != syscall.SIGKILL {
		t.Error(c.Ending())
	}
	o.Conns = 1
	for range 6000 {
		if s.Spawns() != "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := s.fork(o); err != errCannotFork || !strings.Contains(s.Spawns(), "has ended") {
		t.Errorf("%v, because %q", err, s.Spawns())
	}
}

// A server that says something else than it should is not asked again.
func TestServersThatBreakTheProtocol(t *testing.T) {
	for name, c := range map[string]struct{ script, why string }{
		"it ends":           {"raise SystemExit(3)", "the process that forked them has ended"},
		"it sends nonsense": {"import os, time; os.write(6, b'\\xff' * 64); time.sleep(1000)", "the process that forked them has ended"},
		"another message":   {answering(`ERROR, b"no"`), "it said ERROR: no"},
		"no JSON":           {answering(`READY, b"no"`), "it said READY: no"},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, scripted(t, c.script))
			o := Options{Heap: heapFile(t, ""), Tell: func(l Line) { t.Log(l.Message) }}
			prepared(t, s, o, "any")
			if why := s.Spawns(); !strings.Contains(why, c.why) {
				t.Errorf("the reason is %q, want %q", why, c.why)
			}
		})
	}
}

// answering is a server that answers each message in this way.
func answering(answer string) string {
	return `
import os, sys, importlib.util
sys.path.insert(0, [p for p in sys.path if p.endswith("python/src")][0])
for name in [n for n in sys.modules if n.partition(".")[0] == "headrace"]:
    del sys.modules[name]
from headrace._worker.connection import Connection
from headrace._worker.frames import *
connection = Connection(6)
while True:
    connection.receive()
    connection.send(` + answer + `)
`
}

// Users of an interpreter share a server. It ends with the last of them.
func TestServersAreShared(t *testing.T) {
	python := python(t)
	leak.Check(t)
	a, b := ServerOf(python), ServerOf(python)
	other := ServerOf(&Interpreter{Executable: python.Executable})
	if a != b || a == other {
		t.Error("a server is an interpreter's")
	}
	other.Close()
	o := Options{Heap: heapFile(t, ""), Tell: func(Line) {}}
	prepared(t, a, o)
	a.Close()
	select {
	case <-b.process.Exited():
		t.Error("it ended while it was used")
	default:
	}
	b.Close()
	ended(t, b.process)
	if c := ServerOf(python); c == b {
		t.Error("it is used again after its end")
	} else {
		c.Close()
	}
}

// Closing does not wait for an import, and neither does Prepare once it is not wanted.
func TestAnImportThatHangs(t *testing.T) {
	python := python(t)
	modules(t, python, map[string]string{"hangs": "import time\nprint('here', flush=True)\ntime.sleep(1000)"})
	leak.Check(t)
	s := ServerOf(python)
	var out said
	stop := make(chan struct{})
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		s.Prepare(stop, Options{Heap: heapFile(t, ""), Tell: out.tell}, []string{"hangs"})
	}()
	for len(out.all()) == 0 {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	<-returned
	if _, err := s.fork(Options{stop: stop}); err != errCannotFork {
		t.Error(err)
	}
	s.Close()
}
