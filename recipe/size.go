package recipe

import (
	"errors"
	"fmt"
	"strconv"

	"headrace/recipe/internal/jsonschema"
	"headrace/recipe/internal/rawjson"
)

// Size is a size in pixels; in JSON a number, or [height, width].
type Size struct {
	Height int
	Width  int // 0: only one number was given
}

// Takes implements [Taker].
func (s *Size) Takes() string { return "a whole number, or [height, width]" }

// JSONSchema implements [Schemer].
func (Size) JSONSchema() map[string]any {
	return jsonschema.OneOrList("integer", map[string]any{"minimum": 1}, 2)
}

// given reports whether there is a size at all.
func (s Size) given() bool { return s != Size{} }

// both returns height and width, where one number stands for both.
func (s Size) both() (height, width int) {
	if s.Width == 0 {
		return s.Height, s.Height
	}
	return s.Height, s.Width
}

// square is the one form of a size of which one number stands for both.
func (s Size) square() Size {
	if s.Width == s.Height {
		s.Width = 0
	}
	return s
}

// MarshalJSON writes a number or a list of two.
func (s Size) MarshalJSON() ([]byte, error) {
	if s.Width == 0 {
		return strconv.AppendInt(nil, int64(s.Height), 10), nil
	}
	return fmt.Appendf(nil, "[%d,%d]", s.Height, s.Width), nil
}

var errSize = errors.New("recipe: takes a whole number, or [height, width]")

// UnmarshalJSON reads what MarshalJSON wrote. Numbers below 1 are refused here: zero has
// another meaning in a Size.
func (s *Size) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	var sides []int
	add := func(e rawjson.Value) bool {
		n, err := strconv.Atoi(string(e))
		sides = append(sides, n)
		return err == nil && n > 0
	}

	switch v.Kind() {
	case rawjson.Number:
		if !add(v) {
			return errSize
		}
		*s = Size{Height: sides[0]}

	case rawjson.List:
		for _, e := range v.Elements() {
			if !add(e) {
				return errSize
			}
		}
		if len(sides) != 2 {
			return errSize
		}
		*s = Size{sides[0], sides[1]}
	default:
		return errSize
	}
	return nil
}
