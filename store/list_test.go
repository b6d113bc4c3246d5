package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"
)

// plant makes files, and folders where the name ends in a slash, and links where it has
// the form "name -> target".
func plant(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		name, target, link := strings.Cut(n, " -> ")
		path := filepath.Join(root, name)
		folder := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			folder = path
		}
		err := os.MkdirAll(folder, 0o755)
		switch {
		case err != nil || strings.HasSuffix(name, "/"):
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func list(t *testing.T, root, pattern string) []string {
	t.Helper()
	table, err := store.List(context.Background(), root, pattern, []string{".jpg", ".JPEG"})
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	return keys(table)
}

func TestList(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "b/x.jpg", "a/y.jpg", "a.jpg", "a/z.JPG", "a/n.txt", "a/.hidden.jpg", ".h/x.jpg",
		"empty/", "one -> a/y.jpg", "deep/er/est/w.jpeg", "lost.jpg -> nowhere", "in/a -> ../a")
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"a/y.jpg", []string{"a/y.jpg"}},
		{"one", []string{"one"}},
		{"a", []string{"a/y.jpg", "a/z.JPG"}},
		{"a/", []string{"a/y.jpg", "a/z.JPG"}},
		{"in", []string{"in/a/y.jpg", "in/a/z.JPG"}},
		{".h", []string{".h/x.jpg"}},
		{".", []string{"./a.jpg", "./a/y.jpg", "./a/z.JPG", "./b/x.jpg", "./deep/er/est/w.jpeg",
			"./in/a/y.jpg", "./in/a/z.JPG", "./lost.jpg"}},
		{"*/*.jpg", []string{"a/y.jpg", "b/x.jpg"}},
		{"*.jpg", []string{"a.jpg", "lost.jpg"}},
		{"**/x.jpg", []string{"b/x.jpg"}},
		{".*/x.jpg", []string{".h/x.jpg"}},
		{"a/**", []string{"a/n.txt", "a/y.jpg", "a/z.JPG"}},
		{"**/**/est/**/*", []string{"deep/er/est/w.jpeg"}},
		{"**/e*/**/*g", []string{"deep/er/est/w.jpeg"}},
		{"*/y.jpg", []string{"a/y.jpg"}},
		{"./a/../a/y*", []string{"./a/../a/y.jpg"}},
		{root + "/b/*", []string{root + "/b/x.jpg"}},
		{root + "//b", []string{root + "//b/x.jpg"}},
	} {
		if got := list(t, root, c.pattern); !slices.Equal(got, c.want) {
			t.Errorf("%q: got  %q\nwant %q", c.pattern, got, c.want)
		}
	}
}

func TestBase(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "birds"), 0o777); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		"birds": "birds", "birds/": "birds/", "birds/*.jpg": "birds/", "birds/**/*.jpg": "birds/",
		"*/a.jpg": "", "birds/a.jpg": "birds/", root + "/birds": root + "/birds",
	} {
		if got, err := store.Base(t.Context(), root, pattern); got != want || err != nil {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	if _, err := store.Base(t.Context(), root, "birds/*/"); err == nil {
		t.Error("a pattern that cannot be is taken")
	}
}

func TestListInTheFolderOfTheProcess(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "x/a.jpg")
	t.Chdir(root)
	for _, pattern := range []string{"*/*.jpg", "x", "x/a.jpg", "**"} {
		table, err := store.List(context.Background(), "", pattern, []string{".jpg"})
		if err != nil {
			t.Fatal(err)
		}
		if got := keys(table); !slices.Equal(got, []string{"x/a.jpg"}) || table.Path(0) != "x/a.jpg" || table.Parent(0) != "x" {
			t.Errorf("%q: %q, %q, %q", pattern, got, table.Path(0), table.Parent(0))
		}
	}
}

// A link to a folder above is entered as long as names remain that were not looked for
// there, and never for ever.
func TestLinksThatLeadRound(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "a/x.jpg", "a/self -> .", "a/up -> ..", "a/b/c/top -> ../../..", "round -> round", "ping -> pong", "pong -> ping")
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"**/*.jpg", []string{"a/x.jpg"}},
		{"a", []string{"a/x.jpg"}},
		{"a/**/x.jpg", []string{"a/x.jpg"}},
		{"*/*/x.jpg", []string{"a/self/x.jpg"}},
		{"*/*/*/x.jpg", []string{"a/self/self/x.jpg", "a/up/a/x.jpg"}},
		{"a/up/a/self/*.jpg", []string{"a/up/a/self/x.jpg"}},
		{"r*", []string{"round"}}, // reading it says what is wrong
		{"p*", []string{"ping", "pong"}},
	} {
		if got := list(t, root, c.pattern); !slices.Equal(got, c.want) {
			t.Errorf("%q: got  %q\nwant %q", c.pattern, got, c.want)
		}
	}
	if _, err := store.ReadFile(root+"/round", nil); err == nil {
		t.Error("a link to itself was read")
	}
}

