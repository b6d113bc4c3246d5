package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/wire"
)

// patience is ten times what the engine promises, for machines that are busy.
const patience = 10 * time.Second

// parentVariable makes this test binary a client that starts an engine, says which
// process that is, and then does nothing.
const parentVariable = "HEADRACE_TEST_PARENT"

func TestMain(m *testing.M) {
	if engine := os.Getenv(parentVariable); engine != "" {
		beParent(engine)
	}
	if folder := os.Getenv(toyVariable); folder != "" {
		beToy(folder)
	}
	code := m.Run()
	if built.folder != "" {
		os.RemoveAll(built.folder)
	}
	os.Exit(code)
}

// beParent starts the engine on descriptor 3, which the test holds the other end of. It
// never closes anything.
func beParent(engine string) {
	signal.Ignore(syscall.SIGINT)
	delay := os.Getenv("HEADRACE_TEST_DELAY")
	c := exec.Command("sh", "-c", delay+`exec "$0" serve --fd 3`, engine)
	c.ExtraFiles = []*os.File{os.NewFile(3, "control")}
	if delay == "" {
		c.Stderr = os.Stderr
	}
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Process.Pid)
	for { // not select {}: a program without C takes that for a deadlock, and ends
		time.Sleep(time.Hour)
	}
}

var built struct {
	once   sync.Once
	folder string
	err    error
}

// program is the command, built once.
func program(t *testing.T) string {
	t.Helper()
	tier.StartsProcesses(t)
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "headrace"); built.err != nil {
			return
		}
		c := exec.Command("go", "build", "-o", filepath.Join(built.folder, "headrace"), ".")
		c.Env = append(os.Environ(), "CGO_ENABLED=0") // what decodes has no part in this
		if out, err := c.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.folder, "headrace")
}

// socketPair is a connection and the file of its other end.
func socketPair(t *testing.T) (*wire.Conn, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "socket")
	conn, err := wire.FromDescriptor(fds[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		conn.CloseDescriptors()
		theirs.Close()
	})
	return conn, theirs
}

// phase is how far a client has come with an engine when something ends.
type phase struct {
	name  string
	reach func(t *testing.T, control *wire.Conn, pid int)
}

func phases(t *testing.T) []phase {
	root := phototest.Folder(t, 60)
	endless := t.TempDir() // two ways from each folder to the next
	for i := range 40 {
		dir := filepath.Join(endless, fmt.Sprint(i))
		os.Mkdir(dir, 0o755)
		for _, name := range []string{"a", "b"} {
			os.Symlink(fmt.Sprintf("../%d", i+1), filepath.Join(dir, name))
		}
	}
	os.Mkdir(filepath.Join(endless, "40"), 0o755)
	long := root + "/" + strings.Repeat("./", 100) + "class0/000.jpg"
	return []phase{
		{"before HELLO", func(*testing.T, *wire.Conn, int) {}},
		{"after HELLO", hello},
		{"after SESSION", func(t *testing.T, control *wire.Conn, pid int) { hello(t, control, pid); connect(t, control) }},
		{"while it lists", func(t *testing.T, control *wire.Conn, pid int) {
			hello(t, control, pid)
			send(t, connect(t, control), wire.KindOpen, 1, open(fmt.Sprintf(`"pattern":%q`, endless+"/0")))
		}},
		{"in mid-epoch", func(t *testing.T, control *wire.Conn, pid int) {
			hello(t, control, pid)
			s := connect(t, control)
			send(t, s, wire.KindOpen, 1, open(fmt.Sprintf(`"pattern":%q`, root)))
			await(t, s, wire.KindBatch)
			if err := s.Send(wire.KindNext, 1, wire.AppendNext(nil, wire.Next{Taken: 1})); err != nil {
				t.Fatal(err)
			}
		}},
		{"while nobody reads", func(t *testing.T, control *wire.Conn, pid int) {
			hello(t, control, pid)
			s := connect(t, control)
			paths, _ := json.Marshal(strings.Split(strings.Repeat(long+" ", 3000)+long, " "))
			send(t, s, wire.KindOpen, 1, open(`"paths":`+string(paths)))
			time.Sleep(300 * time.Millisecond) // until it waits for room in the socket
		}},
		{"while it begins elsewhere", func(t *testing.T, control *wire.Conn, pid int) {
			hello(t, control, pid)
			s := connect(t, control)
			send(t, s, wire.KindOpen, 1, open(fmt.Sprintf(`"pattern":%q`, root)))
			for stream := range uint32(50) {
				send(t, s, wire.KindStart, 2+stream, wire.Start{SerialUntil: &wire.Until{Positions: map[string]int64{"files": 30}}})
			}
		}},
	}
}

func open(source string) wire.Open {
	return wire.Open{Config: json.RawMessage(`{"prefetch":3}`), Recipe: json.RawMessage(fmt.Sprintf(`{"headrace":1,"steps":[{"files":{%s,"root":"/"}},
		"decode_image",{"center_crop":{"size":8}},{"batch":{"size":16}}]}`, source))}
}

func hello(t *testing.T, control *wire.Conn, pid int) {
	t.Helper()
	send(t, control, wire.KindHello, 0, wire.Hello{Protocol: wire.Version, PID: pid})
	await(t, control, wire.KindHello)
}

func connect(t *testing.T, control *wire.Conn) *wire.Conn {
	t.Helper()
	ours, theirs := socketPair(t)
	if err := control.Send(wire.KindSession, 0, nil, int(theirs.Fd())); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	return ours
}

