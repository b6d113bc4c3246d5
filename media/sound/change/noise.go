package change

import "math"

// AddNoise fills to with a recording and noise, which is so many decibels weaker: by the
// energy of all their samples. Silence, of either, adds nothing. To may be wave.
func AddNoise(to, wave, noise []float32, snr float64) {
	signal, other := energy(wave), energy(noise)
	if signal == 0 || other == 0 {
		copy(to, wave)
		return
	}
	scale := math.Sqrt(signal/other) * math.Pow(10, -snr/20)
	for i, v := range wave {
		to[i] = float32(float64(v) + float64(scale*float64(noise[i])))
	}
}

// energy returns the sum of squares.
func energy(all []float32) float64 {
	var sums [8]float64
	whole := len(all) &^ 7
	for i := 0; i < whole; i += 8 {
		for k, v := range all[i : i+8 : i+8] {
			sums[k] += float64(float64(v) * float64(v))
		}
	}
	for k, v := range all[whole:] {
		sums[k] += float64(float64(v) * float64(v))
	}
	sum := 0.0
	for _, s := range sums {
		sum += s
	}
	return sum
}
