package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Rows that are written together make the file of those that are written one by one, over
// pages and row groups.
func TestRowsTogether(t *testing.T) {
	types := []Type{Bool, Int8, Uint32, Int64, Float64, Text}
	rapid.Check(t, func(t *rapid.T) {
		var columns []Column
		for i, y := range rapid.SliceOfN(rapid.SampledFrom(types), 1, 4).Draw(t, "types") {
			columns = append(columns, Column{[]string{string(rune('a' + i))}, y})
		}
		var one, all bytes.Buffer
		single, together := NewWriter(&one, columns), NewWriter(&all, columns)
		word := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "word")
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			rows := rapid.SampledFrom([]int{1, 5, 1000}).Draw(t, "rows")
			values := make([][]byte, len(columns))
			for row := range rows {
				of := make([][]byte, len(columns))
				for i, c := range columns {
					v := binary.LittleEndian.AppendUint64(nil, uint64(row*(i+3)))[:c.Type.size]
					if c.Type == Text {
						v = word[:row%(len(word)+1)]
						values[i] = binary.LittleEndian.AppendUint32(values[i], uint32(len(v)))
					}
					of[i], values[i] = v, append(values[i], v...)
				}
				if err := single.Add(of); err != nil {
					t.Fatal(err)
				}
			}
			if err := together.AddRows(rows, slices.Clone(values)); err != nil {
				t.Fatal(err)
			}
		}
		if single.Close() != nil || together.Close() != nil || !bytes.Equal(one.Bytes(), all.Bytes()) {
			t.Fatalf("%d bytes, want %d", all.Len(), one.Len())
		}
	})
}

// Full row groups end where single rows end them.
func TestGroupsTogether(t *testing.T) {
	columns := []Column{{[]string{"a"}, Int64}, {[]string{"b"}, Float64}}
	const rows = 4_400_000 // 70 MB
	var one, all bytes.Buffer
	single, together := NewWriter(&one, columns), NewWriter(&all, columns)
	a, b := make([]byte, 8*rows), make([]byte, 8*rows)
	for i := range rows {
		if err := single.Add([][]byte{a[8*i:][:8], b[8*i:][:8]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := together.AddRows(rows, [][]byte{a, b}); err != nil {
		t.Fatal(err)
	}
	if single.Close() != nil || together.Close() != nil || !bytes.Equal(one.Bytes(), all.Bytes()) || len(together.groups) != 2 {
		t.Fatalf("%d bytes in %d groups, want %d in %d", all.Len(), len(together.groups), one.Len(), len(single.groups))
	}
}

func TestValuesThatEndEarly(t *testing.T) {
	for _, y := range []Type{Int64, Text} {
		w := NewWriter(&bytes.Buffer{}, []Column{{[]string{"a"}, y}})
		if err := w.AddRows(2, [][]byte{make([]byte, 7)}); err == nil {
			t.Error("7 bytes are two values")
		}
	}
}
