package serve

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
)

// errLate is the error of an input that took longer than the task allows.
type errLate struct{ limit time.Duration }

func (e errLate) Error() string {
	return fmt.Sprintf("serve: it took longer than %v (time_limit), and was given up", e.limit)
}

// clock is the time left for an input. Waiting for memory or a core does not count.
type clock struct{ limit, left time.Duration }

// run calls f, and gives it up when time has run out: f goes on in a goroutine of its
// own, since nothing ends a call into C or one that waits for a disk, and late is
// called when it has ended. f calls begun when its time begins.
func (c *clock) run(ctx context.Context, f func(begun func()), late func()) error {
	begun, over := make(chan struct{}), make(chan struct{})
	var settled atomic.Bool

	go func() {
		f(func() { close(begun) })
		if settled.CompareAndSwap(false, true) {
			close(over)
			return
		}
		late()
	}()

	select {
	case <-begun:
	case <-over: // it was not to begin
		return nil
	}

	from := time.Now()
	timer := time.NewTimer(max(c.left, 0))
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
		if settled.CompareAndSwap(false, true) {
			return errLate{c.limit}
		}
		<-over
	}

	if c.left -= time.Since(from); c.left <= 0 {
		late() // it has ended, but not in time
		return errLate{c.limit}
	}
	return nil
}

// decodeWithLimit decodes an image into memory of its own, because a decoder that is
// abandoned must not write into an array that the client has.
func (s *ioSession) decodeWithLimit(ctx context.Context, i int, p *image, dst []byte, form media.Form) error {
	own := scratch.Make(len(dst))
	var plan media.Plan

	in, grant := p.input, p.grant
	p.input, p.grant = input{}, nothing // they are the decoder's, whether it is given up or not
	release := func() {
		in.forget()
		scratch.Free(own)
		grant.Release()
	}

	decode := s.decoder(i, &in, &plan, own, form)
	gate := s.engine.gate
	var failed error
	err := p.clock.run(ctx, func(begun func()) {
		failed = guarded(func() (err error) {
			waited := gate.Do(ctx, func(permit int) {
				begun()
				err = decode(permit)
			})
			if waited != nil {
				return waited
			}
			return err
		})
	}, release)
	if err != nil {
		return err
	}

	if failed == nil {
		copy(dst, own)
	}
	release()
	return failed
}
