package media

import (
	"math"

	"headrace/tensor"
)

// value is the floating-point number that channel c has for v of max, of which v is 255 or 65535 at most.
func (o *Output) value(c int, v, max uint16) float32 {
	x := float32(float32(v) / float32(max))
	return float32(float32(x-o.Mean[c]) / o.Std[c])
}

// finite reports whether all values of channel c can be held.
func (o *Output) finite(c int) bool {
	for _, v := range [...]uint16{0, 255} {
		x := o.value(c, v, 255)
		switch o.DType {
		case tensor.Float16:
			x = fromFloat16(toFloat16(x))
		case tensor.BFloat16:
			x = math.Float32frombits(uint32(toBFloat16(x)) << 16)
		}
		if x-x != 0 {
			return false
		}
	}
	return true
}
