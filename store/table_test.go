package store_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"

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
