package child

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/wire"
)

// Server is a process that workers are forked from. It has imported the functions'
// modules, so that their time and memory is spent once, and calls none of them. If an
// import leaves something that a fork would share or lose, such as a thread, workers are
// started one by one instead.
type Server struct {
	python  *Interpreter
	key     any // in servers
	uses    int // guarded by the lock of servers
	starter Starter
	tell    atomic.Pointer[func(Line)] // of the last user with an import

	asking   chan struct{} // has room for who asks the process something; guards what is below
	imported map[string]bool
	answers  chan answer // closed when no more come

	mu      sync.Mutex // guards what is below
	process *Child
	spawns  string                          // why workers are not forked; empty: they are
	workers map[int]chan syscall.WaitStatus // of the workers, by their numbers
}

// answer is the process's reply to a request.
type answer struct {
	kind    wire.Kind
	payload []byte
	pid     int                       // of FORK: the worker
	exits   <-chan syscall.WaitStatus // of FORK: how that has exited
}

// errCannotFork means that a worker must be started as a new interpreter.
var errCannotFork = errors.New("extern: workers are not forked here")

// mostForkConns is the largest number of connections of a forked worker: all descriptors
// it is given queue up in one socket.
const mostForkConns = 200

// Import lists modules that the process has imported for a user, with their cost.
type Import struct {
	Modules []string
	Time    time.Duration
	CPU     time.Duration
}

// Add adds another one.
func (i *Import) Add(more Import) {
	i.Modules = append(i.Modules, more.Modules...)
	i.Time += more.Time
	i.CPU += more.CPU
}

// servers are those that are in use, by the keys of their interpreters.
var servers = struct {
	mu sync.Mutex
	of map[any]*Server
}{of: map[any]*Server{}}

// ServerOf returns the server of an interpreter. Its process starts with the first
// Prepare. Close it as often as it was returned. A server that cannot
// fork is not shared with new interpreters: their imports may go better.
func ServerOf(python *Interpreter) *Server {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	key := python.key()
	s := servers.of[key]
	if s == nil || s.python != python && s.Spawns() != "" {
		s = &Server{python: python, key: key, asking: make(chan struct{}, 1), imported: map[string]bool{},
			workers: map[int]chan syscall.WaitStatus{}}
		s.starter.Open()
		servers.of[key] = s
	}
	s.uses++
	return s
}

// Close ends the process unless others use it. The caller's workers must have ended.
func (s *Server) Close() {
	servers.mu.Lock()
	s.uses--
	last := s.uses == 0
	if last && servers.of[s.key] == s {
		delete(servers.of, s.key)
	}
	servers.mu.Unlock()
	if !last {
		return
	}

	// From here on nothing may ask it for a worker.
	s.refuse("nothing uses the server")
	s.mu.Lock()
	process := s.process
	s.mu.Unlock()
	if process == nil {
		s.asking <- struct{}{} // for good
	} else {
		s.end(process)
		<-process.Exited()
		for range s.answers { // until its reader has ended
		}
		process.Close()
	}
	s.starter.Close()
}

// end lets the process wait for the workers that have ended, and then end itself, so that
// no zombies are left to an init process that may not reap them. It is killed if it does
// not end.
func (s *Server) end(process *Child) {
	select {
	case s.asking <- struct{}{}: // for good
		if process.Conns[0].CloseWrite() == nil {
			select {
			case <-process.Exited():
			case <-time.After(patience):
			}
		}
		process.Kill()
	default: // it may hang in an import, for whose end somebody waits
		process.Kill()
		s.asking <- struct{}{}
	}
}

// patience is how long a process may take to end that has nothing to do.
const patience = time.Second

// Prepare makes the process import modules that functions need, unless it has. It returns
// when that is done or stop is closed. If a module cannot be imported, the workers report
// it. Modules that were imported are reported to o.Imported.
func (s *Server) Prepare(stop <-chan struct{}, o Options, modules []string) {
	select {
	case s.asking <- struct{}{}:
	case <-stop:
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { <-s.asking }()
		if err := s.prepare(o, modules); err != nil {
			s.refuse(err.Error())
		}
	}()
	select {
	case <-done:
	case <-stop:
	}
}

// prepare is Prepare for a caller that holds asking.
func (s *Server) prepare(o Options, modules []string) error {
	missing := []string{}
	for _, m := range slices.Concat(modules, s.python.Modules) {
		if !s.imported[m] && !slices.Contains(missing, m) {
			missing = append(missing, m)
		}
	}
	if s.Spawns() != "" || s.process != nil && len(missing) == 0 {
		return nil
	}
	s.tell.Store(&o.Tell)
	if s.process == nil {
		if err := s.begin(o); err != nil {
			return err
		}
	}
	// Each is asked for once, also if it cannot be imported: workers tell of that.
	for _, m := range missing {
		s.imported[m] = true
	}

	text, err := json.Marshal(struct {
		Imports []string `json:"imports"`
	}{missing})
	if err == nil {
		err = s.process.Conns[0].Send(wire.KindSetup, 0, text)
	}
	if err != nil {
		return err
	}
	a, err := s.answer()
	if err != nil {
		return err
	}
	var r struct {
		Spawn string        `json:"spawn"`
		Time  time.Duration `json:"time_ns"`
		CPU   time.Duration `json:"cpu_ns"`
	}
	if err := json.Unmarshal(a.payload, &r); a.kind != wire.KindReady || err != nil {
		return fmt.Errorf("it said %v: %s", a.kind, a.payload)
	}
	if len(missing) > 0 && o.Imported != nil {
		o.Imported(Import{missing, r.Time, r.CPU})
	}
	if r.Spawn != "" {
		return errors.New(r.Spawn)
	}
	return nil
}

