package tensor

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDTypes(t *testing.T) {
	sizes := map[string]int{
		"bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8,
		"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
	}
	for name, size := range sizes {
		d, err := ParseDType(name)
		if err != nil || d.String() != name || d.Size() != size || !d.Valid() {
			t.Errorf("%s: %v of %d bytes, %v", name, d, d.Size(), err)
		}
	}
	if int(Float64) != len(sizes) {
		t.Errorf("%d element types, and %d are tested", Float64, len(sizes))
	}
	for _, name := range []string{"", "invalid", "float", "Uint8", "uint8 ", "float128"} {
		if d, err := ParseDType(name); err == nil || d != Invalid || !strings.Contains(err.Error(), "tensor: ") {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	for _, d := range []DType{Invalid, Float64 + 1, 255} {
		if d.Valid() || d.Size() != 0 || d.String() == "" {
			t.Errorf("%d: %v of %d bytes", uint8(d), d, d.Size())
		}
	}
}

func TestDTypeInJSON(t *testing.T) {
	type field struct {
		DType DType `json:"dtype,omitempty"`
	}
	for _, d := range []DType{Bool, BFloat16, Float64} {
		b, err := json.Marshal(field{d})
		var back field
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || string(b) != `{"dtype":"`+d.String()+`"}` || back.DType != d {
			t.Errorf("%v: %s, %v, %v", d, b, back, err)
		}
	}
	if b, err := json.Marshal([]DType{Invalid}); err == nil {
		t.Errorf("an invalid dtype was written as %s", b)
	}
	if err := json.Unmarshal([]byte(`{"dtype":"complex"}`), new(field)); err == nil || !strings.Contains(err.Error(), `"complex"`) {
		t.Errorf("an unknown dtype: %v", err)
	}
}

func TestShapeText(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		want  string
		fixed bool
	}{
		{nil, "[]", true},
		{Shape{}, "[]", true},
		{Shape{0}, "[0]", true},
		{Shape{224, 224, 3}, "[224, 224, 3]", true},
		{Shape{Unknown, Unknown, 3}, "[?, ?, 3]", false},
	} {
		if c.shape.String() != c.want || c.shape.Fixed() != c.fixed || c.shape.Check() != nil {
			t.Errorf("%#v: %v, fixed: %v, %v", c.shape, c.shape, c.shape.Fixed(), c.shape.Check())
		}
	}
	if err := (Shape{3, -2}).Check(); err == nil || !strings.Contains(err.Error(), "axis 1") {
		t.Errorf("%v", err)
	}
}

func TestShapeEqual(t *testing.T) {
	for _, c := range []struct {
		a, b Shape
		want bool
	}{
		{nil, Shape{}, true},
		{Shape{1, 2}, Shape{1, 2}, true},
		{Shape{1, 2}, Shape{2, 1}, false},
		{Shape{1}, Shape{1, 1}, false},
		{Shape{Unknown}, Shape{Unknown}, true},
		{Shape{Unknown}, Shape{1}, false},
	} {
		if c.a.Equal(c.b) != c.want || c.b.Equal(c.a) != c.want {
			t.Errorf("%v = %v: want %v", c.a, c.b, c.want)
		}
	}
}

// anyExtent favours the small and the enormous.
func anyExtent(low int) *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(low, 4), rapid.IntRange(low, 1000), rapid.SampledFrom([]int{1 << 31, 1 << 32, 3037000500, math.MaxInt - 1, math.MaxInt}))
}

// Elements and Bytes count as math/big does, or refuse.
func TestSizesAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := Shape(rapid.SliceOfN(anyExtent(-2), 0, 5).Draw(t, "shape"))
		d := DType(rapid.IntRange(int(Invalid), int(Float64)+1).Draw(t, "dtype"))
		product, partial, fits := big.NewInt(1), big.NewInt(1), true
		for _, n := range shape {
			product.Mul(product, big.NewInt(int64(n)))
			if n != 0 {
				partial.Mul(partial, big.NewInt(int64(n)))
			}
			fits = fits && n >= 0
		}
		n, err := shape.Elements()
		if (err == nil) != (fits && partial.IsInt64()) || err == nil && n != product.Int64() {
			t.Fatalf("%v: %d elements, %v, want %v", shape, n, err, product)
		}
		size := product.Mul(product, big.NewInt(int64(d.Size())))
		bytes, err2 := shape.Bytes(d)
		if (err2 == nil) != (err == nil && d.Valid() && size.IsInt64()) || err2 == nil && bytes != size.Int64() {
			t.Fatalf("%v of %v: %d bytes, %v, want %v", shape, d, bytes, err2, size)
		}
	})
}

// offset walks to an element by its definition.
func offset(x Tensor, index []int) int {
	at, next := 0, x.DType.Size()
	for axis := len(x.Shape) - 1; axis >= 0; axis-- {
		stride := next
		if x.Strides != nil {
			stride = x.Strides[axis]
		}
		at += index[axis] * stride
		next *= x.Shape[axis]
	}
	return at
}

