package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"

	"pgregory.net/rapid"
)

func TestMatchAgreesWithFnmatch(t *testing.T) {
	python := startOracle(t)
	patterns, names := store.RandomPatternsAndNames()
	hexed := make([]string, len(names))
	for i, n := range names {
		hexed[i] = digits(n)
	}
	for _, p := range patterns {
		var want []bool
		python.ask(t, request{What: "match", Pattern: digits(p), Names: hexed}, &want)
		for i, n := range names {
			if got := store.Match(p, n); got != want[i] {
				t.Fatalf("%q matches %q: %v, Python says %v", p, n, got, want[i])
			}
		}
	}
}

// tree is a folder with random content. Links lead to files, to nowhere, and to folders
// below "shared", where there are no links to folders: so there are no loops, which
// Python would follow until the system stops it.
type tree struct {
	root    string
	folders []string // relative, with a slash at their end; the first is ""
	shared  []string
}

var parts = rapid.SampledFrom([]string{"a", "b", "a.b", ".a", "ab", "A.JPG", "x.jpg", "y.Jpeg",
	"[a]", "*", "é", "\xff\xfe", "a b", "-", "\n", "c.jpg"})

func growTree(t *rapid.T, root string) tree {
	tr := tree{root: root, folders: []string{""}}
	tr.folder(t, "shared/")
	for range rapid.IntRange(0, 25).Draw(t, "entries") {
		name := rapid.SampledFrom(tr.folders).Draw(t, "in") + parts.Draw(t, "name")
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0, 1, 2:
			tr.folder(t, name+"/")
		case 3:
			if !strings.HasPrefix(name, "shared/") {
				_ = os.Symlink(root+"/"+rapid.SampledFrom(tr.shared).Draw(t, "to"), filepath.Join(root, name))
			}
		case 4:
			_ = os.Symlink("nowhere", filepath.Join(root, name))
		default:
			// A name that is taken, perhaps by a folder, stays what it is.
			if f, err := os.OpenFile(root+"/"+name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
				f.Close()
			}
		}
	}
	return tr
}

func (tr *tree) folder(t *rapid.T, name string) {
	if os.Mkdir(tr.root+"/"+name, 0o755) != nil {
		return
	}
	tr.folders = append(tr.folders, name)
	if strings.HasPrefix(name, "shared/") {
		tr.shared = append(tr.shared, name)
	}
}

// fresh returns an empty folder; rapid runs a test many times.
func fresh(t *rapid.T, below string) string {
	dir, err := os.MkdirTemp(below, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func keys(table *store.Table) []string {
	var all []string
	for i := range table.Len() {
		all = append(all, table.Key(i))
	}
	return all
}

func TestListAgreesWithGlob(t *testing.T) {
	python := startOracle(t)
	below := t.TempDir()
	names := rapid.SampledFrom([]string{"*", "**", "**", "?", "*.jpg", "a*", ".*", "[ab]",
		"[!a]*", "a", "shared", "x.jpg", "[[]a]", "\xff?", "é", "*.[jJ]*", "a**", ".a", "[.]a"})
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		tr := growTree(t, fresh(t, below))
		for range 8 {
			p := strings.Join(rapid.SliceOfN(names, 1, 4).Draw(t, "pattern"), "/")
			if !strings.ContainsAny(p, "*?[") {
				continue
			}
			prefix := rapid.SampledFrom([]string{"", "", "./", ".//", tr.root + "/", "shared/../"}).Draw(t, "prefix")
			want := python.paths(t, request{What: "glob", CD: digits(tr.root), Pattern: digits(prefix + p)})
			table, err := store.List(context.Background(), tr.root, prefix+p, nil)
			if len(want) == 0 && errors.Is(err, store.ErrNoFiles) {
				continue
			}
			if err != nil {
				t.Fatalf("%q: %v", prefix+p, err)
			}
			if got := keys(table); !slices.Equal(got, want) {
				t.Fatalf("%q: got  %q\nwant %q", prefix+p, got, want)
			}
			found += len(want)
		}
	})
	if found < 25 && !testing.Short() { // one for each case of the fewest that are tried
		t.Errorf("only %d files were found in all: the test tests too little", found)
	}
}

func TestListOfAFolderAgreesWithWalk(t *testing.T) {
	python := startOracle(t)
	below := t.TempDir()
	suffixes := []string{".jpg", ".jpeg", ".b"}
	rapid.Check(t, func(t *rapid.T) {
		tr := growTree(t, fresh(t, below))
		for _, folder := range []string{".", "shared", "shared/", tr.root, "a"} {
			if _, err := os.Stat(filepath.Join(tr.root, folder)); err != nil && folder != tr.root {
				continue
			}
			want := python.paths(t, request{What: "walk", CD: digits(tr.root), Pattern: digits(folder), Suffixes: suffixes})
			table, err := store.List(context.Background(), tr.root, folder, suffixes)
			if len(want) == 0 && errors.Is(err, store.ErrNoFiles) {
				continue
			}
			if err != nil {
				if info, _ := os.Stat(filepath.Join(tr.root, folder)); info != nil && !info.IsDir() {
					continue
				}
				t.Fatalf("%q: %v", folder, err)
			}
			if info, _ := os.Stat(filepath.Join(tr.root, folder)); folder == "a" && info != nil && !info.IsDir() {
				want = []string{"a"}
			}
			if got := keys(table); !slices.Equal(got, want) {
				t.Fatalf("%q: got  %q\nwant %q", folder, got, want)
			}
		}
	})
}

// A folder with more entries than one call of the system returns.
func TestLargeFolder(t *testing.T) {
	root := t.TempDir()
	const n = 6_000
	for i := range n {
		f, err := os.Create(fmt.Sprintf("%s/%08x.jpg", root, uint32(i)*2654435761))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	table, err := store.List(context.Background(), root, "*.jpg", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := keys(table); len(got) != n || !slices.IsSorted(got) {
		t.Errorf("%d files, sorted: %v", len(got), slices.IsSorted(got))
	}
}
