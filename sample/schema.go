package sample

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/tensor"
)

// Kind says what sort of value a field holds. Its zero value is none of them, so that a
// forgotten kind cannot pass for one.
type Kind uint8

// The kinds of values.
const (
	_      Kind = iota
	Tensor      // an array of a dtype and a shape
	Bytes       // a file's content, or anything else that is not looked into
	Text        // text as bytes: mostly UTF-8, but a file's name need not be
	Object      // any value of Python's as bytes, which only Python can read (docs/protocol.md)
	Ragged      // of a batch alone: arrays that differ in their first extent, one a row
)

var kinds = [...]string{"invalid", "tensor", "bytes", "text", "object", "ragged"}

func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kinds[k]
}

// MarshalText writes "tensor", "bytes", "text", "object" or "ragged".
func (k Kind) MarshalText() ([]byte, error) {
	if k < Tensor || k > Ragged {
		return nil, fmt.Errorf("sample: %v has no name to write", k)
	}
	return []byte(kinds[k]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kinds[1:], string(text))
	if i < 0 {
		return fmt.Errorf("sample: unknown kind %q", text)
	}
	*k = Kind(i + 1)
	return nil
}

// Type is what is known about a field's value before there is one.
type Type struct {
	Kind  Kind
	DType tensor.DType // of a Tensor
	// of a Tensor; of Text and Objects how many, where there are several: a batch has
	// one for each row. Extents may be unknown
	Shape tensor.Shape
	// Axes has a letter for each axis of an image: "HWC" or "CHW". It is empty for
	// every other tensor: an array of three axes need be no image, and of a small
	// image the extents do not tell which axis is which.
	Axes string
	// Rate is how many elements of the first extent, of sound, are a second; 0: it is
	// not known. Equal does not look at it: it says nothing about which values fit.
	Rate float64
	// Logical is what the values stand for in the files they are from; nil: themselves.
	// It comes along with them, and no operation asks for it.
	Logical *Logical
}

// The types that have no parameters.
var (
	BytesType  = Type{Kind: Bytes}
	TextType   = Type{Kind: Text}
	ObjectType = Type{Kind: Object}
)

// TensorType returns the type of arrays; an extent may be [tensor.Unknown].
func TensorType(d tensor.DType, shape ...int) Type {
	return Type{Kind: Tensor, DType: d, Shape: append(tensor.Shape{}, shape...)}
}

// Fixed reports whether every value of this type has the same dtype and shape, so that
// values can be stacked.
func (t Type) Fixed() bool { return t.Kind == Tensor && t.Shape.Fixed() }

// Ragged reports whether the values are sequences: arrays, and no images, of which the
// first extent alone is not known. They can be padded and packed.
func (t Type) Ragged() bool {
	array := t.Kind == Tensor && t.Axes == "" && len(t.Shape) > 0
	return array && t.Shape[0] == tensor.Unknown && t.Shape[1:].Fixed()
}

// Equal reports whether values of both types are laid out in the same way. It does not
// compare their meaning.
func (t Type) Equal(u Type) bool {
	return t.Kind == u.Kind && t.DType == u.DType && t.Shape.Equal(u.Shape) && t.Axes == u.Axes
}

// String is like "uint8 [?, ?, 3]", "int64", "text", "int64 timestamp[us, tz=UTC]".
func (t Type) String() string {
	switch {
	case t.Logical != nil:
		logical := t.Logical.String()
		t.Logical = nil
		return t.String() + " " + logical
	case t.Kind != Tensor && len(t.Shape) > 0:
		return t.Kind.String() + " " + t.Shape.String()
	case t.Kind != Tensor:
		return t.Kind.String()
	case len(t.Shape) == 0:
		return t.DType.String()
	default:
		return t.DType.String() + " " + t.Shape.String()
	}
}