// each calls f with the index of every element.
func each(shape Shape, f func(index []int)) {
	index := make([]int, len(shape))
	if slices.Contains(shape, 0) {
		return
	}
	for {
		f(index)
		axis := len(shape) - 1
		for ; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

func anyTensor(t *rapid.T) Tensor {
	x := Tensor{
		DType: DType(rapid.IntRange(int(Bool), int(Float64)).Draw(t, "dtype")),
		Shape: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "shape"),
	}
	if rapid.Bool().Draw(t, "strided") {
		x.Strides = rapid.SliceOfN(rapid.IntRange(0, 40), len(x.Shape), len(x.Shape)).Draw(t, "strides")
	}
	x.Data = make([]byte, rapid.IntRange(0, 300).Draw(t, "bytes"))
	for i := range x.Data {
		x.Data[i] = byte(i)
	}
	return x
}

// Check accepts exactly what has all its elements; contiguous is what is in one
// piece, in order; a row's elements are the tensor's.
func TestTensorAgainstAWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyTensor(t)
		end, contiguous, n := 0, true, 0
		each(x.Shape, func(index []int) {
			at := offset(x, index)
			contiguous = contiguous && at == n*x.DType.Size()
			n++
			end = max(end, at+x.DType.Size())
		})
		err := x.Check()
		if (err == nil) != (end <= len(x.Data)) {
			t.Fatalf("%v strides %v over %d bytes, %d needed: %v", x.Shape, x.Strides, len(x.Data), end, err)
		}
		if x.Contiguous() != contiguous {
			t.Fatalf("%v of %v strides %v: contiguous is %v", x.Shape, x.DType, x.Strides, x.Contiguous())
		}
		if err != nil || len(x.Shape) == 0 {
			return
		}
		for i := range x.Shape[0] {
			row := x.Row(i)
			if err := row.Check(); err != nil || row.DType != x.DType || !row.Shape.Equal(x.Shape[1:]) {
				t.Fatalf("row %d of %v strides %v: %v, %v", i, x.Shape, x.Strides, row.Shape, err)
			}
			each(row.Shape, func(index []int) {
				got, want := row.Data[offset(row, index)], byte(offset(x, append([]int{i}, index...)))
				if got != want {
					t.Fatalf("row %d of %v strides %v: element %v is at %d, want %d", i, x.Shape, x.Strides, index, got, want)
				}
			})
		}
	})
}

func TestCheckRefuses(t *testing.T) {
	data := make([]byte, 100)
	for _, c := range []struct {
		x    Tensor
		want string
	}{
		{Tensor{Shape: Shape{1}, Data: data}, "invalid"},
		{Tensor{DType: Uint8, Shape: Shape{Unknown}, Data: data}, "unknown extents"},
		{Tensor{DType: Uint8, Shape: Shape{101}, Data: data}, "needs 101 bytes and has 100"},
		{Tensor{DType: Uint8, Shape: Shape{2, 2}, Strides: []int{2}, Data: data}, "1 strides"},
		{Tensor{DType: Uint8, Shape: Shape{2}, Strides: []int{-1}, Data: data}, "stride -1"},
		{Tensor{DType: Uint8, Shape: Shape{3, 3}, Strides: []int{math.MaxInt / 2, math.MaxInt / 2}, Data: data}, "2⁶³-1 bytes"},
		{Tensor{DType: Uint8, Shape: Shape{4}, Strides: []int{math.MaxInt}, Data: data}, "2⁶³-1 bytes"},
		{Tensor{DType: Float64, Shape: Shape{1 << 62}, Data: data}, "2⁶³-1 bytes"},
	} {
		if err := c.x.Check(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "tensor: ") {
			t.Errorf("%v of %v strides %v: %v, want %q", c.x.Shape, c.x.DType, c.x.Strides, err, c.want)
		}
	}
}

func TestRow(t *testing.T) {
	x := Tensor{DType: Int64, Shape: Shape{3}, Data: make([]byte, 24)}
	for i := range 3 {
		binary.LittleEndian.PutUint64(x.Row(i).Data, uint64(i+1))
	}
	if !slices.Equal(x.Data[:9], []byte{1, 0, 0, 0, 0, 0, 0, 0, 2}) {
		t.Errorf("%v", x.Data)
	}
	if row := x.Row(1); cap(row.Data) != 8 {
		t.Errorf("a row has room for %d bytes: an append would write the next one", cap(row.Data))
	}
	if n := testing.AllocsPerRun(100, func() { x.Row(2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, i := range []int{-1, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("row %d", i)
				}
			}()
			x.Row(i)
		}()
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a row of a scalar")
			}
		}()
		Tensor{DType: Bool, Data: []byte{1}}.Row(0)
	}()
}