func TestListsThatAreRefused(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "data/train/a/x.jpg", "data/train/a/n.txt", "data/train/b/", "data/[v2]/x.jpg",
		"notes/n.txt", "notes/m.txt", "plain/a/1.mp4", "plain/b/2.mp4", "plain/x.avi", "bare/README", "file.jpg", "dead -> nowhere")
	hint := regexp.MustCompile(`; "([^"]*)" matches (\d+)`)
	for _, c := range []struct{ pattern, want string }{
		{"", `store: the pattern is empty`},
		{"a\x00*", `store: the pattern "a\x00*" contains a zero byte`},
		{"*/../x", `store: the pattern "*/../x" has .. after a wildcard`},
		{"data/*/", `store: the pattern "data/*/" names folders; write "data/*/*" for the files in them, or "data/*/**" for all below`},
		{"*" + strings.Repeat("/a", 64), `store: the pattern "*` + strings.Repeat("/a", 64) +
			`" has more than 64 names after the first wildcard`},
		{"missing", `store: no files: "missing" does not exist; the nearest folder that does is "ROOT"`},
		{"data/trian/*/*.jpg",
			`store: no files: "data/trian/*/*.jpg" matches nothing: "data/trian/" does not exist; the nearest folder that does is "ROOT/data"`},
		{"file.jpg/*/*.jpg", `store: no files: "file.jpg/*/*.jpg" matches nothing: "file.jpg/" is a file, not a folder`},
		{"file.jpg/x/*.jpg",
			`store: no files: "file.jpg/x/*.jpg" matches nothing: "file.jpg/x/" does not exist; "ROOT/file.jpg" is a file, not a folder`},
		{"dead", `store: no files: "dead" is a link to "nowhere", which does not exist`},
		{"data/train/*/*.png", `store: no files: "data/train/*/*.png" matches nothing in "ROOT/data/train"`},
		{"data/train/*/*.JPG",
			`store: no files: "data/train/*/*.JPG" matches nothing in "ROOT/data/train"; "data/train/*/*.jpg" matches 1`},
		{"data/**/*.jpeg", `store: no files: "data/**/*.jpeg" matches nothing in "ROOT/data"; "data/**/*.jpg" matches 2`},
		{"data/train/*",
			`store: no files: "data/train/*" matches only folders (2); write "data/train/*/*" for the files in them, or "data/train/*/**" for all below`},
		{"*/train",
			`store: no files: "*/train" matches only folders (1); write "*/train/*" for the files in them, or "*/train/**" for all below`},
		{"data/[v2]/*.png", `store: no files: "data/[v2]/*.png" matches nothing in "ROOT/data"`},
		{"data/[v2]/x.jpg",
			`store: no files: "data/[v2]/x.jpg" matches nothing in "ROOT/data"; something of exactly this name exists: to name it, write [[] for [, [*] for * and [?] for ?`},
		{"notes", `store: no files: the folder "notes" holds no file that ends in .jpg, .jpeg (2 others; "notes/**/*.txt" matches 2)`},
		{"plain/", `store: no files: the folder "plain/" holds no file that ends in .jpg, .jpeg (3 others; "plain/**/*.mp4" matches 2)`},
		{"bare", `store: no files: the folder "bare" holds no file that ends in .jpg, .jpeg (1 others; "bare/**" matches 1)`},
		{"data/train/b", `store: no files: the folder "data/train/b" holds no file that ends in .jpg, .jpeg (0 others)`},
	} {
		table, err := store.List(context.Background(), root, c.pattern, []string{".jpg", ".JPEG"})
		if err == nil {
			t.Errorf("%q: found %q", c.pattern, keys(table))
			continue
		}
		if got := strings.ReplaceAll(err.Error(), root, "ROOT"); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.pattern, got, c.want)
		}
		if errors.Is(err, store.ErrNoFiles) != strings.Contains(c.want, "no files") {
			t.Errorf("%q: ErrNoFiles: %v", c.pattern, err)
		}
		if h := hint.FindStringSubmatch(err.Error()); h != nil {
			table, err := store.List(context.Background(), root, h[1], nil)
			if err != nil {
				t.Errorf("%q: %v", h[1], err)
			} else if strconv.Itoa(table.Len()) != h[2] {
				t.Errorf("%q matches %q, not %s", h[1], keys(table), h[2])
			}
		}
	}
	_, err := store.List(context.Background(), root, "missing", nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

// impatient is a context that ends after it was asked a number of times.
type impatient struct {
	context.Context
	left int
}

func (c *impatient) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestListIsCutShort(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "a/b/x.jpg", "a/c/x.jpg", "d/x.jpg")
	before := openFiles(t)
	for n := 0; ; n++ {
		_, err := store.List(&impatient{context.Background(), n}, root, "**/*.jpg", nil)
		if err == nil {
			if n < 5 {
				t.Errorf("asked only %d times", n)
			}
			break
		}
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), `store: list "**/*.jpg": `) {
			t.Fatalf("after %d: %v", n, err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open, %d are", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
