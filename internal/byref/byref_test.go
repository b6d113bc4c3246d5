package byref

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestLastUseEnds(t *testing.T) {
	ended := 0
	one := List{New(func() { ended++ })}
	two := one.Share()
	three := append(two.Share(), New(func() { ended += 10 }))
	one.Leave()
	one.Leave()
	two.Leave()
	if ended != 0 {
		t.Fatalf("ended (%d) while one has a use of it", ended)
	}
	three.Leave()
	if ended != 11 {
		t.Fatalf("ended %d, not each once", ended)
	}
}

func TestOneUseStandsForSeveral(t *testing.T) {
	for n := range 4 {
		ended := 0
		var all List
		for range n {
			all = append(all, New(func() { ended++ }))
		}
		one := all.Together()
		if len(one) > 1 {
			t.Errorf("%d uses stand for %d objects", len(one), n)
		}
		two := one.Share()
		one.Leave()
		if ended != 0 {
			t.Errorf("%d of %d ended while one has a use of them", ended, n)
		}
		two.Leave()
		if ended != n {
			t.Errorf("%d of %d ended", ended, n)
		}
	}
}

func number(n uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, 1<<32)
	return append(binary.LittleEndian.AppendUint64(b, n), "whose it is and what it is"...)
}

// packed lays rows after each other, as texts and objects of a batch are.
func packed(rows ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(rows)))
	end := 0
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, r := range rows {
		end += len(r)
		b = binary.LittleEndian.AppendUint32(b, uint32(end))
	}
	return append(b, slices.Concat(rows...)...)
}

func TestNumbers(t *testing.T) {
	pickle := append(binary.LittleEndian.AppendUint64(nil, 0), make([]byte, 40)...)
	for _, c := range []struct {
		b    []byte
		axes int
		want []uint64
	}{
		{number(7), 0, []uint64{7}},
		{pickle, 0, nil},
		{number(7)[:15], 0, nil},
		{nil, 0, nil},
		{packed(number(1), pickle, number(2)), 1, []uint64{1, 2}},
		{packed(packed(number(1)), packed(pickle, number(3))), 2, []uint64{1, 3}},
		{packed(), 1, nil},
	} {
		if got := Numbers(c.b, c.axes); !slices.Equal(got, c.want) {
			t.Errorf("%d axes: %v, not %v", c.axes, got, c.want)
		}
	}
}

func TestNumbersOfAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := packed(packed(number(1), number(2)), packed(number(3)))
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		Numbers(b[:rapid.IntRange(0, len(b)).Draw(t, "length")], rapid.IntRange(0, 3).Draw(t, "axes"))
	})
}
