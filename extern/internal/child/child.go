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

	"headrace/internal/machine"
	"headrace/wire"
)

// Child is one process.
type Child struct {
	PID   int
	Lanes []*wire.Conn // this end of each of its connections

	cmd      *exec.Cmd                 // that it was started with; nil: it was forked
	forked   <-chan syscall.WaitStatus // how it has exited, of one that a server has forked
	pidfd    int                       // of one that was forked
	reap     func()                    // lets the server forget it
	process  *os.Process
	together *wire.Conn // of threads of the program, which are no process; nil: it is one
	refusal  error      // why the program has begun none; after exited
	stack    *os.File   // where Python writes the stacks of its threads
	pipes    []*os.File // what it prints, and what it logs
	readers  sync.WaitGroup
	words    words
	tell     func(Line)
	kills    int64 // processes that the kernel had ended for lack of memory before this one started

	killing sync.Once
	killed  chan struct{}      // closed when it was killed here
	exited  chan struct{}      // closed when the process is gone, and all it has said was read
	status  syscall.WaitStatus // after exited
	dump    string             // after exited
}

// Options say what is started.
type Options struct {
	Python *Interpreter
	Server *Server  // that forks it; nil, or one that cannot: the interpreter is started
	Heap   *os.File // shared memory
	Lanes  int
	Tell   func(Line)      // of what it prints and logs
	stop   <-chan struct{} // closed when it is not wanted any more
}

// Start starts a process. It has these descriptors beside the standard ones: 3 the heap,
// 4 where it writes its stacks, 5 its log, and from 6 on its lanes.
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

// spawn starts the interpreter.
func (s *Starter) spawn(o Options, more ...string) (*Child, error) {
	return newChild(o, func(c *Child, theirs []*os.File) error {
		c.cmd = exec.Command(o.Python.Executable, o.Python.command(o.Lanes, more...)...)
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

// newChild makes what a process is to have, and has begin make the process. That is given
// the process's standard output and error, and then its descriptors from 3 on.
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
	born(c.PID)

	c.readers.Add(len(c.pipes))
	go c.readLines(c.pipes[0], "INFO", "stdout")
	go c.readLines(c.pipes[1], "WARNING", "stderr")
	go c.readLog(c.pipes[2])
	go c.wait()
	return c, nil
}

// open opens all that the process has, and returns its descriptors. ends are those of
// them that are nobody else's.
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

	for range o.Lanes {
		conn, end, err := pair()
		if err != nil {
			return nil, err
		}
		c.Lanes, *ends, theirs = append(c.Lanes, conn), append(*ends, end), append(theirs, end)
	}
	return theirs, nil
}

// wait notices the end of the process, and of what it has started.
func (c *Child) wait() {
	// Its number is taken until it is waited for, so it is nobody else's meanwhile.
	if c.cmd != nil {
		var info unix.Siginfo
		for unix.Waitid(unix.P_PID, c.PID, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		buried(c.PID)
		c.cmd.Wait()
		c.status, _ = c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	} else {
		told := c.awaitStatus()
		c.process.Kill() // where it was the server that has ended, the kernel is about to
		awaitExit(c.pidfd)
		buried(c.PID)
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
	for _, lane := range c.Lanes {
		lane.Shutdown() // a forked process may hold the other end; what was sent can still be read
	}
	close(c.exited)
}

// awaitStatus waits for the server to tell how the process has exited. One that was
// killed here is not waited for long: the server may be at an import that does not end,
// and closing must not wait for that.
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

// Kill ends the process. Of threads of the program it ends the connections, and does not
// wait for what they do. It may be called again, and by many.
func (c *Child) Kill() {
	c.killing.Do(func() {
		if c.together != nil {
			c.let()
			return
		}
		close(c.killed)
		c.process.Kill()
	})
}

// Exited is closed when the process is gone, and all it has said was read.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Refusal is why a program has not begun the threads that it was asked for; nil: it has,
// or this is a process.
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

// OutOfMemory says what is known of the kernel's hand in the end of a process that
// SIGKILL has ended; empty: it had none.
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
