package tensor

import (
	"math"
	"testing"
)

// Every float16 is the nearest to itself, and to what is around it up to the middle.
func TestToFloat16(t *testing.T) {
	for h := range 1 << 16 {
		bits := uint16(h)
		v := float64(FromFloat16(bits))
		if got := ToFloat16(v); got != bits && v == v {
			t.Fatalf("%v is %#x, want %#x", v, got, bits)
		}
		next := float64(FromFloat16(bits + 1))
		if bits&0x7fff >= 0x7bff {
			continue
		}
		even := bits + bits&1
		middle := v/2 + next/2
		for x, want := range map[float64]uint16{middle: even, math.Nextafter(middle, v): bits, math.Nextafter(middle, next): bits + 1} {
			if got := ToFloat16(x); got != want {
				t.Fatalf("%v is %#x, want %#x", x, got, want)
			}
		}
	}
	for v, want := range map[float64]uint16{65519.999: 0x7bff, 65520: 0x7c00, -1e300: 0xfc00, math.Inf(1): 0x7c00, 5e-324: 0, -1e-8: 0x8000, 3.1e-8: 1} {
		if got := ToFloat16(v); got != want {
			t.Errorf("%v is %#x, want %#x", v, got, want)
		}
	}
	if got := FromFloat16(ToFloat16(math.NaN())); got == got {
		t.Error(got)
	}
}

func TestToBFloat16(t *testing.T) {
	for v, want := range map[float64]uint16{1: 0x3f80, -2.5: 0xc020, 1.00390625: 0x3f80, 1.01171875: 0x3f82, 3.4e38: 0x7f80, math.Inf(-1): 0xff80, 0: 0} {
		if got := ToBFloat16(v); got != want {
			t.Errorf("%v is %#x, want %#x", v, got, want)
		}
	}
	if got := ToBFloat16(math.NaN()); got&0x7fff <= 0x7f80 {
		t.Errorf("%#x", got)
	}
}