// begin starts the process. The caller holds asking.
func (s *Server) begin(o Options) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spawns != "" {
		return errCannotFork
	}
	nothing, err := os.Open(os.DevNull) // not its user's heap, whose memory it would keep from being freed
	if err != nil {
		return err
	}
	defer nothing.Close()
	o.Heap, o.Tell = nothing, func(l Line) { (*s.tell.Load())(l) }
	o.Python, o.Conns, o.Server = s.python, 1, nil
	process, err := s.starter.spawn(o, "--server")
	if err != nil {
		return err
	}
	s.process, s.answers = process, make(chan answer)
	go s.read(process.Conns[0], s.answers)
	return nil
}

// Spawns returns the reason why workers are not forked, or "" if they are.
func (s *Server) Spawns() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spawns
}

// refuse makes workers start one by one from now on.
func (s *Server) refuse(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spawns == "" {
		s.spawns = why
	}
}

// fork asks the process for one more worker.
func (s *Server) fork(o Options) (*Child, error) {
	select {
	case s.asking <- struct{}{}:
	case <-o.stop: // it may be importing something for others
		return nil, errCannotFork
	}
	defer func() { <-s.asking }()
	if s.process == nil || s.Spawns() != "" || o.Conns > mostForkConns {
		return nil, errCannotFork
	}

	return newChild(o, func(c *Child, theirs []*os.File) error {
		conn := s.process.Conns[0]
		pid, exits, err := s.askForOne(conn, theirs, o.Conns)
		if err != nil {
			return err
		}
		// The server waits for it when it is asked to, so the number is not another's.
		if c.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
			return fmt.Errorf("extern: pidfd_open: %w", err)
		}
		if c.process, err = os.FindProcess(pid); err != nil {
			unix.Close(c.pidfd)
			return fmt.Errorf("extern: fork: %w", err)
		}
		c.forked = exits
		c.reap = func() { conn.Send(wire.KindExited, 0, word(pid)) }
		return nil
	})
}

// askForOne asks the process for a worker with these descriptors. If the machine is short
// of something, the error is temporary.
func (s *Server) askForOne(conn *wire.Conn, theirs []*os.File, conns int) (pid int, exits <-chan syscall.WaitStatus, err error) {
	for _, f := range theirs {
		if err == nil {
			err = conn.Send(wire.KindSession, 0, nil, int(f.Fd()))
		}
	}
	if err == nil {
		err = conn.Send(wire.KindFork, 0, word(conns))
	}
	var a answer
	if err == nil {
		a, err = s.answer()
	}
	if err == nil && a.exits != nil {
		return a.pid, a.exits, nil
	}

	var failed struct {
		Errno syscall.Errno `json:"errno"`
		Spawn string        `json:"spawn"`
	}
	switch {
	case err != nil:
		s.refuse(err.Error())
	case a.kind != wire.KindError || json.Unmarshal(a.payload, &failed) != nil:
		s.refuse(fmt.Sprintf("it said %v: %s", a.kind, a.payload))
	case failed.Errno != 0:
		return 0, nil, fmt.Errorf("extern: fork: %w", failed.Errno)
	default:
		s.refuse(failed.Spawn)
	}
	return 0, nil, errCannotFork
}

// answer waits for the process's reply. The caller holds asking.
func (s *Server) answer() (answer, error) {
	a, ok := <-s.answers
	if !ok {
		<-s.process.Exited()
		return a, fmt.Errorf("the process that was to fork them %s", s.process.Ending())
	}
	return a, nil
}

// read receives messages until the process has ended, and its workers with it.
func (s *Server) read(conn *wire.Conn, answers chan<- answer) {
	defer close(answers)
	defer s.processEnded()
	for {
		f, err := conn.Receive()
		if err != nil {
			s.process.Kill() // whatever it was
			return
		}
		a := answer{kind: f.Kind, payload: slices.Clone(f.Payload)}
		switch {
		case f.Kind == wire.KindExited && len(a.payload) == 16:
			s.exited(int(binary.LittleEndian.Uint64(a.payload)), syscall.WaitStatus(binary.LittleEndian.Uint64(a.payload[8:])))
			continue
		case f.Kind == wire.KindFork && len(a.payload) == 8:
			a.pid = int(binary.LittleEndian.Uint64(a.payload))
			a.exits = s.addWorker(a.pid)
		}
		answers <- a
	}
}

// addWorker records a worker and returns the channel for its exit status.
func (s *Server) addWorker(pid int) <-chan syscall.WaitStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	exits := make(chan syscall.WaitStatus, 1)
	s.workers[pid] = exits
	return exits
}

// exited delivers a worker's exit status.
func (s *Server) exited(pid int, status syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exits := s.workers[pid]; exits != nil {
		delete(s.workers, pid)
		exits <- status
	}
}

// processEnded notes that the process has ended, and that the kernel has killed its
// workers.
func (s *Server) processEnded() {
	s.refuse("the process that forked them has ended")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, exits := range s.workers {
		exits <- syscall.WaitStatus(syscall.SIGKILL)
	}
	clear(s.workers)
}

// awaitExit waits until a process has exited, and closes its descriptor.
func awaitExit(pidfd int) {
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			break
		}
	}
	unix.Close(pidfd)
}

func word(v int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
