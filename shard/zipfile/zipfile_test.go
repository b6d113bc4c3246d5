package zipfile_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/shardtest"
	"github.com/headrace/headrace/shard/zipfile"
	"github.com/headrace/headrace/tensor"
)

// The files of testdata are those of Python's zipfile and of NumPy, and what these read
// in them: scripts/shard_goldens.py.
func golden(t testing.TB, name string) shardtest.Case {
	return shardtest.Case{
		Format: zipfile.Format{}, File: name, Folder: shardtest.Folder{name: shardtest.Load(t, "testdata")[name]},
		Want: shardtest.Golden(t, "testdata/"+name+".json"),
	}
}

func TestFilesOfOthers(t *testing.T) {
	for _, name := range []string{
		"stored.zip", "deflated.zip", "bzip2.zip", "wide.zip", "stream.zip", "stream-stored.zip", "prefixed.zip", "stored.npz", "deflated.npz",
	} {
		c := golden(t, name)
		if name == "bzip2.zip" { // which takes 4 MB for each member
			t.Run(name, c.Read)
		} else {
			t.Run(name, c.Run)
		}
		if f := (zipfile.Format{}); f.Begins(c.Folder[name]) != (name != "prefixed.zip") || f.Begins(nil) {
			t.Errorf("%s: Begins is wrong", name)
		}
	}
}

