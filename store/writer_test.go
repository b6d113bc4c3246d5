package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// TestAppend: lines of several writers are all there, each in one piece.
func TestAppend(t *testing.T) {
	store.Register("appends", new(storetest.Memory))
	for _, name := range []string{"appends://bucket/lines", t.TempDir() + "/lines"} {
		var all sync.WaitGroup
		for _, line := range []string{"a\n", "b\n", "c\n"} {
			all.Go(func() {
				for range 3 {
					if err := store.Append(t.Context(), name, []byte(line), 100); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		b, err := store.Read(t.Context(), name, 0)
		if text := string(b); err != nil || len(text) != 18 || strings.Count(text, "a\n") != 3 || strings.Count(text, "b\n") != 3 {
			t.Errorf("%s has %q, %v", name, b, err)
		}
		if err := store.Append(t.Context(), name, make([]byte, 83), 100); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("more than there may be: %v", err)
		}
	}
}

// TestWriterOf: stores that are only read say so, as do names that nothing knows.
func TestWriterOf(t *testing.T) {
	store.Register("readonly", struct{ store.Store }{new(storetest.Memory)})
	for name, want := range map[string]error{"readonly://b/x": store.ErrReadOnly, "gs://b/x": store.ErrScheme, "file://nas/x": store.ErrName} {
		if _, err := store.Put(t.Context(), name, nil, store.Condition{}); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := store.Put(t.Context(), t.TempDir()+"/a/b", []byte("x"), store.IfAbsent); err != nil {
		t.Error(err)
	}
}
