package child

import (
	"bufio"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/wire"
)

// A process has its descriptors where the worker expects them.
func TestDescriptorsOfAProcess(t *testing.T) {
	var out said
	c := start(t, starter(t), `
import os, socket, sys
print("heap", os.pread(3, 4, 0).decode())
os.write(4, b"a stack\n")
os.write(5, b'{"stage": "map", "level": "ERROR", "logger": "mine", "message": "logged"}\n')
sys.stderr.write("complained\n")
conn = socket.socket(fileno=6)
conn.sendall(conn.recv(100))
`, out.tell)
	sent := []byte("as it came")
	if err := c.Conns[0].Send(wire.KindPack, 7, sent); err != nil {
		t.Fatal(err)
	}
	f, err := c.Conns[0].Receive()
	if err != nil || f.Kind != wire.KindPack || f.Stream != 7 || string(f.Payload) != string(sent) {
		t.Errorf("%+v, %v", f, err)
	}
	ended(t, c)

	want := map[Line]bool{
		{Level: "INFO", Logger: "stdout", Message: "heap heap"}:           true,
		{Level: "WARNING", Logger: "stderr", Message: "complained"}:       true,
		{Stage: "map", Level: "ERROR", Logger: "mine", Message: "logged"}: true,
	}
	for _, l := range out.all() {
		if !want[l] {
			t.Errorf("it said %+v", l)
		}
		delete(want, l)
	}
	if len(want) > 0 {
		t.Errorf("it did not say %v", want)
	}
	if got := c.Stack(); got != "a stack" {
		t.Errorf("its stack is %q", got)
	}
	if got := c.LastLines(); got != "complained" {
		t.Errorf("its last lines are %q", got)
	}
	if _, err := c.Conns[0].Receive(); err == nil {
		t.Error("its connection is open")
	}
}

// The way in which a process ends is known.
func TestEndings(t *testing.T) {
	s := starter(t)
	for script, want := range map[string]string{
		"pass":                                     "ended with status 0",
		"raise SystemExit(7)":                      "ended with status 7",
		"import os; os.kill(os.getpid(), 11)":      "was ended by SIGSEGV (segmentation fault)",
		"import os; os.kill(os.getpid(), 9)":       "was ended by SIGKILL (killed)",
		"import os; os.kill(os.getpid(), 40)":      "was ended by signal 40 (signal 40)",
		"import os; os.closerange(0, 100); 1 // 0": "ended with status 1",
	} {
		c := start(t, s, script, nil)
		ended(t, c)
		if got := c.Ending(); got != want {
			t.Errorf("%s: it %s, want %q", script, got, want)
		}
		if c.Refusal() != nil {
			t.Error(c.Refusal())
		}
	}
}

