package source

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/store"
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
	n, err := read()
	if err == nil {
		w.Reads.Add(1)
		return n, nil
	}
	last, since := w.Reads.Load(), time.Now()
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

// othersTried is how many other files tell whether one alone is missing.
const othersTried = 16

// PlaceGone tells whether it is not the one file that has this error, but the place where
// they all are: a folder that was removed, a mount that has gone, a disk. Files from all
// over the listing have the same kind of error then, every one of those that are tried;
// of one or two files in all the folder decides.
func (f *Files) PlaceGone(ctx context.Context, index int64, err error) bool {
	if machine.BlameOf(err) != machine.BlamePlace {
		return false
	}
	n := f.Len()
	if n <= 2 {
		path := f.Table.Path(int(index))
		if _, _, ok := store.Scheme(path); ok {
			return false // stores have no folders that could be gone
		}
		_, err := os.Stat(filepath.Dir(path))
		return machine.BlameOf(err) == machine.BlamePlace
	}
	tries := min(n-1, othersTried)
	for k := range tries {
		if other := (index + 1 + k*(n-1)/tries) % n; machine.BlameOf(f.touch(ctx, other)) == machine.BlameItem {
			return false
		}
	}
	return true
}

// touch reads a little of a file.
func (f *Files) touch(ctx context.Context, index int64) error {
	file, err := store.Open(ctx, f.Table.Path(int(index)), f.most)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Touch()
}
