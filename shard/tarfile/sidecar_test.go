package tarfile

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

// withIndex is a shard that has an index beside it.
type withIndex struct {
	*inMemory
	index []byte
}

func (f withIndex) Name() string { return "data/a.b.tar" }

func (f withIndex) Beside(name string) (shard.File, error) {
	if name != "a.idx" {
		return nil, os.ErrNotExist
	}
	return file(f.index), nil
}

// samplesOf reads an archive with an index beside it.
func samplesOf(t testing.TB, data, beside []byte) (all []oracle.TarSample) {
	t.Helper()
	var found index.Builder
	if err := Format.Scan(context.Background(), withIndex{file(data), beside}, &found); err != nil {
		t.Fatal(err)
	}
	for i := range found.Len() {
		key, parts := found.Of(i)
		s := oracle.TarSample{Key: string(key), Parts: map[string][]byte{}}
		for _, p := range parts {
			s.Parts[found.Fields[p.Field]] = data[p.At:][:p.Len]
		}
		all = append(all, s)
	}
	return all
}

// archiveOf is an archive of samples with a picture and a label each.
func archiveOf(t testing.TB, format tar.Format, samples int, name func(i int) string, more ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(h tar.Header, content string) {
		h.Size, h.Mode, h.Format = int64(len(content)), 0o644, format
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(content))
	}
	for i := range samples {
		put(tar.Header{Name: name(i) + ".jpg"}, strings.Repeat("p", 700*i%3000))
		put(tar.Header{Name: name(i) + ".cls"}, fmt.Sprint(i))
		if i < len(more) {
			put(more[i], "")
		}
	}
	w.Close()
	return b.Bytes()
}

func numbered(i int) string { return fmt.Sprintf("train/%04d", i) }

// indexBy is the index of an archive by what GNU tar says of it, as wds2idx makes it.
func indexBy(t testing.TB, data []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	list := func(arg string) []string {
		out, err := exec.Command("tar", "--list", arg, "--file", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	blocks, sizes := list("--block-num"), list("--verbose")
	var lines []string
	last := ""
	for i, text := range blocks {
		if strings.Contains(text, "** Block of NULs **") || sizes[i][0] != '-' {
			continue
		}
		number, name, _ := strings.Cut(strings.TrimPrefix(text, "block "), ": ")
		block, size := 0, 0
		fmt.Sscan(number, &block)
		fmt.Sscan(strings.Fields(sizes[i])[2], &size)
		base, suffix, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
		entry := fmt.Sprintf("%s %d %d %s", suffix, (block+1)*blockSize, size, name)
		if base == last {
			lines[len(lines)-1] += " " + entry
		} else {
			lines = append(lines, entry)
		}
		last = base
	}
	return fmt.Appendf(nil, "v1.2 %d\n%s\n", len(lines), strings.Join(lines, "\n"))
}

func TestAnIndexBesideIsTaken(t *testing.T) {
	data := archiveOf(t, tar.FormatUSTAR, 300, numbered)
	f := withIndex{file(data), indexBy(t, data)}
	if listed(f) == nil {
		t.Fatalf("the index is not taken:\n%.200s", f.index)
	}
	if f.reads > compared+1 {
		t.Errorf("%d reads of the archive", f.reads)
	}
	want, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "by the index", samplesOf(t, data, f.index), want)
}

// Whatever is wrong with an index, the samples are those of the archive.
func TestAnIndexThatIsNotTrue(t *testing.T) {
	data := archiveOf(t, tar.FormatUSTAR, 40, numbered)
	good := string(indexBy(t, data))
	lines := strings.SplitAfter(good, "\n")
	swapped := strings.Join(append([]string{lines[0], lines[2], lines[1]}, lines[3:]...), "")
	long := archiveOf(t, tar.FormatGNU, 40, func(i int) string {
		if i == 7 {
			return strings.Repeat("long/", 40) + numbered(i)
		}
		return numbered(i)
	})
	pax := archiveOf(t, tar.FormatPAX, 40, func(i int) string { return numbered(i) + strings.Repeat("é", i/9) })
	folders := archiveOf(t, tar.FormatUSTAR, 40, numbered, tar.Header{}, tar.Header{Name: "folder/", Typeflag: tar.TypeDir})[:]
	for name, c := range map[string]struct{ data, index []byte }{
		"none":                {data, nil},
		"of another version":  {data, []byte(strings.Replace(good, "v1.2", "v1.1", 1))},
		"of another count":    {data, []byte(strings.Replace(good, "v1.2 40", "v1.2 41", 1))},
		"cut off":             {data, []byte(good[:len(good)/2])},
		"in another order":    {data, []byte(swapped)},
		"with another name":   {data, []byte(strings.Replace(good, "train/0000.jpg", "train/000x.jpg", 1))},
		"with another offset": {data, []byte(strings.Replace(good, " 512 ", " 1024 ", 1))},
		"below zero":          {data, []byte(strings.Replace(good, " 512 ", " -512 ", 1))},
		"huge":                {data, []byte(strings.Replace(good, " 512 ", " 9223372036854775807 ", 1))},
		"huge sizes":          {data, []byte(strings.Replace(good, " 512 0 ", " 512 9223372036854775807 ", 1))},
		"of a longer archive": {data, indexBy(t, archiveOf(t, tar.FormatUSTAR, 41, numbered))},
		"of a shorter one":    {data, indexBy(t, archiveOf(t, tar.FormatUSTAR, 39, numbered))},
		"of one called so":    {data, indexBy(t, archiveOf(t, tar.FormatUSTAR, 40, func(i int) string { return fmt.Sprintf("other/%04d", i) }))},
		"with long names":     {long, indexBy(t, long)},
		"with pax headers":    {pax, indexBy(t, pax)},
		"without folders":     {folders, indexBy(t, folders)},
	} {
		t.Run(name, func(t *testing.T) {
			if listed(withIndex{file(c.data), c.index}) != nil {
				t.Error("it is taken")
			}
			want, err := read(c.data)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, name, samplesOf(t, c.data, c.index), want)
		})
	}
}

// An index that is taken of a small archive, all of whose headers are compared, says what
// the archive does.
func FuzzIndexBeside(f *testing.F) {
	data := archiveOf(f, tar.FormatUSTAR, 8, numbered)
	f.Add(indexBy(f, data))
	f.Add([]byte("v1.2 1\njpg 512 0 train/0000.jpg"))
	want, err := read(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, beside []byte) {
		if listed(withIndex{file(data), beside}) == nil {
			return
		}
		if got := samplesOf(t, data, beside); !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %v", beside, got)
		}
	})
}
