package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
)

// walk is a run from where it begins to its end.
type walk struct {
	watchers []watcher
	epochs   int
	out      *export.Export // nil: samples are written nowhere
	trace    *traceEvent    // nil: there is none
	now      progress
	waited   []func(time.Duration) // learn how long each batch was waited for
	seen     []func(*headrace.Batch)
}

func (w *walk) begin(f recipe.File, info headrace.Info) {
	w.now = progress{epochs: w.epochs, perEpoch: info.SamplesPerEpoch, begun: time.Now(), epochBegun: time.Now()}
	if w.out != nil {
		w.now.epoch = w.out.State().Epoch
		w.now.samples = w.out.WrittenIn(w.now.epoch)
		w.now.before = w.now.samples
	}
	for _, o := range w.watchers {
		o.start(start{f, info, w.out, w.now})
	}
}

// walk takes batch after batch, and writes it where it should be written.
func (w *walk) walk(ctx context.Context, l *headrace.Loader) error {
	from := l.Info().State
	if w.out != nil {
		if _, done := w.out.Complete(); done {
			return nil
		}
		from = w.out.State()
	}

	l.Asked() // the clocks start with the run
	if err := l.Start(from, nil); err != nil {
		return err
	}

	for {
		asked := time.Now()
		b, err := l.Next(ctx)
		switch {
		case err == nil:
			w.tellWait(time.Since(asked))
			err = w.take(b, l)
		case err == io.EOF:
			w.epochEnded(l.Epoch())
			continue
		case err == pipe.ErrDone:
			return w.finish(l)
		case ctx.Err() != nil:
			err = w.interrupted()
		}

		if err != nil {
			return w.save(err)
		}
	}
}

// tellWait tells of each wait but the first, which is the start's.
func (w *walk) tellWait(took time.Duration) {
	if w.now.totalBatches == 0 {
		return
	}
	for _, waited := range w.waited {
		waited(took)
	}
}

func (w *walk) take(b *headrace.Batch, l *headrace.Loader) error {
	defer b.Release()
	if w.out != nil {
		if err := w.out.Write(b, l.State()); err != nil {
			return &outputError{err}
		}
		if err := w.out.Checkpoint(); err != nil {
			return &outputError{err}
		}
	}
	for _, see := range w.seen {
		see(b)
	}
	n := b.Samples()
	w.now.totalBatches++
	w.now.samples += n
	w.now.total += n
	for _, o := range w.watchers {
		o.batch(w.now)
	}
	return nil
}

func (w *walk) epochEnded(s headrace.EpochSummary) {
	for _, o := range w.watchers {
		o.epoch(s, w.now)
	}
	w.now.epoch++
	w.now.samples, w.now.lost, w.now.before = 0, 0, 0
	w.now.epochBegun = time.Now()
}

func (w *walk) sampleLost(lost headrace.Lost) {
	if lost.Replaced {
		w.now.replaced++
	} else {
		w.now.lost++
		w.now.totalLost++
	}
	if w.out != nil {
		w.out.Lost(lost)
	}
	for _, o := range w.watchers {
		o.lost(lost, w.now)
	}
}

func (w *walk) warn(code, message string) {
	for _, o := range w.watchers {
		o.warn(code, message)
	}
}

func (w *walk) finish(l *headrace.Loader) error {
	if w.out == nil {
		return nil
	}
	if _, err := w.out.Finish(l.State()); err != nil {
		return &outputError{err}
	}
	return nil
}

// save notes how far the files are, after an error of something else.
func (w *walk) save(err error) error {
	if _, bad := err.(*outputError); w.out == nil || bad {
		return err
	}
	if unsaved := w.out.Save(); unsaved != nil {
		return fmt.Errorf("%w, and then %w", err, &outputError{unsaved})
	}
	return err
}

// outputError is one of the files that are written.
type outputError struct{ error }

func (e *outputError) Error() string {
	return "--out: " + strings.TrimPrefix(machine.Unwritten(e.error).Error(), "export: ")
}
func (e *outputError) Unwrap() error { return e.error }

func (w *walk) interrupted() error {
	text := fmt.Sprintf("interrupted in epoch %d of %d, after %s in %s", w.now.epoch+1, w.epochs,
		words.Plural(w.now.total, "sample"), words.Plural(w.now.totalBatches, "batch"))
	return &codeError{exitInterrupted, errors.New(text + failed(w.now.totalLost, w.now.replaced))}
}

// explained says of an error what it leaves of the files.
func (w *walk) explained(err error) error {
	if w.out == nil || w.out.Saved() == 0 {
		return err
	}
	return fmt.Errorf("%w; %s written and safe: the same command goes on from there", err, are(w.out.Saved()))
}

func are(n int64) string {
	if n == 1 {
		return "1 sample is"
	}
	return words.Thousands(n) + " samples are"
}

// missing is the number of samples that failed, also of those that earlier runs of the
// same output lost or replaced.
func (w *walk) missing() int64 {
	if m, ok := w.written(); ok {
		return m.Lost() + m.Replaced()
	}
	return w.now.totalLost + w.now.replaced
}

// written returns what was written, once that is complete.
func (w *walk) written() (export.Manifest, bool) {
	if w.out == nil {
		return export.Manifest{}, false
	}
	return w.out.Complete()
}

func (w *walk) end(code int, err error, s stats.Snapshot) (failed error) {
	e := ending{code: code, err: err, stats: s, trace: w.trace, now: w.now}
	if m, ok := w.written(); ok {
		e.manifest = &m
	}
	for _, o := range w.watchers {
		if err := o.end(e); err != nil {
			failed = err
		}
	}
	return failed
}
