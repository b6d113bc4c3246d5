package shard_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// Two users whom no file of the machine belongs to.
const ann, bob = 48001, 48002

// give makes a user the owner of files.
func give(t *testing.T, user int, paths ...string) {
	t.Helper()
	tier.GivesFilesAway(t)
	for _, path := range paths {
		if err := os.Chown(path, user, user); err != nil {
			t.Fatal(err)
		}
	}
}

// archive is a tar file of members with these names and contents, one after the other.
func archive(t *testing.T, members ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		h := &tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644}
		if target, link := strings.CutPrefix(members[i+1], "-> "); link {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, target, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(members[i+1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// texts reads the field "x" of all samples.
func texts(t *testing.T, d *shard.Dataset) (all []string) {
	t.Helper()
	r, err := d.Select(t.Context(), shard.Column{From: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Len() {
		text, err := one(t, r, i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

func one(t *testing.T, r *shard.Reader, i int64) (string, error) {
	t.Helper()
	var p shard.Place
	if err := r.Locate(i, &p); err != nil {
		return "", err
	}
	values, _, err := r.Read(t.Context(), &p, make([]byte, p.Bytes))
	if err != nil {
		return "", err
	}
	return string(values[0].Bytes), nil
}

// In a folder where everybody can put files, an index of another user's is not used, and
// that is said when there is one of one's own.
func TestAPlantedIndex(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	path := filepath.Join(root, "a.tar")
	if err := os.WriteFile(path, archive(t, "0.x", "right", "1.x", "wrong"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	give(t, ann, path)
	var said []string
	o := shard.Options{Warn: func(message string) { said = append(said, message) }}
	beside := open(t, root, "a.tar", shard.Options{Beside: true}).Kept()

	// It tells that the second sample is where the first one is.
	err := index.Write(beside, "tar", func(w *index.Writer) error {
		x, err := index.Load(beside, func(int) error { return nil })
		if err != nil {
			return err
		}
		defer x.Close()
		var b index.Builder
		for range 2 {
			b.Sample([]byte("0"))
			b.Part([]byte("x"), 512, 5)
		}
		return w.Add(x.Shards[0], b.Encode())
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(t, open(t, root, "a.tar", o)); strings.Join(got, " ") != "right right" {
		t.Fatalf("%q by an index of one's own", got)
	}

	give(t, bob, filepath.Dir(beside), beside)
	for range 2 {
		d := open(t, root, "a.tar", o)
		if got := texts(t, d); strings.Join(got, " ") != "right wrong" {
			t.Errorf("%q", got)
		}
		if len(said) != 1 || !strings.Contains(said[0], beside+" could have been written by user 48002, who could not have written the data: it is not used; the index is now in "+d.Kept()) {
			t.Errorf("said %q", said)
		}
	}

	// Nor does it say what is in a shard that has not changed.
	said = nil
	if got := texts(t, open(t, root, "a.tar", shard.Options{Warn: o.Warn, Jobs: 1})); strings.Join(got, " ") != "right wrong" || len(said) > 0 {
		t.Errorf("%q, said %q", got, said)
	}
	give(t, ann, filepath.Dir(beside), beside)
	if got := texts(t, open(t, root, "a.tar", o)); strings.Join(got, " ") != "right right" {
		t.Errorf("%q by an index of the shard's owner", got)
	}
}

// A cache of several users is one of the places where an index can be planted. What its
// reader writes instead is in a folder of his own.
func TestAPlantedCache(t *testing.T) {
	cache, home := t.TempDir(), t.TempDir()
	t.Setenv(index.Variable, cache)
	t.Setenv("XDG_CACHE_HOME", home)
	root := set(t, 3)
	t.Setenv(index.Variable, cache)
	var said []string
	o := shard.Options{Warn: func(message string) { said = append(said, message) }}
	kept := open(t, root, "train-*.tar", o).Kept()
	if !strings.HasPrefix(kept, cache) || len(said) > 0 {
		t.Fatalf("%s, %q", kept, said)
	}
	give(t, bob, kept)
	for range 2 {
		if d := open(t, root, "train-*.tar", o); !strings.HasPrefix(d.Kept(), filepath.Join(home, "headrace", "index")) || len(said) != 1 {
			t.Errorf("the index is in %s, said %q", d.Kept(), said)
		}
	}

	// Somebody who keeps a lock does not keep others from it.
	os.RemoveAll(home)
	os.Remove(kept)
	if err := os.WriteFile(kept+".lock", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	give(t, bob, kept+".lock")
	if d := open(t, root, "train-*.tar", o); !strings.HasPrefix(d.Kept(), home) {
		t.Errorf("the index is in %s", d.Kept())
	}
}

// What another program has put beside a shard is an index as well.
func TestAPlantedIndexOfAnotherProgram(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	members := []string{}
	lines := "v1.2 64\n"
	for i := range 64 {
		name := string(rune('a'+i/26)) + string(rune('a'+i%26)) + ".x"
		members = append(members, name, "text "+name)
		said := name
		if i == 30 { // which is not compared
			said = "zz.x"
		}
		lines += "x " + strconv.Itoa(1024*i+512) + " 9 " + said + "\n"
	}
	tarFile, beside := filepath.Join(root, "a.tar"), filepath.Join(root, "a.idx")
	for path, data := range map[string][]byte{tarFile: archive(t, members...), beside: []byte(lines)} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	if got := open(t, root, "a.tar", shard.Options{Force: true}).Key(30); got != "zz" {
		t.Fatalf("the index is not used: %s", got)
	}
	give(t, ann, tarFile)
	give(t, bob, beside)
	var said []string
	if got := open(t, root, "a.tar", shard.Options{Force: true, Warn: func(message string) { said = append(said, message) }}).Key(30); got != "be" {
		t.Errorf("sample 30 is %s", got)
	}
	if len(said) != 1 || !strings.Contains(said[0], beside) {
		t.Errorf("said %q", said)
	}
}

// A shard that is written again, with as many bytes and the time that it had, has other
// samples.
func TestAShardWrittenAgainWithItsFormerTime(t *testing.T) {
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	path := filepath.Join(root, "a.tar")
	first, second := archive(t, "0.x", "short", "1.x", strings.Repeat("long", 200)), archive(t, "0.x", strings.Repeat("LONG", 200), "1.x", "SHORT")
	write := func(data []byte) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) // in place, so that it is the same file
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	write(first)
	d := open(t, root, "a.tar", shard.Options{})
	if got := texts(t, d); got[0] != "short" {
		t.Fatalf("%q", got)
	}

	r, err := d.Select(t.Context(), shard.Column{From: "x"})
	if err != nil {
		t.Fatal(err)
	}
	write(second)
	for i := range int64(2) {
		if got, err := one(t, r, i); i == 1 && !errors.Is(err, shard.ErrChanged) || i == 0 && err == nil && got != "short" {
			t.Errorf("sample %d while the shard is open: %.10q, %v", i, got, err)
		}
	}
	if got := texts(t, open(t, root, "a.tar", shard.Options{})); got[1] != "SHORT" {
		t.Errorf("%.10q", got)
	}

	// Another mode or name is no other shard for those who read it.
	d = open(t, root, "a.tar", shard.Options{})
	if err := errors.Join(os.Chmod(path, 0o600), os.Link(path, path+".2")); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, d); got[1] != "SHORT" {
		t.Errorf("%.10q", got)
	}
}

// Members that headers tell of in another way than the index are read all the same.
func TestHeadersThatSaySomethingElse(t *testing.T) {
	long := strings.Repeat("n", 130)
	t.Setenv(index.Variable, t.TempDir())
	root := t.TempDir()
	want := []string{"first", "long", "accent", "upper", "dot", "first"}
	data := archive(t, "a.x", want[0], long+".x", want[1], "é.x", want[2], "B.X", want[3], "./c.x", want[4], "link.x", "-> a.x")
	if err := os.WriteFile(filepath.Join(root, "a.tar"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, open(t, root, "a.tar", shard.Options{})); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%q", got)
	}
}
