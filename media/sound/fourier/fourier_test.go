package fourier

import (
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// A transform is its definition, for lengths of any factors.
func TestTransforms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 4, 5, 8, 12, 30, 64, 97, 400, 441, 512} {
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(random.Float64()-0.5, random.Float64()-0.5)
		}
		want := make([]complex128, n)
		for k := range want {
			for i, v := range x {
				want[k] += v * root(i*k, n)
			}
		}
		for k, v := range New(n).Run(x, make([]complex128, n)) {
			if cmplx.Abs(v-want[k]) > 1e-12*float64(n) {
				t.Fatalf("%d: %v at %d, want %v", n, v, k, want[k])
			}
		}
	}
}
