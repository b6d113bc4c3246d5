package serve

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
	"github.com/headrace/headrace/wire"
)

// image is an input of a task, as far as it has been read.
type image struct {
	input
	grant budget.Grant // for what is read, and what decoding it takes
	clock clock
	err   error
}

var nothing budget.Grant

func (p *image) forget() {
	p.input.forget()
	p.grant.Release()
	p.grant = nothing
}

// decode makes one array of all inputs. Inputs that fail leave zeros in it if its shape
// is known without them; if the task is strict, nothing is made then.
func (s *ioSession) decode(ctx context.Context) (*result, []wire.Failure, error) {
	n, w := len(s.message.Inputs), &s.task
	if !w.Batch && n != 1 {
		return nil, nil, fmt.Errorf("%w: a task for one input has %d", wire.ErrProtocol, n)
	}

	images := make([]image, n)
	for i := range images {
		images[i].clock = clock{w.limit, w.limit}
	}
	s.sortBySize()

	form := w.form
	if !w.sized() {
		s.eachImage(ctx, images, func(i int, w worker) error { return s.probe(ctx, i, &images[i], w) })
		defer func() {
			for i := range images {
				images[i].forget()
			}
		}()
		if failures := failuresOf(images); len(failures) > 0 && w.Strict {
			return nil, failures, nil
		}
		form = s.commonForm(ctx, images)
		if failures := failuresOf(images); len(failures) > 0 && (w.Strict || form.Height <= 0) {
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

	slot, err := s.results.reserve(ctx, bytes)
	if err != nil {
		return nil, nil, err
	}

	row := form.RowBytes() * form.Height
	to := func(i int) []byte { return slot.Bytes()[i*row:][:row:row] }
	s.eachImage(ctx, images, func(i int, w worker) error {
		p := &images[i]
		defer p.forget()
		return s.decodeOne(ctx, i, p, w, to(i), form)
	})

	failures := failuresOf(images)
	if len(failures) > 0 && (w.Strict || !w.Batch) {
		slot.Drop()
		return nil, failures, nil
	}

	for i := range images {
		if images[i].err != nil {
			clear(to(i))
		}
	}

	return &result{slot, 8 * form.DType.Size(), shape}, failures, nil
}

// worker is one of the goroutines that work on a task's images.
type worker struct {
	number int    // tells those apart that work at once
	waited func() // says that it has waited, for a disk or a network, so that another one could have worked meanwhile
}

const workersPerCore = 4

// eachImage calls do for every image that has not failed, in the session's order, and
// records the errors. There is a worker for each core, because more threads than cores
// would preempt each other while a core idles. A worker that waits for a disk starts
// another one. Once an image of a strict task has failed, only images before it are
// started, so that the client always sees the first bad one.
func (s *ioSession) eachImage(ctx context.Context, images []image, do func(i int, w worker) error) {
	var next, workers, failed atomic.Int64
	failed.Store(int64(len(images)))
	var others sync.WaitGroup
	most := int64(min(len(s.plans), len(images)))

	var help func()
	work := func(number int) {
		w := worker{number, help}
		for ctx.Err() == nil {
			turn := int(next.Add(1)) - 1
			if turn >= len(images) {
				return
			}
			i := s.order[turn]
			if p := &images[i]; p.err == nil && int64(i) < failed.Load() {
				if p.err = guarded(func() error { return do(i, w) }); p.err != nil {
					p.forget()
					if s.task.Strict {
						lower(&failed, int64(i))
					}
				}
			}
			runtime.Gosched() // a goroutine that never rests has its CPU taken away, though it is in C most of the time
		}
	}

	help = func() {
		if n := workers.Add(1); n < most {
			others.Go(func() { work(int(n)) })
		}
	}

	for range min(s.cores, len(images)) - 1 {
		help()
	}
	work(0)
	others.Wait()
}

// lower sets a number to n if it is larger.
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

// sortBySize puts the largest inputs first, so that no core is left with a large one when
// all others are done. Files whose size takes too long to find come last.
func (s *ioSession) sortBySize() {
	s.order, s.sizes = s.order[:0], s.sizes[:0]
	began := time.Now()
	for i, in := range s.message.Inputs {
		size := int64(in.Length)
		if in.Path {
			size = 0
			var stat unix.Stat_t
			if len(s.message.Inputs) > 1 && time.Since(began) < patience && unix.Stat(string(s.message.Text[in.At:][:in.Length]), &stat) == nil {
				size = stat.Size
			}
		}
		s.order, s.sizes = append(s.order, i), append(s.sizes, size)
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.sizes[b], s.sizes[a]) })
}

func failuresOf(images []image) (failures []wire.Failure) {
	for i := range images {
		if err := images[i].err; err != nil {
			failures = append(failures, failure(&i, err))
		}
	}
	return failures
}

