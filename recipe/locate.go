package recipe

import (
	"errors"
	"strconv"
	"strings"
)

// Mistake is implemented by mistakes in a section of a recipe's file that somebody else reads: package headrace reads "loader".
type Mistake interface {
	error
	// Path goes from the recipe to what is wrong: "loader.workers". Where that is a key and not its value, it is the key of the object at path.
	Path() (path, key string)
	// Position says where it is, as far as that is known.
	Place() Position
	// At returns the mistake with its place.
	At(Position) error
}

// Locate puts the file, the line and the column into every [*Error] and every [Mistake] inside err that lacks them.
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
	if p.Line == 0 && f.source.doc != nil {
		p.Line, p.Column = f.source.at(f.source.find(step, path, key))
	}
	return p
}

// find returns the part of the document that is at a path from a step, or else what is nearest above it.
func (s source) find(step int, path, key string) value {
	v := s.doc
	if step > len(s.steps) {
		v = v.follow("steps")
	} else if step > 0 {
		v = s.steps[step-1]
		op := ""
		if v.kind() == '{' {
			op = v.operation()
		}
		if path == "op" {
			path, key = "", op
		}
		if rest, ok := strings.CutPrefix(path, "args"); ok {
			if args := v.follow(op); args.kind() == '{' || path == "args" && args.kind() != 'n' {
				v = args
			}
			path = strings.TrimPrefix(rest, ".")
		}
	}
	v = v.follow(path)
	if quoted := v.lastKey(key); key != "" && quoted != nil {
		return quoted
	}
	return v
}

// follow goes along a path like "paths[3]" as far as it leads.
func (v value) follow(path string) value {
	for path != "" {
		var next value
		next, path = v.step(path)
		if next == nil {
			break
		}
		v = next
	}
	return v
}

// step makes one step along a path and returns the rest of it; nil where it does not lead on.
func (v value) step(path string) (value, string) {
	switch v.kind() {
	case '[':
		number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, ""
		}
		for i, e := range v.elements() {
			if i == n {
				return e, strings.TrimPrefix(rest, ".")
			}
		}
	case '{':
		for quoted, member := range v.members() {
			key, err := unquote(quoted, false)
			rest, ok := strings.CutPrefix(path, key)
			if err == nil && ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return member, strings.TrimPrefix(rest, ".")
			}
		}
	}
	return nil, ""
}

// lastKey returns a key of an object as it is quoted: the last, where it is repeated.
func (v value) lastKey(name string) (found value) {
	if v.kind() != '{' {
		return nil
	}
	for quoted := range v.members() {
		if key, err := unquote(quoted, false); err == nil && key == name {
			found = quoted
		}
	}
	return found
}