func (t Type) check() error {
	switch {
	case t.Kind < Tensor || t.Kind > Object:
		return fmt.Errorf("is of no known kind (%v)", t.Kind)
	case t.Kind != Tensor && (t.DType != tensor.Invalid || t.Axes != ""), t.Kind == Bytes && t.Shape != nil:
		return fmt.Errorf("is %v and cannot have a dtype or a shape", t.Kind)
	case t.Kind == Tensor && !t.DType.Valid():
		return errors.New("is a tensor without a dtype")
	case t.Axes != "" && len(t.Axes) != len(t.Shape):
		return fmt.Errorf("has the axes %q and the shape %v", t.Axes, t.Shape)
	}
	return t.Shape.Check()
}

// Rows returns the type of n values of this type, which are one after the other; n may
// be [tensor.Unknown].
func (t Type) Rows(n int) Type {
	t.Shape, t.Axes = append(tensor.Shape{n}, t.Shape...), ""
	return t
}

// Row returns the type of one of the values that a value of this type has; false: it
// has none.
func (t Type) Row() (Type, bool) {
	if len(t.Shape) == 0 {
		return t, false
	}
	if t.Shape, t.Axes = slices.Clone(t.Shape[1:]), ""; t.Kind != Tensor && len(t.Shape) == 0 {
		t.Shape = nil
	}
	return t, true
}

// Field is a named value of a sample.
type Field struct {
	Name string
	Type Type
}

// Schema is the fields of the samples on one edge, in the order of their values. No
// method changes it; it is not to be changed by others.
type Schema []Field

// Find returns the place of a field, or -1.
func (s Schema) Find(name string) int {
	return slices.IndexFunc(s, func(f Field) bool { return f.Name == name })
}

// Names returns the names of all fields.
func (s Schema) Names() []string {
	names := make([]string, len(s))
	for i, f := range s {
		names[i] = f.Name
	}
	return names
}

// Ragged returns the fields whose types are ragged.
func (s Schema) Ragged() (all Schema) {
	for _, f := range s {
		if f.Type.Ragged() {
			all = append(all, f)
		}
	}
	return all
}

// With returns s with a field of that name and type: in its old place where there is
// one of this name, else as the last.
func (s Schema) With(name string, t Type) Schema {
	f := Field{name, t}
	if i := s.Find(name); i >= 0 {
		s = slices.Clone(s)
		s[i] = f
		return s
	}
	return append(slices.Clip(s), f)
}

// Without returns s less a field; s itself where it has none of this name.
func (s Schema) Without(name string) Schema {
	i := s.Find(name)
	if i < 0 {
		return s
	}
	return slices.Delete(slices.Clone(s), i, i+1)
}

// Replace returns s with f instead of the field of that name; f is the last field
// where there is none.
func (s Schema) Replace(name string, f Field) Schema {
	i := s.Find(name)
	if i < 0 {
		return s.With(f.Name, f.Type)
	}
	s = slices.Clone(s)
	s[i] = f
	return s
}

// Equal reports whether both schemas have the same fields in the same order.
func (s Schema) Equal(t Schema) bool {
	return slices.EqualFunc(s, t, func(a, b Field) bool { return a.Name == b.Name && a.Type.Equal(b.Type) })
}

// Check returns what is wrong with s, all of it: names that are empty or occur twice,
// types that are none.
func (s Schema) Check() error {
	var errs []error
	var seen map[string]bool // of tables, which may have ten thousand
	if len(s) > 64 {
		seen = make(map[string]bool, len(s))
	}
	for i, f := range s {
		twice := seen[f.Name] || seen == nil && s.Find(f.Name) != i
		if f.Name == "" {
			errs = append(errs, fmt.Errorf("sample: field %d has no name", i))
		} else if twice {
			errs = append(errs, fmt.Errorf("sample: two fields have the name %q", f.Name))
		} else if seen != nil {
			seen[f.Name] = true
		}
		if err := f.Type.check(); err != nil {
			errs = append(errs, fmt.Errorf("sample: field %q %w", f.Name, err))
		}
	}
	return errors.Join(errs...)
}

// String is like "key text, image uint8 [?, ?, 3], label int64".
func (s Schema) String() string {
	parts := make([]string, len(s))
	for i, f := range s {
		parts[i] = f.Name + " " + f.Type.String()
	}
	return strings.Join(parts, ", ")
}
