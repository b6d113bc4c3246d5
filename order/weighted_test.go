package order_test

import (
	"math"
	"testing"

	"github.com/headrace/headrace/order"
)

// Draws come as often as weights say, within four standard deviations.
func TestWeightedDraws(t *testing.T) {
	weights := []float64{1, 0, 5, 2, 0, 12}
	const draws = 40000
	counts := make([]float64, len(weights))
	w := order.NewWeighted(weights, draws, true, 3)
	at := w.Epoch(7)
	for i := range int64(draws) {
		counts[at(i)]++
	}
	for i, v := range weights {
		p := v / 20
		if want := p * draws; math.Abs(counts[i]-want) > 4*math.Sqrt(want*(1-p)) {
			t.Errorf("sample %d came %v times, want about %v", i, counts[i], want)
		}
	}
	if w.Len() != draws {
		t.Error(w.Len())
	}
}

// Without replacement, no sample comes twice; the first draw is by weight, and the second
// by the weights of what is left.
func TestWeightedDrawsWithoutReplacement(t *testing.T) {
	weights := []float64{1, 3, 0, 6}
	w := order.NewWeighted(weights, 3, false, 5)
	const epochs = 20000
	first, pair := make([]float64, 4), 0.0
	for epoch := range epochs {
		at := w.Epoch(epoch)
		seen := map[int64]bool{at(0): true, at(1): true, at(2): true}
		if len(seen) != 3 || seen[2] {
			t.Fatalf("epoch %d: %v", epoch, seen)
		}
		first[at(0)]++
		if at(0) == 3 && at(1) == 1 {
			pair++
		}
	}
	check := func(what string, got, p float64) {
		if want := p * epochs; math.Abs(got-want) > 4*math.Sqrt(want*(1-p)) {
			t.Errorf("%s came %v times, want about %v", what, got, want)
		}
	}
	for i, v := range weights {
		check("a first sample", first[i], v/10)
	}
	check("the heaviest and then the next", pair, 0.6*0.75)
}

// An epoch is what it is, whatever was drawn before, and no epoch is as another.
func TestWeightedEpochs(t *testing.T) {
	weights := make([]float64, 100)
	for i := range weights {
		weights[i] = float64(i + 1)
	}
	for _, again := range []bool{true, false} {
		w := order.NewWeighted(weights, 50, again, 9)
		a, b, c := w.Epoch(2), w.Epoch(3), order.NewWeighted(weights, 50, again, 9).Epoch(2)
		same := 0
		for i := range int64(50) {
			if a(i) != c(i) {
				t.Fatalf("draw %d is %d and %d", i, a(i), c(i))
			}
			if a(i) == b(i) {
				same++
			}
		}
		if same > 15 {
			t.Errorf("%d draws of two epochs are the same", same)
		}
	}
}