// file is a zip file of the standard library's.
func file(t testing.TB, method uint16, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		m, err := w.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func of(name string, data []byte, want ...shardtest.Sample) shardtest.Case {
	return shardtest.Case{Format: zipfile.Format{}, File: name, Folder: shardtest.Folder{name: data}, Want: want, Room: 4 << 20}
}

func TestShardsOfFewSamples(t *testing.T) {
	text := map[string]shardtest.Value{"txt": shardtest.Bytes("content")}
	t.Run("none", of("a.zip", file(t, zip.Store)).Run)
	t.Run("one", of("a.zip", file(t, zip.Deflate, "a.txt", "content"), shardtest.Sample{Key: "a", Fields: text}).Run)
	const comment = "PK\x05\x06 is said here"
	commented := append(file(t, zip.Store, "a.txt", "content"), comment...)
	binary.LittleEndian.PutUint16(commented[len(commented)-len(comment)-2:], uint16(len(comment)))
	t.Run("a comment", of("a.zip", commented, shardtest.Sample{Key: "a", Fields: text}).Run)
}

// change writes other bytes after a mark, counted from it; the last that there is.
func change(data []byte, mark string, at int, with ...byte) []byte {
	other := bytes.Clone(data)
	copy(other[bytes.LastIndex(other, []byte(mark))+at:], with)
	return other
}

const (
	entry  = "PK\x01\x02"
	header = "PK\x03\x04"
	end    = "PK\x05\x06"
)

func TestWhatIsRefused(t *testing.T) {
	stored := file(t, zip.Store, "a.txt", "first", "b.txt", "second")
	deflated := file(t, zip.Deflate, "a.txt", strings.Repeat("content ", 100))
	c := of("a.zip", stored)
	ff := bytes.Repeat([]byte{0xff}, 8)
	for _, r := range []struct {
		data []byte
		kind error
		says string
	}{
		{stored[:len(stored)-1], shard.ErrTruncated, "a.zip at byte 236: cut off: the file has no directory at its end"},
		{nil, shard.ErrTruncated, "no directory"},
		{change(stored, end, 4, 1), shard.ErrUnsupported, "one of several that belong together"},
		{change(stored, end, 10, 9), shard.ErrCorrupt, "the directory has 2 entries, and should have 9"},
		{change(stored, end, 12, ff[:4]...), shard.ErrCorrupt, "the directory is of 4294967295 bytes"},
		{change(stored, end, 16, ff[:4]...), shard.ErrCorrupt, "the directory is of"},
		{change(stored, entry, 0, 'X'), shard.ErrCorrupt, "something else than entries"},
		{change(stored, entry, 8, 1), shard.ErrUnsupported, `"b.txt" is encrypted`},
		{change(stored, entry, 10, 14), shard.ErrUnsupported, `"b.txt" is compressed with method 14: must be deflate, bzip2 or zstd`},
		{change(stored, entry, 20, 7), shard.ErrCorrupt, `"b.txt" is stored, and has 6 bytes in 7`},
		{change(stored, entry, 28, 0xff), shard.ErrCorrupt, "the directory ends in an entry"},
		{change(stored, entry, 42, 0), shard.ErrCorrupt, `"b.txt" overlaps another member`},
		{change(stored, entry, 42, ff[:3]...), shard.ErrTruncated, "a.zip at byte 16777215"},
		{change(stored, entry, 42, 61), shard.ErrCorrupt, `"b.txt" does not begin here`},
		{change(change(stored, entry, 20, ff[:3]...), entry, 24, ff[:3]...), shard.ErrCorrupt, `"b.txt" has 16777215 bytes, and the directory begins at byte 113`},
		{change(stored, header, 6, 1), shard.ErrUnsupported, `"b.txt" is encrypted`},
		{change(stored, header, 8, 8), shard.ErrCorrupt, `"b.txt" is compressed with method 8 here, and 0 as the directory says`},
		{change(stored, header, 28, 0xff), shard.ErrCorrupt, `"b.txt" has 6 bytes, and the directory begins`},

		{change(deflated, entry, 24, 0xff, 0xff, 0xff, 0x7f), shard.ErrCorrupt, "cannot hold 2147483647"},
		{change(deflated, entry, 24, 0x21), shard.ErrCorrupt, "should have 801"},
		{change(deflated, entry, 24, 0x1f), shard.ErrCorrupt, "more than the 799 bytes that it should have"},
		{change(deflated, "PK\x07\x08", 4, 0), shard.ErrCorrupt, "the checksum of a member's content is wrong"},
		{change(deflated, header, 35, 0xff, 0xff), shard.ErrCorrupt, "sample 0"},
		{file(t, zip.Store, "a.txt", "1", "b.txt", "2", "A.txt", "3", "a.TXT", "4"), shard.ErrCorrupt, `"a.TXT": sample "a" has two members "txt"`},
	} {
		c.Refused(t, "a.zip", r.data, r.kind, r.says)
	}
}

// A member of zip64 may say any size.
func TestWideSizes(t *testing.T) {
	for _, size := range []uint64{1 << 40, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		extra := binary.LittleEndian.AppendUint16(nil, 1)
		extra = binary.LittleEndian.AppendUint16(extra, 16)
		extra = binary.LittleEndian.AppendUint64(extra, size)
		extra = binary.LittleEndian.AppendUint64(extra, size)
		var b bytes.Buffer
		b.WriteString(header + "\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		b.Write(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte("x"))))
		b.WriteString("\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x00\x00a.txtx")
		at := b.Len()
		b.WriteString(entry + "\x2d\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00")
		b.WriteString(strings.Repeat("\x00", 14) + "a.txt")
		b.Write(extra)
		length := b.Len() - at
		b.WriteString(end + "\x00\x00\x00\x00\x01\x00\x01\x00" + string([]byte{byte(length), 0, 0, 0, byte(at), 0, 0, 0, 0, 0}))
		says := `"a.txt" has`
		if int64(size) < 0 {
			says = `the sizes of "a.txt" do not fit into 8 bytes`
		}
		of("a.zip", nil).Refused(t, "a.zip", b.Bytes(), shard.ErrCorrupt, says)
	}
}

func array(d tensor.DType, shape ...int) string {
	n, err := tensor.Shape(shape).Bytes(d)
	if err != nil {
		panic(err)
	}
	return string(npy.Write(d, shape)) + strings.Repeat("\x01", int(n))
}

func TestArraysThatAreRefused(t *testing.T) {
	for method, name := range map[uint16]string{zip.Store: "stored", zip.Deflate: "deflated"} {
		for _, r := range []struct {
			data []byte
			kind error
			says string
		}{
			{file(t, method, "a.npy", array(tensor.Uint8)), shard.ErrUnsupported, `array "a": an array without axes has no rows`},
			{file(t, method, "a.txt", "text"), shard.ErrUnsupported, "the file has no arrays"},
			{file(t, method, "a.npy", "text.npy"), shard.ErrUnsupported, "not a NumPy file"},
			{file(t, method, "a.npy", array(tensor.Uint8, 3)+"x"), shard.ErrCorrupt, `array "a" has 131 bytes, and its member 132`},
		} {
			t.Run(name, func(t *testing.T) { of("a.npz", nil).Refused(t, "a.npz", r.data, r.kind, r.says) })
		}
	}
}

// Arrays of another length than most are named, and the others read.
func TestArraysOfOtherLengths(t *testing.T) {
	u8 := func(n int) string { return array(tensor.Uint8, n) }
	for _, c := range []struct {
		members []string
		rows    int
		refused string
		why     string
	}{
		{[]string{"a.npy", u8(3), "b.npy", u8(4)}, 3, "b", `it has 4 rows, and "a" has 3; hr.files(…).decode_npz() makes`},
		{[]string{"a.npy", u8(3), "b.npy", u8(4), "c.npy", u8(4)}, 4, "a", `it has 3 rows, and "b" has 4`},
		{[]string{"a.npy", array(tensor.Uint8), "b.npy", u8(4)}, 4, "a", "an array without axes has no rows; hr.files"},
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			f, err := shardtest.Folder{"a.npz": file(t, method, c.members...)}.Open("a.npz")
			if err != nil {
				t.Fatal(err)
			}
			var found index.Builder
			if err := (zipfile.Format{}).Scan(t.Context(), f, &found); err != nil {
				t.Fatal(err)
			}
			if found.Len() != c.rows || len(found.Refused) != 1 || !strings.HasPrefix(found.Refused[c.refused], c.why) {
				t.Errorf("%d rows, refused %q, want %d rows and %q: %s", found.Len(), found.Refused, c.rows, c.refused, c.why)
			}
		}
	}
}

func FuzzScan(f *testing.F) { golden(f, "deflated.zip").Fuzz(f) }

func FuzzArrays(f *testing.F) { golden(f, "deflated.npz").Fuzz(f) }

// An array that is all the same may say any number of rows.
func TestManyRows(t *testing.T) {
	const rows = 17 << 20
	data := file(t, zip.Deflate, "a.npy", string(npy.Write(tensor.Uint8, tensor.Shape{rows}))+string(make([]byte, rows)))
	of("a.npz", nil).Refused(t, "a.npz", data, shard.ErrUnsupported, "17825792 samples in a file of ")
}

// Members of more than 4 GiB, and places beyond.
func TestLongMembers(t *testing.T) {
	const long = 5 << 30
	wide := func(numbers ...uint64) (extra []byte) {
		extra = binary.LittleEndian.AppendUint16([]byte{1, 0}, uint16(8*len(numbers)))
		for _, n := range numbers {
			extra = binary.LittleEndian.AppendUint64(extra, n)
		}
		return extra
	}
	const ff = "\xff\xff\xff\xff"
	first := append([]byte(header+strings.Repeat("\x00", 14)+ff+ff+"\x05\x00\x14\x00a.bin"), wide(long, long)...)
	second := []byte(header + strings.Repeat("\x00", 14) + "\x03\x00\x00\x00\x03\x00\x00\x00\x05\x00\x00\x00b.bintwo")
	at := int64(len(first)) + long

	tail := []byte(entry + strings.Repeat("\x00", 16) + ff + ff + "\x05\x00\x14\x00" + strings.Repeat("\x00", 14) + "a.bin")
	tail = append(tail, wide(long, long)...)
	tail = append(tail, entry+strings.Repeat("\x00", 16)+"\x03\x00\x00\x00\x03\x00\x00\x00\x05\x00\x0c\x00"+strings.Repeat("\x00", 10)+ff+"b.bin"...)
	tail = append(tail, wide(uint64(at))...)
	length, from := uint64(len(tail)), uint64(at)+uint64(len(second))
	tail = append(tail, "PK\x06\x06\x2c\x00\x00\x00\x00\x00\x00\x00"+strings.Repeat("\x00", 12)...)
	for _, n := range []uint64{2, 2, length, from} {
		tail = binary.LittleEndian.AppendUint64(tail, n)
	}
	tail = append(tail, "PK\x06\x07\x00\x00\x00\x00"...)
	tail = binary.LittleEndian.AppendUint64(tail, from+length)
	tail = append(tail, "\x01\x00\x00\x00"+end+"\x00\x00\x00\x00\xff\xff\xff\xff"+ff+ff+"\x00\x00"...)

	s := &shardtest.Sparse{Length: int64(from) + int64(len(tail)), Pieces: map[int64][]byte{0: first, at: second, int64(from): tail}}
	var found index.Builder
	if err := (zipfile.Format{}).Scan(t.Context(), s, &found); err != nil || found.Len() != 2 {
		t.Fatalf("%d samples, %v", found.Len(), err)
	}
	for i, want := range []index.Part{{At: 0, Len: long}, {At: long, Len: 3}} {
		if _, parts := found.Of(i); len(parts) != 1 || parts[0] != want {
			t.Errorf("sample %d is %+v, want %+v", i, parts, want)
		}
	}
	for i, want := range []int64{int64(len(first)), at + 35} {
		if b := found.Blocks[i]; b.At != want || !b.Plain() || b.Codec == index.Stored {
			t.Errorf("block %d is %+v, at %d", i, b, want)
		}
	}
	if s.Read > 1<<18 {
		t.Errorf("%d bytes were read", s.Read)
	}
}

func BenchmarkScan(b *testing.B) {
	var members []string
	for i := range 10_000 {
		members = append(members, fmt.Sprintf("train/class/%07d.jpg", i), string(make([]byte, 1000)))
	}
	f, err := shardtest.Folder{"x.zip": file(b, zip.Store, members...)}.Open("x.zip")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var found index.Builder
		if err := (zipfile.Format{}).Scan(b.Context(), f, &found); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e4, "ns/sample")
}
