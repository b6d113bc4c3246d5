package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/wire"
)

// Child is one worker process, or threads of the program that act as one.
type Child struct {
	PID   int
	Conns []*wire.Conn // this end of each of its connections

	cmd       *exec.Cmd                 // that it was started with; nil: it was forked
	forked    <-chan syscall.WaitStatus // how it has exited, of one that a server has forked
	pidfd     int                       // of one that was forked
	reap      func()                    // lets the server forget it
	process   *os.Process
	program   *wire.Conn // of threads of the program, which are no process; nil: it is one
	refusal   error      // why the program has begun none; after exited
	stack     *os.File   // where Python writes the stacks of its threads
	pipes     []*os.File // what it prints, and what it logs
	readers   sync.WaitGroup
	lastLines lastLines
	tell      func(Line)
	kills     int64 // processes that the kernel had ended for lack of memory before this one started

	killing sync.Once
	killed  chan struct{}      // closed when it was killed here
	exited  chan struct{}      // closed when the process is gone, and all it has said was read
	status  syscall.WaitStatus // after exited
	dump    string             // after exited
}

// Options describe a process to start.
type Options struct {
	Python *Interpreter
	Server *Server  // that forks it; nil, or one that cannot: the interpreter is started
	Heap   *os.File // shared memory
	Conns  int
	Tell   func(Line) // of what it prints and logs

	Imported func(Import) // Prepare: reports imports, or nil

	stop <-chan struct{} // closed when it is not wanted any more
}

// Start starts a process. Besides the standard descriptors it has these: 3 the heap, 4
// the file for its stacks, 5 its log, and from 6 on its connections.
func (s *Starter) Start(o Options) (*Child, error) {
	if o.Python.program != nil {
		return o.Python.program.start(o)
	}
	if o.Server != nil {
		if c, err := o.Server.fork(o); !errors.Is(err, errCannotFork) {
			return c, err
		}
	}
	return s.spawn(o)
}

// spawn starts a new interpreter.
func (s *Starter) spawn(o Options, more ...string) (*Child, error) {
	return newChild(o, func(c *Child, theirs []*os.File) error {
		c.cmd = exec.Command(o.Python.Executable, o.Python.command(o.Conns, more...)...)
		c.cmd.Dir = o.Python.Directory
		c.cmd.Env = o.Python.environment()
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = theirs[0], theirs[1], theirs[2:]
		if err := s.do(c.cmd.Start); err != nil {
			return fmt.Errorf("extern: %s: %w", o.Python.Executable, err)
		}
		c.process = c.cmd.Process
		return nil
	})
}

// newChild opens the process's pipes and connections and calls begin to start it. begin
// gets the process's standard output and error, followed by its descriptors from 3 on.
func newChild(o Options, begin func(c *Child, theirs []*os.File) error) (*Child, error) {
	c := &Child{tell: o.Tell, exited: make(chan struct{}), killed: make(chan struct{})}
	c.kills, _ = machine.MemoryKills()

	var ends []*os.File // that only the process keeps
	defer func() {
		for _, f := range ends {
			f.Close()
		}
	}()

	theirs, err := c.open(o, &ends)
	if err == nil {
		err = begin(c, theirs)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.PID = c.process.Pid
	register(c.PID)

	c.readers.Add(len(c.pipes))
	go c.readLines(c.pipes[0], "INFO", "stdout")
	go c.readLines(c.pipes[1], "WARNING", "stderr")
	go c.readLog(c.pipes[2])
	go c.wait()
	return c, nil
}

// open opens everything that the process needs and returns its descriptors. ends are
// those that this process must close once the other one has them.
func (c *Child) open(o Options, ends *[]*os.File) (theirs []*os.File, err error) {
	if c.stack, err = stackFile(); err != nil {
		return nil, err
	}
	for range 3 {
		r, end, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("extern: pipe: %w", err)
		}
		c.pipes, *ends = append(c.pipes, r), append(*ends, end)
	}
	theirs = append(theirs, (*ends)[0], (*ends)[1], o.Heap, c.stack, (*ends)[2])

	for range o.Conns {
		conn, end, err := pair()
		if err != nil {
			return nil, err
		}
		c.Conns, *ends, theirs = append(c.Conns, conn), append(*ends, end), append(theirs, end)
	}
	return theirs, nil
}

