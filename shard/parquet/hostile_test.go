package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
)

func wantError(t *testing.T, data []byte, kind error, words string) {
	t.Helper()
	_, err := scanned(data)
	var e *shard.Error
	if !errors.As(err, &e) || e.Shard != "a.parquet" || !errors.Is(err, kind) || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want %v with %q", err, kind, words)
	}
}

// readAll reads what a scan has found, and fails where that takes more memory than it
// may.
func readEverything(b *index.Builder, data []byte) error {
	r := newReader(file{data}, b)
	for i := range min(b.Len(), 1000) {
		if _, err := r.row(i); err != nil {
			return err
		}
	}
	return nil
}

func TestTruncatedAtEveryByte(t *testing.T) {
	data, _ := written(t, map[string]any{"rows": 5, "largest": 40})
	for n := range data {
		if _, err := scanned(data[:n]); !errors.Is(err, shard.ErrTruncated) && !errors.Is(err, shard.ErrCorrupt) {
			t.Fatalf("cut off at %d of %d: %v", n, len(data), err)
		}
	}
	// The footer stays whole where the file ends too early elsewhere.
	for n := 4; n < len(data)-2000; n += 7 {
		short := slices.Concat(data[:n], data[n+1:])
		if b, err := scanned(short); err == nil {
			_ = readEverything(b, short)
		}
	}
}

func TestEveryByteWrong(t *testing.T) {
	for _, encoding := range []string{"dictionary", "delta"} {
		data, _ := written(t, map[string]any{"rows": 5, "largest": 40, "encoding": encoding,
			"columns": []string{"image", "text", "flag", "f64", "u32", "l_i16", "l_bool", "money", "when", "cat"}})
		for at := range data {
			for _, flip := range []byte{0xff, 0x80, 0x01} {
				bad := bytes.Clone(data)
				bad[at] ^= flip
				if b, err := scanned(bad); err == nil {
					_ = readEverything(b, bad)
				}
				_, _ = Format{}.Bounds(file{bad}, "text")
			}
		}
	}
}

// Bit rot is found where the writer has left checksums.
func TestChecksums(t *testing.T) {
	data, _ := written(t, map[string]any{"rows": 20, "columns": []string{"text"}, "encoding": "plain",
		"options": map[string]any{"compression": "none", "write_page_checksum": true, "write_statistics": false}})
	at := bytes.Index(data, []byte("word number"))
	data[at] ^= 1
	wantError(t, data, shard.ErrCorrupt, "checksum")
}

// A writer of Thrift's compact protocol, for footers that lie.
type thriftWriter struct {
	bytes.Buffer
	last []int16
}

func (w *thriftWriter) begin() { w.last = append(w.last, 0) }

func (w *thriftWriter) end() {
	w.WriteByte(0)
	w.last = w.last[:len(w.last)-1]
}

func (w *thriftWriter) field(id int16, kind byte) {
	last := &w.last[len(w.last)-1]
	w.WriteByte(byte(id-*last)<<4 | kind)
	*last = id
}

func (w *thriftWriter) int(id int16, v int64) {
	w.field(id, 6)
	w.Write(binary.AppendVarint(nil, v))
}

func (w *thriftWriter) text(id int16, s string) {
	w.field(id, thriftBinary)
	w.Write(binary.AppendUvarint(nil, uint64(len(s))))
	w.WriteString(s)
}

func (w *thriftWriter) list(id int16, n int) {
	w.field(id, thriftList)
	w.WriteByte(0xf0 | thriftStruct)
	w.Write(binary.AppendUvarint(nil, uint64(n)))
}

// crafted is a file of one column, and what is to be said of it.
type crafted struct {
	kind, repetition          int64
	schema, groups, chunks    int // lengths of lists; 0: 1, or the root and a leaf
	rows, groupRows, values   int64
	codec, packed, data, dict int64
	pages                     []byte
	converted                 int64
}

