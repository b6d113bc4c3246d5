package extern

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"headrace/extern/internal/message"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"headrace/internal/machine"
	"headrace/wire"
)

// keeper has one process run, and another one when that has died.
type keeper struct {
	workers *Workers
	index   int // among the processes
	lanes   int
	stop    chan struct{} // closed when the keeper is to end
	retired bool          // the same, for who holds the queue's lock
	fresh   bool          // its process has done nothing but suspects, or is still to come; for who holds the queue's lock
	ready   chan struct{} // closed when a process of its has started, or none will
	started sync.Once     // guards that
	process atomic.Pointer[process]
}

const (
	mostBarren = 3
	backOff    = 100 * time.Millisecond
)

func (k *keeper) keep() {
	w := k.workers
	defer w.done.Done()
	defer k.begun()
	defer func() { w.queue.update(func() { w.queue.spoil(k) }) }()

	for {
		w.queue.update(func() { w.queue.freshen(k) })
		select {
		case starts <- struct{}{}:
		case <-k.stop:
			return
		}

		proc, err := w.startPatiently(k)
		if err != nil {
			<-starts
			if w.ended(k) {
				return
			}
			w.queue.fail(&StartError{Stage: w.stage(), Cause: err})
			return
		}

		k.process.Store(proc)
		proc.run()
		k.process.Store(nil)
		proc.close()
		if w.ended(k) {
			return
		}

		p := proc.lastPool()
		w.mu.Lock()
		w.lost = &LostError{Stage: p.o.Stage, Ending: proc.ending(), Last: proc.words.String()}
		w.mu.Unlock()

		wait := w.died(proc, p)
		p.restarts.Add(1)
		select {
		case <-k.stop:
			return
		case <-time.After(wait):
		}
	}
}

// startPatiently starts a process, and waits a while where the machine lacks what that takes.
func (w *Workers) startPatiently(k *keeper) (proc *process, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-k.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = machine.Patiently(ctx, func() error {
		proc, err = w.start(k)
		return err
	})
	return proc, err
}

func (k *keeper) begun() { k.started.Do(func() { close(k.ready) }) }

func (w *Workers) ended(k *keeper) bool {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return k.retired || w.queue.err != nil
}

// died counts processes that were of no use, and tells how long to wait before the next. A run must not go on starting processes that cannot work.
func (w *Workers) died(proc *process, p *Pool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if proc.worked.Load() {
		w.barren = 0
		return 0
	}
	w.barren++
	if w.barren >= mostBarren {
		w.queue.fail(&StartError{Stage: p.o.Stage, Cause: fmt.Errorf("%d processes in a row have ended before their first sample; the last one %s", w.barren, proc.ending()), Last: proc.words.String()})
	}
	return backOff << w.barren
}

// starts has an entry for each process that is on its way to its first sample. So many at once as there are cores are soonest ready: if more start together, all are late.
var starts = make(chan struct{}, max(2, machine.CPUs()))

// startTime is how long others wait for a process that starts; one that takes longer waits itself, for a disk or a network.
const startTime = time.Second

// process is one worker process. It has a lane for each of its threads.
type process struct {
	workers *Workers
	keeper  *keeper
	cmd     *exec.Cmd
	pid     int
	lanes   []*lane
	stack   *os.File // where Python writes the stacks of its threads
	pipes   []*os.File
	readers sync.WaitGroup
	words   lines // the end of what it has written to standard error
	oom     int64 // processes that the kernel had ended for lack of memory before this one started

	ready   chan struct{}        // closed when lanes may work
	exited  chan struct{}        // closed when the process is gone, and all it has said was read
	gone    bool                 // the same, for who holds the queue's lock
	worked  atomic.Bool          // it came as far as a sample
	last    atomic.Pointer[Pool] // whose function it was given last; nil: none
	object  bool                 // Aggregate: it has the object that calls are for; the lane's
	killing sync.Once
	exit    syscall.WaitStatus // after exited
	dump    string             // after exited

	begun   bool // it was given something to do; guarded by the queue's lock
	renewed bool // it ends so that another one can try suspects; guarded by the queue's lock
	trial   *job // the suspect that it tries; guarded by the queue's lock

	mu      sync.Mutex
	limited *lane // whose call has taken too long
	item    int   // and which of its pack

	installing sync.Mutex // guards what is below, and is held while the worker loads a function
	has        map[*Pool]installed
	watchers   sync.WaitGroup
}

