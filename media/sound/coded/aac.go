package coded

import "github.com/headrace/headrace/media/av/mpa"

// aacSamples is how many samples a packet of AAC gives at a rate, by the decoder's
// configuration (ISO 14496-3, 1.6.2.1); 0: it does not say so. With SBR they are twice
// those that are coded, if the rate is that of what comes out.
func aacSamples(config []byte, rate int) int {
	r := forwards{b: config}
	object, own := r.aacObject(), r.aacRate()
	r.bits(4) // channels
	if object == 5 || object == 29 {
		r.aacRate()
		object = r.aacObject()
	}
	n := 0
	switch short := r.bits(1) != 0; {
	case r.over() || object < 1 || object > 7 || object == 5:
		return 0
	case short:
		n = 960
	default:
		n = 1024
	}
	switch {
	case rate == 2*own:
		return 2 * n
	case rate == own:
		return n
	}
	return 0
}

// forwards reads bits from the first to the last.
type forwards struct {
	b  []byte
	at int
}

func (r *forwards) bits(n int) (v int) {
	for range n {
		v <<= 1
		if r.at < 8*len(r.b) {
			v |= int(r.b[r.at/8] >> (7 - r.at%8) & 1)
		}
		r.at++
	}
	return v
}

// over reports whether more was read than there is.
func (r *forwards) over() bool { return r.at > 8*len(r.b) }

func (r *forwards) aacObject() int {
	object := r.bits(5)
	if object == 31 {
		object = 32 + r.bits(6)
	}
	return object
}

func (r *forwards) aacRate() int {
	if n := r.bits(4); n < 15 {
		return mpa.AACRate(n)
	}
	return r.bits(24)
}
