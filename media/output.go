package media

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/tensor"
)

// Output is the form that pixels get when all stages are done, while they are written
// to where they belong.
type Output struct {
	DType  tensor.DType // Uint8 or Uint16, as the stages leave them; or Float32, Float16, BFloat16
	Layout Layout
	// Mean and Std of each channel, for floating point: a value v of 8 bits becomes
	// (v/255 - Mean) / Std, one of 16 bits (v/65535 - Mean) / Std.
	Mean, Std [3]float32
}

// Write converts pixels to the form of o, into rows that are stride bytes apart;
// planes, in CHW, follow each other, each p.Height rows long. It is the definition of
// what the numbers are.
func (o *Output) Write(dst []byte, stride int, p Pixels) error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := o.check(p.Color, p.DType); err != nil {
		return err
	}

	f := Form{Height: p.Height, Width: p.Width, Color: p.Color, DType: o.DType, Layout: o.Layout}
	rows, n, size := p.Height, p.Color.Channels(), o.DType.Size()
	step, plane := n*size, size // bytes from pixel to pixel, and from channel to channel
	if o.Layout == CHW {
		rows, step, plane = rows*n, size, stride*p.Height
	}
	if err := fits(dst, stride, f.RowBytes(), rows); err != nil {
		return err
	}

	for c := range n {
		numbers := o.numbers(c, p.DType)
		for y := range p.Height {
			to := dst[c*plane+y*stride:]
			if p.DType == tensor.Uint8 {
				convert8(to, step, size, p.Row(y)[c:], n, p.Width, numbers)
			} else {
				convert16(to, step, size, p.Row(y)[2*c:], n, p.Width, numbers)
			}
		}
	}
	return nil
}

func (o *Output) check(color Color, from tensor.DType) error {
	switch float := o.DType == tensor.Float32 || o.DType == tensor.Float16 || o.DType == tensor.BFloat16; {
	case o.Layout > CHW:
		return fmt.Errorf("%w: layout %d", ErrGeometry, uint8(o.Layout))
	case !float && o.DType != from:
		return fmt.Errorf("%w: output of %v as %v", ErrUnsupported, from, o.DType)
	case float && color == RGBA:
		return fmt.Errorf("%w: output of rgba as %v: there is no mean for alpha", ErrUnsupported, o.DType)
	}
	return nil
}

// numbers are the bits of what channel c has for every value.
func (o *Output) numbers(c int, from tensor.DType) []uint32 {
	numbers := make([]uint32, 1<<(8*from.Size()))
	for v := range numbers {
		switch most := len(numbers) - 1; o.DType {
		case tensor.Float32:
			numbers[v] = math.Float32bits(o.value(c, v, most))
		case tensor.Float16:
			numbers[v] = uint32(toFloat16(o.value(c, v, most)))
		case tensor.BFloat16:
			numbers[v] = uint32(toBFloat16(o.value(c, v, most)))
		default:
			numbers[v] = uint32(v)
		}
	}
	return numbers
}

// value is the floating-point number that channel c has for v of most.
func (o *Output) value(c, v, most int) float32 {
	x := float32(v) / float32(most)
	return float32(x-o.Mean[c]) / o.Std[c]
}

// finite reports whether the numbers of channel c, which rise or fall with the values,
// can be held.
func (o *Output) finite(c int) bool {
	for v := range 2 {
		x := o.value(c, v, 1)
		switch o.DType {
		case tensor.Float16:
			x = tensor.FromFloat16(toFloat16(x))
		case tensor.BFloat16:
			x = math.Float32frombits(uint32(toBFloat16(x)) << 16)
		}
		if x-x != 0 {
			return false
		}
	}
	return true
}

func convert8(dst []byte, step, size int, src []byte, channels, pixels int, numbers []uint32) {
	for x := range pixels {
		put(dst[x*step:], size, numbers[src[x*channels]])
	}
}

func convert16(dst []byte, step, size int, src []byte, channels, pixels int, numbers []uint32) {
	for x := range pixels {
		put(dst[x*step:], size, numbers[binary.NativeEndian.Uint16(src[2*x*channels:])])
	}
}

func put(dst []byte, size int, bits uint32) {
	switch size {
	case 1:
		dst[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(dst, uint16(bits))
	default:
		binary.NativeEndian.PutUint32(dst, bits)
	}
}