// installed is what a worker says of a function that it has loaded.
type installed struct {
	random bool  // it wants random numbers
	all    bool  // it works on all samples of a pack at once
	err    error // it cannot be loaded
}

// lastPool is the one whose function the process was given last, or else the first that it would have been given.
func (proc *process) lastPool() *Pool {
	if p := proc.last.Load(); p != nil {
		return p
	}
	return proc.workers.first()
}

// start starts a process. It has these descriptors beside the standard ones: 3 the heap, 4 where it writes its stacks, 5 its log, and from 6 on its lanes.
func (w *Workers) start(k *keeper) (*process, error) {
	proc := &process{workers: w, keeper: k, has: map[*Pool]installed{}, ready: make(chan struct{}), exited: make(chan struct{})}
	proc.oom, _ = machine.MemoryKills()

	var theirs []*os.File // ends that only the child keeps
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()

	fail := func(err error) (*process, error) {
		proc.close()
		return nil, err
	}

	var err error
	if proc.stack, err = createMemfd("headrace-stack"); err != nil {
		return fail(err)
	}

	python := w.python
	proc.cmd = exec.Command(python.Executable, python.command(k.lanes)...)
	proc.cmd.Dir = python.Directory
	proc.cmd.Env = python.environment()
	proc.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	for range 3 {
		r, end, err := os.Pipe()
		if err != nil {
			return fail(fmt.Errorf("extern: pipe: %w", err))
		}
		proc.pipes, theirs = append(proc.pipes, r), append(theirs, end)
	}
	proc.cmd.Stdout, proc.cmd.Stderr = theirs[0], theirs[1]
	proc.cmd.ExtraFiles = []*os.File{w.heap.file, proc.stack, theirs[2]}

	for range k.lanes {
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
		proc.cmd.ExtraFiles = append(proc.cmd.ExtraFiles, end)
		proc.lanes = append(proc.lanes, newLane(proc, k, conn))
	}

	if err := w.starter.do(proc.cmd.Start); err != nil {
		return fail(fmt.Errorf("extern: %s: %w", python.Executable, err))
	}
	proc.pid = proc.cmd.Process.Pid
	born(proc.pid)
	return proc, nil
}

// setup tells a worker of a function. The first one is the first message of all.
type setup struct {
	Number     int             `json:"number"` // that packs name it by
	Stage      string          `json:"stage"`
	Function   string          `json:"function"`
	Kind       Kind            `json:"kind"`
	Heap       int64           `json:"heap"`
	Pickle     *[2]int         `json:"pickle"` // where it lies in the heap, and its length
	Keys       string          `json:"keys"`   // empty: samples have no names
	KeysPickle *[2]int         `json:"keys_pickle"`
	Cells      []int64         `json:"cells"` // by lane
	In         []message.Field `json:"in"`
	Positional bool            `json:"positional"`
	To         []string        `json:"to"`
	Gives      []message.Field `json:"gives"` // null: to be found out
	Seed       []string        `json:"seed"`
	Copy       bool            `json:"copy"`
	States     bool            `json:"states"`
	Rank       int             `json:"rank"`
	World      int             `json:"world"`
	InlineMost int             `json:"inline_most"` // bytes of a result that travels with the message
	PackCalls  int             `json:"pack_calls"`
}

func (proc *process) setup(p *Pool) ([]byte, error) {
	o := p.o
	s := setup{Number: p.number, Stage: o.Stage, Function: o.Function, Keys: o.Keys, Kind: o.Kind, Heap: int64(len(p.heap.memory)), In: message.FieldsOf(o.In), Positional: o.Positional, To: o.To,
		Gives: message.FieldsOf(o.Gives), Seed: o.Seed, Copy: o.Copy || o.Threads, States: o.States, Rank: o.Rank, World: o.World, InlineMost: roomLeast, PackCalls: message.MostCalls}

	for _, pickle := range []struct {
		data []byte
		at   **[2]int
	}{{p.pickle, &s.Pickle}, {p.keys, &s.KeysPickle}} {
		if pickle.data == nil {
			continue
		}
		at, ok := p.heap.offset(pickle.data)
		if !ok {
			return nil, errors.New("extern: the heap has no room for the function's pickle")
		}
		*pickle.at = &[2]int{int(at), len(pickle.data)}
	}

	for _, l := range proc.lanes {
		at, ok := p.heap.offset(l.cell)
		if !ok {
			return nil, errors.New("extern: the heap has no room")
		}
		s.Cells = append(s.Cells, at)
	}

	return json.Marshal(s)
}

