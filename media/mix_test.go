package media_test

import (
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/media"
)

// Eight bytes at once are mixed as each by itself.
func TestMixedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(91, 1))
	for w := range 257 {
		n := r.IntN(50)
		a, b, to := make([]byte, n), make([]byte, n), make([]byte, n)
		for i := range n {
			a[i], b[i] = byte(r.Uint32()), byte(r.Uint32())
			if r.IntN(4) == 0 {
				a[i], b[i] = 255, 255
			}
		}
		media.MixBytes(to, a, b, w)
		for i, got := range to {
			if want := byte((int(a[i])*w + int(b[i])*(256-w) + 128) / 256); got != want {
				t.Fatalf("%d and %d by %d: %d, want %d", a[i], b[i], w, got, want)
			}
		}
	}
}

func BenchmarkMixBytes(b *testing.B) {
	x, y, to := make([]byte, 224*224*3), make([]byte, 224*224*3), make([]byte, 224*224*3)
	b.SetBytes(int64(len(to)))
	for b.Loop() {
		media.MixBytes(to, x, y, 77)
	}
}
