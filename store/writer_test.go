package store_test

import (
	"context"
	"errors"
	"io"
	"slices"
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

// overtaken is a store whose next write is carried out, followed by another one, and
// then refused, as a second try is.
type overtaken struct {
	storetest.Memory
	isNext bool
}

func (o *overtaken) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	now, err := o.Memory.Put(ctx, name, content, size, c)
	if err == nil && o.isNext {
		o.isNext = false
		b := make([]byte, size)
		content.ReadAt(b, 0)
		o.Set(name, append(b, "theirs\n"...))
		err = store.ErrConflict
	}
	return now, err
}

// TestAppendInDoubt: a line is there once, though the write that added it was refused.
func TestAppendInDoubt(t *testing.T) {
	s := &overtaken{isNext: true}
	store.Register("overtaken", s)
	if err := store.Append(t.Context(), "overtaken://b/x", []byte("mine\n"), 100); err != nil {
		t.Fatal(err)
	}
	if b, err := store.Read(t.Context(), "overtaken://b/x", 0); err != nil || string(b) != "mine\ntheirs\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestTold: a written object gets the version of the one that is there, if it is equal.
func TestTold(t *testing.T) {
	m := new(storetest.Memory)
	m.Set("b/x", []byte("mine"))
	want, err := m.Stat(t.Context(), "b/x")
	if err != nil {
		t.Fatal(err)
	}
	bare := store.Object{Name: "b/x", Size: 4}
	if o, err := store.Told(t.Context(), m, bare, strings.NewReader("mine")); err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := store.Told(t.Context(), m, bare, strings.NewReader("ours")); err == nil || o != (store.Object{}) {
		t.Errorf("what others have written: %+v, %v", o, err)
	}
}

// TestShown: messages have no password and no signature, and names of blobs as they are.
func TestShown(t *testing.T) {
	for name, want := range map[string]string{
		"https://me:pw@h/x?sig=1":                   "https://…@h/x",
		"az://c/x?sv=2021&sig=a%2F":                 "az://c/x",
		"abfss://c@me.dfs.core.windows.net/x?sig=a": "abfss://c@me.dfs.core.windows.net/x",
		"az://c/x?1":     "az://c/x?1",
		"s3://b/x?sig=1": "s3://b/x?sig=1",
	} {
		if got := store.Shown(name); got != want {
			t.Errorf("%s is shown as %s", name, got)
		}
	}
}

// TestSignaturesAreNotInNames: a SAS that was pasted into a name is refused by every
// door, and not said.
func TestSignaturesAreNotInNames(t *testing.T) {
	azure.Do(func() { store.Register("az", new(storetest.Memory)) })
	const name = "az://c/x?sv=2021&sig=SECRET"
	_, put := store.Put(t.Context(), name, nil, store.Condition{})
	_, stat := store.Stat(t.Context(), "", name)
	_, list := store.List(t.Context(), "", name, nil)
	_, table := store.Files("", slices.Values([]string{name}))
	_, open := store.Open(t.Context(), name, 0)
	for i, err := range []error{put, stat, list, table, open, store.Append(t.Context(), name, nil, 10)} {
		isNamed := err != nil && strings.Contains(err.Error(), `"az://c/x"`) && strings.Contains(err.Error(), "AZURE_STORAGE_SAS_TOKEN")
		if !errors.Is(err, store.ErrName) || !isNamed || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

var azure sync.Once
