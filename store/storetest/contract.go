package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
)

// Contract tests a store that is empty. Put makes an object in it, or replaces one. A
// store that is a [store.Writer] has to pass [Writes], too, which Contract calls at its
// end.
func Contract(t *testing.T, s store.Store, put func(name string, content []byte)) {
	ctx := t.Context()
	content := map[string][]byte{}
	for i, name := range []string{"b.bin", "a/2", "a/10", "a/b/c", "ab", "b/[x]/1", "b/*"} {
		content[name] = bytes.Repeat([]byte{byte(i), 'x'}, 500*i)
		put(name, content[name])
	}

	t.Run("objects", func(t *testing.T) {
		for prefix, want := range map[string][]string{
			"":      {"a/10", "a/2", "a/b/c", "ab", "b.bin", "b/*", "b/[x]/1"},
			"a":     {"a/10", "a/2", "a/b/c", "ab"},
			"a/":    {"a/10", "a/2", "a/b/c"},
			"a/b":   {"a/b/c"},
			"b/[x]": {"b/[x]/1"},
			"none":  nil,
			"a/2/":  nil,
			"b/*":   {"b/*"},
			"no/ne": nil,
			"a/b/c": {"a/b/c"},
		} {
			var got []string
			for o, err := range s.Objects(ctx, prefix) {
				if err != nil {
					t.Fatalf("Objects(%q): %v", prefix, err)
				}
				if o.Size != int64(len(content[o.Name])) || o.Version == "" {
					t.Errorf("Objects(%q) gives %+v", prefix, o)
				}
				got = append(got, o.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("Objects(%q) gives %q, want %q", prefix, got, want)
			}
		}
		for o, err := range s.Objects(ctx, "") { // it may be left
			if err != nil || o.Name != "a/10" {
				t.Errorf("the first object is %v, %v", o, err)
			}
			break
		}
	})

	if r, ok := s.(store.Ranged); ok {
		t.Run("ranges", func(t *testing.T) { ranges(t, r) })
	}

	t.Run("stat", func(t *testing.T) {
		for o, err := range s.Objects(ctx, "") {
			if again, err2 := s.Stat(ctx, o.Name); err != nil || err2 != nil || again != o {
				t.Errorf("Stat(%q) = %+v, %v; listed as %+v, %v", o.Name, again, err2, o, err)
			}
		}
		if _, err := s.Stat(ctx, "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat of what is missing: %v", err)
		}
		if _, err := s.Stat(ctx, "a"); err == nil {
			t.Error("Stat finds an object where only others begin so")
		}
	})

	if b, ok := s.(store.Beginning); ok {
		t.Run("begin", func(t *testing.T) { begins(t, b, content) })
	}

	t.Run("read", func(t *testing.T) {
		var all sync.WaitGroup
		for name, want := range content {
			o, err := s.Stat(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				if err := readEverywhere(ctx, s, o, want); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})

	t.Run("changed", func(t *testing.T) {
		was, err := s.Stat(ctx, "b.bin")
		if err != nil {
			t.Fatal(err)
		}
		put("b.bin", bytes.Repeat([]byte{'y'}, int(was.Size)+1))
		if err := s.ReadAt(ctx, was, make([]byte, 1), 0); !errors.Is(err, store.ErrChanged) {
			t.Errorf("a read of what was replaced: %v", err)
		}
		now, err := s.Stat(ctx, "b.bin")
		if err != nil || now.Version == was.Version {
			t.Errorf("the new version is %+v, %v; the old %+v", now, err, was)
		}
		gone := was
		gone.Name = "none"
		if err := s.ReadAt(ctx, gone, make([]byte, 1), 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a read of what is missing: %v", err)
		}
	})
	t.Run("edges", func(t *testing.T) { edges(t, s, put) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, s) })
	t.Run("changing", func(t *testing.T) { changing(t, s, put) })
	if w, ok := s.(store.Writer); ok {
		t.Run("writes", func(t *testing.T) { Writes(t, w) })
	}
}

// edges are objects and reads at the ends of what there can be.
func edges(t *testing.T, s store.Store, put func(name string, content []byte)) {
	ctx := t.Context()
	// Names with characters that mean something in URLs, paths and shells.
	long := strings.Repeat("long-", 40)
	for _, name := range []string{"edge/empty", "edge/ü ö", "edge/a+b%20c", "edge/x:y", "edge/" + long, "edge/Z", "edge/z"} {
		put(name, []byte(name[5:len(name)-1]))
	}
	put("edge/empty", nil)
	var names []string
	for o, err := range s.Objects(ctx, "edge/") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, o.Name)
		got := make([]byte, o.Size)
		if err := s.ReadAt(ctx, o, got, 0); err != nil || o.Name != "edge/empty" && string(got) != o.Name[5:len(o.Name)-1] {
			t.Errorf("%q has %q, %v", o.Name, got, err)
		}
	}
	want := []string{"edge/Z", "edge/a+b%20c", "edge/empty", "edge/" + long, "edge/x:y", "edge/z", "edge/ü ö"}
	if !slices.Equal(names, want) {
		t.Errorf("listed in the order %q, want %q", names, want)
	}

	empty, err := s.Stat(ctx, "edge/empty")
	if err != nil || empty.Size != 0 || empty.Version == "" {
		t.Errorf("an empty object is %+v, %v", empty, err)
	}
	if err := s.ReadAt(ctx, empty, nil, 0); err != nil {
		t.Errorf("nothing of an empty object: %v", err)
	}
	for _, at := range []int64{0, 1, 1 << 40} {
		if err := s.ReadAt(ctx, empty, make([]byte, 1), at); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a byte at %d of an empty object: %v", at, err)
		}
	}
}

