package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"headrace"
	"headrace/arena"
	"headrace/budget"
	"headrace/internal/machine"
	"headrace/internal/scratch"
	"headrace/media"
	"headrace/pipe"
	"headrace/sample"
	"headrace/tensor"
	"headrace/wire"
)

// errands is a session without a loader: it does one thing on media after the other.
type errands struct {
	images *images
	conn   *wire.Conn
	number uint32
	inbox  int // descriptor of the file in which the client puts what it has in memory
	cores  int
	shelf  shelf

	task  wire.Task    // memory used again
	last  []byte       // what was asked for last,
	what  errand       // and what that comes to
	plans []media.Plan // memory used again, one for each hand
	turns []int        // likewise: the order in which inputs are begun
	sizes []int64      // likewise, by input: of files
	reply []byte       // likewise

	standing standing // a stream that goes on from task to task; nil: none
}

// files keeps memory for compressed inputs, of all sessions.
var files = scratch.Pool{Brief: true}

// images is what sessions of single files share with each other and with loaders.
type images struct {
	gate   *headrace.Gate
	larder larder
	page   *page // nil: nothing is noted
	cpus   int
}

// serveIO serves a session that IO has begun, until it ends.
func (e *images) serveIO(ctx context.Context, conn *wire.Conn, number uint32, f wire.Frame) error {
	defer unix.Close(f.Descriptor)

	var asked wire.IO
	if err := parse(f, &asked); err != nil {
		return err
	}
	if asked.Protocol != wire.Version {
		return fmt.Errorf("%w: the client speaks protocol %d, the engine %d; install the two from one release", wire.ErrProtocol, asked.Protocol, wire.Version)
	}

	cores := max(1, e.cpus/max(1, asked.Ranks))
	if asked.Cores > 0 {
		cores = min(cores, asked.Cores)
	}
	e.gate.Widen(cores)

	s := &errands{images: e, conn: conn, number: number, inbox: f.Descriptor, cores: cores}
	s.plans = make([]media.Plan, handsPerCore*cores)
	s.shelf.announce = s.announce
	defer s.shelf.close()
	defer s.end()

	for {
		f, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.Kind != wire.KindTask {
			return refuse(f, "in a session that IO has begun")
		}
		if err := s.do(ctx, f.Payload); err != nil {
			return err
		}
	}
}

func (s *errands) announce(g arena.Segment) error {
	return s.conn.Send(wire.KindSegment, 0, wire.AppendSegment(nil, wire.Segment{
		ID: g.ID, Slots: uint32(g.Slots), SlotBytes: uint64(g.SlotBytes), Bytes: uint64(g.Bytes),
	}), g.FD)
}

// do carries out one task, and answers. An error ends the session.
func (s *errands) do(ctx context.Context, payload []byte) error {
	if err := wire.ParseTask(payload, &s.task); err != nil {
		return err
	}

	for _, slot := range s.task.Released {
		if err := s.shelf.release(slot); err != nil {
			return fmt.Errorf("%w: %w", wire.ErrProtocol, err)
		}
	}

	if s.last == nil || !bytes.Equal(s.last, s.task.What) {
		s.last = nil
		what, err := parseErrand(s.task.What)
		if err != nil {
			return s.answer(nil, []wire.Failure{failure(nil, coded(wire.CodeRecipe, err))})
		}
		s.what, s.last = what, bytes.Clone(s.task.What)
	}

	if len(s.task.Inputs) > 1 {
		// A client that dies must not keep the cores busy.
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer s.conn.WatchHangup(func() { cancel(errVanished) })()
	}

	if err := s.weigh(); err != nil {
		return s.answer(nil, []wire.Failure{failure(nil, err)})
	}

	result, failures, err := s.carryOut(ctx)
	if ctx.Err() != nil {
		result.drop()
		return context.Cause(ctx)
	}
	if errors.Is(err, wire.ErrProtocol) {
		return err
	}
	if err != nil {
		return s.answer(nil, []wire.Failure{failure(nil, err)})
	}
	return s.answer(result, failures)
}

