package live

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// sampleOf returns the newest sample of a loader of this process.
func (p *process) sampleOf(ctx context.Context, id string) (Sample, bool) {
	for _, w := range p.all() {
		if w.id == id && w.loader.Sample != nil {
			return w.latest.of(ctx, w.loader.Sample, p.every)
		}
	}
	return Sample{}, false
}

// otherSample asks the other processes for it.
func (p *process) otherSample(ctx context.Context, id string) (s Sample, ok bool) {
	p.mu.Lock()
	c := p.circle
	p.mu.Unlock()
	if c == nil {
		return s, false
	}
	for _, path := range c.Others() {
		if ask(ctx, path, "/sample?loader="+url.QueryEscape(id), &s) == nil {
			return s, true
		}
	}
	return s, false
}

// stepsOf draws a sample of a loader of this process after each step, for one browser at
// a time; busy: for another one.
func (p *process) stepsOf(ctx context.Context, id string) (all []Step, busy bool, err error) {
	for _, w := range p.all() {
		if w.id != id || w.loader.Steps == nil {
			continue
		}
		if !p.drawing.TryLock() {
			return nil, true, nil
		}
		defer p.drawing.Unlock()
		ctx, cancel := context.WithTimeout(ctx, mostDrawing)
		defer cancel()
		w.mu.Lock()
		epoch := w.progress.Epoch
		w.mu.Unlock()
		all, err = w.loader.Steps(ctx, epoch)
		return all, false, err
	}
	return nil, false, errNoSteps
}

// mostDrawing bounds the time for it, which a large listing takes.
const mostDrawing = time.Minute

var errNoSteps = errors.New("only a loader of the program that has this page shows its steps")
