package child

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"headrace/wire"
)

// Server is a process that workers are forked from. It has imported what the functions'
// modules import, so that this takes its time and its memory once, and it calls none of
// them. Where an import leaves something that a fork would share or lose, such as
// a thread, workers are started one by one instead.
type Server struct {
	python  *Interpreter
	uses    int // guarded by the lock of servers
	starter Starter

	asking   chan struct{} // has room for who asks the process something; guards what is below
	imported map[string]bool
	answers  chan answer // closed when no more come

	mu      sync.Mutex // guards what is below
	process *Child
	spawns  string                          // why workers are not forked; empty: they are
	living  map[int]chan syscall.WaitStatus // of the workers, by their numbers
}

// answer is what the process says when it was asked something.
type answer struct {
	kind    wire.Kind
	payload []byte
	pid     int                       // of FORK: the worker
	exits   <-chan syscall.WaitStatus // of FORK: how that has exited
}

// errCannotFork says that a worker is to be started in the other way.
var errCannotFork = errors.New("extern: workers are not forked here")

// mostForkLanes is how many lanes a worker may have that is forked: all that it is given
// waits in one socket.
const mostForkLanes = 200

// servers are those that are in use, by their interpreters.
var servers = struct {
	mu sync.Mutex
	of map[*Interpreter]*Server
}{of: map[*Interpreter]*Server{}}

// ServerOf returns the server of an interpreter, whose process starts when it is first
// prepared. It is to be closed as often as it was returned.
func ServerOf(python *Interpreter) *Server {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	s := servers.of[python]
	if s == nil {
		s = &Server{python: python, asking: make(chan struct{}, 1), imported: map[string]bool{}, living: map[int]chan syscall.WaitStatus{}}
		s.starter.Open()
		servers.of[python] = s
	}
	s.uses++
	return s
}

// Close ends the process, unless others use it. All workers of the caller's have ended.
func (s *Server) Close() {
	servers.mu.Lock()
	s.uses--
	last := s.uses == 0
	if last {
		delete(servers.of, s.python)
	}
	servers.mu.Unlock()
	if !last {
		return
	}

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

// end has the process wait for the workers that have ended, and end: no zombies are left
// to a first process that may not wait for them. It is killed if it does not end.
func (s *Server) end(process *Child) {
	select {
	case s.asking <- struct{}{}: // for good
		if process.Lanes[0].CloseWrite() == nil {
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

// Prepare has the process import modules that functions need, unless it has, and waits
// until that is done or stop is closed. Modules that cannot be imported are the workers'
// to tell of.
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

// prepare is Prepare. The caller is the one who asks.
func (s *Server) prepare(o Options, modules []string) error {
	missing := []string{}
	for _, m := range modules {
		if !s.imported[m] && !slices.Contains(missing, m) {
			missing = append(missing, m)
		}
	}
	if s.Spawns() != "" || s.process != nil && len(missing) == 0 {
		return nil
	}
	if s.process == nil {
		if err := s.begin(o); err != nil {
			return err
		}
	}
	for _, m := range missing {
		s.imported[m] = true
	}

	text, err := json.Marshal(struct {
		Imports []string `json:"imports"`
	}{missing})
	if err == nil {
		err = s.process.Lanes[0].Send(wire.KindSetup, 0, text)
	}
	if err != nil {
		return err
	}
	a, err := s.answer()
	if err != nil {
		return err
	}
	var r struct{ Spawn string }
	if err := json.Unmarshal(a.payload, &r); a.kind != wire.KindReady || err != nil {
		return fmt.Errorf("it said %v: %s", a.kind, a.payload)
	}
	if r.Spawn != "" {
		return errors.New(r.Spawn)
	}
	return nil
}

// begin starts the process. The caller is the one who asks.
func (s *Server) begin(o Options) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spawns != "" {
		return errCannotFork
	}
	o.Python, o.Lanes, o.Server = s.python, 1, nil
	process, err := s.starter.spawn(o, "--server")
	if err != nil {
		return err
	}
	s.process, s.answers = process, make(chan answer)
	go s.read(process.Lanes[0], s.answers)
	return nil
}

// Spawns is why workers are not forked; empty: they are.
func (s *Server) Spawns() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spawns
}

// refuse has workers be started one by one from now on.
func (s *Server) refuse(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spawns == "" {
		s.spawns = why
	}
}

// fork has the process make one more worker.
func (s *Server) fork(o Options) (*Child, error) {
	select {
	case s.asking <- struct{}{}:
	case <-o.stop: // it may be importing something for others
		return nil, errCannotFork
	}
	defer func() { <-s.asking }()
	if s.process == nil || s.Spawns() != "" || o.Lanes > mostForkLanes {
		return nil, errCannotFork
	}

	return newChild(o, func(c *Child, theirs []*os.File) error {
		conn := s.process.Lanes[0]
		pid, exits, err := s.askForOne(conn, theirs, o.Lanes)
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

// askForOne asks the process for a worker with these descriptors. The error may be of the
// machine's, which may have what is missing some time later.
func (s *Server) askForOne(conn *wire.Conn, theirs []*os.File, lanes int) (pid int, exits <-chan syscall.WaitStatus, err error) {
	for _, f := range theirs {
		if err == nil {
			err = conn.Send(wire.KindSession, 0, nil, int(f.Fd()))
		}
	}
	if err == nil {
		err = conn.Send(wire.KindFork, 0, word(lanes))
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

// answer waits for the process to answer. The caller is the one who asks.
func (s *Server) answer() (answer, error) {
	a, ok := <-s.answers
	if !ok {
		<-s.process.Exited()
		return a, fmt.Errorf("the process that was to fork them %s", s.process.Ending())
	}
	return a, nil
}

// read takes what the process says until it has ended, and its workers with it.
func (s *Server) read(conn *wire.Conn, answers chan<- answer) {
	defer close(answers)
	defer s.orphan()
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
			a.exits = s.born(a.pid)
		}
		answers <- a
	}
}

// born notes that there is a worker, and returns what tells how it will have exited.
func (s *Server) born(pid int) <-chan syscall.WaitStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	exits := make(chan syscall.WaitStatus, 1)
	s.living[pid] = exits
	return exits
}

// exited notes how a worker has.
func (s *Server) exited(pid int, status syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exits := s.living[pid]; exits != nil {
		delete(s.living, pid)
		exits <- status
	}
}

// orphan notes that the process has ended, and that the kernel has killed its workers.
func (s *Server) orphan() {
	s.refuse("the process that forked them has ended")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, exits := range s.living {
		exits <- syscall.WaitStatus(syscall.SIGKILL)
	}
	clear(s.living)
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