// weigh refuses inputs that are not in the inbox. Memory is made for each by the length
// that the client names, so all of them together may be as long as what the client
// itself has in memory: holes do not count.
func (s *errands) weigh() error {
	var stat unix.Stat_t
	if err := unix.Fstat(s.inbox, &stat); err != nil {
		return fmt.Errorf("serve: inbox: %w", err)
	}
	size, left := uint64(max(0, stat.Size)), uint64(max(0, stat.Blocks))*512
	for _, in := range s.task.Inputs {
		switch {
		case in.Path:
		case in.At > size || in.Length > size-in.At:
			return fmt.Errorf("serve: inbox: %d bytes from %d on, of %d", in.Length, in.At, size)
		case in.Length > left:
			return fmt.Errorf("serve: inbox: %d bytes are more than are left of the %d in it that are not holes", in.Length, stat.Blocks*512)
		default:
			left -= in.Length
		}
	}
	return nil
}

func (s *errands) carryOut(ctx context.Context) (*result, []wire.Failure, error) {
	if s.what.encode {
		r, err := s.encode(ctx)
		return r, nil, err
	}
	if d, known := doings[s.what.Do]; known {
		return s.further(ctx, d)
	}
	if s.what.Audio != nil {
		return s.alone(ctx, s.recording)
	}
	if s.what.Video != nil {
		return s.alone(ctx, s.clip)
	}
	return s.decode(ctx)
}

// answer sends what became of a task. The slot of the result is the client's then.
func (s *errands) answer(r *result, failures []wire.Failure) error {
	var done wire.Done
	if r != nil {
		if err := r.slot.Seal(); err != nil {
			return err
		}
		done.Segment, done.Slot, done.Flags, done.Bits = r.slot.Segment(), r.slot.Index(), wire.HasResult, uint32(r.bits)
		for _, n := range r.shape {
			done.Extents = append(done.Extents, uint64(n))
		}
		if s.shelf.isLast(r.slot) {
			done.Flags |= wire.LastSlot
		}
		if err := r.slot.Send(); err != nil {
			return err
		}
	}
	if len(failures) > 0 {
		var err error
		if done.Failures, err = json.Marshal(failures); err != nil {
			return err
		}
	}
	s.reply = wire.AppendDone(s.reply[:0], &done)
	return s.conn.Send(wire.KindDone, 0, s.reply)
}

// failure is err as the client sees it.
func failure(index *int, err error) wire.Failure {
	f := wire.Failure{Index: index, Code: wire.CodeSample, Message: err.Error()}
	var known codedError
	var errno syscall.Errno
	var panicked *pipe.PanicError
	switch {
	case errors.As(err, &known):
		f.Code = known.code
	case errors.As(err, &panicked):
		f.Code = wire.CodeInternal
		slog.Error("an operation on media panicked", "value", panicked.Value, "stack", string(panicked.Stack))
	case errors.Is(err, arena.ErrMemory), machine.BlameOf(err) == machine.BlameMachine:
		f.Code = wire.CodeMemory // no input's fault, so the policy for bad ones has no say
	case errors.As(err, &errno):
		f.Errno = int(errno)
	}
	return f
}

// picture is an input of a task, as far as it has been looked at.
type picture struct {
	input
	grant budget.Grant // for what is read, and what decoding it takes
	clock clock
	err   error
}

var nothing budget.Grant

func (p *picture) forget() {
	p.input.forget()
	p.grant.Release()
	p.grant = nothing
}

