package export

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
)

// part writes a part of a job, in which each sample has a name of its own.
func (j job) part(t *testing.T, p Part) {
	t.Helper()
	j.options.Part, j.options.Target = p, j.options.Target.Part(p)
	var e *Export
	config := headrace.Config{Epochs: &j.epochs, OnError: j.onError, Part: p.Index, Parts: p.Of}
	l, err := headrace.Open(context.Background(), j.recipe, config,
		headrace.Options{Lost: func(lost headrace.Lost) { e.Lost(lost) }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if e, err = Open(j.options, Run{Info: l.Info(), Epochs: j.epochs, Fused: true}); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, done := e.Complete(); !done {
		write(t, l, e, 1<<30)
	}
}

func TestPartsAreChecked(t *testing.T) {
	all := jobs(t)
	kinds := []string{"tar, epochs, lost", "npy, epochs, lost"}
	if tier.Whole() {
		kinds = append(kinds, "parquet", "jsonl", "bin")
	}
	for _, kind := range kinds {
		j, dir := all[kind], t.TempDir()
		j.options.Dir = dir
		check := func() (Whole, error) { return CheckParts(t.Context(), j.options.Target) }
		refused := func(when string, words ...string) {
			t.Helper()
			_, err := check()
			for _, word := range words {
				if !errors.Is(err, ErrParts) || !strings.Contains(err.Error(), word) {
					t.Errorf("%s, %s: %v, expected %q", kind, when, err, word)
				}
			}
		}

		refused("nothing is there", "has no manifest of a part: write them with --part 0/n to --part n-1/n")
		j.part(t, Part{2, 3})
		j.part(t, Part{0, 3})
		refused("one is missing", "of 3 parts 1 are missing, or not complete: --part 1/3")
		j.part(t, Part{1, 3})
		j.part(t, Part{1, 3}) // is there already
		got, err := check()
		want := job{j.recipe, j.epochs, j.onError, j.options}.whole(t)
		if err != nil || got.Parts != 3 || got.Files == 0 || got.Samples == 0 || got.Bytes == 0 {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		m, err := parseManifest([]byte(want[j.options.Target.beside("manifest.json")]))
		if err != nil || got.Samples != m.Samples || got.Lost != m.Lost() {
			t.Errorf("%s: the parts have %+v, the whole %d samples and %d lost (%v)", kind, got, m.Samples, m.Lost(), err)
		}

		j.part(t, Part{0, 2})
		refused("there are parts of another run", "has parts of 2 and of 3: remove those of all but one run")
		at := j.options.Target.manifestOf(Part{0, 2})
		must(t, os.Remove(filepath.Join(dir, at)))

		// A part by another recipe.
		other := j
		other.epochs = j.epochs + 1
		at = j.options.Target.manifestOf(Part{1, 3})
		must(t, os.Rename(filepath.Join(dir, at), filepath.Join(dir, at+".kept")))
		other.options.Overwrite = true
		other.part(t, Part{1, 3})
		refused("one is of another run", "part 1/3 is of another run than 0/3: --epochs was ")
		j.options.Overwrite = true
		j.part(t, Part{1, 3})
		if _, err := check(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}

		text, err := os.ReadFile(filepath.Join(dir, at))
		must(t, err)
		m, err = parseManifest(text)
		must(t, err)
		file := filepath.Join(dir, filepath.Dir(at), m.Files[0].Name)
		must(t, os.Truncate(file, 3))
		refused("a file was cut", "part 1/3: ", m.Files[0].Name+" has 3 bytes, and had ")
		must(t, os.Remove(file))
		refused("a file is gone", m.Files[0].Name+" is gone")
		must(t, os.WriteFile(filepath.Join(dir, at), []byte("{"), 0o666))
		refused("a manifest is damaged", "is not a manifest of this command")
		text, err = os.ReadFile(filepath.Join(dir, j.options.Target.manifestOf(Part{0, 3})))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, at), text, 0o666))
		refused("it is of another part", `says that it is of part "0/3"`)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// No two parts give samples the same name.
func TestNamesOfParts(t *testing.T) {
	root := phototest.Folder(t, 21)
	j := job{pipeline(root), 1, headrace.Raise, Options{Target: Target{Kind: "tar", Name: "%d.tar", Dir: t.TempDir()}}}
	seen := map[string]string{}
	for i := range 3 {
		j.part(t, Part{i, 3})
	}
	for archive, text := range files(t, j.options.Dir) {
		if !strings.HasSuffix(archive, ".tar") {
			continue
		}
		for name := range membersOf(t, text) {
			if seen[name] != "" {
				t.Errorf("%s is in %s and in %s", name, seen[name], archive)
			}
			seen[name] = archive
		}
	}
	if len(seen) != 3*21 {
		t.Errorf("%d files: %v", len(seen), seen)
	}
}

func TestParsePart(t *testing.T) {
	for text, want := range map[string]Part{"0/1": {0, 1}, "3/16": {3, 16}, "99999/100001": {99999, 100001}} {
		if got, err := ParsePart(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "/", "3/", "/3", "3/3", "-1/3", "0/0", "1/0", "a/b", "1/2/3", " 1/2", "0/99999999999999999999"} {
		if got, err := ParsePart(text); err == nil || !strings.Contains(err.Error(), "must be i/n, such as 0/16") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for target, want := range map[Target]string{
		{Kind: "tar", Dir: "d", Name: "a-%06d.tar"}: "tar:d/a-00003-of-00016-%06d.tar",
		{Kind: "tar", Dir: "d", Name: "%d.tar"}:     "tar:d/00003-of-00016-%d.tar",
		{Kind: "npy", Dir: "s3://b/d"}:              "npy:s3://b/d/00003-of-00016",
	} {
		if got := target.Part(Part{3, 16}).String(); got != want {
			t.Errorf("%v: %s, want %s", target, got, want)
		}
		if got := target.Part(Part{}); got != target {
			t.Errorf("%v: %v", target, got)
		}
	}
}

// membersOf are the names in an archive.
func membersOf(t *testing.T, archive string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for r := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		must(t, err)
		names[h.Name] = true
	}
}
