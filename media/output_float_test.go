package media

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/tensor"
)

// NumPy rounds to float16 and torch to bfloat16 as we do: all bit patterns are tried
// near those numbers where a rounding could go wrong, and many others.
func TestRoundingEqualsNumPysAndTorchs(t *testing.T) {
	var all []float32
	add := func(bits uint32) {
		for _, sign := range []uint32{0, 1 << 31} {
			if x := math.Float32frombits(bits | sign); x == x {
				all = append(all, x)
			}
		}
	}
	for h := range uint32(0x7c00) { // between each float16 and the next: near both, and near the middle
		a, b := math.Float32bits(tensor.FromFloat16(uint16(h))), math.Float32bits(tensor.FromFloat16(uint16(h+1)))
		for _, bits := range []uint32{a, a + 1, a + (b-a)/2 - 1, a + (b-a)/2, a + (b-a)/2 + 1, b - 1} {
			add(bits)
		}
	}
	r := rand.New(rand.NewPCG(24, 1))
	for range 200_000 {
		bits := r.Uint32() &^ (1 << 31)
		add(bits)
		add(bits&^0xffff | 0x8000) // in the middle between two of bfloat16
	}
	for _, bits := range []uint32{0, 1, 0x7f7fffff, 0x7f800000, 0x007fffff, 0x00800000} {
		add(bits)
	}
	var data []byte
	for _, x := range all {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	float16s, bfloat16s := oracle.RoundFloats(t, data)
	for i, x := range all {
		if got, want := toFloat16(x), binary.LittleEndian.Uint16(float16s[2*i:]); got != want {
			t.Fatalf("%g (%#x) is %#x in float16, want %#x", x, math.Float32bits(x), got, want)
		}
		if got, want := toBFloat16(x), binary.LittleEndian.Uint16(bfloat16s[2*i:]); got != want {
			t.Fatalf("%g (%#x) is %#x in bfloat16, want %#x", x, math.Float32bits(x), got, want)
		}
	}
	for _, nan := range []uint32{0x7fc00000, 0x7f800001, 0xffffffff} {
		x := math.Float32frombits(nan)
		if h := tensor.FromFloat16(toFloat16(x)); h == h {
			t.Errorf("%#x becomes a number in float16", nan)
		}
		if b := math.Float32frombits(uint32(toBFloat16(x)) << 16); b == b {
			t.Errorf("%#x becomes a number in bfloat16", nan)
		}
	}
}
