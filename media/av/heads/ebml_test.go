package heads

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Numbers of each length are read as they were written, and not when they are cut off.
func TestNumbersOfEBML(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 1))
	for range 2000 {
		n := 1 + r.IntN(8)
		want := r.Uint64N(1 << (7 * n))
		b := make([]byte, n)
		for i, v := n-1, want; i >= 0; i, v = i-1, v>>8 {
			b[i] = byte(v)
		}
		b[0] |= 0x80 >> (n - 1)
		if v, of := Vint(append(b, 0xFF)); v != want || of != n {
			t.Fatalf("% x is %d of %d bytes, want %d of %d", b, v, of, want, n)
		}
		if _, of := Vint(b[:n-1]); of != 0 {
			t.Fatalf("% x, cut off, has %d bytes", b, of)
		}
	}
	if _, n := Vint([]byte{0, 0x80}); n != 0 {
		t.Error("a number of more than eight bytes is read")
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		text      string
		want      Element
		junk, cut bool
	}{
		{"\xEC\x82ab", Element{Void, 2, 4}, false, false},
		{"\x1F\x43\xB6\x75\xFF", Element{Cluster, 5, -1}, false, false},
		{"\x18\x53\x80\x67\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF", Element{Segment, 12, -1}, false, false},
		{"\x18\x53\x80\x67\x08\x00\x00\x00\x07", Element{Segment, 9, 16}, false, false},
		{"\xEC\x40", Element{}, false, true},
		{"\x1F\x43\xB6", Element{}, false, true},
		{"", Element{}, false, true},
		{"\x08\x01\x02\x03\x04\x80", Element{}, true, false},
		{"\xEC\x00\x80", Element{}, true, false},
	} {
		f := File{From: bytes.NewReader([]byte(c.text)), Len: int64(len(c.text))}
		e, junk, cut := f.Element(0)
		if junk != c.junk || cut != c.cut || !junk && !cut && e != c.want {
			t.Errorf("% x is %+v, junk %v, cut %v", c.text, e, junk, cut)
		}
	}
}
