package source

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
)

// Waits for what the machine lacks: others give descriptors and memory back, servers come
// back.
const (
	firstWait  = time.Millisecond
	longWait   = 100 * time.Millisecond
	LackForAll = 3 * time.Second // in which no sample at all could be read
)

// Patiently reads a sample, and tries again while the machine lacks something, as long as
// other samples get through.
func Patiently(ctx context.Context, w *core.Env, it *record.Record, read func() (int64, error)) (int64, error) {
	last, since := w.Reads.Load(), time.Now() // a store has been patient itself
	n, err := read()
	if err == nil {
		w.Reads.Add(1)
		return n, nil
	}
	for wait := firstWait; err != nil && machine.BlameOf(err) == machine.BlameMachine; wait = min(2*wait, longWait) {
		if now := w.Reads.Load(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > LackForAll {
			return 0, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		w.Drop(it)
		if n, err = read(); err == nil {
			w.Reads.Add(1)
		}
	}
	return n, err
}
