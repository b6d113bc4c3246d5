package numbers

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/headrace/headrace/tensor"

	"pgregory.net/rapid"
)

func TestEveryTypeIsRead(t *testing.T) {
	for d, values := range map[tensor.DType]any{
		tensor.Bool:    []bool{false, true, true},
		tensor.Uint8:   []uint8{0, 1, 255},
		tensor.Int8:    []int8{0, -128, 127},
		tensor.Uint16:  []uint16{0, 1, 65535},
		tensor.Int16:   []int16{0, -32768, 32767},
		tensor.Uint32:  []uint32{0, 1, math.MaxUint32},
		tensor.Int32:   []int32{0, math.MinInt32, math.MaxInt32},
		tensor.Uint64:  []uint64{0, 1, math.MaxUint64},
		tensor.Int64:   []int64{0, math.MinInt64, math.MaxInt64},
		tensor.Float32: []float32{0, -1.5, math.MaxFloat32},
		tensor.Float64: []float64{0, -0.1, math.MaxFloat64},
	} {
		var data bytes.Buffer
		if err := binary.Write(&data, binary.LittleEndian, values); err != nil {
			t.Fatal(err)
		}
		want := numbersOf(values)
		for i := range want {
			if got := Reader(d)(data.Bytes(), i); got != want[i] {
				t.Errorf("%v: element %d of %v is %v", d, i, values, got)
			}
		}
		s := SpreadOf(d, data.Bytes(), 3)
		if s.Min != slices.Min(want) || s.Max != slices.Max(want) || s.Mean < s.Min || s.Mean > s.Max || s.NotFinite != 0 {
			t.Errorf("%v: of %v: %+v", d, values, s)
		}
	}
	if Reader(tensor.Invalid) != nil {
		t.Error("a type that is none is read")
	}
}

func numbersOf(values any) (all []float64) {
	switch values := values.(type) {
	case []bool:
		for _, v := range values {
			all = append(all, map[bool]float64{true: 1}[v])
		}
	case []uint8:
		return converted(values)
	case []int8:
		return converted(values)
	case []uint16:
		return converted(values)
	case []int16:
		return converted(values)
	case []uint32:
		return converted(values)
	case []int32:
		return converted(values)
	case []uint64:
		return converted(values)
	case []int64:
		return converted(values)
	case []float32:
		return converted(values)
	case []float64:
		return converted(values)
	}
	return all
}

func converted[T uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64](values []T) (all []float64) {
	for _, v := range values {
		all = append(all, float64(v))
	}
	return all
}

func TestWholeNumbersOfEveryType(t *testing.T) {
	data := bytes.Repeat([]byte{0xff}, 8)
	for d, want := range map[tensor.DType]int64{
		tensor.Uint8: 255, tensor.Int8: -1, tensor.Uint16: 65535, tensor.Int16: -1, tensor.Uint32: 1<<32 - 1,
		tensor.Int32: -1, tensor.Int64: -1,
	} {
		if n, ok := Whole(d, data); !ok || n != want {
			t.Errorf("%v: %d, expected %d", d, n, want)
		}
	}
	for _, d := range []tensor.DType{tensor.Uint64, tensor.Bool, tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64} {
		if n, ok := Whole(d, data); ok {
			t.Errorf("%v: %d", d, n)
		}
	}
}

func float16(bits uint16) float64 {
	return Reader(tensor.Float16)(binary.LittleEndian.AppendUint16(nil, bits), 0)
}

func TestFloat16(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0400: math.Ldexp(1, -14), 0x0001: math.Ldexp(1, -24),
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
		0x3555: 0.333251953125, 0: 0,
	} {
		if got := float16(bits); got != want {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(float16(0x7e01)) {
		t.Error("a NaN is a number")
	}
	previous := -1.0
	for bits := range uint16(0x7c00) { // the positive finite ones are in the order of their bits
		if v := float16(bits); v <= previous || float16(bits|0x8000) != -v {
			t.Fatalf("%04x is %v, after %v", bits, v, previous)
		} else {
			previous = v
		}
	}
}

// A bfloat16 is the upper half of a float32.
func TestBFloat16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float32().Draw(t, "v")
		bits := uint16(math.Float32bits(v) >> 16)
		got := Reader(tensor.BFloat16)(binary.LittleEndian.AppendUint16(nil, bits), 0)
		if want := float64(math.Float32frombits(uint32(bits) << 16)); got != want && !math.IsNaN(want) {
			t.Fatalf("%v as bfloat16 is %v, want %v", v, got, want)
		}
	})
}

func TestSpreadOfWhatIsNotFinite(t *testing.T) {
	var data []byte
	for _, v := range []float64{math.NaN(), 2, math.Inf(1), -4, math.Inf(-1)} {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	if got, want := SpreadOf(tensor.Float64, data, 5), (Spread{-4, 2, -1, 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := SpreadOf(tensor.Float64, data, 1), (Spread{NotFinite: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := SpreadOf(tensor.Uint8, nil, 0), (Spread{}); got != want {
		t.Errorf("nothing is %+v, want %+v", got, want)
	}
}

// What is written is read again; floating point as the nearest number that there is, of
// two the one with the even bits.
func TestAppend(t *testing.T) {
	for d := tensor.Bool; d.Valid(); d++ {
		for _, v := range []float64{0, 1, 2, 127, -128, 255, 65535, -32768, 1 << 31, -1 << 31, 1<<53 + 2, -1 << 63, 1 << 63, 0.5, -1.25} {
			least, most := -math.Ldexp(1, 8*d.Size()-1), math.Ldexp(1, 8*d.Size()-1)
			switch d {
			case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
				least, most = 0, 2*most
			case tensor.Bool:
				least, most = 0, 2
			case tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
				least, most = -256, 256
			}
			if v < least || v >= most || v != math.Trunc(v) && least != -256 {
				continue
			}
			b := Append([]byte{7}, d, v)
			if got := Reader(d)(b[1:], 0); len(b) != 1+d.Size() || got != v && (least != -256 || got != math.RoundToEven(v)) {
				t.Errorf("%v of %v is read as %v, %d bytes", v, d, got, len(b)-1)
			}
		}
	}
	if b := Append(nil, tensor.Invalid, 1); b != nil {
		t.Error(b)
	}
	for d, neighbour := range map[tensor.DType]func(bits uint16) float64{
		tensor.Float16:  float16,
		tensor.BFloat16: func(bits uint16) float64 { return float32bits(uint32(bits) << 16) },
	} {
		rapid.Check(t, func(t *rapid.T) {
			v := rapid.OneOf(rapid.Float64Range(-1e-6, 1e-6), rapid.Float64Range(-1e-4, 1e-4),
				rapid.Float64Range(-2, 2), rapid.Float64Range(-65504, 65504)).Draw(t, "v")
			if d == tensor.BFloat16 {
				v = float64(float32(v))
			}
			bits := binary.LittleEndian.Uint16(Append(nil, d, v))
			off := math.Abs(neighbour(bits) - v)
			for _, other := range []uint16{bits - 1, bits + 1} {
				if d := math.Abs(neighbour(other) - v); other&0x7fff < 0x7c00 && (d < off || d == off && bits&1 == 1) {
					t.Fatalf("%v is %04x, %v; %04x is %v", v, bits, neighbour(bits), other, neighbour(other))
				}
			}
		})
	}
}
