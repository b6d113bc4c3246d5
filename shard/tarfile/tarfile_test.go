package tarfile

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
)

// inMemory is a shard.
type inMemory struct {
	*bytes.Reader
	reads int
}

func (*inMemory) Name() string                      { return "a.tar" }
func (*inMemory) Beside(string) (shard.File, error) { return nil, os.ErrNotExist }
func (f *inMemory) ReadAt(p []byte, at int64) (int, error) {
	f.reads++
	return f.Reader.ReadAt(p, at)
}

func file(data []byte) *inMemory { return &inMemory{Reader: bytes.NewReader(data)} }

// read returns all samples of an archive.
func read(data []byte) (all []oracle.TarSample, err error) {
	var found index.Builder
	if err := Format.Scan(context.Background(), file(data), &found); err != nil {
		return nil, err
	}
	for i := range found.Len() {
		key, parts := found.Of(i)
		s := oracle.TarSample{Key: string(key), Parts: map[string][]byte{}}
		for _, p := range parts {
			s.Parts[found.Fields[p.Field]] = data[p.At:][:p.Len]
		}
		all = append(all, s)
	}
	return all, nil
}

func compare(t *testing.T, what string, got, want []oracle.TarSample) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d samples, want %d: %v", what, len(got), len(want), keysOf(got))
	}
	for i, w := range want {
		g := got[i]
		if g.Key != w.Key || len(g.Parts) != len(w.Parts) {
			t.Errorf("%s: sample %d is %q with %d parts, want %q with %d", what, i, g.Key, len(g.Parts), w.Key, len(w.Parts))
		}
		for suffix, content := range w.Parts {
			if !bytes.Equal(g.Parts[suffix], content) {
				t.Errorf("%s: sample %q: other content of %q", what, w.Key, suffix)
			}
		}
	}
}

func keysOf(all []oracle.TarSample) (keys []string) {
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	return keys
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(n*31 + i*7)
	}
	return b
}

func members(names ...string) (all []oracle.TarMember) {
	for i, name := range names {
		all = append(all, oracle.TarMember{Name: name, Kind: "file", Content: content(i * 300)})
	}
	return all
}

var traps = append(members(
	"a/000.jpg", "a/000.cls", "a/000.json", "./b/001.seg.png", "./b/001.CLS", "./b/001.Seg.Jpg",
	"no dot", "a.b/c.d/002", "a.b/c.d/003.txt.gz", "__meta__/x.txt", "__index__", "x/__y__.txt", "dot.", "ü/größe.JPG", "ü/größe.Txt",
	strings.Repeat("long/", 60)+"name.jpg", strings.Repeat("n", 99)+".x", strings.Repeat("n", 99)+".y", "empty.bin", "000.jpg",
), oracle.TarMember{Name: "folder.x", Kind: "folder"}, oracle.TarMember{Name: "soft.jpg", Kind: "soft", Link: "a/000.jpg"},
	oracle.TarMember{Name: "device.jpg", Kind: "device"}, oracle.TarMember{Name: "last.jpg", Kind: "file", Content: content(513)})

// Archives of Python, Go and GNU tar are read as webdataset reads them, which is on top
// of Python's tarfile.
func TestSamplesAreThoseOfWebDataset(t *testing.T) {
	for _, format := range []string{"gnu", "pax"} {
		data := oracle.WriteTar(t, format, nil, traps...)
		got, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, format, got, oracle.WebDataset(t, data))
	}

	var short []oracle.TarMember // ustar has no long names
	for _, m := range traps {
		if len(m.Name) < 100 {
			short = append(short, m)
		}
	}
	short = append(short, members(strings.Repeat("folder/", 20)+"name.jpg")...)
	data := oracle.WriteTar(t, "ustar", nil, short...)
	got, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "ustar", got, oracle.WebDataset(t, data))
}

func TestGlobalHeaders(t *testing.T) {
	m := members("a.jpg", "b.jpg")
	m[1].Pax = map[string]string{"path": "ä/long.jpg", "comment": "=\n1 2=3\n"}
	data := oracle.WriteTar(t, "pax", map[string]string{"comment": "a commit"}, m...)
	got, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "global", got, oracle.WebDataset(t, data))
	if got[1].Key != "ä/long" {
		t.Errorf("%q", got[1].Key)
	}
}