func send(t *testing.T, c *wire.Conn, kind wire.Kind, stream uint32, v any) {
	t.Helper()
	if err := c.SendJSON(kind, stream, v); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, c *wire.Conn, kind wire.Kind) {
	t.Helper()
	for {
		f, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f.Descriptor >= 0 {
			unix.Close(f.Descriptor)
		}
		if f.Kind == wire.KindError {
			t.Fatalf("%s", f.Payload)
		}
		if f.Kind == kind {
			return
		}
	}
}

// The engine of a client that is killed is gone, whatever it was doing, also while
// other processes hold the other ends of its sockets, as forked children of the client
// would: here, the test does.
func TestTheEngineGoesWithItsParent(t *testing.T) {
	leak.Check(t)
	for _, p := range phases(t) {
		t.Run(p.name, func(t *testing.T) {
			parent, engine, control := startByParent(t, "")
			p.reach(t, control, parent.Process.Pid)
			parent.Process.Kill()
			parent.Wait()
			engine.gone(t)
		})
	}
}

// A parent may be killed before its engine is there to see it. The engine then has
// another parent, and HELLO says whose it was.
func TestAnEngineWhoseParentIsGoneAlreadyEnds(t *testing.T) {
	leak.Check(t)
	parent, engine, control := startByParent(t, "sleep 0.3; ")
	send(t, control, wire.KindHello, 0, wire.Hello{Protocol: wire.Version, PID: parent.Process.Pid})
	parent.Process.Kill()
	parent.Wait()
	engine.gone(t)
}

// startByParent starts a client that starts an engine. The control connection's other
// end is ours.
func startByParent(t *testing.T, delay string) (parent *exec.Cmd, engine process, control *wire.Conn) {
	t.Helper()
	control, theirs := socketPair(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent = exec.Command(self)
	parent.Env = append(os.Environ(), parentVariable+"="+program(t), "HEADRACE_TEST_DELAY="+delay)
	parent.ExtraFiles = []*os.File{theirs}
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		parent.Process.Kill()
		parent.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	fmt.Sscan(line, &pid)
	engine = watched(t, pid)
	if delay == "" {
		engine.watches(t)
	}
	return parent, engine, control
}

// process is one that need not be our child.
type process struct{ pid, pidfd int }

func watched(t *testing.T, pid int) process {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := process{pid, fd}
	t.Cleanup(func() {
		if !p.ended(0) {
			unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			t.Errorf("process %d was left behind", pid)
		}
		unix.Close(fd)
	})
	return p
}

func (p process) ended(within time.Duration) bool {
	for deadline := time.Now().Add(within); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}, int(max(0, time.Until(deadline)).Milliseconds()))
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// watches waits until an engine has begun to watch its parent.
func (p process) watches(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
		for _, l := range links {
			if name, _ := os.Readlink(l); name == "anon_inode:[pidfd]" || strings.HasPrefix(name, "pidfd:") {
				return
			}
		}
	}
	t.Fatalf("process %d does not watch its parent", p.pid)
}

func (p process) gone(t *testing.T) {
	t.Helper()
	if !p.ended(patience) {
		t.Errorf("the engine, process %d, still runs %v after its parent", p.pid, patience)
	}
}

// An engine ends in good order when its client lets go of all connections, is deaf to
// the signals that a terminal or a scheduler sends to the whole group, and leaves
// nothing after when it is killed; at any moment.
func TestTheEndOfAnEngine(t *testing.T) {
	leak.Check(t)
	for _, p := range phases(t) {
		t.Run(p.name, func(t *testing.T) { endOfAnEngine(t, p, (*exec.Cmd).Wait) })
		t.Run(p.name+", killed", func(t *testing.T) {
			endOfAnEngine(t, p, func(engine *exec.Cmd) error {
				engine.Process.Kill()
				engine.Wait()
				return nil
			})
		})
	}
}

func endOfAnEngine(t *testing.T, p phase, end func(*exec.Cmd) error) {
	control, theirs := socketPair(t)
	var words strings.Builder
	engine := exec.Command(program(t), "serve", "--fd", "3")
	engine.ExtraFiles = []*os.File{theirs}
	engine.Stderr = &words
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	late := time.AfterFunc(patience, func() {
		t.Error("the engine does not end")
		engine.Process.Kill()
	})
	defer late.Stop()
	t.Run("client", func(t *testing.T) { // its sessions end with it
		p.reach(t, control, os.Getpid())
		if p.name == "before HELLO" {
			return // it may not be deaf yet
		}
		for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM} {
			engine.Process.Signal(s)
		}
		answers(t, control)
	})
	control.Close()
	if err := end(engine); err != nil || words.Len() > 0 {
		t.Errorf("%v, and its last words are %q", err, words.String())
	}
}

// An engine whose parent ended before it could look is somebody else's child by then: a
// fork may hold the sockets open for ever.
func TestParentThatEndedBefore(t *testing.T) {
	control, theirs := socketPair(t)
	defer control.Close()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	gone := ended.Process.Pid
	engine := exec.Command(program(t), "serve", "--fd", "3", "--parent", strconv.Itoa(gone))
	engine.ExtraFiles = []*os.File{theirs}
	words, err := engine.CombinedOutput()
	if err == nil || !strings.Contains(string(words), fmt.Sprintf("process %d, ended before", gone)) {
		t.Errorf("%v: %s", err, words)
	}
}

// answers fails unless the engine takes another session, if only to refuse it.
func answers(t *testing.T, control *wire.Conn) {
	t.Helper()
	s := connect(t, control)
	send(t, s, wire.KindOpen, 1, "no object")
	if f, err := s.Receive(); err != nil || f.Kind != wire.KindError {
		t.Fatalf("%v %v", f.Kind, err)
	}
}