// probe reads an input to find its form, and keeps the data until it is decoded if there
// is room: the size of the first image decides the form of all.
func (s *ioSession) probe(ctx context.Context, i int, p *image, w worker) error {
	if err := s.fetch(ctx, i, p, w); err != nil {
		return err
	}
	p.grant.Release()
	p.grant = nothing
	if m := &s.engine.memory; m.keep(int64(len(*p.data))) {
		p.kept = m
	} else {
		p.input.forget()
	}
	return nil
}

// fetch reads an input, after asking for the memory that reading and decoding it will
// take.
func (s *ioSession) fetch(ctx context.Context, i int, p *image, w worker) error {
	p.input = s.input(i)
	most := s.task.MaxBytes // abandoned reading goes on while s.task is already the next one
	begin := func(in *input) error {
		return machine.Patiently(ctx, func() error {
			in.forget()
			return in.begin(ctx, most)
		})
	}
	if err := s.read(ctx, p, w, begin); err != nil {
		return err
	}
	if f := s.task.Format; f != "" && p.info.Format != f {
		return fmt.Errorf("%w: it is %s: must be %s", media.ErrFormat, p.info.Format, f)
	}
	var err error
	if p.grant, err = s.engine.memory.ask(ctx, s.memoryFor(p, w)); err != nil {
		return err
	}
	if err := s.read(ctx, p, w, (*input).finish); err != nil {
		return err
	}
	p.grant.Resize(s.memoryFor(p, w))
	return nil
}

// memoryFor returns the number of bytes needed to hold and decode an input. An input that
// cannot be decoded needs none for decoding.
func (s *ioSession) memoryFor(p *image, w worker) int64 {
	n, plan := p.size, &s.plans[w.number]
	var data []byte
	if p.data != nil {
		data = *p.data
		n = max(n, int64(len(data)))
	}
	if media.MakePlan(p.info, s.task.options, s.task.steps, nil, plan) == nil {
		n += plan.WorkingBytes(&p.info, data)
		if s.task.limit > 0 {
			n += int64(plan.Form().RowBytes()) * int64(plan.Height)
		}
	}
	return n
}

// read runs a step of reading an input. A file gets the task's time limit, because its
// disk may not answer; data in the inbox is there already.
func (s *ioSession) read(ctx context.Context, p *image, w worker, read func(*input) error) error {
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
		w.waited()
	}
	return nil
}

// waits returns the current thread and how often it has waited for something. Unlike a
// clock, it does not count time during which others used its core.
func waits() (thread int, n int64) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0, 0
	}
	return unix.Gettid(), int64(usage.Nvcsw)
}

// commonForm returns the form of a batch for which the task gives no size: that of the
// first image. Images of other sizes fail.
func (s *ioSession) commonForm(ctx context.Context, images []image) (form media.Form) {
	first := -1
	form = s.task.form
	s.eachImage(ctx, images, func(i int, w worker) error {
		return media.MakePlan(images[i].info, s.task.options, nil, nil, &s.plans[w.number])
	})
	for i := range images {
		p := &images[i]
		if p.err != nil {
			continue
		}
		width, height := p.info.Width, p.info.Height
		if s.task.options.Orient {
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

// decodeOne decodes an image into dst.
func (s *ioSession) decodeOne(ctx context.Context, i int, p *image, w worker, dst []byte, form media.Form) (err error) {
	if p.data == nil {
		err = s.fetch(ctx, i, p, w)
	} else {
		p.grant, err = s.engine.memory.ask(ctx, s.memoryFor(p, w)-int64(len(*p.data)))
	}
	if err != nil {
		return err
	}
	if p.clock.limit > 0 {
		return s.decodeWithLimit(ctx, i, p, dst, form)
	}
	decode := s.decoder(i, &p.input, &s.plans[w.number], dst, form)
	waited := s.engine.gate.Do(ctx, func(permit int) { err = decode(permit) })
	return cmp.Or(waited, err)
}

// decoder returns a function that decodes an input into dst.
func (s *ioSession) decoder(i int, in *input, plan *media.Plan, dst []byte, form media.Form) func(permit int) error {
	key, images, number, what := fmt.Sprintf("input %d", i), s.engine, s.number, &s.task
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

// encode makes an image file of the pixels in the inbox.
func (s *ioSession) encode(ctx context.Context) (*result, error) {
	if n := len(s.message.Inputs); n != 1 || s.message.Inputs[0].Path {
		return nil, fmt.Errorf("%w: encoding of %d inputs", wire.ErrProtocol, n)
	}

	in, pixels := s.input(0), s.task.pixels

	// The pixels, the file that is made of them, and what the encoder has in between.
	grant, err := s.engine.memory.ask(ctx, 3*int64(in.place.Length))
	if err != nil {
		return nil, err
	}
	defer grant.Release()

	defer in.forget()
	if err := in.readArray(); err != nil {
		return nil, err
	}
	pixels.Data = *in.data

	file, err := computedOn(ctx, s, &in, func() ([]byte, error) { return media.Encode(nil, pixels, s.task.encoding) })
	if err != nil {
		return nil, err
	}
	return s.bytesResult(ctx, file)
}