func TestGoArchives(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatPAX, tar.FormatGNU} {
		data := goTar(t, format, "a/1.jpg", "a/1.cls", strings.Repeat("long/", 19)+"2.jpg", "3.jpg")
		got, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, format.String(), got, oracle.WebDataset(t, data))
	}
}

func goTar(t testing.TB, format tar.Format, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, name := range names {
		body := content(i*700 + 1)
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Mode: 0o644, Format: format}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The tar of GNU and that of the BSDs write links for files that are one, and holes.
func TestTarCommands(t *testing.T) {
	tier.StartsProcesses(t)
	dir := t.TempDir()
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.jpg", content(3000))
	write("b.cls", []byte("7"))
	write("._b.jpg", content(100))
	write("c."+strings.Repeat("x", 120), content(10))
	if err := os.Link(filepath.Join(dir, "a.jpg"), filepath.Join(dir, "b.jpg")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.jpg", filepath.Join(dir, "d.jpg")); err != nil {
		t.Fatal(err)
	}
	for program, formats := range map[string][]string{
		"tar":    {"gnu", "oldgnu", "pax", "posix", "v7", "ustar"},
		"bsdtar": {"gnutar", "pax", "v7", "ustar"},
	} {
		for _, format := range formats {
			names := []string{"a.jpg", "._b.jpg", "b.cls", "b.jpg", "d.jpg"}
			want := []oracle.TarSample{{Key: "./a", Parts: map[string][]byte{"jpg": content(3000)}}, {Key: "./b", Parts: map[string][]byte{"cls": []byte("7"), "jpg": content(3000)}}}
			if format != "v7" && format != "ustar" {
				long := "c." + strings.Repeat("x", 120)
				names = append(names, long)
				want = append(want, oracle.TarSample{Key: "./c", Parts: map[string][]byte{long[2:]: content(10)}})
			}
			data := archived(t, program, dir, append([]string{"--format=" + format}, names...)...)
			got, err := read(data)
			if err != nil {
				t.Fatal(program, format, err)
			}
			compare(t, program+" "+format, got, want)
		}
	}

	holed := filepath.Join(dir, "holed.bin")
	write("holed.bin", nil)
	if err := os.Truncate(holed, 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"--format=gnu", "--format=oldgnu", "--sparse-version=0.0", "--sparse-version=0.1", "--sparse-version=1.0"} {
		format := "--format=posix"
		if strings.HasPrefix(form, "--format") {
			format = form
		}
		data := archived(t, "tar", dir, "-S", form, format, "a.jpg", "holed.bin", "b.cls")
		if _, err := read(data); !errors.Is(err, shard.ErrUnsupported) || !strings.Contains(err.Error(), "without --sparse") {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func archived(t *testing.T, program, dir string, args ...string) []byte {
	t.Helper()
	var all []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			a = "./" + a
		}
		all = append(all, a)
	}
	c := exec.Command(program, append([]string{"-C", dir, "-cf", "-"}, all...)...)
	c.Stderr = os.Stderr
	data, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file that is stored as one with holes but has none is read.
func TestSparseWithoutHoles(t *testing.T) {
	body := content(1000)
	inOctal := func(n int64) string { return fmt.Sprintf("%011o\x00", n) }
	old := rawHeader("a.bin", kindSparse, 1000, func(h []byte) {
		copy(h[257:], "ustar  \x00")
		copy(h[386:], inOctal(0)+inOctal(1000)+inOctal(1000)+inOctal(0))
		copy(h[483:], inOctal(1000))
	})
	extended := rawHeader("a.bin", kindSparse, 1000, func(h []byte) {
		copy(h[257:], "ustar  \x00")
		for i := range 4 {
			copy(h[386+24*i:], inOctal(int64(100*i))+inOctal(100))
		}
		h[482] = 1
		copy(h[483:], inOctal(1000))
	})
	more := make([]byte, blockSize)
	copy(more, inOctal(400)+inOctal(600))
	table := []byte("1\n0\n1000\n")
	first := make([]byte, blockSize)
	copy(first, table)

	for name, data := range map[string][]byte{
		"old":      join(old, pad(body)),
		"extended": join(extended, more, pad(body)),
		"0.0":      join(extendedHeader("GNU.sparse.size=1000", "GNU.sparse.numblocks=1", "GNU.sparse.offset=0", "GNU.sparse.numbytes=1000"), rawHeader("a.bin", '0', 1000, nil), pad(body)),
		"0.1":      join(extendedHeader("GNU.sparse.size=1000", "GNU.sparse.map=0,1000", "GNU.sparse.name=a.bin"), rawHeader("x/a.bin", '0', 1000, nil), pad(body)),
		"1.0":      join(extendedHeader("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.realsize=1000", "GNU.sparse.name=a.bin"), rawHeader("x/a.bin", '0', 1512, nil), first, pad(body)),
	} {
		got, err := read(join(data, rawHeader("b.txt", '0', 0, nil), make([]byte, 1024)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compare(t, name, got, []oracle.TarSample{{Key: "a", Parts: map[string][]byte{"bin": body}}, {Key: "b", Parts: map[string][]byte{"txt": nil}}})
	}
}

func rawHeader(name string, kind byte, size int64, edit func(h []byte)) []byte {
	h := make([]byte, blockSize)
	copy(h, name)
	copy(h[100:], "0000644\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", size))
	copy(h[257:], "ustar\x0000")
	h[156] = kind
	if edit != nil {
		edit(h)
	}
	return seal(h)
}

// seal writes the checksum.
func seal(h []byte) []byte {
	copy(h[148:], "        ")
	sum := 0
	for _, c := range h[:blockSize] {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

func extendedHeader(lines ...string) []byte {
	var body []byte
	for _, line := range lines {
		n := len(line) + 3
		for len(fmt.Sprintf("%d %s\n", n, line)) != n {
			n++
		}
		body = fmt.Appendf(body, "%d %s\n", n, line)
	}
	return join(rawHeader("pax", kindExtended, int64(len(body)), nil), pad(body))
}

func pad(b []byte) []byte {
	return append(bytes.Clone(b), make([]byte, padded(int64(len(b)))-int64(len(b)))...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

var ends = make([]byte, 1024)

// Each mistake of an archive is an error that names the shard and the place.
func TestWhatIsRefused(t *testing.T) {
	whole := goTar(t, tar.FormatGNU, "a.jpg", "b.jpg")
	large := rawHeader("a.jpg", '0', 0, func(h []byte) { copy(h[124:], "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff") })
	huge := rawHeader("a.jpg", '0', 0, func(h []byte) { copy(h[124:], "\x80\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00") })
	below := rawHeader("a.jpg", '0', 0, func(h []byte) { copy(h[124:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") })
	for name, c := range map[string]struct {
		data []byte
		kind error
		says string
	}{
		"nothing":   {nil, shard.ErrTruncated, "a.tar at byte 0: cut off: it is empty"},
		"gzip":      {[]byte("\x1f\x8b\x08rest"), shard.ErrUnsupported, "gunzip"},
		"zstd":      {[]byte("\x28\xb5\x2f\xfdrest"), shard.ErrUnsupported, "unzstd"},
		"no tar":    {bytes.Repeat([]byte("x"), 600), shard.ErrCorrupt, "a.tar at byte 0: damaged: there is no member header"},
		"no end":    {whole[:len(whole)-1024], shard.ErrTruncated, "truncate -s +1024"},
		"appended":  {join(whole, make([]byte, 10240), whole), shard.ErrUnsupported, "another archive begins"},
		"twice":     {goTar(t, tar.FormatGNU, "a.jpg", "a.JPG"), shard.ErrCorrupt, `sample "a" has "jpg" twice, the second time as "a.JPG"`},
		"large":     {join(large, ends), shard.ErrTruncated, "a member has 9223372036854775807 bytes"},
		"huge":      {join(huge, ends), shard.ErrCorrupt, `the size of member "a.jpg" is not a number`},
		"negative":  {join(below, ends), shard.ErrCorrupt, "is not a number"},
		"long name": {join(rawHeader("x", kindLongName, 2<<20, nil), ends), shard.ErrCorrupt, "more than 1048576 bytes"},
		"name cut":  {join(rawHeader("x", kindLongName, 2000, nil), ends), shard.ErrTruncated, "2000 bytes"},
		"records":   {join(rawHeader("x", kindExtended, 10, nil), pad([]byte("99 path=a\n")), ends), shard.ErrCorrupt, "extended header"},
		"pax size":  {join(extendedHeader("size=-1"), rawHeader("a.jpg", '0', 0, nil), ends), shard.ErrCorrupt, "is not a number"},
		"link":      {join(rawHeader("a.jpg", kindHardLink, 0, func(h []byte) { copy(h[157:], "b.jpg") }), ends), shard.ErrUnsupported, "--hard-dereference"},
		"volume":    {join(rawHeader("a.jpg", kindPiece, 0, nil), ends), shard.ErrUnsupported, "another volume"},
		"no table":  {join(extendedHeader("GNU.sparse.major=1", "GNU.sparse.realsize=5"), rawHeader("a.bin", '0', 600, nil), pad(content(600)), ends), shard.ErrCorrupt, "a file with holes, is not in its form"},
	} {
		_, err := read(c.data)
		if where := (*shard.Error)(nil); !errors.Is(err, c.kind) || !errors.As(err, &where) || where.Shard != "a.tar" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want …%s…", name, err, c.says)
		}
	}
	if got, err := read(ends); err != nil || len(got) != 0 {
		t.Errorf("an archive without members: %v %v", got, err)
	}
}

// An archive that is cut off anywhere is never taken for a whole one.
func TestCutOffAnywhere(t *testing.T) {
	whole := oracle.WriteTar(t, "pax", nil, members("a/1.jpg", "a/1.cls", strings.Repeat("l/", 60)+"2.jpg", "3.txt")...)
	end := bytes.LastIndexFunc(whole, func(r rune) bool { return r != 0 })
	for n := range len(whole) {
		_, err := read(whole[:n])
		if where := (*shard.Error)(nil); n < end && (!errors.As(err, &where) || where.Shard != "a.tar") {
			t.Fatalf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestRule(t *testing.T) {
	names := []string{"", ".", "..", "a", "a.", ".a", "a.b", "a.b.c", "a/b", "a/.b", "a.b/.c", "a.b/c/.d", "/.h", "a//.h", "a.b//.h", "./.h", "./a.b", "a/b\nc.d", "a.x/b\nc.d", "a.b\n", "a\n.b", "x\ny/z.w/v.u"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		name := make([]byte, r.IntN(12))
		for i := range name {
			name[i] = "ab./.\n/"[r.IntN(7)]
		}
		names = append(names, string(name))
	}
	for i, want := range oracle.SplitNames(t, names) {
		key, suffix, ok := split([]byte(names[i]))
		if ok != (want != nil) || ok && (string(key) != want[0] || string(suffix) != want[1]) {
			t.Errorf("%q: %q %q %v, want %q", names[i], key, suffix, ok, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"0000644\x00": 0o644, "   644 \x00": 0o644, "\x00\x00\x00\x00": 0, "77777777777": 0o77777777777, "8": -1, "-1": -1, " 1 2": -1,
		"\x80\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00": 1 << 32, "\xff\xff": -1, "\x80\x7f\xff\xff\xff\xff\xff\xff\xff": 1<<63 - 1, "\x80\x80\x00\x00\x00\x00\x00\x00\x00": -1,
	} {
		n, ok := number([]byte(text))
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d %v, want %d", text, n, ok, want)
		}
	}
}

// Members of more than 8 GiB have their size as bits, or in a record of pax.
func TestLargeMembers(t *testing.T) {
	const size = 9 << 30
	for format, name := range map[tar.Format]string{tar.FormatGNU: "GNU", tar.FormatPAX: "pax"} {
		head, tail := new(bytes.Buffer), new(bytes.Buffer)
		if err := tar.NewWriter(head).WriteHeader(&tar.Header{Name: "a.bin", Size: size, Mode: 0o644, Format: format}); err != nil {
			t.Fatal(err)
		}
		w := tar.NewWriter(tail)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "a.cls", Size: 1, Mode: 0o644}), wrote(w, "7"), w.Close()); err != nil {
			t.Fatal(err)
		}

		at := int64(head.Len())
		f := &shardtest.Sparse{Length: at + size + int64(tail.Len()), Pieces: map[int64][]byte{0: head.Bytes(), at + size: tail.Bytes()}}
		var found index.Builder
		if err := Format.Scan(t.Context(), f, &found); err != nil || found.Len() != 1 {
			t.Fatalf("%s: %d samples, %v", name, found.Len(), err)
		}
		_, parts := found.Of(0)
		if len(parts) != 2 || parts[0].At != at || parts[0].Len != size || parts[1].At != at+size+blockSize || parts[1].Len != 1 {
			t.Errorf("%s: %+v", name, parts)
		}
		if f.Read > 1<<20 {
			t.Errorf("%s: %d bytes were read", name, f.Read)
		}
	}
}

func wrote(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// Old programs have added up bytes with signs.
func TestSignedChecksum(t *testing.T) {
	h := rawHeader("gr\xc3\xb6\xc3\x9fe.jpg", '0', 0, nil)
	sum := 0
	for i, c := range h {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int(int8(c))
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	if got, err := read(join(h, ends)); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
}

// Large members are hopped over, and small ones read many at a time.
func TestReads(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, size int64) {
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644}), copyZeros(w, size)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		add(fmt.Sprintf("%03d.jpg", i), 100_000)
		add(fmt.Sprintf("%03d.cls", i), 3)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := file(out.Bytes())
	var found index.Builder
	if err := Format.Scan(t.Context(), f, &found); err != nil {
		t.Fatal(err)
	}
	if found.Len() != 100 || f.reads > 105 {
		t.Errorf("%d reads for %d samples", f.reads, found.Len())
	}

	small := make([]string, 5000)
	for i := range small {
		small[i] = fmt.Sprintf("%05d.txt", i)
	}
	out.Reset()
	w = tar.NewWriter(&out)
	for _, name := range small {
		add(name, 20)
	}
	f, found = file(out.Bytes()), index.Builder{}
	if err := Format.Scan(t.Context(), f, &found); !errors.Is(err, shard.ErrTruncated) {
		t.Fatal(err)
	}
	if found.Len() != 5000 || f.reads > 60 {
		t.Errorf("%d reads for %d samples", f.reads, found.Len())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Format.Scan(ctx, f, &index.Builder{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func copyZeros(w io.Writer, n int64) error {
	_, err := w.Write(make([]byte, n))
	return err
}

func TestFormat(t *testing.T) {
	if !Format.Begins(goTar(t, tar.FormatPAX, "a.jpg")[:512]) || Format.Begins(make([]byte, 512)) || Format.Begins(nil) || Format.Name() != "tar" {
		t.Error("it is not told by its first bytes")
	}
}

// Whatever an archive says, what is found is in it.
func FuzzScan(f *testing.F) {
	f.Add(goTar(f, tar.FormatGNU, "a.jpg", strings.Repeat("n", 120)+".jpg"), uint16(0))
	f.Add(goTar(f, tar.FormatPAX, "a.jpg", strings.Repeat("n", 120)+".jpg"), uint16(3))
	f.Add(join(extendedHeader("GNU.sparse.major=1", "GNU.sparse.realsize=5"), rawHeader("a.bin", '0', 600, nil), pad(content(600)), ends), uint16(2))
	f.Fuzz(func(t *testing.T, data []byte, sealed uint16) {
		if at := int(sealed) * blockSize; at+blockSize <= len(data) {
			seal(data[at:]) // so that it is looked at
		}
		var found index.Builder
		err := Format.Scan(t.Context(), file(data), &found)
		if where := (*shard.Error)(nil); err != nil && !errors.As(err, &where) {
			t.Fatal(err)
		}
		for i := range found.Len() {
			_, parts := found.Of(i)
			for _, p := range parts {
				if p.At < 0 || p.Len < 0 || p.At > int64(len(data))-p.Len {
					t.Fatalf("%+v of %d bytes", p, len(data))
				}
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	for _, size := range []int64{100, 110_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.tar")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			w := tar.NewWriter(f)
			n := int(min(20_000, 400<<20/size))
			for i := range n {
				for _, part := range []struct {
					suffix string
					size   int64
				}{{"jpg", size}, {"cls", 3}} {
					if err := errors.Join(w.WriteHeader(&tar.Header{Name: fmt.Sprintf("train/%08d.%s", i, part.suffix), Size: part.size, Mode: 0o644}), copyZeros(w, part.size)); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			s, err := f.Stat()
			if err != nil {
				b.Fatal(err)
			}
			var before, after syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				var found index.Builder
				if err := Format.Scan(context.Background(), onDisk{f, s.Size()}, &found); err != nil || found.Len() != n {
					b.Fatal(err)
				}
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
				b.Fatal(err)
			}
			used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(2*n*b.N)/(float64(used)/1e9), "members/s-of-a-core")
		})
	}
}

type onDisk struct {
	*os.File
	size int64
}

func (f onDisk) Size() int64                     { return f.size }
func (onDisk) Beside(string) (shard.File, error) { return nil, os.ErrNotExist }
