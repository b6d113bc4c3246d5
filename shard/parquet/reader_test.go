package parquet

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

//go:embed testdata/oracle.py
var script string

// file is a shard in memory.
type file struct{ data []byte }

func (f file) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, at)
}
func (f file) Name() string                      { return "a.parquet" }
func (f file) Size() int64                       { return int64(len(f.data)) }
func (f file) Beside(string) (shard.File, error) { return nil, errors.New("nothing is beside") }

func scanned(data []byte) (*index.Builder, error) {
	var b index.Builder
	err := Format{}.Scan(context.Background(), file{data}, &b)
	return &b, err
}

// rowReader reads parts as whoever has the index does, and counts what it reads.
type rowReader struct {
	f    io.ReaderAt
	b    *index.Builder
	ends []int64 // of blocks, unpacked
	read int64
	buf  []byte
}

func newReader(f io.ReaderAt, b *index.Builder) *rowReader {
	r := &rowReader{f: f, b: b}
	at := int64(0)
	for _, k := range b.Blocks {
		at += k.Size
		r.ends = append(r.ends, at)
	}
	return r
}

func (r *rowReader) part(dst []byte, p index.Part) ([]byte, error) {
	i := sort.Search(len(r.ends), func(i int) bool { return r.ends[i] > p.At })
	for n := p.Len; n > 0; i++ {
		if i == len(r.ends) {
			return nil, errors.New("a part is not in the blocks")
		}
		k := r.b.Blocks[i]
		skip := p.At - (r.ends[i] - k.Size)
		take := min(n, k.Size-skip)
		at, size := k.At, k.Len
		if k.Codec == index.Stored {
			at, size = k.At+skip, take
		}
		if int64(cap(r.buf)) < size {
			r.buf = make([]byte, size)
		}
		packed := r.buf[:size]
		if _, err := r.f.ReadAt(packed, at); err != nil {
			return nil, err
		}
		r.read += size
		if k.Codec == index.Stored {
			dst = append(dst, packed...)
		} else {
			before := len(dst)
			all, err := r.unpacked(dst, i, packed)
			if err != nil {
				return nil, err
			}
			if int64(len(all)-before) != k.Size {
				return nil, fmt.Errorf("a block has %d bytes, want %d", len(all)-before, k.Size)
			}
			dst = append(all[:before], all[before+int(skip):before+int(skip+take)]...)
		}
		p.At += take
		n -= take
	}
	return dst, nil
}

// unpacked appends what a block holds, by its dictionary where it has one.
func (r *rowReader) unpacked(dst []byte, i int, packed []byte) ([]byte, error) {
	k := r.b.Blocks[i]
	if !(Format{}).Refers(k) {
		return Format{}.Unpack(dst, k, packed)
	}
	for i--; !(Format{}).Target(r.b.Blocks[i]); i-- {
	}
	d := r.b.Blocks[i]
	page := make([]byte, d.Len)
	if _, err := r.f.ReadAt(page, d.At); err != nil {
		return nil, err
	}
	dictionary, err := Format{}.Unpack(nil, d, page)
	if err != nil {
		return nil, err
	}
	return Format{}.UnpackWith(dst, k, packed, dictionary)
}

// row reads a sample in the form that the oracle has.
func (r *rowReader) row(i int) (map[string]string, error) {
	row := map[string]string{}
	_, parts := r.b.Of(i)
	for _, p := range parts {
		v, err := r.part(nil, p)
		if err != nil {
			return nil, err
		}
		row[r.b.Fields[p.Field]] = "=" + base64.StdEncoding.EncodeToString(v)
	}
	for name, all := range r.b.Ints {
		switch {
		case slices.Contains(r.b.Absent[name], int64(i)):
		case r.b.Types[name].DType == tensor.Uint64:
			row[name] = strconv.FormatUint(uint64(all[i]), 10)
		default:
			row[name] = strconv.FormatInt(all[i], 10)
		}
	}
	for name, all := range r.b.Floats {
		if !math.IsNaN(all[i]) {
			row[name] = strconv.FormatFloat(all[i], 'x', -1, 64)
		}
	}
	for name := range r.b.Refused {
		delete(row, name)
	}
	return row, nil
}

// expected are rows as pyarrow reads them.
func expected(t testing.TB, text string) []map[string]string {
	t.Helper()
	var rows []map[string]string
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for name, v := range row { // Python writes hexadecimal floats in another way
			if v[0] != '=' && strings.Contains(v, "0x") {
				f, err := strconv.ParseFloat(v, 64)
				if err != nil {
					t.Fatal(err)
				}
				row[name] = strconv.FormatFloat(f, 'x', -1, 64)
			}
		}
	}
	return rows
}

// written has pyarrow write a file.
func written(t testing.TB, args map[string]any) (data []byte, rows []map[string]string) {
	t.Helper()
	var text string
	blobs := oracle.Run(t, script, "write", args, &text)
	return blobs[0], expected(t, text)
}

// check compares every row with what pyarrow reads.
func check(t *testing.T, data []byte, want []map[string]string) *index.Builder {
	t.Helper()
	b, err := scanned(data)
	if err != nil {
		t.Fatal(err)
	}
	if b.Len() != len(want) {
		t.Fatalf("%d rows, want %d", b.Len(), len(want))
	}
	r := newReader(file{data}, b)
	for i := range want {
		got, err := r.row(i)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if len(got) != len(want[i]) {
			t.Errorf("row %d has %d fields, want %d", i, len(got), len(want[i]))
		}
		for name, v := range want[i] {
			if got[name] != v {
				t.Fatalf("row %d, %s: %.80q, want %.80q (refused: %v)", i, name, got[name], v, b.Refused)
			}
		}
	}
	return b
}