// decode makes one array of all inputs. Those that fail leave zeros in it, where its
// shape is known without them; under strict, nothing is made then.
func (s *errands) decode(ctx context.Context) (*result, []wire.Failure, error) {
	n, w := len(s.task.Inputs), &s.what
	if !w.Batch && n != 1 {
		return nil, nil, fmt.Errorf("%w: a task for one input has %d", wire.ErrProtocol, n)
	}

	pictures := make([]picture, n)
	for i := range pictures {
		pictures[i].clock = clock{w.limit, w.limit}
	}
	s.takeTurns()

	form := w.form
	if !w.sized() {
		s.each(ctx, pictures, func(i int, h hand) error { return s.look(ctx, i, &pictures[i], h) })
		defer func() {
			for i := range pictures {
				pictures[i].forget()
			}
		}()
		if failures := failuresOf(pictures); len(failures) > 0 && w.Strict {
			return nil, failures, nil
		}
		form = s.agree(ctx, pictures)
		if failures := failuresOf(pictures); len(failures) > 0 && (w.Strict || form.Height <= 0) {
			return nil, failures, nil
		}
	}

	if form.Height <= 0 { // nothing was given
		form.Height, form.Width = 0, 0
	}

	shape := form.Shape()
	if w.Batch {
		shape = append(tensor.Shape{n}, shape...)
	}
	bytes, err := shape.Bytes(form.DType)
	if err != nil {
		return nil, nil, coded(wire.CodeRecipe, err)
	}

	slot, err := s.shelf.reserve(ctx, bytes)
	if err != nil {
		return nil, nil, err
	}

	row := form.RowBytes() * form.Height
	to := func(i int) []byte { return slot.Bytes()[i*row:][:row:row] }
	s.each(ctx, pictures, func(i int, h hand) error {
		p := &pictures[i]
		defer p.forget()
		return s.draw(ctx, i, p, h, to(i), form)
	})

	failures := failuresOf(pictures)
	if len(failures) > 0 && (w.Strict || !w.Batch) {
		slot.Drop()
		return nil, failures, nil
	}

	for i := range pictures {
		if pictures[i].err != nil {
			clear(to(i))
		}
	}

	return &result{slot, 8 * form.DType.Size(), shape}, failures, nil
}

// hand is one of those who work on the images of a task.
type hand struct {
	number int    // tells those apart that work at once
	waited func() // says that it has waited, for a disk or a network, so that another one could have worked meanwhile
}

const handsPerCore = 4

// each calls do for every image that has not failed, in the order of turns, and notes
// what it returns. There is a hand for each core: more threads than cores take turns,
// and now and then wait for each other while a core rests. Hands that wait are given
// help. Where a task is strict, only images before one that has failed are begun from
// then on, so that it is always the first of the bad ones that the client sees.
func (s *errands) each(ctx context.Context, pictures []picture, do func(i int, h hand) error) {
	var next, hands, failed atomic.Int64
	failed.Store(int64(len(pictures)))
	var others sync.WaitGroup
	most := int64(min(len(s.plans), len(pictures)))

	var help func()
	work := func(number int) {
		h := hand{number, help}
		for ctx.Err() == nil {
			turn := int(next.Add(1)) - 1
			if turn >= len(pictures) {
				return
			}
			i := s.turns[turn]
			if p := &pictures[i]; p.err == nil && int64(i) < failed.Load() {
				if p.err = guarded(func() error { return do(i, h) }); p.err != nil {
					p.forget()
					if s.what.Strict {
						lower(&failed, int64(i))
					}
				}
			}
			runtime.Gosched() // a goroutine that never rests has its CPU taken away, though it is in C most of the time
		}
	}

	help = func() {
		if n := hands.Add(1); n < most {
			others.Go(func() { work(int(n)) })
		}
	}

	for range min(s.cores, len(pictures)) - 1 {
		help()
	}
	work(0)
	others.Wait()
}

// lower makes a number no larger than n.
func lower(to *atomic.Int64, n int64) {
	for {
		old := to.Load()
		if old <= n || to.CompareAndSwap(old, n) {
			return
		}
	}
}

// patience is how long a task may look for the sizes of its files.
const patience = time.Millisecond

// takeTurns has the largest inputs begun first, so that no core is left with a large
// one when all others are done. Files whose sizes are not quickly had come last.
func (s *errands) takeTurns() {
	s.turns, s.sizes = s.turns[:0], s.sizes[:0]
	began := time.Now()
	for i, in := range s.task.Inputs {
		size := int64(in.Length)
		if in.Path {
			size = 0
			var stat unix.Stat_t
			if len(s.task.Inputs) > 1 && time.Since(began) < patience && unix.Stat(string(s.task.Text[in.At:][:in.Length]), &stat) == nil {
				size = stat.Size
			}
		}
		s.turns, s.sizes = append(s.turns, i), append(s.sizes, size)
	}
	slices.SortStableFunc(s.turns, func(a, b int) int { return cmp.Compare(s.sizes[b], s.sizes[a]) })
}

