package shard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/internal/textlist"
	"github.com/headrace/headrace/tensor"
)

// Lists in JSON that are arrays: of numbers or booleans alone, in lists that are equally
// long; and lists of text.

// mostAxes is how many axes an array of lists can have.
const mostAxes = 8

// convert is what to do about a value of another type than the first.
const convert = "give the field's type in fields, such as str, to convert its values"

// listType returns the type of the array that a list is. Open is whether it has no
// element that would tell.
func listType(value json.RawMessage) (t sample.Type, open, ok bool) {
	all, err := elements(value)
	if err != nil {
		return t, false, false
	}
	l := listOf{depth: -1}
	if ok = l.look(all, 0); !ok {
		return t, false, false
	}
	if !l.d.Valid() {
		return t, true, false
	}
	return sample.TensorType(l.d, append([]int{tensor.Unknown}, l.shape[1:]...)...), false, true
}

func elements(value json.RawMessage) (all []any, err error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	err = d.Decode(&all)
	return all, err
}

type listOf struct {
	d     tensor.DType
	depth int // at which elements are; -1: not known
	shape []int
}

func (l *listOf) look(all []any, axis int) bool {
	if axis == mostAxes || l.depth >= 0 && axis > l.depth {
		return false
	}
	if axis == len(l.shape) {
		l.shape = append(l.shape, len(all))
	}
	if axis > 0 && l.shape[axis] != len(all) {
		return false
	}

	for _, e := range all {
		d := tensor.Bool
		switch e := e.(type) {
		case nil:
			continue
		case []any:
			if !l.look(e, axis+1) {
				return false
			}
			continue
		case bool:
		case json.Number:
			if d = tensor.Int64; strings.ContainsAny(string(e), ".eE") {
				d = tensor.Float64
			}
		default:
			return false
		}
		switch {
		case len(l.shape) > axis+1, l.depth >= 0 && l.depth != axis: // a list was there before
			return false
		case l.d.Valid() && (d == tensor.Bool) != (l.d == tensor.Bool):
			return false
		}
		if l.depth = axis; l.d != tensor.Float64 {
			l.d = d
		}
	}
	return true
}

// appendList appends the elements of a list, and returns how long lists are.
func appendList(dst []byte, value json.RawMessage, t sample.Type, as As) (all []byte, shape []int, err error) {
	list, err := elements(value)
	if err != nil {
		return dst, nil, fmt.Errorf("%w: %.40s is not a list", ErrCorrupt, value)
	}
	shape = slices.Clone([]int(t.Shape))
	dst, err = appendElements(dst, list, t.DType, shape, as)
	for axis, n := range shape {
		shape[axis] = max(n, 0) // of an empty list
	}
	return dst, shape, err
}

func appendElements(dst []byte, all []any, d tensor.DType, shape []int, as As) (_ []byte, err error) {
	switch {
	case shape[0] == tensor.Unknown:
		shape[0] = len(all)
	case shape[0] != len(all):
		return dst, fmt.Errorf("%w: a list has %d elements, want %d", ErrCorrupt, len(all), shape[0])
	}
	for _, e := range all {
		list, isList := e.([]any)
		switch {
		case isList != (len(shape) > 1):
			err = fmt.Errorf("%w: its lists are not as deep as %d axes", ErrCorrupt, len(shape))
		case isList:
			dst, err = appendElements(dst, list, d, shape[1:], as)
		case e == nil:
			dst, err = appendNull(dst, d)
		default:
			if _, isBool := e.(bool); as != AsSaid && isBool != (d == tensor.Bool) {
				return dst, fmt.Errorf("%w: %v is among its elements, and the first was %v", ErrCorrupt, e, d)
			}
			dst, err = appendParsed(dst, fmt.Append(nil, e), d)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// textsType returns the type of a list of text, if it is one.
func textsType(value json.RawMessage) (sample.Type, bool) {
	var d textlist.Depth
	deep := textDepth(&d, value, 1)
	return sample.Type{Kind: sample.Text, Shape: slices.Repeat([]int{tensor.Unknown}, deep)}, deep > 0
}

func textDepth(d *textlist.Depth, value json.RawMessage, axis int) int {
	var all []json.RawMessage
	if d.List(axis); d.None() || json.Unmarshal(value, &all) != nil {
		return 0
	}
	for _, e := range all {
		switch e[0] {
		case 'n':
		case '"':
			d.Text(axis)
		case '[':
			textDepth(d, e, axis+1)
		default:
			d.Other()
		}
	}
	return d.Axes()
}

// appendTexts appends a list of text as a stream.
func appendTexts(dst []byte, value json.RawMessage, axes, axis int, as As) ([]byte, error) {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil || all == nil {
		return dst, fmt.Errorf("%w: %.40s is not a list of text: "+convert, ErrCorrupt, value)
	}
	for _, e := range all {
		switch {
		case e[0] == 'n' && axis < axes:
			dst = textlist.AppendMark(dst, axis)
		case e[0] == 'n':
			dst = textlist.AppendText(dst, "")
		case axis < axes:
			var err error
			if dst, err = appendTexts(textlist.AppendMark(dst, axis), e, axes, axis+1, as); err != nil {
				return dst, err
			}
		case e[0] != '"' && as != AsSaid:
			return dst, fmt.Errorf("%w: %.40s is among its elements, and the first was text: "+convert, ErrCorrupt, e)
		default:
			text, err := plain(e)
			if err != nil {
				return dst, err
			}
			dst = textlist.AppendText(dst, text)
		}
	}
	return dst, nil
}
