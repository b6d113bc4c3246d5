package sound

import "math"

// mixer brings samples to other channels: to one as their mean; to two, of more than two,
// as ITU-R BS.775 says; from one to several, the same on all. Nothing else is made of
// others: mixable says what is.
type mixer struct {
	from, to int
	weights  []float32 // to rows of from; nil: the channels stay as they are
}

// mixable tells whether channels can be brought to so many; 0 leaves them as they are.
func mixable(from, to int) bool {
	return from == 1 || to == from || to >= 0 && to <= 2
}

func newMixer(from, to int, mask uint32) mixer {
	m := mixer{from: from, to: to}
	switch {
	case to == 0 || to == from:
		m.to = from
	case to == 1:
		m.weights = make([]float32, from)
		for i := range m.weights {
			m.weights[i] = 1 / float32(from)
		}
	case from == 1:
		m.weights = make([]float32, to)
		for i := range m.weights {
			m.weights[i] = 1
		}
	default:
		m.weights = toStereo(from, mask)
	}
	return m
}

// The speakers of a mask, in the order of their channels.
const (
	frontLeft = 1 << iota
	frontRight
	frontCenter
	lowFrequency
	backLeft
	backRight
	frontLeftOfCenter
	frontRightOfCenter
	backCenter
	sideLeft
	sideRight
)

// usual are the speakers of so many channels where a file does not say them.
var usual = map[int]uint32{
	3: frontLeft | frontRight | frontCenter,
	4: frontLeft | frontRight | backLeft | backRight,
	5: frontLeft | frontRight | frontCenter | backLeft | backRight,
	6: frontLeft | frontRight | frontCenter | lowFrequency | backLeft | backRight,
	7: frontLeft | frontRight | frontCenter | lowFrequency | backCenter | sideLeft | sideRight,
	8: frontLeft | frontRight | frontCenter | lowFrequency | backLeft | backRight | sideLeft | sideRight,
}

// toStereo are the weights of channels on the left and on the right: those in the middle
// and after have 3 dB less, that of low frequencies is left out. They are scaled so that
// no sum is above 1.
func toStereo(from int, mask uint32) []float32 {
	if mask == 0 {
		mask = usual[from]
	}
	const less = 1 / math.Sqrt2
	weights := make([]float64, 2*from)
	left, right := weights[:from], weights[from:]
	channel := 0
	for speaker := uint32(1); speaker != 0 && channel < from; speaker <<= 1 {
		if mask&speaker == 0 {
			continue
		}
		switch speaker {
		case frontLeft:
			left[channel] = 1
		case frontRight:
			right[channel] = 1
		case frontCenter, backCenter:
			left[channel], right[channel] = less, less
		case backLeft, sideLeft, frontLeftOfCenter:
			left[channel] = less
		case backRight, sideRight, frontRightOfCenter:
			right[channel] = less
		}
		channel++
	}
	for ; channel < from; channel++ { // nobody says where they are
		left[channel], right[channel] = less, less
	}

	sum := 0.0
	for side := range 2 {
		one := 0.0
		for _, w := range weights[side*from:][:from] {
			one += w
		}
		sum = max(sum, one)
	}
	scaled := make([]float32, len(weights))
	for i, w := range weights {
		scaled[i] = float32(w / max(sum, 1))
	}
	return scaled
}

// mix mixes samples of all channels; to has as many of the channels that come out.
func (m mixer) mix(to, from []float32) {
	switch {
	case m.weights == nil:
		copy(to, from)
	case m.from == 1:
		for i, v := range from {
			for c := range m.to {
				to[i*m.to+c] = v
			}
		}
	case m.to == 1 && m.from == 2:
		mean(to, from)
	default:
		for i := range len(to) / m.to {
			in := from[i*m.from:][:m.from]
			for c := range m.to {
				sum := float32(0)
				for k, w := range m.weights[c*m.from:][:m.from] {
					sum += w * in[k]
				}
				to[i*m.to+c] = sum
			}
		}
	}
}