// guarded makes a panic an error.
func guarded(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &pipe.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call()
}

func failuresOf(pictures []picture) (failures []wire.Failure) {
	for i := range pictures {
		if err := pictures[i].err; err != nil {
			failures = append(failures, failure(&i, err))
		}
	}
	return failures
}

// look finds out what an input is, and keeps it for its turn as far as there is room:
// it is the size of the first that decides what is made of all.
func (s *errands) look(ctx context.Context, i int, p *picture, h hand) error {
	if err := s.fetch(ctx, i, p, h); err != nil {
		return err
	}
	p.grant.Release()
	p.grant = nothing
	if l := &s.images.larder; l.keep(int64(len(*p.data))) {
		p.kept = l
	} else {
		p.input.forget()
	}
	return nil
}

// fetch reads an input, for which memory is asked first, as is for decoding it.
func (s *errands) fetch(ctx context.Context, i int, p *picture, h hand) error {
	p.input = s.input(i)
	most := s.what.MaxBytes // reading that was given up goes on while s.what is the next task's
	begin := func(in *input) error {
		return machine.Patiently(ctx, func() error {
			in.forget()
			return in.begin(most)
		})
	}
	if err := s.reading(ctx, p, h, begin); err != nil {
		return err
	}
	if f := s.what.Format; f != "" && p.info.Format != f {
		return fmt.Errorf("%w: it is %s: must be %s", media.ErrFormat, p.info.Format, f)
	}
	var err error
	if p.grant, err = s.images.larder.ask(ctx, s.needs(p, h)); err != nil {
		return err
	}
	if err := s.reading(ctx, p, h, (*input).finish); err != nil {
		return err
	}
	p.grant.Resize(s.needs(p, h))
	return nil
}

// needs is how many bytes an input takes, and decoding it. What cannot be decoded needs
// none for that.
func (s *errands) needs(p *picture, h hand) int64 {
	n, plan := p.size, &s.plans[h.number]
	var data []byte
	if p.data != nil {
		data = *p.data
		n = max(n, int64(len(data)))
	}
	if media.MakePlan(p.info, s.what.options, s.what.steps, nil, plan) == nil {
		n += plan.WorkingBytes(&p.info, data)
		if s.what.limit > 0 {
			n += int64(plan.Form().RowBytes()) * int64(plan.Height)
		}
	}
	return n
}

// reading carries out a part of reading an input. A file may be on a disk that does
// not answer; what is in the inbox is there.
func (s *errands) reading(ctx context.Context, p *picture, h hand, read func(*input) error) error {
	if p.clock.limit > 0 && p.path != "" {
		own := p.input
		p.input = input{}
		var failed error
		err := p.clock.run(ctx, func(begun func()) {
			begun()
			failed = guarded(func() error { return read(&own) })
		}, func() { own.forget() })
		if err != nil {
			return err
		}
		p.input = own
		return failed
	}
	thread, before := waits()
	if err := read(&p.input); err != nil {
		return err
	}
	if same, after := waits(); same == thread && after > before {
		h.waited()
	}
	return nil
}

func (s *errands) input(i int) input {
	in := s.task.Inputs[i]
	if in.Path {
		return input{path: string(s.task.Text[in.At:][:in.Length])}
	}
	return input{inbox: s.inbox, place: in}
}

// waits tells which thread this is, and how often it has waited for something. That
// others were given its core does not count, as a clock would count it.
func waits() (thread int, n int64) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0, 0
	}
	return unix.Gettid(), int64(usage.Nvcsw)
}

// agree returns the form that the images of a batch come out in when nothing is said
// of their size: that of the first. Others have failed.
func (s *errands) agree(ctx context.Context, pictures []picture) (form media.Form) {
	first := -1
	form = s.what.form
	s.each(ctx, pictures, func(i int, h hand) error {
		return media.MakePlan(pictures[i].info, s.what.options, nil, nil, &s.plans[h.number])
	})
	for i := range pictures {
		p := &pictures[i]
		if p.err != nil {
			continue
		}
		width, height := p.info.Width, p.info.Height
		if s.what.options.Orient {
			width, height = p.info.Oriented()
		}
		switch {
		case first < 0:
			first = i
			form.Width, form.Height = width, height
		case form.Width != width || form.Height != height:
			p.err = fmt.Errorf("serve: it has %d×%d pixels, input %d has %d×%d: give width and height, to which all are resized", width, height, first, form.Width, form.Height)
			p.forget()
		}
	}
	return form
}