// ranges is a store that lists from any name on, which need not be one of an object.
func ranges(t *testing.T, s store.Ranged) {
	names := func(prefix, after string) (all []string) {
		for o, err := range s.ObjectsAfter(t.Context(), prefix, after) {
			if err != nil {
				t.Fatalf("ObjectsAfter(%q, %q): %v", prefix, after, err)
			}
			all = append(all, o.Name)
		}
		return all
	}
	for _, prefix := range []string{"", "a/"} {
		all := names(prefix, "")
		for i, name := range all {
			if got := names(prefix, name); !slices.Equal(got, all[i+1:]) {
				t.Errorf("after %q come %q, want %q", name, got, all[i+1:])
			}
			if got := names(prefix, name[:len(name)-1]); !slices.Contains(got, name) {
				t.Errorf("after %q come %q, without %q", name[:len(name)-1], got, name)
			}
		}
	}
}

// begins is a store that sends the bytes at the beginning of objects along with their
// size.
func begins(t *testing.T, s store.Beginning, content map[string][]byte) {
	for name, want := range content {
		is, err := s.Stat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, len(want) / 2, len(want), len(want) + 1, len(want) + 100_000} {
			first := make([]byte, size)
			o, n, err := s.Begin(t.Context(), name, first)
			most := min(size, len(want))
			some := n <= most && (n > 0 || most == 0)
			if err != nil || o != is || !some || !bytes.Equal(first[:n], want[:n]) {
				t.Errorf("Begin(%q) with %d bytes = %+v, %d, %v, or wrong bytes; it is %+v", name, size, o, n, err, is)
			}
		}
	}
	if _, _, err := s.Begin(t.Context(), "none", make([]byte, 10)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Begin of what is missing: %v", err)
	}
}

// cancelled is a store whose caller has gone.
func cancelled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	o, err := s.Stat(ctx, "a/10")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, err := range s.Objects(ctx, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a listing after the end: %v", err)
		}
		break
	}
	// Answers that cost nothing may come, but neither wrong ones nor other errors.
	if now, err := s.Stat(ctx, "a/10"); err != nil && !errors.Is(err, context.Canceled) || err == nil && now != o {
		t.Errorf("Stat after the end: %+v, %v", now, err)
	}
	if err := s.ReadAt(ctx, o, make([]byte, 1), 0); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a read after the end: %v", err)
	}
}

// changing reads an object while it is replaced, again and again: a read gives one of its
// contents, or ErrChanged, and never some of both.
func changing(t *testing.T, s store.Store, put func(name string, content []byte)) {
	ctx := t.Context()
	const size = 1 << 16
	put("changing", bytes.Repeat([]byte{0}, size))
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		all.Go(func() {
			got := make([]byte, size)
			for {
				select {
				case <-stop:
					return
				default:
				}
				o, err := s.Stat(ctx, "changing")
				if err == nil && o.Size == size {
					err = s.ReadAt(ctx, o, got, 0)
				} else if err == nil {
					continue // it is being written
				}
				// A store may refuse the read in one of these ways, but not mix two
				// contents.
				gone := errors.Is(err, store.ErrChanged) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF)
				if err != nil && !gone || err == nil && !bytes.Equal(got, bytes.Repeat(got[:1], size)) {
					t.Errorf("a read of what changes: %v, or of two versions", err)
					return
				}
			}
		})
	}
	for i := range 50 {
		put("changing", bytes.Repeat([]byte{byte(i)}, size))
	}
	close(stop)
	all.Wait()
}

// Files returns a function that writes files below a folder.
func Files(t *testing.T, root string) (put func(name string, content []byte)) {
	return func(name string, content []byte) {
		t.Helper()
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// readEverywhere reads an object from many places, in many lengths, and beyond its end.
func readEverywhere(ctx context.Context, s store.Store, o store.Object, want []byte) error {
	for at := 0; at <= len(want); at += 97 {
		for _, n := range []int{0, 1, 512, len(want) - at} {
			if n > len(want)-at {
				continue
			}
			got := make([]byte, n)
			if err := s.ReadAt(ctx, o, got, int64(at)); err != nil || !bytes.Equal(got, want[at:at+n]) {
				return fmt.Errorf("%s: %d bytes at %d: %v", o.Name, n, at, err)
			}
		}
		if err := s.ReadAt(ctx, o, make([]byte, len(want)-at+1), int64(at)); !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s: one byte more than there is: %v", o.Name, err)
		}
	}
	return nil
}
