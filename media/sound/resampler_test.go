package sound

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Samples in memory become the same bits as those of a file, in pieces of any size.
func TestResampler(t *testing.T) {
	defer func(n int64) { pieces = n }(pieces)
	random := rand.New(rand.NewPCG(3, 9))
	for _, c := range []struct{ from, to, n int }{
		{1100, 1000, 5000}, {900, 1000, 5000}, {44100, 16000, 999}, {3, 2, 1}, {2, 3, 0}, {120, 240, 77},
	} {
		in := make([]float32, c.n)
		for i := range in {
			in[i] = random.Float32() - 0.5
		}
		r, err := NewResampler(c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWindow(InSamples(in, c.from, 1, false), c.to, 0)
		if err != nil {
			t.Fatal(err)
		}
		if int64(r.Len(c.n)) != w.Samples() {
			t.Fatalf("%+v: %d samples, want %d", c, r.Len(c.n), w.Samples())
		}
		got, want := make([]float32, r.Len(c.n)), make([]float32, r.Len(c.n))
		if err := w.Read(want, 0); err != nil {
			t.Fatal(err)
		}
		for _, pieces = range []int64{1 << 14, 7} {
			if r.Run(got, in); !slices.Equal(got, want) {
				t.Errorf("%+v: other samples than of a file", c)
			}
		}
		more := make([]float32, len(got)+4000)
		if r.Run(more, in); !slices.Equal(more[:len(got)], got) || slices.Max(more[len(more)-100:]) != 0 {
			t.Errorf("%+v: after the end there is no silence", c)
		}
	}
}

func TestSpeedsThatCannotBe(t *testing.T) {
	if _, err := NewResampler(1_000_003, 999_983); err == nil {
		t.Error("rates with nothing in common are resampled")
	}
	// As torchaudio: of 1000 samples at 1.1 there come 910, at 0.9 there come 1112.
	for factor, want := range map[float64]int{1.1: 910, 0.9: 1112, 1: 1000, 0.1: 10000, 10: 100} {
		if r, err := NewSpeed(factor); err != nil || r.Len(1000) != want {
			t.Errorf("at %v: %v, want %d samples", factor, err, want)
		}
	}
}