// draw decodes one image to where it belongs.
func (s *errands) draw(ctx context.Context, i int, p *picture, h hand, dst []byte, form media.Form) (err error) {
	if p.data == nil {
		err = s.fetch(ctx, i, p, h)
	} else {
		p.grant, err = s.images.larder.ask(ctx, s.needs(p, h)-int64(len(*p.data)))
	}
	if err != nil {
		return err
	}
	if p.clock.limit > 0 {
		return s.drawLimited(ctx, i, p, dst, form)
	}
	decode := s.decoding(i, &p.input, &s.plans[h.number], dst, form)
	waited := s.images.gate.Do(ctx, func(permit int) { err = decode(permit) })
	return cmp.Or(waited, err)
}

// decoding returns what decodes an input to dst.
func (s *errands) decoding(i int, in *input, plan *media.Plan, dst []byte, form media.Form) func(permit int) error {
	key, images, number, what := fmt.Sprintf("input %d", i), s.images, s.number, &s.what
	if in.path != "" {
		key = in.path
	}
	options, steps := what.options, what.steps
	return func(permit int) error {
		decoder, err := options.Decoder(in.info.Format)
		if err != nil {
			return err
		}
		if err := media.MakePlan(in.info, options, steps, nil, plan); err != nil {
			return err
		}
		if got := plan.Form(); got != form {
			return fmt.Errorf("serve: the image comes out as %v, not %v", got, form)
		}
		defer images.inFlight(number, permit, i, key)()
		return decoder.DecodeInto(dst, form.RowBytes(), *in.data, &in.info, plan)
	}
}

// inFlight notes that C code works on an input, until the function that it returns is
// called.
func (e *images) inFlight(session uint32, permit, i int, key string) (end func()) {
	if e.page == nil {
		return func() {}
	}
	w := inFlight(cellWriter{page: e.page, session: session})
	w.Begin(permit, sample.ID{Index: int64(i)}, key)
	return func() { w.End(permit) }
}

// computing calls do through the gate. It may crash in C code.
func (s *errands) computing(ctx context.Context, in *input, do func() error) (err error) {
	key := in.path
	if key == "" {
		key = "input 0"
	}
	waited := s.images.gate.Do(ctx, func(permit int) {
		defer s.images.inFlight(s.number, permit, 0, key)()
		err = guarded(do)
	})
	return errors.Join(waited, err)
}

// computed is what a call of computing returns.
func computed[T any](ctx context.Context, s *errands, in *input, do func() (T, error)) (got T, err error) {
	err = s.computing(ctx, in, func() (err error) {
		got, err = do()
		return err
	})
	return got, err
}

// encode makes a file of the pixels that are in the inbox.
func (s *errands) encode(ctx context.Context) (*result, error) {
	if n := len(s.task.Inputs); n != 1 || s.task.Inputs[0].Path {
		return nil, fmt.Errorf("%w: encoding of %d inputs", wire.ErrProtocol, n)
	}

	in, pixels := s.input(0), s.what.pixels

	// The pixels, the file that is made of them, and what the encoder has in between.
	grant, err := s.images.larder.ask(ctx, 3*int64(in.place.Length))
	if err != nil {
		return nil, err
	}
	defer grant.Release()

	defer in.forget()
	if err := in.readArray(); err != nil {
		return nil, err
	}
	pixels.Data = *in.data

	file, err := computed(ctx, s, &in, func() ([]byte, error) { return media.Encode(nil, pixels, s.what.encoding) })
	if err != nil {
		return nil, err
	}
	return s.bytes(ctx, file)
}

// breathe waits a moment; false: there is no time left.
func breathe(ctx context.Context) bool {
	select {
	case <-time.After(100 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
