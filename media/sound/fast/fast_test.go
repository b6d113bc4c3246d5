//go:build cgo

package fast

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headrace/media/sound"
)

// C gives the bits that Go does, with and without AVX2.
func TestItAgreesWithGo(t *testing.T) {
	before := wide
	t.Cleanup(func() { wide = before })
	rapid.Check(t, func(t *rapid.T) {
		numbers := func(n int, name string) []float32 {
			return rapid.SliceOfN(rapid.Float32Range(-1, 1), n, n).Draw(t, name)
		}
		p := sound.Places{Up: rapid.IntRange(1, 7).Draw(t, "up"), Down: rapid.IntRange(1, 9).Draw(t, "down"), Taps: 16 * rapid.IntRange(1, 5).Draw(t, "taps")}
		p.Before, p.Stride, p.N = (p.Taps-1)/2, rapid.IntRange(1, 3).Draw(t, "stride"), rapid.Int64Range(0, 1<<40).Draw(t, "n")
		count := rapid.IntRange(1, 50).Draw(t, "count")
		p.First = p.N/int64(p.Up)*int64(p.Down) - int64(p.Taps)
		end, _ := p.At(count - 1)
		in, sets := numbers(end+p.Taps, "in"), numbers(p.Up*p.Taps, "sets")

		want := make([]float32, (count-1)*p.Stride+1)
		sound.Plain(want, in, sets, p)
		for _, wide = range []bool{false, before} {
			got := make([]float32, len(want))
			run(got, in, sets, p)
			if !slices.Equal(got, want) {
				t.Fatalf("AVX2 %v: C differs from Go", wide)
			}
		}
	})
}
