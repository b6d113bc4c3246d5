package child

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"headrace/internal/machine"
	"headrace/wire"
)

// Child is one process.
type Child struct {
	PID   int
	Lanes []*wire.Conn // this end of each of its connections

	cmd      *exec.Cmd
	together *wire.Conn // of threads of the program, which are no process; nil: it is one
	refusal  error      // why the program has begun none; after exited
	stack    *os.File   // where Python writes the stacks of its threads
	pipes    []*os.File // what it prints, and what it logs
	readers  sync.WaitGroup
	words    words
	tell     func(Line)
	kills    int64 // processes that the kernel had ended for lack of memory before this one started

	killing sync.Once
	exited  chan struct{}      // closed when the process is gone, and all it has said was read
	status  syscall.WaitStatus // after exited
	dump    string             // after exited
}

// Options say what is started.
type Options struct {
	Python *Interpreter
	Heap   *os.File // shared memory
	Lanes  int
	Tell   func(Line) // of what it prints and logs
}

// Start starts a process. It has these descriptors beside the standard ones: 3 the heap, 4
// where it writes its stacks, 5 its log, and from 6 on its lanes.
func (s *Starter) Start(o Options) (*Child, error) {
	if o.Python.program != nil {
		return o.Python.program.start(o)
	}

	c := &Child{tell: o.Tell, exited: make(chan struct{})}
	c.kills, _ = machine.MemoryKills()

	var theirs []*os.File // ends that only the child keeps
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()

	fail := func(err error) (*Child, error) {
		c.Close()
		return nil, err
	}

	var err error
	if c.stack, err = stackFile(); err != nil {
		return fail(err)
	}

	c.cmd = exec.Command(o.Python.Executable, o.Python.command(o.Lanes)...)
	c.cmd.Dir = o.Python.Directory
	c.cmd.Env = o.Python.environment()
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	for range 3 {
		r, end, err := os.Pipe()
		if err != nil {
			return fail(fmt.Errorf("extern: pipe: %w", err))
		}
		c.pipes, theirs = append(c.pipes, r), append(theirs, end)
	}
	c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1]
	c.cmd.ExtraFiles = []*os.File{o.Heap, c.stack, theirs[2]}

	for range o.Lanes {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fail(fmt.Errorf("extern: socketpair: %w", err))
		}
		end := os.NewFile(uintptr(fds[1]), "lane")
		theirs = append(theirs, end)
		conn, err := wire.FromDescriptor(fds[0])
		if err != nil {
			return fail(err)
		}
		c.cmd.ExtraFiles = append(c.cmd.ExtraFiles, end)
		c.Lanes = append(c.Lanes, conn)
	}

	if err := s.do(c.cmd.Start); err != nil {
		return fail(fmt.Errorf("extern: %s: %w", o.Python.Executable, err))
	}
	c.PID = c.cmd.Process.Pid
	born(c.PID)

	c.readers.Add(len(c.pipes))
	go c.readLines(c.pipes[0], "INFO", "stdout")
	go c.readLines(c.pipes[1], "WARNING", "stderr")
	go c.readLog(c.pipes[2])
	go c.wait()
	return c, nil
}

// wait notices the end of the process, and of what it has started.
func (c *Child) wait() {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, c.PID, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	buried(c.PID) // the number is still taken, so it is nobody else's
	c.cmd.Wait()
	c.status, _ = c.cmd.ProcessState.Sys().(syscall.WaitStatus)

	for _, r := range c.pipes {
		r.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // a process that has left the group may hold the other end
	}
	c.readers.Wait()
	c.dump = c.readStack()
	for _, lane := range c.Lanes {
		lane.Shutdown() // a forked process may hold the other end; what was sent can still be read
	}
	close(c.exited)
}

// Kill ends the process. Of threads of the program it ends the connections, and does not
// wait for what they do. It may be called again, and by many.
func (c *Child) Kill() {
	c.killing.Do(func() {
		if c.together != nil {
			c.let()
			return
		}
		c.cmd.Process.Kill()
	})
}

// Exited is closed when the process is gone, and all it has said was read.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Refusal is why a program has not begun the threads that it was asked for; nil: it has, or
// this is a process.
func (c *Child) Refusal() error { return c.refusal }

// Words are the last lines that it has written to standard error so far.
func (c *Child) Words() string { return c.words.String() }

// Status is how it has exited, once it has.
func (c *Child) Status() syscall.WaitStatus { return c.status }

// Ending says how it has ended, once it has.
func (c *Child) Ending() string {
	if c.status.Signaled() {
		return "was ended by " + SignalText(c.status.Signal())
	}
	return fmt.Sprintf("ended with status %d", c.status.ExitStatus())
}

// OutOfMemory says what is known of the kernel's hand in the end of a process that SIGKILL
// has ended; empty: it had none.
func (c *Child) OutOfMemory() string {
	switch kills, file := machine.MemoryKills(); {
	case file == "":
		return "the kernel does this when memory is short: it may have run out of memory"
	case kills > c.kills:
		return "it has run out of memory: " + file + " has counted a kill"
	}
	return ""
}

// Close lets go of the descriptors. The process has ended, or was never started.
func (c *Child) Close() {
	for _, f := range c.pipes {
		f.Close()
	}
	if c.stack != nil {
		c.stack.Close()
	}
	if c.together != nil {
		c.together.Close()
		c.together.CloseDescriptors()
	}
	for _, lane := range c.Lanes {
		lane.Close()
		lane.CloseDescriptors()
	}
}

// SignalText names a signal.
func SignalText(s syscall.Signal) string {
	names := map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS",
		syscall.SIGFPE: "SIGFPE", syscall.SIGILL: "SIGILL", syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"}
	if name, ok := names[s]; ok {
		return name + " (" + s.String() + ")"
	}
	return fmt.Sprintf("signal %d (%v)", int(s), s)
}
