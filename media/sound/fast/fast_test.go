//go:build cgo

package fast

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media/sound"
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

func TestMeanAgreesWithGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Float32(), 0, 200).Draw(t, "pairs")
		n := len(pairs) / 2
		want, got := make([]float32, n), make([]float32, n)
		sound.Mean(want, pairs)
		mean(got, pairs)
		if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }) {
			t.Fatalf("C %v, Go %v", got, want)
		}
	})
}

// What a sample costs where 44.1 and 48 kHz become 16, and 16 becomes 24.
func BenchmarkSamples(b *testing.B) {
	for _, p := range []sound.Places{{Up: 160, Down: 441, Taps: 464}, {Up: 1, Down: 3, Taps: 496}, {Up: 3, Down: 2, Taps: 192}} {
		b.Run(fmt.Sprintf("%d to %d", p.Down, p.Up), func(b *testing.B) {
			p.Before, p.Stride, p.First = (p.Taps-1)/2, 1, -int64(p.Taps)
			to := make([]float32, 1<<14)
			end, _ := p.At(len(to) - 1)
			in, sets := make([]float32, end+p.Taps), make([]float32, p.Up*p.Taps)
			for b.Loop() {
				run(to, in, sets, p)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(to)), "ns/sample")
		})
	}
}
