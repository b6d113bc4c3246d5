package recipe

import (
	"errors"
	"fmt"
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
		return f.locateAll(err, e.Unwrap())
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil {
			return err
		}
		return around(err, inner, f.Locate(inner))
	}
	return err
}

func (f File) locateAll(err error, inner []error) error {
	located := make([]error, len(inner))
	for i, e := range inner {
		located[i] = f.Locate(e)
	}
	joined := errors.Join(located...)
	if before := errors.Join(inner...); before != nil && before.Error() != err.Error() {
		return around(err, before, joined)
	}
	return joined
}

// around is the error that wrapped what is located now.
func around(err, before, located error) error {
	if before.Error() == located.Error() {
		return err
	}
	return wrapper{strings.Replace(err.Error(), before.Error(), located.Error(), 1), located, err}
}

type wrapper struct {
	text         string
	located, err error
}

func (w wrapper) Error() string   { return w.text }
func (w wrapper) Unwrap() []error { return []error{w.located, w.err} }

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
	if step > 0 {
		v = v.follow(fmt.Sprintf("steps[%d]", step-1))
		op := ""
		if v.kind() == '{' {
			op = v.operation()
		}
		if path == "op" {
			path, key = "", op
		}
		if rest, ok := strings.CutPrefix(path, "args"); ok {
			inner := v.follow(op)
			if inner.kind() == '{' {
				v = inner
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
		// A key may have any letters in it: the longest that fits is meant.
		var found value
		longest := -1
		for quoted, member := range v.members() {
			key, err := unquote(quoted, false)
			rest, ok := strings.CutPrefix(path, key)
			if err == nil && ok && len(key) > longest && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				found, longest = member, len(key)
			}
		}
		if found != nil {
			return found, strings.TrimPrefix(path[longest:], ".")
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
