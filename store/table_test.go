package store_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"

	"pgregory.net/rapid"
)

func TestFilesKeepsPathsAsTheyAre(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b.jpg", "", ".", "..", "\xff", "é"})
	rapid.Check(t, func(t *rapid.T) {
		var paths []string
		for range rapid.IntRange(0, 30).Draw(t, "paths") {
			paths = append(paths, strings.Join(rapid.SliceOfN(names, 1, 5).Draw(t, "path"), "/"))
		}
		table, err := store.Files("/root/dir", slices.Values(paths))
		if err != nil {
			t.Fatal(err)
		}
		if got := keys(table); !slices.Equal(got, paths) {
			t.Fatalf("got %q, want %q", got, paths)
		}
		for i, p := range paths {
			want := p
			if !strings.HasPrefix(p, "/") {
				want = "/root/dir/" + p
			}
			if got := table.Path(i); got != want {
				t.Fatalf("the path of %q is %q, want %q", p, got, want)
			}
			if !strings.HasSuffix(p, "/") && !strings.HasSuffix(p, ".") {
				parent := filepath.Base(filepath.Dir(want))
				if parent == "/" {
					parent = ""
				}
				if got := table.Parent(i); got != parent {
					t.Fatalf("the parent of %q is %q, want %q", p, got, parent)
				}
			}
		}
	})
}

func TestWithout(t *testing.T) {
	table, err := store.Files("/data", slices.Values([]string{"a/b", "a/c", "/d"}))
	if err != nil {
		t.Fatal(err)
	}
	if table, err = table.Without(1); err != nil || table.Len() != 2 || table.Path(0) != "/data/a/b" || table.Key(1) != "/d" {
		t.Errorf("%v, %v", table, err)
	}
}

func TestParent(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		{"/data", "n01/x.jpg", "n01"},
		{"/data", "x.jpg", "data"},
		{"/data", "./x.jpg", "data"},
		{"/data/in", "../n02/x.jpg", "n02"},
		{"/data", "/n03//x.jpg", "n03"},
		{"/data", "/x.jpg", ""},
		{"/", "x.jpg", ""},
		{"", "x.jpg", ""},
		{"", "n04/x.jpg", "n04"},
	} {
		table, err := store.Files(c.root, slices.Values([]string{c.path}))
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Parent(0); got != c.want {
			t.Errorf("%q below %q: %q, want %q", c.path, c.root, got, c.want)
		}
	}
}

// TestCheck: a name that was given has the version that is seen first.
func TestCheck(t *testing.T) {
	register(t)
	table, err := store.Files("/data", slices.Values([]string{"memory://a/b", "/c"}))
	if err != nil {
		t.Fatal(err)
	}
	o := store.Object{Name: "a/b", Size: 3, Version: "1"}
	if err := errors.Join(table.Check(0, o), table.Check(0, o), table.Check(1, store.Object{Version: "2"})); err != nil {
		t.Error(err)
	}
	for _, other := range []store.Object{{Name: "a/b", Size: 3, Version: "2"}, {Name: "a/b", Size: 4, Version: "1"}} {
		err := table.Check(0, other)
		if !errors.Is(err, store.ErrChanged) || !strings.Contains(err.Error(), `"memory://a/b`) || !strings.Contains(err.Error(), "new names") {
			t.Error(err)
		}
	}
	local, err := store.Files("", slices.Values([]string{"a"}))
	if err != nil || local.Check(0, o) != nil || local.Check(0, store.Object{}) != nil {
		t.Error("a file of this machine is held against a version")
	}
}

var registered sync.Once

// register has a store for memory:// names.
func register(*testing.T) { registered.Do(func() { store.Register("memory", new(storetest.Memory)) }) }
