package tensor

import "fmt"

// DType is the type of an array's elements. Its zero value is Invalid, so that a
// forgotten dtype cannot pass for one.
type DType uint8

// The element types. All are little-endian; Bool is a byte that is 0 or 1.
const (
	Invalid DType = iota
	Bool
	Uint8
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Uint64
	Int64
	Float16
	BFloat16
	Float32
	Float64
)

// dtypes holds the names that NumPy uses (ml_dtypes for bfloat16), because users meet
// them there and JSON carries them.
var dtypes = [...]struct {
	name string
	size int
}{
	Invalid:  {"invalid", 0},
	Bool:     {"bool", 1},
	Uint8:    {"uint8", 1},
	Int8:     {"int8", 1},
	Uint16:   {"uint16", 2},
	Int16:    {"int16", 2},
	Uint32:   {"uint32", 4},
	Int32:    {"int32", 4},
	Uint64:   {"uint64", 8},
	Int64:    {"int64", 8},
	Float16:  {"float16", 2},
	BFloat16: {"bfloat16", 2},
	Float32:  {"float32", 4},
	Float64:  {"float64", 8},
}

// ParseDType returns the element type of that name.
func ParseDType(name string) (DType, error) {
	for d := Bool; d.Valid(); d++ {
		if dtypes[d].name == name {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("tensor: unknown dtype %q", name)
}

// Valid reports whether d is one of the element types above, Invalid left out.
func (d DType) Valid() bool { return d != Invalid && int(d) < len(dtypes) }

// Size is the number of bytes of one element; 0 where d is not valid.
func (d DType) Size() int {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].size
}

func (d DType) String() string {
	if int(d) >= len(dtypes) {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// MarshalText writes the name that ParseDType reads. An invalid dtype has none.
func (d DType) MarshalText() ([]byte, error) {
	if !d.Valid() {
		return nil, fmt.Errorf("tensor: %v has no name to write", d)
	}
	return []byte(dtypes[d].name), nil
}

// UnmarshalText reads what MarshalText wrote.
func (d *DType) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDType(string(text))
	return err
}