func (c crafted) file() []byte {
	var w thriftWriter
	w.begin()
	w.int(1, 2)
	w.list(2, max(2, c.schema))
	w.begin()
	w.text(4, "schema")
	w.int(5, 1)
	w.end()
	w.begin()
	w.int(1, c.kind)
	w.int(3, c.repetition)
	w.text(4, "x")
	if c.converted != 0 {
		w.int(6, c.converted)
	}
	w.end()
	w.int(3, c.rows)
	w.list(4, max(1, c.groups))
	w.begin()
	w.list(1, max(1, c.chunks))
	w.begin()
	w.field(3, thriftStruct)
	w.begin()
	w.int(4, c.codec)
	w.int(5, c.values)
	w.int(7, c.packed)
	w.int(9, c.data)
	w.int(11, c.dict)
	w.end()
	w.end()
	w.int(3, c.groupRows)
	w.end()
	w.end()

	data := slices.Concat([]byte(magic), c.pages, w.Bytes())
	data = binary.LittleEndian.AppendUint32(data, uint32(w.Len()))
	return append(data, magic...)
}

// page is a data page of the first kind.
func page(kind, unpacked, values, encoding int64, packed []byte) []byte {
	var w thriftWriter
	w.begin()
	w.int(1, kind)
	w.int(2, unpacked)
	w.int(3, int64(len(packed)))
	if kind == pageData2 {
		w.field(8, thriftStruct)
		w.begin()
		w.int(1, values)
		w.int(4, encoding)
		w.int(5, 0)
	} else {
		w.field(int16(5+2*(kind/2)), thriftStruct)
		w.begin()
		w.int(1, values)
		w.int(2, encoding)
		w.int(3, encodingRLE)
	}
	w.end()
	w.end()
	return append(w.Bytes(), packed...)
}

// oneColumn is a file of these pages.
func oneColumn(kind, rows, codec int64, pages ...[]byte) crafted {
	all := slices.Concat(pages...)
	return crafted{kind: kind, rows: rows, groupRows: rows, values: rows, codec: codec, packed: int64(len(all)), data: 4, pages: all}
}

