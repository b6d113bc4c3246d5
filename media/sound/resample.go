package sound

import (
	"fmt"
	"math"
	"sync"
)

// The filter: a sinc under Kaiser's window, whose stop band begins at half of the lower
// rate, 110 dB down, and whose pass band ends at 0.913 of that.
const (
	stopBand   = 110.0 // dB
	passBand   = 0.913 // of half the lower rate
	transition = 1 - passBand
	cutoff     = 1 - transition/2
)

// filter has the coefficients for two rates. What comes out at place n is made of what
// comes in around n·M/L, where L/M is the ratio of the rates in lowest terms: L sets of
// coefficients, one for each place between two samples.
type filter struct {
	up, down int // L and M
	taps     int // of a set
	sets     []float32
}

// mostCoefficients bounds the filters of rates that have little in common: 16 MiB.
const mostCoefficients = 4 << 20

// half is half the length of a set where no rate falls, by Kaiser's formula.
var half = math.Ceil((stopBand - 7.95) / (2.285 * math.Pi * transition) / 2)

// taps is how long sets of a filter are. They are multiples of the lanes in which they
// are summed.
func taps(up, down int) int {
	stretch := max(1, float64(down)/float64(up))
	n := 2*int(math.Ceil(half*stretch)) + 1
	return (n + lanes - 1) / lanes * lanes
}

// resamples tells why a rate cannot be brought to another; nil: it can.
func resamples(from, to int) error {
	up, down := ratio(from, to)
	if int64(up)*int64(taps(up, down)) > mostCoefficients {
		return fmt.Errorf("sound: %d samples a second cannot be converted to %d: the two rates have too little in common", from, to)
	}
	return nil
}

// ratio are two rates in lowest terms.
func ratio(from, to int) (up, down int) {
	a, b := from, to
	for b != 0 {
		a, b = b, a%b
	}
	return to / a, from / a
}

// filters are those that were made, of the rates that were seen last.
var filters struct {
	sync.Mutex
	all []*filter
}

const mostFilters = 8

// filterFor returns the filter of two rates that can be brought to each other.
func filterFor(from, to int) *filter {
	up, down := ratio(from, to)
	filters.Lock()
	defer filters.Unlock()
	for i, f := range filters.all {
		if f.up == up && f.down == down {
			copy(filters.all[1:], filters.all[:i])
			filters.all[0] = f
			return f
		}
	}
	f := newFilter(up, down)
	filters.all = append([]*filter{f}, filters.all[:min(len(filters.all), mostFilters-1)]...)
	return f
}

func newFilter(up, down int) *filter {
	n := taps(up, down)
	f := &filter{up: up, down: down, taps: n, sets: make([]float32, up*n)}
	stretch := max(1, float64(down)/float64(up))
	width, band := half*stretch, cutoff/stretch
	set := make([]float64, n)
	for phase := range up {
		sum := 0.0
		for k := range set {
			// The sample that tap k is for is this far from the place.
			x := float64(k-f.before()) - float64(phase)/float64(up)
			set[k] = band * sinc(band*x) * kaiser(x/width)
			sum += set[k]
		}
		for k, v := range set {
			f.sets[phase*n+k] = float32(v / sum)
		}
	}
	return f
}

// before is how many samples before its place a sample is made of.
func (f *filter) before() int { return (f.taps - 1) / 2 }

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// beta is how steep the window is, by Kaiser's formula.
const beta = 0.1102 * (stopBand - 8.7)

var besselOfBeta = bessel(beta)

// kaiser is the window, from -1 to 1.
func kaiser(x float64) float64 {
	if x < -1 || x > 1 {
		return 0
	}
	return bessel(beta*math.Sqrt(1-x*x)) / besselOfBeta
}

// bessel is the modified Bessel function of the first kind, of order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-18; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}

// places are those of samples from n on, a stride apart, of what comes in from first on.
func (f *filter) places(n, first int64, stride int) Places {
	return Places{Up: f.up, Down: f.down, Before: f.before(), Taps: f.taps, N: n, First: first, Stride: stride}
}

// needs is what has to come in, so that samples from to until come out.
func (f *filter) needs(from, until int64) (first, last int64) {
	p := f.places(from, 0, 1)
	begin, _ := p.At(0)
	end, _ := p.At(int(until - from - 1))
	return int64(begin), int64(end + f.taps)
}

// lanes are the sums of which a sample is made. That they are added in one order, and
// multiplied without fusing, is what makes results the same on all machines.
const lanes = 16

// dot sums products. There are as many as a has, a multiple of the lanes.
func dot(a, b []float32) float32 {
	var sums [lanes]float32
	b = b[:len(a)]
	for len(a) >= lanes {
		x, y := (*[lanes]float32)(a), (*[lanes]float32)(b)
		for k := range lanes {
			sums[k] += float32(x[k] * y[k]) // the conversion keeps the two from being fused
		}
		a, b = a[lanes:], b[lanes:]
	}
	for n := lanes / 2; n > 0; n /= 2 {
		for k := range n {
			sums[k] += sums[k+n]
		}
	}
	return sums[0]
}

// resampled is how many samples come of so many.
func resampled(samples int64, from, to int) int64 {
	up, down := ratio(from, to)
	whole, left := samples/int64(down), samples%int64(down)
	return whole*int64(up) + (left*int64(up)+int64(down)-1)/int64(down)
}
