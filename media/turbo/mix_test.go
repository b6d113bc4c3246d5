//go:build cgo

package turbo

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headrace/headrace/media"
)

// All sets mix to the same bytes as Go, for all weights and any length.
func TestMixing(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for _, name := range levels() {
		undo := setLevel(name)
		for w := range 257 {
			n := r.IntN(200)
			a, b, got, want := make([]byte, n), make([]byte, n), make([]byte, n), make([]byte, n)
			x, y, floats, wanted := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range n {
				a[i], b[i] = byte(r.Uint32()), byte(r.Uint32())
				if r.IntN(4) == 0 {
					a[i], b[i] = 255, 255
				}
				x[i], y[i] = r.Float32()*300-100, float32(r.NormFloat64())
			}
			Runner{}.MixBytes(got, a, b, w)
			media.GoRunner{}.MixBytes(want, a, b, w)
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: other bytes of %d by %d", name, n, w)
			}
			Runner{}.MixFloats(floats, x, y, w)
			media.GoRunner{}.MixFloats(wanted, x, y, w)
			if !slices.Equal(floats, wanted) {
				t.Fatalf("%s: other numbers of %d by %d", name, n, w)
			}
		}
		undo()
	}
}

func BenchmarkMixing(b *testing.B) {
	x, y, to := make([]byte, 224*224*3), make([]byte, 224*224*3), make([]byte, 224*224*3)
	floats := [3][]float32{}
	for i := range floats {
		floats[i] = make([]float32, len(x))
	}
	for _, name := range levels() {
		undo := setLevel(name)
		b.Run("bytes/"+name, func(b *testing.B) {
			for b.Loop() {
				Runner{}.MixBytes(to, x, y, 77)
			}
		})
		b.Run("floats/"+name, func(b *testing.B) {
			for b.Loop() {
				Runner{}.MixFloats(floats[0], floats[1], floats[2], 77)
			}
		})
		undo()
	}
	b.Run("bytes/Go", func(b *testing.B) {
		for b.Loop() {
			media.GoRunner{}.MixBytes(to, x, y, 77)
		}
	})
}
