package serve

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media"
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