// run has the process work until it has ended.
func (proc *process) run() {
	w := proc.workers
	proc.readers.Add(len(proc.pipes))
	go proc.readLines(proc.pipes[0], "INFO", "stdout")
	go proc.readLines(proc.pipes[1], "WARNING", "stderr")
	go proc.readLog(proc.pipes[2])
	go proc.wait()

	defer proc.watchers.Wait() // they look at memory that is unmapped some time after this

	// Another process may start when this one is ready, has ended, or takes too long.
	go func() {
		select {
		case <-proc.ready:
		case <-proc.exited:
		case <-time.After(startTime):
		}
		<-starts
	}()

	keeper := proc.keeper
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-proc.exited:
			return
		case <-keeper.stop:
		}

		select {
		case <-proc.ready: // its lanes see that they are to end
		default:
			proc.kill()
		}

		w.mu.Lock()
		closed := w.closed
		w.mu.Unlock()
		if closed {
			select {
			case <-proc.exited:
			case <-time.After(2 * patience):
				proc.kill()
			}
		}
	}()

	if proc.begin() {
		close(proc.ready)
		keeper.begun()

		var lanes sync.WaitGroup
		for _, l := range proc.lanes {
			lanes.Go(l.serve)
		}
		lanes.Wait()

		for _, l := range proc.lanes {
			l.conn.CloseWrite() // after which the worker ends by itself
		}
		select {
		case <-proc.exited:
		case <-time.After(2 * patience):
			proc.kill()
		}
	} else {
		proc.kill()
	}

	<-proc.exited
	<-stopped
}

// begin has the worker load the functions that there are, and waits until it has; false: it will not.
func (proc *process) begin() bool {
	w := proc.workers
	w.mu.Lock()
	pools := slices.Clone(w.pools)
	w.mu.Unlock()
	for _, p := range pools {
		_, err := proc.install(proc.lanes[0], p)
		refused := (*StartError)(nil)
		switch {
		case errors.As(err, &refused) && len(pools) == 1:
			proc.kill()
			<-proc.exited
			refused.Last = proc.words.String() // all of it
			w.queue.fail(refused)
			return false
		case refused != nil:
			w.queue.refuse(p, err)
		case err != nil:
			return false // it has died, which is told by died
		}
	}
	for _, l := range proc.lanes {
		for p, has := range proc.has {
			l.knows[p] = &knowledge{installed: has, pace: 1}
		}
	}
	return true
}

// install has the worker load a function, unless it has. A [StartError] says that it cannot.
func (proc *process) install(l *lane, p *Pool) (installed, error) {
	proc.installing.Lock()
	defer proc.installing.Unlock()
	if has, ok := proc.has[p]; ok {
		return has, has.err
	}
	proc.last.Store(p)

	message, err := proc.setup(p)
	if err != nil {
		return installed{}, &StartError{Stage: p.o.Stage, Cause: err}
	}
	if err := l.conn.Send(wire.KindSetup, 0, message); err != nil {
		return installed{}, err
	}
	f, err := l.conn.Receive()
	if err != nil {
		return installed{}, err
	}

	var has installed
	switch f.Kind {
	case wire.KindReady:
		var r struct {
			Random     bool `json:"random"`
			Concurrent bool `json:"concurrent"`
		}
		if err := json.Unmarshal(f.Payload, &r); err != nil {
			return has, fmt.Errorf("%w: READY: %w", wire.ErrProtocol, err)
		}
		has.random, has.all = r.Random, r.Concurrent
		if has.all && p.o.Exact {
			proc.workers.beside(p)
		}
		if p.o.Limit > 0 {
			proc.watchers.Go(func() { proc.watch(p) })
		}
	case wire.KindError:
		cause := &CallError{}
		if err := json.Unmarshal(f.Payload, cause); err != nil {
			return has, fmt.Errorf("%w: ERROR: %w", wire.ErrProtocol, err)
		}
		has.err = &StartError{Stage: p.o.Stage, Cause: cause, Last: proc.words.String()}
	default:
		return has, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
	}
	proc.has[p] = has
	return has, has.err
}

