package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/klauspost/compress/s2"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/fulldisk"
)

// Each fragment is unpacked by a decoder of others, and refers to nothing before it.
func TestSnappy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "word")
		b := bytes.Repeat(word, rapid.IntRange(0, 200_000/len(word)).Draw(t, "times"))
		packed := new(scratch).snappy(b)
		got, err := s2.Decode(nil, packed)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d bytes become %d: %v", len(b), len(got), err)
		}
		for whole := b; len(whole) > 0; whole = whole[min(fragment, len(whole)):] {
			alone := new(scratch).snappy(whole[:min(fragment, len(whole))])
			_, n := binary.Uvarint(alone)
			if !bytes.Contains(packed, alone[n:]) {
				t.Fatal("a fragment is another where it is alone")
			}
		}
	})
}

// A disk that is full is told, wherever it is.
func TestErrorsOfWriting(t *testing.T) {
	for room := 0; ; room++ {
		w := NewWriter(&fulldisk.Writer{Room: room}, []Column{{[]string{"x"}, Int64}, {[]string{"image", "bytes"}, Bytes}}, [2]string{"a", "b"})
		err := w.Add([][]byte{make([]byte, 8), []byte("abc")})
		if err = errors.Join(err, w.Close()); err == nil {
			break
		}
		if !errors.Is(err, fulldisk.Err) || room > 1000 {
			t.Fatal(room, err)
		}
	}
}

// A file begins and ends with the magic, its footer is as long as it says, and has the
// names, the notes and each value is in a page before it.
func TestFrameOfAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		columns := []Column{{[]string{"number"}, Int64}, {[]string{"image", "bytes"}, Bytes}}
		w := NewWriter(&file, columns, [2]string{"a note", "of a value"})
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 30), 0, 20).Draw(t, "values")
		for i, v := range values {
			if err := w.Add([][]byte{binary.LittleEndian.AppendUint64(nil, uint64(i)), v}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}

		b := file.Bytes()
		magic := []byte("PAR1")
		if !bytes.HasPrefix(b, magic) || !bytes.HasSuffix(b, magic) {
			t.Fatalf("the file is %q … %q", b[:4], b[len(b)-4:])
		}
		b = b[:len(b)-len(magic)]
		length := int(binary.LittleEndian.Uint32(b[len(b)-4:]))
		if length > len(b)-8 {
			t.Fatalf("a footer of %d bytes in a file of %d", length, len(b))
		}
		footer := b[len(b)-4-length : len(b)-4]
		for _, name := range []string{"number", "image", "bytes", "a note", "of a value", "headrace"} {
			if !bytes.Contains(footer, []byte(name)) {
				t.Errorf("the footer lacks %q", name)
			}
		}
		if pages := len(b) - 8 - length; (pages > 0) != (len(values) > 0) {
			t.Errorf("%d values are in %d bytes", len(values), pages)
		}
	})
}
