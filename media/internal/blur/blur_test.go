package blur

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestWeightsAreGauss(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	for range 3000 {
		size, sigma := 2*r.IntN(Most/2+1)+1, float32(math.Exp(r.Float64()*8-4))
		w, reach := Of(size, sigma)
		sum, of := int(w[0]), 1.0
		for i := 1; i <= size/2; i++ {
			sum += 2 * int(w[i])
			of += 2 * math.Exp(-float64(i*i)/2/float64(sigma)/float64(sigma))
		}
		if sum != 1<<Bits {
			t.Fatalf("%d, %v: %d in all", size, sigma, sum)
		}
		for i, v := range w {
			want := math.Exp(-float64(i*i)/2/float64(sigma)/float64(sigma)) / of * (1 << Bits)
			if i > size/2 {
				want = 0
			}
			if v < 0 || math.Abs(float64(v)-want) > 1.001 || (v != 0 && i > reach) || i == reach && i > 0 && v == 0 {
				t.Fatalf("%d, %v: weight %d is %d, want %v; the reach is %d", size, sigma, i, v, want, reach)
			}
		}
	}
}

// A curve so narrow that it has one pixel changes nothing, and one so wide that it has no
// slope is a mean.
func TestWeightsOfExtremes(t *testing.T) {
	for _, sigma := range []float32{math.SmallestNonzeroFloat32, 1e-20, 0.1} {
		if w, reach := Of(Most, sigma); reach != 0 || w[0] != 1<<Bits {
			t.Errorf("%v: %v, %d", sigma, w, reach)
		}
	}
	for _, sigma := range []float32{1e6, math.MaxFloat32} {
		if w, reach := Of(5, sigma); reach != 2 || w[0]+w[1]+w[2] != 9830 && w[0]+w[1]+w[2] != 9831 {
			t.Errorf("%v: %v, %d", sigma, w, reach)
		}
	}
}

func TestMirrored(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int // of -5 to 6
	}{
		{1, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{2, []int{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}},
		{4, []int{1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0}},
		{9, []int{5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6}},
	} {
		for i, want := range c.want {
			if got := Mirrored(i-5, c.n); got != want {
				t.Errorf("%d of %d is %d, want %d", i-5, c.n, got, want)
			}
		}
	}
}

// One colour stays what it is, whatever the weights.
func TestBlurKeepsOneColor(t *testing.T) {
	for size := 1; size <= Most; size += 2 {
		for _, v := range []byte{0, 1, 127, 254, 255} {
			p := Rows{Data: make([]byte, 5*11*3), Stride: 33, Width: 11, Height: 5, Channels: 3}
			for i := range p.Data {
				p.Data[i] = v
			}
			w, reach := Of(size, 9)
			Blur(p, &w, reach)
			for i, got := range p.Data {
				if got != v {
					t.Fatalf("%d: byte %d is %d, was %d", size, i, got, v)
				}
			}
		}
	}
}