func value(s string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func TestCraftedFilesAreRead(t *testing.T) {
	b, err := scanned(oneColumn(typeBytes, 2, codecNone, page(pageData, 11, 2, encodingPlain, append(value("ab"), value("c")...))).file())
	if err != nil || b.Len() != 2 {
		t.Fatal(b.Len(), err)
	}
}

func TestLies(t *testing.T) {
	plain := page(pageData, 6, 1, encodingPlain, value("ab"))
	good := oneColumn(typeBytes, 1, codecNone, plain)
	change := func(f func(c *crafted)) []byte {
		c := good
		f(&c)
		return c.file()
	}
	for words, data := range map[string][]byte{
		"column x: 9223372036854775807 bytes at":   change(func(c *crafted) { c.packed = math.MaxInt64 }),
		"column x: -1 bytes at 4":                  change(func(c *crafted) { c.packed = -1 }),
		"bytes at -5 are not all":                  change(func(c *crafted) { c.data = -5 }),
		"bytes at 9223372036854775807":             change(func(c *crafted) { c.data = math.MaxInt64 }),
		"more than a file of":                      change(func(c *crafted) { c.rows, c.groupRows = 1<<62, 1<<62 }),
		"is said to have -1 rows":                  change(func(c *crafted) { c.rows, c.groupRows = -1, -1 }),
		"and the file is said to have 2":           change(func(c *crafted) { c.rows = 2 }),
		"2 values for 1 rows":                      change(func(c *crafted) { c.values = 2 }),
		"footer: metadata ends early":              change(func(c *crafted) { c.groups = math.MaxInt32 }),
		"a page has 2 values, and 1 rows are left": oneColumn(typeBytes, 1, codecNone, page(pageData, 6, 2, encodingPlain, value("ab"))).file(),
		"is said to have 7":                        oneColumn(typeBytes, 1, codecNone, page(pageData, 7, 1, encodingPlain, value("ab"))).file(),
		"is said to unpack to 2147483647":          oneColumn(typeBytes, 1, codecZstd, page(pageData, math.MaxInt32, 1, encodingPlain, value("ab"))).file(),
		"bytes of snappy cannot hold":              oneColumn(typeBytes, 1, codecSnappy, page(pageData, 60_000_000, 1, encodingPlain, binary.AppendUvarint(nil, 60_000_000))).file(),
		"a page of negative size":                  oneColumn(typeBytes, 1, codecNone, page(pageData, -1, 1, encodingPlain, value("ab"))).file(),
		"has 4294967295 bytes, and 2 are left":     oneColumn(typeBytes, 1, codecNone, page(pageData, 6, 1, encodingPlain, []byte("\xff\xff\xff\xffab"))).file(),
		"ends in value 1 of 2":                     oneColumn(typeBytes, 2, codecNone, page(pageData, 6, 2, encodingPlain, value("ab"))).file(),
		"and there is none":                        oneColumn(typeBytes, 1, codecNone, page(pageData, 3, 1, encodingRLEDictionary, []byte("\x01\x02\x00"))).file(),
		"two dictionaries":                         oneColumn(typeBytes, 1, codecNone, page(pageDictionary, 6, 1, encodingPlain, value("ab")), page(pageDictionary, 6, 1, encodingPlain, value("ab"))).file(),
		"a dictionary of 6 bytes is said":          oneColumn(typeBytes, 1, codecNone, page(pageDictionary, 6, 1<<40, encodingPlain, value("ab"))).file(),
		"past the end of its dictionary":           oneColumn(typeBytes, 1, codecNone, page(pageDictionary, 6, 1, encodingPlain, value("ab")), page(pageData, 3, 1, encodingRLEDictionary, []byte("\x01\x02\x01"))).file(),
		"places in the dictionary are damaged":     oneColumn(typeBytes, 1, codecNone, page(pageDictionary, 6, 1, encodingPlain, value("ab")), page(pageData, 3, 1, encodingRLEDictionary, []byte("\x21\x02\x01"))).file(),
		"a page's lengths are damaged":             oneColumn(typeBytes, 1, codecNone, page(pageData, 2, 1, encodingDeltaLength, []byte("\x80\x80"))).file(),
		"a page's prefixes are damaged":            oneColumn(typeBytes, 1, codecNone, page(pageData, 2, 1, encodingDeltaBytes, []byte("\x80\x80"))).file(),
		"a page's numbers are damaged":             oneColumn(typeInt64, 1, codecNone, page(pageData, 2, 1, encodingDelta, []byte("\x80\x80"))).file(),
		"4 bytes of levels are more than a page has": func() []byte {
			c := oneColumn(typeBytes, 1, codecNone, page(pageData, 6, 1, encodingPlain, []byte("\x04\x00\x00\x00ab")))
			c.repetition = optional
			return c.file()
		}(),
	} {
		t.Run(words, func(t *testing.T) { wantError(t, data, shard.ErrCorrupt, words) })
	}
	wantError(t, oneColumn(typeBytes, 1, codecNone).file(), shard.ErrTruncated, "a page's header ends early, with 1 rows")
	wantError(t, slices.Concat([]byte(magic+"\x1f"), []byte("\x01\x00\x00\x00"+magic)), shard.ErrCorrupt, "footer: metadata is malformed")
	wantError(t, []byte("PAR1PAR1"), shard.ErrTruncated, "at least 12 bytes")
	wantError(t, []byte("PAR1\xff\xff\xff\x7fPAR1"), shard.ErrCorrupt, "longer than the file")
	wantError(t, []byte("PAR1\x00\x00\x00\x00PAR1"), shard.ErrCorrupt, "")
	wantError(t, []byte("PAR1 and then something else"), shard.ErrTruncated, "ends with")
}

// listOf is a page of lists, whose levels are runs.
func listOf(encoding, values int64, repetition, definition, numbers string) []byte {
	body := append(append(value(repetition), value(definition)...), numbers...)
	return page(pageData, int64(len(body)), values, encoding, body)
}

func list(repetition, definition, numbers string) []byte {
	return listOf(encodingPlain, 1, repetition, definition, numbers)
}

// listFile is a file of a column that repeats.
func listFile(kind, rows, values int64, pages ...[]byte) []byte {
	c := oneColumn(kind, rows, codecNone, pages...)
	c.repetition, c.values = repeated, values
	return c.file()
}

func TestLiesOfLists(t *testing.T) {
	if b, err := scanned(listFile(typeInt64, 1, 1, list("\x02\x00", "\x02\x01", "12345678"))); err != nil || b.Len() != 1 || len(b.Refused) > 0 {
		t.Fatal(err, b.Refused)
	}
	dictionary := page(pageDictionary, 8, 1, encodingPlain, []byte("12345678"))
	for words, data := range map[string][]byte{
		"1099511627776 values for 1 rows":    listFile(typeInt64, 1, 1<<40, list("\x02\x00", "\x02\x01", "12345678")),
		"0 values for 1 rows":                listFile(typeInt64, 1, 0),
		"1 lists for 2 rows":                 listFile(typeInt64, 2, 2, listOf(encodingPlain, 2, "\x03\x02", "\x04\x01", "1234567812345678")),
		"repetition levels are damaged":      listFile(typeInt64, 1, 1, list("", "\x02\x01", "12345678")),
		"definition levels are damaged":      listFile(typeInt64, 1, 1, list("\x02\x00", "", "12345678")),
		"begins within a row":                listFile(typeInt64, 1, 1, list("\x02\x01", "\x02\x01", "12345678")),
		"an empty list has elements":         listFile(typeInt64, 1, 2, listOf(encodingPlain, 2, "\x03\x02", "\x04\x00", "")),
		"ends before its 1 numbers":          listFile(typeInt64, 1, 1, list("\x02\x00", "\x02\x01", "1234567")),
		"its 1 numbers":                      listFile(typeBoolean, 1, 1, list("\x02\x00", "\x02\x01", "")),
		"before its 1 numbers":               listFile(typeBoolean, 1, 1, listOf(encodingRLE, 1, "\x02\x00", "\x02\x01", "\x01\x00\x00\x00")),
		"damaged: it ends before its 1":      listFile(typeBoolean, 1, 1, listOf(encodingRLE, 1, "\x02\x00", "\x02\x01", "\x01\x00\x00\x00\x05")),
		"page: damaged: it ends before its":  listFile(typeInt32, 1, 1, listOf(encodingDelta, 1, "\x02\x00", "\x02\x01", "\x80\x80")),
		"ends before its levels":             listFile(typeInt64, 1, 1, page(pageData, 2, 1, encodingPlain, []byte("ab"))),
		"said to unpack to 2147483647":       listFile(typeInt64, 1, 1, page(pageData, math.MaxInt32, 1, encodingPlain, []byte("ab"))),
		"a page of 2 bytes":                  listFile(typeInt64, 1, 1, page(pageDictionary, 3, 1, encodingPlain, []byte("ab"))),
		"of 8 bytes is said to have 1048576": listFile(typeInt64, 1, 1, page(pageDictionary, 8, 1<<20, encodingPlain, []byte("12345678"))),
		"damaged: it ends before its 2":      listFile(typeInt64, 1, 1, page(pageDictionary, 8, 2, encodingPlain, []byte("12345678"))),
		"and there is none":                  listFile(typeInt64, 1, 1, listOf(encodingRLEDictionary, 1, "\x02\x00", "\x02\x01", "\x01\x02\x00")),
		"refers past the end":                listFile(typeInt64, 1, 1, dictionary, listOf(encodingRLEDictionary, 1, "\x02\x00", "\x02\x01", "\x01\x02\x01")),
		"it ends before its 1 numbers":       listFile(typeInt64, 1, 1, dictionary, listOf(encodingRLEDictionary, 1, "\x02\x00", "\x02\x01", "")),
		"ends before its 1":                  listFile(typeInt64, 1, 1, dictionary, listOf(encodingRLEDictionary, 1, "\x02\x00", "\x02\x01", "\x40\x02")),
	} {
		t.Run(words, func(t *testing.T) { wantError(t, data, shard.ErrCorrupt, words) })
	}
	block := index.Block{Size: 8, Codec: blockList | 6<<3}
	for _, page := range [][]byte{nil, list("\x02\x00", "\x02\x01", "12345678")[1:], append(list("", "", ""), 0)} {
		if _, err := (Format{}).Unpack(nil, block, page); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("%q: %v", page, err)
		}
	}
}

