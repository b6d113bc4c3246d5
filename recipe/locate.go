package recipe

import (
	"errors"
	"strings"

	"github.com/headrace/headrace/internal/rawjson"
)

// Mistake is implemented by mistakes in a section of a recipe's file that somebody else
// reads: package headrace reads "loader".
type Mistake interface {
	error
	// Path goes from the recipe to what is wrong: "loader.workers". Where that is a key
	// and not its value, it is the key of the object at path.
	Path() (path, key string)
	// Position says where it is, as far as that is known.
	Place() Position
	// At returns the mistake with its place.
	At(Position) error
}

// Locate puts the file, the line and the column into every [*Error] and every [Mistake]
// inside err that lacks them.
func (f File) Locate(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		located := *e
		located.Position = f.whole(e.Position, e.Step, e.Path, e.key)
		return &located
	case Mistake:
		path, key := e.Path()
		return e.At(f.whole(e.Place(), 0, path, key))
	case interface{ Unwrap() []error }:
		return f.locateInside(err, e.Unwrap())
	case interface{ Unwrap() error }:
		return f.locateInside(err, []error{e.Unwrap()})
	}
	return err
}

// locateInside locates what an error wraps or joins, and puts it into its text.
func (f File) locateInside(err error, inner []error) error {
	located := wrapper{text: err.Error()}
	for _, e := range inner {
		if e != nil {
			l := f.Locate(e)
			located.text = strings.Replace(located.text, e.Error(), l.Error(), 1)
			located.inner = append(located.inner, l)
		}
	}
	switch {
	case located.text == err.Error():
		return err
	case located.text == errors.Join(located.inner...).Error():
		return errors.Join(located.inner...)
	}
	located.inner = append(located.inner, err) // last, so that what has a place is found first
	return located
}

// wrapper is an error that wrapped others before they had their places.
type wrapper struct {
	text  string
	inner []error
}

func (w wrapper) Error() string   { return w.text }
func (w wrapper) Unwrap() []error { return w.inner }

// whole completes a position.
func (f File) whole(p Position, step int, path, key string) Position {
	if p.File == "" {
		p.File = f.Name
	}
	if p.Line == 0 && f.text.Value != nil {
		p.Line, p.Column = f.text.At(f.find(step, path, key))
	}
	return p
}

// find returns the part of the document that is at a path from a step, or else what is
// nearest above it.
func (f File) find(step int, path, key string) rawjson.Value {
	v := f.text.Value
	if step > len(f.steps) {
		v = v.Follow("steps")
	} else if step > 0 {
		v = f.steps[step-1]
		op := ""
		if v.Kind() == rawjson.Object {
			op = operationOf(v)
		}
		if path == "op" {
			path, key = "", op
		}

		// The arguments are the value of the operation's key, if it has any.
		if rest, ok := strings.CutPrefix(path, "args"); ok {
			if args := v.Follow(op); args.Kind() == rawjson.Object || path == "args" && args.Kind() != rawjson.Null {
				v = args
			}
			path = strings.TrimPrefix(rest, ".")
		}
	}

	v = v.Follow(path)
	if quoted := v.LastKey(key); key != "" && quoted != nil {
		return quoted
	}
	return v
}
