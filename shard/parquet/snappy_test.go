package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"pgregory.net/rapid"
)

// together unpacks each piece alone.
func together(t interface{ Fatal(...any) }, packed []byte) (out []byte, found []piece) {
	found = pieces(packed, new([]snappyElement))
	for _, p := range found {
		if p.stored {
			if p.to-p.from != p.size {
				t.Fatal("a stored piece has another size")
			}
			out = append(out, packed[p.from:p.to]...)
			continue
		}
		var err error
		if out, err = unpackPiece(out, packed[p.from:p.to], p.size); err != nil {
			t.Fatal(err)
		}
	}
	return out, found
}

func TestPiecesStandForThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		seed := uint32(rapid.IntRange(1, 1<<30).Draw(t, "seed"))
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			n := rapid.IntRange(0, 50_000).Draw(t, "length")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0: // what does not compress
				for range n {
					seed = seed*1664525 + 1013904223
					data = append(data, byte(seed>>24))
				}
			case 1:
				data = append(data, bytes.Repeat([]byte("words "), n/6)...)
			default: // what was there before
				data = append(data, data[max(0, len(data)-n):]...)
			}
		}
		packed := s2.EncodeSnappy(nil, data)
		if out, _ := together(t, packed); !bytes.Equal(out, data) {
			t.Fatalf("%d bytes became %d", len(data), len(out))
		}
	})
}

// literal and back write elements by hand.
func literal(b []byte) []byte {
	return append([]byte{61 << 2, byte(len(b) - 1), byte((len(b) - 1) >> 8)}, b...)
}

func back(offset, n int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{byte(n-1)<<2 | 3}, uint32(offset))
}

func TestCopiesOverFragmentsMakeOnePiece(t *testing.T) {
	first := bytes.Repeat([]byte("0123456789abcdef"), fragment/16)
	for name, elements := range map[string][][]byte{
		"a copy reaches back":   {literal(first), back(fragment, 20), literal(first[:5000])},
		"an element goes over":  {literal(first[:fragment-10]), literal(first[:100])},
		"a copy goes over":      {literal(first[:fragment-10]), back(100, 20), literal(first[:5000])},
		"nothing crosses":       {literal(first), literal(first[:5000]), back(100, 20)},
		"a copy into the bytes": {literal(first[:6000]), literal(first[:100]), back(6050, 60)},
	} {
		body := slices.Concat(elements...)
		size := 0
		for at := 0; at < len(body); {
			e, ok := nextElement(body, at, size)
			if !ok {
				t.Fatal(name)
			}
			at, size = e.to, e.end
		}
		packed := append(binary.AppendUvarint(nil, uint64(size)), body...)
		want, err := s2.Decode(nil, packed)
		if err != nil {
			t.Fatal(name, err)
		}
		out, found := together(t, packed)
		if !bytes.Equal(out, want) {
			t.Errorf("%s: other bytes", name)
		}
		switch name {
		case "nothing crosses":
			if len(found) != 2 || !found[0].stored || found[1].stored {
				t.Errorf("%s: %v", name, found)
			}
		default:
			if len(found) != 1 || found[0].stored {
				t.Errorf("%s: %v", name, found)
			}
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add(s2.EncodeSnappy(nil, []byte("some words and some words and some words")))
	f.Fuzz(func(t *testing.T, packed []byte) {
		n, err := s2.DecodedLen(packed)
		if err != nil || n > 1<<24 {
			return
		}
		want, err := s2.Decode(nil, packed)
		if err != nil {
			return
		}
		if out, _ := together(t, packed); !bytes.Equal(out, want) {
			t.Error("the pieces are other bytes than the page")
		}
	})
}
