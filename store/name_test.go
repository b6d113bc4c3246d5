package store_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// TestNames: what is a scheme, what is a path, and what is neither.
func TestNames(t *testing.T) {
	m := new(storetest.Memory)
	store.Register("names", m)
	local := store.Store(store.Local{})
	for name, want := range map[string]struct {
		s      store.Store
		object string
		err    error
	}{
		"/a/b.tar":             {local, "/a/b.tar", nil},
		"":                     {local, "", nil},
		"a:b.jpg":              {local, "a:b.jpg", nil},
		`C:\x.jpg`:             {local, `C:\x.jpg`, nil},
		"C:/x.jpg":             {local, "C:/x.jpg", nil},
		"C://x.jpg":            {local, "C://x.jpg", nil},
		"dir/names://a":        {local, "dir/names://a", nil},
		"./names://a":          {local, "./names://a", nil},
		"1a://b":               {local, "1a://b", nil},
		"my photos://b":        {local, "my photos://b", nil},
		"é://b":                {local, "é://b", nil},
		"names:/a":             {local, "names:/a", nil},
		"names://bucket/a/b":   {m, "bucket/a/b", nil},
		"NAMES://bucket/../b":  {m, "bucket/../b", nil},
		"names://":             {m, "", nil},
		"names://a%20b?c#d":    {m, "a%20b?c#d", nil},
		"names://a\x00":        {nil, "", store.ErrName},
		"file:///a/b":          {local, "/a/b", nil},
		"FILE:///a/b":          {local, "/a/b", nil},
		"file://localhost/a":   {local, "/a", nil},
		"file://LOCALHOST/a":   {local, "/a", nil},
		"file:///a%20b%2fc":    {local, "/a b/c", nil},
		"file:///%C3%A9%ff+?#": {local, "/é\xff+?#", nil},
		"file:///":             {local, "/", nil},
		"file://nas/a":         {local, "", store.ErrName},
		"file://a.jpg":         {local, "", store.ErrName},
		"file://":              {local, "", store.ErrName},
		"file:///100%":         {local, "", store.ErrName},
		"file:///100%2":        {local, "", store.ErrName},
		"file:///100%zz":       {local, "", store.ErrName},
		"file:///a%00":         {local, "", store.ErrName},
		"a+b-c.1://x":          {nil, "", store.ErrScheme},
		"s3://bucket/x":        {nil, "", store.ErrScheme},
	} {
		s, object, err := store.Of(name)
		if s != want.s && want.err == nil || object != want.object || !errors.Is(err, want.err) || err != nil && want.err == nil {
			t.Errorf("Of(%q) = %v, %q, %v", name, s, object, err)
		}
		if err != nil && !strings.Contains(err.Error(), strings.SplitN(name, "\x00", 2)[0]) {
			t.Errorf("of %q is said %v", name, err)
		}
	}
}

// TestUnknownSchemesSayWhatToDo, and give away no password.
func TestUnknownSchemesSayWhatToDo(t *testing.T) {
	_, _, err := store.Of("gs://bucket/a.jpg")
	for _, part := range []string{`"gs://bucket/a.jpg"`, "gs:// names cannot be read", "file://", "copy the data to a disk or mount it"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	for name, want := range map[string]string{
		"https://me:secret@host/a?sig=secret": `"https://…@host/a"`,
		"ftp://secret@host":                   `"ftp://…@host"`,
		"gs://b/a?.jpg":                       `"gs://b/a?.jpg"`,
		"abfss://c@me.example/a":              `"abfss://c@me.example/a"`, // not a password
	} {
		if _, _, err := store.Of(name); strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s is said %v", name, err)
		}
	}
}

// TestFileURLs: what net/url writes of a path is that path.
func TestFileURLs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + strings.ReplaceAll(rapid.String().Draw(t, "path"), "\x00", "")
		u := url.URL{Scheme: "file", Path: path}
		if _, got, err := store.Of("file://" + u.EscapedPath()); got != path || err != nil {
			t.Fatalf("%q is %q, %v, of %s", path, got, err, u.EscapedPath())
		}
	})
}

