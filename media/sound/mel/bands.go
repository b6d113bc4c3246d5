package mel

import "math"

// band is the weights of a band: of the power from frequency number first on.
type band struct {
	first   int
	weights []float64
}

// bands are triangles whose corners are evenly spaced in mels.
func (s *Spec) bands() []band {
	low, high := s.mel(s.Low), s.mel(s.high())
	corner := func(i int) float64 { return low + (high-low)*float64(i)/float64(s.Mels+1) }

	all := make([]band, s.Mels)
	for m := range all {
		left, centre, right := corner(m), corner(m+1), corner(m+2)
		scale := 1.0
		if !s.kaldi { // whose triangles are of mels, the others' of Hz
			left, centre, right = s.hertz(left), s.hertz(centre), s.hertz(right)
			if s.Area {
				scale = 2 / (right - left)
			}
		}

		frequencies := s.FFT/2 + 1
		if s.kaldi {
			frequencies-- // it leaves out the highest
		}
		b := &all[m]
		for k := range frequencies {
			at := float64(k) * float64(s.Rate) / float64(s.FFT)
			if s.kaldi {
				at = s.mel(at)
			}
			w := min((at-left)/(centre-left), (right-at)/(right-centre))
			if w <= 0 {
				if len(b.weights) > 0 {
					break
				}
				continue
			}
			if len(b.weights) == 0 {
				b.first = k
			}
			b.weights = append(b.weights, w*scale)
		}
	}
	return all
}

// Slaney's scale: 3 mels for 200 Hz up to 1000, and from there 27 for a factor of 6.4.
const (
	knee      = 1000.0
	kneeMel   = 15.0
	perMel    = 200.0 / 3
	logFactor = 6.4
	logMels   = 27
)

// mel returns a frequency in mels.
func (s *Spec) mel(hertz float64) float64 {
	if s.Scale == HTK {
		return 1127 * math.Log1p(hertz/700)
	}
	if hertz < knee {
		return hertz / perMel
	}
	return kneeMel + math.Log(hertz/knee)*logMels/math.Log(logFactor)
}

// hertz is the inverse of mel.
func (s *Spec) hertz(mel float64) float64 {
	if s.Scale == HTK {
		return 700 * math.Expm1(mel/1127)
	}
	if mel < kneeMel {
		return mel * perMel
	}
	return knee * math.Exp((mel-kneeMel)*math.Log(logFactor)/logMels)
}