// wait notices the end of the process, and of what it has started.
func (proc *process) wait() {
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, proc.pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	buried(proc.pid) // the number is still taken, so it is nobody else's
	proc.cmd.Wait()
	proc.exit, _ = proc.cmd.ProcessState.Sys().(syscall.WaitStatus)
	for _, r := range proc.pipes {
		r.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // a process that has left the group may hold the other end
	}
	proc.readers.Wait()
	proc.dump = proc.readStack()
	for _, l := range proc.lanes {
		l.conn.Shutdown() // a forked process may hold the other end; what was sent can still be read
	}
	q := &proc.workers.queue
	q.update(func() {
		proc.gone = true
		q.freshen(proc.keeper)
	})
	close(proc.exited)
}

func (proc *process) kill() {
	proc.killing.Do(func() { proc.cmd.Process.Kill() })
}

// watch ends the process when a call of a pool takes too long.
func (proc *process) watch(p *Pool) {
	limit := p.o.Limit
	ticker := time.NewTicker(min(max(limit/8, 5*time.Millisecond), time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-proc.exited:
			return
		case <-ticker.C:
		}
		now := monotonic()
		for _, l := range proc.lanes {
			if item, began, ok := l.inWork(); ok && now-began > limit && l.function.Load() == p {
				proc.expire(l, item)
				return
			}
		}
	}
}

// expire notes who has taken too long, has Python write where it is, and ends the process.
func (proc *process) expire(l *lane, item int) {
	proc.mu.Lock()
	proc.limited, proc.item = l, item
	proc.mu.Unlock()
	proc.cmd.Process.Signal(stackSignal)
	size, same := int64(0), 0
	for range 100 { // one second at most
		info, err := proc.stack.Stat()
		if err != nil {
			break
		}
		if info.Size() > 0 && info.Size() == size {
			if same++; same == 3 {
				break
			}
		} else {
			size, same = info.Size(), 0
		}
		select {
		case <-proc.exited:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	proc.kill()
}

// stackSignal is what Python answers by writing its stacks: one of the real-time signals that nobody else is likely to use.
const stackSignal = syscall.Signal(50)

// readStack is what Python has written of its stacks, without what is the worker's own.
func (proc *process) readStack() string {
	text, _ := io.ReadAll(io.NewSectionReader(proc.stack, 0, 64<<10))
	var kept []string
	own := false // the frame before this one is the worker's
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		frame := strings.HasPrefix(line, "  File ")
		main := own && strings.HasPrefix(line, `  File "<string>"`) // frames are listed innermost first: this one is what -c names
		if own = frame && (strings.Contains(line, "/headrace/worker.py\"") || strings.Contains(line, "/headrace/_worker/")); own || main {
			continue
		}
		kept = append(kept, line)
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// ending says how the process has ended.
func (proc *process) ending() string {
	if proc.exit.Signaled() {
		return "was ended by " + signalText(proc.exit.Signal())
	}
	return fmt.Sprintf("ended with status %d", proc.exit.ExitStatus())
}

// failure is what a sample is told that the process has died under.
func (proc *process) failure(p *Pool, again bool) error {
	e := &WorkerError{Stage: p.o.Stage, PID: proc.pid, Again: again, Last: proc.words.String(), Stack: proc.dump}
	if !proc.exit.Signaled() {
		e.Exit = proc.exit.ExitStatus()
		return e
	}
	if e.Signal = proc.exit.Signal(); e.Signal == syscall.SIGKILL {
		switch kills, file := machine.MemoryKills(); {
		case file == "":
			e.Memory = "the kernel does this when memory is short: it may have run out of memory"
		case kills > proc.oom:
			e.Memory = "it has run out of memory: " + file + " has counted a kill"
		}
	}
	return e
}

func (proc *process) close() {
	for _, f := range proc.pipes {
		f.Close()
	}
	if proc.stack != nil {
		proc.stack.Close()
	}
	for _, l := range proc.lanes {
		l.conn.Close()
		l.conn.CloseDescriptors()
		proc.workers.heap.Give(l.cell)
		proc.workers.heap.Give(l.saved)
	}
}

func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return math.MinInt64
	}
	return time.Duration(now.Nano())
}

// lines keeps the end of what was written.
type lines struct {
	mu   sync.Mutex
	text []byte
}

const keptText = 4 << 10

func (l *lines) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(append(l.text, line...), '\n')
	if len(l.text) > 2*keptText {
		l.text = append(l.text[:0], l.text[len(l.text)-keptText:]...)
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text
	if len(text) > keptText {
		text = text[len(text)-keptText:]
		if _, rest, ok := bytes.Cut(text, []byte("\n")); ok {
			text = rest
		}
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD")
}
