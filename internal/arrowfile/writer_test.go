package arrowfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/fulldisk"
	"github.com/headrace/headrace/tensor"
)

// A file is the same however its rows come. Python's tests read files with pyarrow.
func TestRowsInPieces(t *testing.T) {
	columns := []Column{{Name: "n", DType: tensor.Int64}, {Name: "yes", DType: tensor.Bool, Shape: []int{3}}, {Name: "text"}}
	rapid.Check(t, func(t *rapid.T) {
		var one, all bytes.Buffer
		single, together := NewWriter(&one, columns, [2]string{"a", "b"}), NewWriter(&all, columns, [2]string{"a", "b"})
		rows := rapid.SampledFrom([]int{1, 7, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, batchRows + 5}).Draw(t, "rows")
		values := make([][]byte, 3)
		for i := range rows {
			text := strings.Repeat("x", i%5)
			values[0] = binary.LittleEndian.AppendUint64(values[0], uint64(i))
			values[1] = append(values[1], byte(i%2), 1, 0)
			values[2] = append(binary.LittleEndian.AppendUint32(values[2], uint32(len(text))), text...)
		}
		rest := [][]byte{values[0], values[1], values[2]}
		for left := rows; left > 0; {
			n := min(left, rapid.SampledFrom([]int{1, 100, 60_000}).Draw(t, "piece"))
			if left > 2000 {
				n = min(left, 60_000)
			}
			if err := single.AddRows(n, rest); err != nil { // which takes what it writes from rest
				t.Fatal(err)
			}
			left -= n
		}
		if err := together.AddRows(rows, values); err != nil {
			t.Fatal(err)
		}
		if single.Close() != nil || together.Close() != nil || !bytes.Equal(one.Bytes(), all.Bytes()) {
			t.Fatalf("%d bytes, want %d", one.Len(), all.Len())
		}
		if batches := (rows + batchRows - 1) / batchRows; len(together.blocks) != 3*batches {
			t.Fatalf("%d rows are in %d batches, want %d", rows, len(together.blocks)/3, batches)
		}
		file := all.Bytes()
		if !bytes.HasPrefix(file, []byte("ARROW1\x00\x00")) || !bytes.HasSuffix(file, []byte("ARROW1")) {
			t.Fatal("it does not begin and end with the magic")
		}
	})
}

// A batch of wide rows ends by its bytes, and every part of the file begins at a multiple
// of 8, as readers that map it need.
func TestBatchesOfWideRows(t *testing.T) {
	const rows = 9
	wide := Column{Name: "wide", DType: tensor.Uint8, Shape: []int{batchBytes / 8}}
	w := NewWriter(io.Discard, []Column{wide, {Name: "text"}})
	texts := bytes.Repeat([]byte{1, 0, 0, 0, 'a'}, rows)
	if err := errors.Join(w.AddRows(rows, [][]byte{make([]byte, rows*wide.size()), texts}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if len(w.blocks) != 2*3 {
		t.Errorf("%d rows of an eighth of a batch are in %d batches, want 2", rows, len(w.blocks)/3)
	}
	for i, at := range w.blocks {
		if at%8 != 0 {
			t.Errorf("batch %d: part %d is at or has %d", i/3, i%3, at)
		}
	}
}

func TestValuesThatEndEarly(t *testing.T) {
	for _, c := range []Column{{Name: "n", DType: tensor.Int64}, {Name: "text"}} {
		for _, data := range [][]byte{{1}, {5, 0, 0, 0, 'a'}} {
			err := NewWriter(&bytes.Buffer{}, []Column{c}).AddRows(1, [][]byte{data})
			if err == nil || !strings.Contains(err.Error(), "end early") {
				t.Errorf("%s of %q: %v", c.Name, data, err)
			}
		}
	}
}

// A disk that is full is told, wherever it is.
func TestErrorsOfWriting(t *testing.T) {
	for room := 0; ; room += 8 {
		columns := []Column{{Name: "x", DType: tensor.Int64}, {Name: "text"}}
		w := NewWriter(&fulldisk.Writer{Room: room}, columns, [2]string{"a", "b"})
		err := errors.Join(w.AddRows(1, [][]byte{make([]byte, 8), {1, 0, 0, 0, 'a'}}), w.Close())
		if err == nil {
			break
		}
		if !errors.Is(err, fulldisk.Err) || room > 5000 {
			t.Fatal(room, err)
		}
	}
}
