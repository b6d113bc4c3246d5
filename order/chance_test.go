package order_test

import "math"

// deviation says how unlikely counts are if all are equally probable: the chi-square
// statistic, as the number of standard deviations of a normal distribution that is as
// unlikely (Wilson and Hilferty). Beyond ±5 is no chance.
func deviation(counts []int) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	expected := float64(total) / float64(len(counts))
	chi := 0.0
	for _, n := range counts {
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	k := float64(len(counts) - 1)
	return (math.Cbrt(chi/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

const chance = 5
