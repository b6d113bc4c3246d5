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
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
)

// Contract tests a store that is empty. Put makes an object in it, or replaces one.
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
