package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace/store"
)

// Writes tests that a store keeps objects whole, and conditions.
func Writes(t *testing.T, w store.Writer) {
	ctx := t.Context()
	put := func(name, content string, c store.Condition) (store.Object, error) {
		return w.Put(ctx, name, strings.NewReader(content), int64(len(content)), c)
	}
	has := func(name, want string) {
		t.Helper()
		o, err := w.Stat(ctx, name)
		got := make([]byte, o.Size)
		if err == nil {
			err = w.ReadAt(ctx, o, got, 0)
		}
		if err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}

	first, err := put("writes/new/object", "first", store.Condition{})
	if now, stat := w.Stat(ctx, "writes/new/object"); err != nil || stat != nil || now != first || first.Size != 5 {
		t.Errorf("a new object is %+v, %v; Stat says %+v, %v", first, err, now, stat)
	}
	has("writes/new/object", "first")
	if _, err := put("writes/new/object", "other", store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an object that exists is made: %v", err)
	}
	has("writes/new/object", "first")
	second, err := put("writes/new/object", "second", store.IfUnchanged(first))
	if err != nil || second.Version == first.Version {
		t.Errorf("an object that has not changed: %+v, %v", second, err)
	}
	if _, err := put("writes/new/object", "third", store.IfUnchanged(first)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an object that has changed is replaced: %v", err)
	}
	if _, err := put("writes/none", "x", store.IfUnchanged(first)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an object that is gone is replaced: %v", err)
	}
	has("writes/new/object", "second")
	if _, err := put("writes/empty", "", store.IfAbsent); err != nil {
		t.Errorf("an empty object: %v", err)
	}
	has("writes/empty", "")

	// Content that cannot be read leaves everything as it was.
	if _, err := w.Put(ctx, "writes/new/object", failing{}, 100, store.Condition{}); !errors.Is(err, errFailing) {
		t.Errorf("content that fails: %v", err)
	}
	has("writes/new/object", "second")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.Put(gone, "writes/gone", strings.NewReader("x"), 1, store.Condition{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a write after the end: %v", err)
	}
	for o, err := range w.Objects(ctx, "writes/") {
		if err != nil || o.Name != "writes/empty" && o.Name != "writes/new/object" {
			t.Errorf("there is %q, %v, which this test has not made", o.Name, err)
		}
	}

	if err := w.Remove(ctx, "writes/empty"); err != nil {
		t.Error(err)
	}
	if err := w.Remove(ctx, "writes/empty"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	t.Run("races", func(t *testing.T) { races(t, w) })
}

// races has several writers make one object, and then count in it.
func races(t *testing.T, w store.Writer) {
	ctx := t.Context()
	const writers, counts = 8, 5
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			_, err := w.Put(ctx, "races/claim", strings.NewReader(fmt.Sprint(i)), 1, store.IfAbsent)
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, store.ErrConflict) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("%d writers have made one object", made.Load())
	}

	if _, err := w.Put(ctx, "races/count", strings.NewReader(""), 0, store.IfAbsent); err != nil {
		t.Fatal(err)
	}
	// Each counts its successful puts: one that was overwritten is missing in the size.
	for range writers {
		all.Go(func() {
			for done := 0; done < counts; {
				o, err := w.Stat(ctx, "races/count")
				more := bytes.Repeat([]byte{'x'}, int(o.Size)+1)
				if err == nil {
					_, err = w.Put(ctx, "races/count", bytes.NewReader(more), int64(len(more)), store.IfUnchanged(o))
				}
				if err == nil {
					done++
				} else if !errors.Is(err, store.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if o, err := w.Stat(ctx, "races/count"); o.Size != writers*counts || err != nil {
		t.Errorf("%d counts are %d, %v", writers*counts, o.Size, err)
	}
}

var errFailing = errors.New("storetest: the content cannot be read")

// failing is content that breaks off.
type failing struct{}

// ReadAt implements [io.ReaderAt].
func (failing) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) <= 10 {
		return len(p), nil
	}
	return int(max(0, min(10-at, int64(len(p))))), errFailing
}

var _ io.ReaderAt = failing{}
