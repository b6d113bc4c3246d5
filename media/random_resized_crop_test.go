package media

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestBetween(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		lo := math.Exp(r.Float64()*6 - 3)
		hi := lo * math.Exp(r.Float64()*4)
		u := r.Float64()
		got, want := between(lo, hi, u), lo*math.Pow(hi/lo, u)
		if math.Abs(got/want-1) > 1e-13 || got < lo || got > hi*(1+1e-13) {
			t.Fatalf("between %v and %v, %v: %v, want %v", lo, hi, u, got, want)
		}
	}
	if between(0.75, 4./3, 0) != 0.75 || between(2, 2, 0.7) != 2 {
		t.Error("the ends are not exact")
	}
}

// The numbers are the same on every machine, to the last bit: crops depend on them.
func TestBetweenIsPinned(t *testing.T) {
	for _, c := range []struct {
		u    float64
		bits uint64
	}{
		{0.1, 0x3fe96bdf0c2ac166}, {0.3, 0x3fec858a27abbb21}, {0.5, 0x3ff0000000000000}, {0.9, 0x3ff423fa0221921c},
	} {
		if got := math.Float64bits(between(3./4, 4./3, c.u)); got != c.bits {
			t.Errorf("u = %v: %#x, want %#x", c.u, got, c.bits)
		}
	}
}