// What is valid and not supported is the column's own trouble.
func TestRefusals(t *testing.T) {
	for words, data := range map[string][]byte{
		"encoded as PLAIN_DICTIONARY":             nil,
		"compressed with LZO":                     oneColumn(typeBytes, 1, codecLZO, page(pageData, 6, 1, encodingPlain, value("ab"))).file(),
		"codec 99":                                oneColumn(typeBytes, 1, 99, page(pageData, 6, 1, encodingPlain, value("ab"))).file(),
		"encoded as encoding 77":                  oneColumn(typeBytes, 1, codecNone, page(pageData, 6, 1, 77, value("ab"))).file(),
		"encoded as DELTA_BINARY_PACKED":          oneColumn(typeDouble, 1, codecNone, page(pageData, 8, 1, encodingDelta, make([]byte, 8))).file(),
		"type (42)":                               oneColumn(42, 1, codecNone, page(pageData, 8, 1, encodingDelta, make([]byte, 8))).file(),
		"is a list of bytes":                      listFile(typeBytes, 1, 1, list("\x02\x00", "\x02\x01", "\x00\x00\x00\x00")),
		"encoded as DELTA_LENGTH_BYTE_ARRAY":      listFile(typeInt64, 1, 1, listOf(encodingDeltaLength, 1, "\x02\x00", "\x02\x01", "12345678")),
		"values are encoded as BYTE_STREAM_SPLIT": listFile(typeBoolean, 1, 1, listOf(encodingSplit, 1, "\x02\x00", "\x02\x01", "1")),
	} {
		if data == nil {
			continue
		}
		b, err := scanned(data)
		if err != nil || b.Len() != 1 || !strings.Contains(b.Refused["x"], words) {
			t.Errorf("%v, %v, want %q", err, b.Refused, words)
		}
	}
}