// A process that was killed is reported as killed, however often and by how many.
func TestKill(t *testing.T) {
	c := start(t, starter(t), "import time; time.sleep(1000)", nil)
	for range 10 {
		go c.Kill()
	}
	c.Kill()
	ended(t, c)
	if !c.Status().Signaled() || c.Status().Signal() != syscall.SIGKILL {
		t.Error(c.Ending())
	}

	// Whether the kernel did it is only known if the machine counts that.
	_, counted := machine.MemoryKills()
	for kills, want := range map[int64]string{-1: "it has run out of memory", math.MaxInt64: ""} {
		c.kills = kills
		if counted == "" {
			want = "it may have run out of memory"
		}
		if got := c.OutOfMemory(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

// sleeper is a program that starts a process which sleeps, writes its number, and goes on
// as it is told.
func sleeper(group, then string) string {
	return `
import subprocess, sys, time
p = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"], start_new_session=` + group + `, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(p.pid, flush=True)
` + then
}

// printed returns the number that a process prints first.
func printed(t *testing.T, out *said) int {
	t.Helper()
	for range 6000 {
		if lines := out.all(); len(lines) > 0 {
			pid, err := strconv.Atoi(lines[0].Message)
			if err != nil {
				t.Fatal(lines)
			}
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it prints nothing")
	return 0
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 6000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	unix.Kill(pid, unix.SIGKILL)
	t.Errorf("process %d lives on", pid)
}

// Processes that a worker has started end with it, though they hold its output open.
func TestTheGroupEndsWithItsWorker(t *testing.T) {
	var out said
	c := start(t, starter(t), sleeper("False", ""), out.tell)
	ended(t, c)
	gone(t, printed(t, &out))
}

// Before the engine exits, it also ends those that have left the group.
func TestEndAll(t *testing.T) {
	var out said
	c := start(t, starter(t), sleeper("True", "time.sleep(1000)"), out.tell)
	pid := printed(t, &out)
	EndAll()
	ended(t, c)
	gone(t, pid)
	if c.Status().Signal() != syscall.SIGKILL {
		t.Error(c.Ending())
	}
}

// A process that has left the group and holds the output open does not keep the worker
// from being gone.
func TestOutputThatStaysOpen(t *testing.T) {
	var out said
	c := start(t, starter(t), `
import subprocess, sys
p = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"], start_new_session=True)
print(p.pid, flush=True)
`, out.tell)
	ended(t, c)
	pid := printed(t, &out)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	gone(t, pid)
}

// Processes end with the engine, even if that is killed.
func TestProcessesEndWithTheEngine(t *testing.T) {
	if os.Getenv("ENGINE_OF_A_TEST") != "" {
		c := start(t, starter(t), "import os, time; print(os.getpid(), flush=True); time.sleep(1000)", func(l Line) {
			os.Stdout.WriteString(l.Message + "\n")
		})
		<-c.Exited()
		return
	}

	tier.StartsProcesses(t)
	engine := exec.Command(os.Args[0], "-test.run=^TestProcessesEndWithTheEngine$")
	engine.Env = append(os.Environ(), "ENGINE_OF_A_TEST=1")
	out, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	engine.Process.Kill()
	engine.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("it printed %q", line)
	}
	gone(t, pid)
}

func TestWhatCannotBeStarted(t *testing.T) {
	s := starter(t)
	missing := filepath.Join(t.TempDir(), "python9")
	_, err := s.Start(Options{Python: &Interpreter{Executable: missing}, Heap: heapFile(t, ""), Conns: 2})
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}

	// An error that is not about lack of resources is not waited for.
	stop := make(chan struct{})
	defer close(stop)
	if _, again := s.StartPatiently(stop, Options{Python: &Interpreter{Executable: missing}, Heap: heapFile(t, "")}); again == nil || again.Error() != err.Error() {
		t.Error(again)
	}
}

// AskStack makes Python write its stacks. The worker's own frames are left out.
func TestAskStack(t *testing.T) {
	c := start(t, starter(t), `
import faulthandler, socket, time
faulthandler.register(50, file=4, all_threads=False)
socket.socket(fileno=6).sendall(b"\0" * 16)
time.sleep(1000)
`, nil)
	if _, err := c.Conns[0].Receive(); err != nil && err != io.EOF {
		t.Log(err) // whatever it was, the handler is there
	}
	c.AskStack()
	c.Kill()
	ended(t, c)
	if got := c.Stack(); !strings.Contains(got, "most recent call first") || strings.Contains(got, "worker.py") {
		t.Errorf("its stack is %q", got)
	}
}

// The frames of our own code tell a user nothing.
func TestReadStack(t *testing.T) {
	f, err := stackFile()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(`Fatal Python error: Segmentation fault

Current thread 0x1 (most recent call first):
  File "/data/train.py", line 3 in crash
  File "/data/train.py", line 9 in <lambda>
  File "/x/headrace/_worker/callee.py", line 20 in call
  File "/x/headrace/worker.py", line 10 in main
  File "<string>", line 8 in <module>

Thread 0x2 (most recent call first):
  File "<string>", line 1 in made_by_exec
`)
	want := `Fatal Python error: Segmentation fault

Current thread 0x1 (most recent call first):
  File "/data/train.py", line 3 in crash
  File "/data/train.py", line 9 in <lambda>

Thread 0x2 (most recent call first):
  File "<string>", line 1 in made_by_exec`
	if got := (&Child{stack: f}).readStack(); got != want {
		t.Errorf("it is\n%s", got)
	}
}
