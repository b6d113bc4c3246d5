package media

import "math"

// Sequence gives the draws of an operation one after the other, for operations whose
// number of draws depends on some of them.
type Sequence struct {
	Rand Rand
	ID   uint64
	next uint32
}

// Next draws a number in [0,1).
func (s *Sequence) Next() float64 {
	s.next++
	return s.Rand.Float64(s.ID, s.next-1)
}

// Beta draws a share of the distribution Beta(alpha, alpha).
func (s *Sequence) Beta(alpha float64) float64 {
	x, y := s.gamma(alpha), s.gamma(alpha)
	if x+y <= 0 { // of a tiny alpha it is one or the other
		return math.Floor(2 * s.Next())
	}
	return x / (x + y)
}

// dirichlet draws shares of 1, all of the same distribution.
func (s *Sequence) dirichlet(alpha float64, n int) []float64 {
	shares, sum := make([]float64, n), 0.0
	for i := range shares {
		shares[i] = s.gamma(alpha)
		sum += shares[i]
	}
	if sum <= 0 {
		shares[below(s.Next(), n)], sum = 1, 1
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// gamma draws as Marsaglia and Tsang do.
func (s *Sequence) gamma(alpha float64) float64 {
	boost := 1.0
	if alpha < 1 {
		boost = math.Pow(1-s.Next(), 1/alpha)
		alpha++
	}
	a := alpha - 1./3
	c := 1 / math.Sqrt(9*a)
	for {
		x := math.Sqrt(-2*math.Log(1-s.Next())) * math.Cos(2*math.Pi*s.Next())
		v := 1 + c*x
		if v = v * v * v; v <= 0 {
			continue
		}
		if math.Log(1-s.Next()) < 0.5*x*x+a-a*v+a*math.Log(v) {
			return boost * a * v
		}
	}
}
