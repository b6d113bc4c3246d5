package shard

import (
	"fmt"

	"headrace/sample"
	"headrace/tensor"
)

// Column is a field that is read.
type Column struct {
	From string      // its name in the shards; "json.caption" is a member of what is in the part "json", "jpg;png" the first that a sample has
	Type sample.Type // the zero Type: what it is
}

// How a value comes to be.
type how uint8

const (
	asIs   how = iota // a part
	parsed            // the decimal number that a part is
	member            // of a part that is JSON
	number            // of the index
	field             // of a record
	key               // the sample's
)

// keyField is the name of the field that every sample has.
const keyField = "__key__"

type column struct {
	Column
	how   how
	parts []string // of which the first that a sample has is taken
	path  []string // of a member
	want  int      // of a field, its number in Reader.want
	as    As       // of a field or a member
}

// or sets the type, if none was said.
func (k *column) or(is sample.Type) error {
	if k.Type.Kind == 0 {
		k.Type = is
	}
	return nil
}

// take is or for values whose type is known: only text and bytes are each other.
func (k *column) take(is sample.Type) error {
	said := k.Type
	if k.or(is); said.Kind == 0 || said.Equal(is) {
		return nil
	}
	if text(said) && text(is) {
		return nil
	}
	if said.Kind == sample.Tensor && said.DType == is.DType && tensor.Shape(is.Shape).Equal(tensor.Shape{tensor.Unknown}) {
		return nil // a shape that each sample is checked against
	}
	return k.misfit(is)
}

func (k *column) misfit(is sample.Type) error {
	return fmt.Errorf("%w: %q as %v: it is %v", ErrNoField, k.From, k.Type, is)
}
