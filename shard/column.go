package shard

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

// Column is a field that is read.
type Column struct {
	// its name in the shards; "json.caption" is a member of what is in the part "json",
	// "jpg;png" the first that a sample has
	From string
	Type sample.Type // the zero Type: what it is
	Null *Null       // the value of samples that have none; nil: NaN of floats, and else an error

	IsNull bool // whether a sample has none, as a boolean; its Type is the zero Type
}

// How a value comes to be.
type how uint8

const (
	asIs    how = iota // a part
	parsed             // the decimal number that a part is
	member             // of a part that is JSON
	number             // of the index
	field              // of a record
	key                // the sample's
	decimal            // a part of two's complement
	codes              // numbers of the names in a dictionary
	derived            // from a number of the index: a decimal, or a number of which nulls have a value
	nothing            // no sample has a value
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

	replaces bool // what is not UTF-8 in text

	null   Value // for samples without one, if filled
	filled bool
	scaled bool // a number that is a decimal
	scale  int
	codes  map[string]int64
}

// ofPart tells columns whose values are parts of samples.
func (k *column) ofPart() bool {
	switch k.how {
	case asIs, parsed, member, decimal, codes:
		return true
	}
	return false
}

// ofRecord tells columns whose values are in a sample's record.
func (k *column) ofRecord() bool { return k.how == field }

// or sets the type, if none was said.
func (k *column) or(is sample.Type) {
	if k.Type.Kind == 0 {
		k.Type = is
	}
	switch {
	case k.Type.Kind == sample.Tensor && is.Kind == sample.Tensor:
		k.Type.Logical = is.Logical
	case is.Logical != nil && is.Logical.Name == sample.Dictionary:
		k.Type.Logical = nil // the names themselves
	}
}

// take is or for values whose type is known: only text and bytes are each other.
func (k *column) take(is sample.Type) error {
	if _, ok := scaleOf(is.Logical); ok {
		return k.takeDecimal(is)
	}
	said := k.Type
	if wantsCodes(said, is) {
		return k.takeCodes(is)
	}
	if k.or(is); said.Kind == 0 || said.Equal(is) {
		return nil
	}
	if text(said) && text(is) {
		return nil
	}
	if isTexts(said) && isTexts(is) && len(said.Shape) == len(is.Shape) {
		return nil // how many there are is checked, too
	}
	if said.Kind == sample.Tensor && said.DType == is.DType && tensor.Shape(is.Shape).Equal(tensor.Shape{tensor.Unknown}) {
		return nil // a shape that each sample is checked against
	}
	return k.misfit(is)
}

func (k *column) misfit(is sample.Type) error {
	return fmt.Errorf("%w: %q as %v: it is %v", ErrNoField, k.From, k.Type, is)
}

// texts gives a column its lists of text, of which formats give streams.
func (c *column) texts(into *Value, stream []byte) error {
	var err error
	into.Shape = nil
	into.Bytes, err = textlist.Pack(make([]byte, 0, 8+len(stream)), stream, len(c.Type.Shape), func(dst, text []byte) ([]byte, error) {
		text, err := c.utf8(text)
		return append(dst, text...), err
	})
	if errors.Is(err, textlist.ErrDamaged) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if n := c.Type.Shape[0]; err == nil && n >= 0 && int(binary.LittleEndian.Uint32(into.Bytes)) != n {
		err = fmt.Errorf("%w: %d texts as %v", ErrCorrupt, binary.LittleEndian.Uint32(into.Bytes), c.Type)
	}
	return err
}

// deep refuses lists of text that are too deep.
func (k *column) deep() error {
	shape := k.Type.Shape
	switch {
	case !isTexts(k.Type):
	case len(shape) > textlist.MostAxes:
		return fmt.Errorf("%w: %q as %v: lists of text can be %d deep", ErrUnsupported, k.From, k.Type, textlist.MostAxes)
	case len(shape) > 1 && shape[1] != tensor.Unknown:
		return fmt.Errorf("%w: %q as %v: only how many lists there are can be said, not how long these are", ErrUnsupported, k.From, k.Type)
	}
	return nil
}

// member is memberOf of a column.
func (c *column) member(b []byte) (json.RawMessage, error) {
	if c.replaces {
		b = Replaced(b) // as encoding/json would replace each byte, in names too
	}
	return memberOf(b, c.path)
}

// utf8 returns the text of a column, which is UTF-8, and any other value as it is.
func (c *column) utf8(text []byte) ([]byte, error) {
	switch {
	case c.Type.Kind != sample.Text || utf8.Valid(text):
		return text, nil
	case c.replaces:
		return Replaced(text), nil
	}
	return nil, invalid(text)
}
