package shard

import (
	"fmt"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Codes are whole numbers instead of the text of a dictionary: the place of a name among
// those of all shards, in the order in which the dictionaries have them first.

// wantsCodes tells a type that is said of text, and is one of codes.
func wantsCodes(said, is sample.Type) bool {
	return isNumber(said) && said.DType != tensor.Bool && !isFloat(said.DType) && text(is)
}

// takeCodes has a column of text be codes.
func (k *column) takeCodes(is sample.Type) error {
	if is.Logical == nil || is.Logical.Name != sample.Dictionary {
		return fmt.Errorf("%w; only a dictionary has codes, of at most 65,536 names and in all files alike: "+
			"write it with pyarrow's dictionary_encode(), or as pandas' category", k.misfit(is))
	}
	k.how, k.codes = codes, make(map[string]int64, len(is.Logical.Names))
	for i, name := range is.Logical.Names {
		k.codes[name] = int64(i)
	}
	if _, err := appendWhole(nil, int64(len(is.Logical.Names))-1, k.Type.DType); err != nil && len(k.codes) > 0 {
		return fmt.Errorf("%w: %q as %v: it has %d names", ErrNoField, k.From, k.Type, len(k.codes))
	}
	k.Type = k.Type.As(is.Logical)
	return nil
}

// code appends the code of a name.
func (k *column) code(dst, name []byte) ([]byte, error) {
	v, ok := k.codes[string(name)]
	if !ok {
		return dst, fmt.Errorf("%w: %.40q is none of its names", ErrChanged, name)
	}
	return appendWhole(dst, v, k.Type.DType)
}