// wait waits for the process to end, then ends its descendants and reads the rest of its
// output.
func (c *Child) wait() {
	// Its number is taken until it is waited for, so it is nobody else's meanwhile.
	if c.cmd != nil {
		var info unix.Siginfo
		for unix.Waitid(unix.P_PID, c.PID, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		endGroup(c.PID)
		c.cmd.Wait()
		c.status, _ = c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	} else {
		told := c.awaitStatus()
		c.process.Kill() // where it was the server that has ended, the kernel is about to
		awaitExit(c.pidfd)
		endGroup(c.PID)
		c.process.Release()
		if told {
			c.reap()
		} else {
			go func() { <-c.forked; c.reap() }() // the server must have seen it first
		}
	}

	for _, r := range c.pipes {
		r.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // a process that has left the group may hold the other end
	}
	c.readers.Wait()
	c.dump = c.readStack()
	for _, conn := range c.Conns {
		conn.Shutdown() // a forked process may hold the other end; what was sent can still be read
	}
	close(c.exited)
}

// awaitStatus waits for the server to report the exit status. A process killed from here
// is not waited for long: the server may be stuck in an import, and closing must not wait
// for that.
func (c *Child) awaitStatus() (told bool) {
	select {
	case c.status = <-c.forked:
		return true
	case <-c.killed:
	}
	select {
	case c.status = <-c.forked:
		return true
	case <-time.After(patience):
		c.status = syscall.WaitStatus(syscall.SIGKILL)
		return false
	}
}

// Kill ends the process. For threads of the program it only closes the connections and
// does not wait for their work. It is safe to call repeatedly and concurrently.
func (c *Child) Kill() {
	c.killing.Do(func() {
		if c.program != nil {
			c.disconnect()
			return
		}
		close(c.killed)
		c.process.Kill()
	})
}

// Exited is closed when the process is gone and all its output has been read.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Refusal returns the reason why a program has not started the threads it was asked for,
// or nil if it has or if this is a process.
func (c *Child) Refusal() error { return c.refusal }

// LastLines returns the last lines that the process has written to standard error so far.
func (c *Child) LastLines() string { return c.lastLines.String() }

// Status returns the exit status, once the process has exited.
func (c *Child) Status() syscall.WaitStatus { return c.status }

// Ending describes how the process ended, once it has.
func (c *Child) Ending() string {
	if c.status.Signaled() {
		return "was ended by " + SignalText(c.status.Signal())
	}
	return fmt.Sprintf("ended with status %d", c.status.ExitStatus())
}

// OutOfMemory says whether the kernel killed the process for lack of memory, as far as
// that is known. Call it for processes that SIGKILL ended; it is empty if memory was not
// the reason.
func (c *Child) OutOfMemory() string {
	switch kills, file := machine.MemoryKills(); {
	case file == "":
		return "the kernel does this when memory is short: it may have run out of memory"
	case kills > c.kills:
		return "it has run out of memory: " + file + " has counted a kill"
	}
	return ""
}

// Close closes the descriptors. The process must have ended, or must never have started.
func (c *Child) Close() {
	for _, f := range c.pipes {
		f.Close()
	}
	if c.stack != nil {
		c.stack.Close()
	}
	if c.program != nil {
		c.program.Close()
		c.program.CloseDescriptors()
	}
	for _, conn := range c.Conns {
		conn.Close()
		conn.CloseDescriptors()
	}
}

// SignalText returns the name of a signal.
func SignalText(s syscall.Signal) string {
	names := map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV",
		syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS",
		syscall.SIGFPE: "SIGFPE", syscall.SIGILL: "SIGILL", syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"}
	if name, ok := names[s]; ok {
		return name + " (" + s.String() + ")"
	}
	return fmt.Sprintf("signal %d (%v)", int(s), s)
}
