package child

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
)

// python returns the interpreter of the project, with modules from these folders.
func python(t *testing.T, folders ...string) *Interpreter {
	t.Helper()
	tier.StartsProcesses(t)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	executable := os.Getenv("HEADRACE_PYTHON")
	if executable == "" {
		executable = filepath.Join(root, ".venv", "bin", "python")
	}
	if _, err := os.Stat(executable); err != nil {
		t.Fatalf("%v: run scripts/install.sh, or set HEADRACE_PYTHON", err)
	}
	var path []string
	for _, f := range append(folders, "python/src") {
		path = append(path, filepath.Join(root, f))
	}
	environment := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "PYTHONPATH=") })
	return &Interpreter{Executable: executable, Environment: append(environment, "PYTHONPATH="+strings.Join(path, ":"))}
}

// scripted returns an interpreter whose workers run this program.
func scripted(t *testing.T, script string) *Interpreter {
	t.Helper()
	i := python(t, "extern/internal/child/testdata/scripted")
	i.Environment = append(i.Environment, "SCRIPT="+script)
	return i
}

// said collects the lines that a process writes.
type said struct {
	mu    sync.Mutex
	lines []Line
}

func (s *said) tell(l Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, l)
}

func (s *said) all() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// heapFile returns a file with this content, as the heap of a process.
func heapFile(t *testing.T, content string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "heap"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return f
}

// starter returns a starter that is closed when the test ends, after what it has started.
// Call it before starting anything: it also checks that nothing is left.
func starter(t *testing.T) *Starter {
	t.Helper()
	tier.StartsProcesses(t)
	leak.Check(t)
	s := new(Starter)
	s.Open()
	t.Cleanup(s.Close)
	return s
}

// start starts a worker that runs a script on one connection.
func start(t *testing.T, s *Starter, script string, tell func(Line)) *Child {
	t.Helper()
	if tell == nil {
		tell = func(l Line) { t.Log(l.Logger, l.Message) }
	}
	c, err := s.Start(Options{Python: scripted(t, script), Heap: heapFile(t, "heap"), Conns: 1, Tell: tell})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		<-c.Exited()
		c.Close()
	})
	return c
}

// ended waits for the end of a process.
func ended(t *testing.T, c *Child) {
	t.Helper()
	select {
	case <-c.Exited():
	case <-time.After(time.Minute):
		t.Fatal("the process does not end")
	}
}

// dup duplicates a descriptor.
func dup(t *testing.T, fd int) int {
	t.Helper()
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return other
}
