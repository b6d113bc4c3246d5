package media_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/media"
)

// The mean and the deviation are those that were asked for, and so are the shares beyond
// one, two and three deviations.
func TestNoiseIsNormal(t *testing.T) {
	const width, height = 500, 400
	p := confetti(rand.New(rand.NewPCG(73, 1)), media.Gray, width, height)
	for i := range p.Data {
		p.Data[i] = 128
	}
	got := drew(t, p, 0.7, media.GaussianNoise{Mean: 0.02, Sigma: 0.08})
	var sum, squares float64
	var beyond [4]float64
	for _, v := range got {
		d := float64(v) - 128
		sum, squares = sum+d, squares+d*d
		for k := range beyond {
			if math.Abs(d-5.1) > float64(k)*20.4 {
				beyond[k]++
			}
		}
	}
	n := float64(len(got))
	mean, std := sum/n, math.Sqrt(squares/n-sum/n*sum/n)
	if math.Abs(mean-5.1) > 0.2 || math.Abs(std-20.4) > 0.2 {
		t.Errorf("mean %.2f, deviation %.2f", mean, std)
	}
	for k, want := range []float64{1, 0.3173, 0.0455, 0.0027} {
		if got := beyond[k] / n; math.Abs(got-want) > 0.02*want+0.002 {
			t.Errorf("%.4f are beyond %d deviations, want %.4f", got, k, want)
		}
	}
	// Neighbours have nothing in common.
	var together float64
	for i := range len(got) - 1 {
		together += (float64(got[i]) - 133.1) * (float64(got[i+1]) - 133.1)
	}
	if r := together / n / std / std; math.Abs(r) > 0.02 {
		t.Errorf("neighbours are correlated: %.3f", r)
	}
}

// No noise changes nothing, and sums stay within the range.
func TestNoiseOfNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 2))
	for c := range media.Color(3) {
		p := confetti(r, c, 33, 17)
		if got := drew(t, p, 0.7, media.GaussianNoise{}); !bytes.Equal(got, p.Data) {
			t.Errorf("%v: changed without noise", c)
		}
		for i, v := range drew(t, p, 0.7, media.GaussianNoise{Mean: 1}) {
			if alpha := c == media.RGBA && i%4 == 3; !alpha && v != 255 || alpha && v != p.Data[i] {
				t.Fatalf("%v: value %d is %d", c, i, v)
			}
		}
	}
}

// These numbers stay: a seed must give the same images in every release.
func TestNoiseIsPinned(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(1, 1)), media.Gray, 12, 1)
	for i := range p.Data {
		p.Data[i] = 100
	}
	want := []byte{132, 91, 86, 117, 93, 61, 84, 99, 84, 68, 138, 110}
	if got := drew(t, p, 0.25, media.GaussianNoise{Sigma: 0.1}); !bytes.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