// A file cannot make a scan take memory that it does not stand for.
func TestLiesTakeNoMemory(t *testing.T) {
	huge := oneColumn(typeBytes, 1, codecSnappy, page(pageData, 60_000_000, 1, encodingPlain, binary.AppendUvarint(nil, 60_000_000))).file()
	dict := oneColumn(typeBytes, 1, codecNone, page(pageDictionary, 6, 1<<40, encodingPlain, value("ab"))).file()
	zeros := append([]byte(magic), make([]byte, 1<<20)...)
	zeros = append(binary.LittleEndian.AppendUint32(zeros, 1<<20), magic...)
	for i, data := range [][]byte{huge, dict, zeros} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = scanned(data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("file %d of %d bytes took %d bytes", i, len(data), took)
		}
	}
}

// Nor can it make a scan count to a number that it states: 2³¹ children of the root.
func TestLiesTakeNoTime(t *testing.T) {
	var w thriftWriter
	w.begin()
	w.list(2, 1)
	w.begin()
	w.int(5, math.MaxInt32)
	w.end()
	w.end()
	data := binary.LittleEndian.AppendUint32(append([]byte(magic), w.Bytes()...), uint32(w.Len()))
	wantError(t, append(data, magic...), shard.ErrCorrupt, "the footer's schema is not a tree")
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	data := oneColumn(typeBytes, 1, codecNone, page(pageData, 6, 1, encodingPlain, value("ab"))).file()
	if err := (Format{}).Scan(ctx, file{data}, &index.Builder{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(oneColumn(typeBytes, 2, codecNone, page(pageData, 11, 2, encodingPlain, append(value("ab"), value("c")...))).file())
	f.Add(oneColumn(typeBytes, 1, codecNone, page(pageDictionary, 6, 1, encodingPlain, value("ab")), page(pageData, 3, 1, encodingRLEDictionary, []byte("\x01\x02\x00"))).file())
	f.Add(listFile(typeInt64, 1, 1, page(pageDictionary, 8, 1, encodingPlain, []byte("12345678")), listOf(encodingRLEDictionary, 1, "\x02\x00", "\x02\x01", "\x01\x02\x00")))
	f.Add(listFile(typeInt32, 1, 2, listOf(encodingPlain, 2, "\x03\x02", "\x04\x01", "12345678")))
	f.Add(oneColumn(typeBytes, 1, codecSnappy, page(pageData2, 6, 1, encodingPlain, []byte("\x06\x14\x02\x00\x00\x00ab"))).file())
	f.Add(oneColumn(typeBytes, 1, codecNone, page(pageData, 13, 1, encodingDeltaBytes, []byte("\x80\x01\x04\x01\x00\x80\x01\x04\x01\x02a"))).file())
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := scanned(data); err == nil {
			_ = readEverything(b, data)
		}
	})
}
