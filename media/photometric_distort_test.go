package media_test

import (
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
)

// Of 10^5 draws: each change half of the time, its factor even between the bounds,
// contrast early or late as often, and each order of colours as often.
func TestPhotometricDistortIsDistributedAsTorchvisions(t *testing.T) {
	const n = 100_000
	op := media.RandomPhotometricDistort{
		Brightness: [2]float64{0.875, 1.125}, Contrast: [2]float64{0.5, 1.5}, Saturation: [2]float64{0.5, 1.5},
		Hue: [2]float64{-0.05, 0.05}, P: 0.5,
	}
	sums, counts := make(map[string]float64), make(map[string]float64)
	for i := range n {
		did := told(t, 5, 5, decodertest.Hashed(i), op)
		order := strings.Join(did["order"].([]string), " ")
		for name, value := range did {
			if factor, is := value.(float64); is {
				sums[name] += factor
				counts[name]++
			}
		}
		if channels, is := did["channels"].([]string); is {
			counts[strings.Join(channels, " ")]++
			counts["channels"]++
		}
		if strings.HasPrefix(order, "contrast saturation") || strings.HasPrefix(order, "brightness contrast saturation") {
			counts["early"]++
		} else if strings.Contains(order, "saturation") && strings.Contains(order, "contrast") {
			counts["late"]++
		}
	}
	near := func(what string, got, want, deviation float64) {
		if math.Abs(got-want) > 5*deviation {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	half := math.Sqrt(0.25 / n)
	bounds := map[string][2]float64{"brightness": op.Brightness, "contrast": op.Contrast, "saturation": op.Saturation, "hue": op.Hue}
	for name, b := range bounds {
		near(name, counts[name]/n, 0.5, half)
		near(name, sums[name]/counts[name], (b[0]+b[1])/2, (b[1]-b[0])/math.Sqrt(12*n/2))
	}
	near("channels", counts["channels"]/n, 0.5, half)
	near("an order", counts["green blue red"]/n, 1./12, half)
	near("no other order", counts["red green blue"]/n, 1./12, half)
	near("early", counts["early"]/n, 0.125, half)
	near("late", counts["late"]/n, 0.125, half)
}