// TestFilesByURL: they are listed, looked at and read as by their paths.
func TestFilesByURL(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a b/1.jpg", "a b/2*.jpg", "c/3.jpg"} {
		plant(t, root, name)
	}
	base := "file://" + (&url.URL{Path: root}).EscapedPath()
	for pattern, want := range map[string][]string{
		"":                  {"a b/1.jpg", "a b/2*.jpg", "c/3.jpg"},
		"/a%20b":            {"a b/1.jpg", "a b/2*.jpg"},
		"/a%20b/*.jpg":      {"a b/1.jpg", "a b/2*.jpg"},
		"/*/%32%2A.jpg":     {"a b/2*.jpg"},
		"/a%20b/2%2A.jpg":   {"a b/2*.jpg"},
		"/a b/1.jpg":        {"a b/1.jpg"},
		"/**/[13].jpg":      {"a b/1.jpg", "c/3.jpg"},
		"/c/%5B13%5D.jpg":   nil,
		"/c%2F3.jpg":        {"c/3.jpg"},
		"/c/../c/3.jpg":     {"c/../c/3.jpg"},
		"/c/../c/%33.jp%67": {"c/../c/3.jpg"},
	} {
		table, err := store.List(t.Context(), "/nowhere", base+pattern, []string{".jpg"})
		if err != nil {
			if want != nil || !errors.Is(err, store.ErrNoFiles) {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		got := keys(table)
		if len(got) != len(want) {
			t.Errorf("%s finds %q, want %q", pattern, got, want)
			continue
		}
		for i := range got {
			if got[i] != filepath.Join(root)+"/"+want[i] || table.Path(i) != got[i] {
				t.Errorf("%s finds %q, want %q", pattern, got[i], want[i])
			}
		}
	}

	name := base + "/a%20b/1.jpg"
	if err := os.WriteFile(filepath.Join(root, "a b/1.jpg"), []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	if b, err := store.Read(t.Context(), name, 0); string(b) != "content" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if o, err := store.Stat(t.Context(), "/nowhere", name); o.Size != 7 || err != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if is, err := store.HasFolder(t.Context(), base+"/a%20b"); !is || err != nil {
		t.Errorf("a folder: %v, %v", is, err)
	}
	table, err := store.Files("/nowhere", func(yield func(string) bool) { yield(name) })
	if err != nil || table.Key(0) != name || table.Path(0) != root+"/a b/1.jpg" || table.Parent(0) != "a b" {
		t.Errorf("a list of files: %v, %v", table, err)
	}
}

// TestNamesAreJoined as paths are.
func TestNamesAreJoined(t *testing.T) {
	for _, c := range [][3]string{
		{"a/b", "c", "a/b/c"},
		{"", "c", "c"},
		{"/", "c", "/c"},
		{"s3://b/a/", "c.csv", "s3://b/a/c.csv"},
		{"s3://", "b", "s3://b"},
		{"s3://b/a", "../c", "s3://b/c"},
		{"s3://b", "../../c", "s3://c"},
		{"file:///a", "b", "file:///a/b"},
	} {
		if got := store.Join(c[0], c[1]); got != c[2] {
			t.Errorf("Join(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
	for name, want := range map[string]string{"s3://b/./a//c": "s3://b/a/c", "a//b": "a/b", "s3://b": "s3://b"} {
		if got := store.Clean(name); got != want {
			t.Errorf("Clean(%q) = %q", name, got)
		}
	}
	for name, want := range map[string]string{"s3://b/a/c": "s3://b/a", "s3://b": "s3://", "a/b": "a", "a": ""} {
		if got := store.Dir(name); got != want {
			t.Errorf("Dir(%q) = %q", name, got)
		}
	}
	for name, want := range map[string]string{"s3://b": "s3://b", "a": "/r/a", "/a": "/a", "file:///a": "file:///a"} {
		if got := store.Under("/r", name); got != want {
			t.Errorf("Under(%q) = %q", name, got)
		}
	}
}

// TestANameOfPathlib: it has lost a slash, and the error says so.
func TestANameOfPathlib(t *testing.T) {
	_, err := store.List(t.Context(), t.TempDir(), "s3:/bucket/train", nil)
	if !errors.Is(err, store.ErrNoFiles) || !strings.Contains(err.Error(), "s3://") || !strings.Contains(err.Error(), "pathlib") {
		t.Error(err)
	}
}
