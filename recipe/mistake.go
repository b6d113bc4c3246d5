package recipe

import (
	"errors"
	"fmt"
	"strings"
)

// Error is one mistake in a recipe. Where there are several, they come joined.
type Error struct {
	Position
	Step int    // which one, counted from 1 as [Recipe.All] does; 0: the recipe as a whole
	Name string // of the step
	Path string // from the step to what is wrong: "args.size", "args.paths[3]", "failures.wait", "name", "op" for the operation; "": the step as a whole
	Err  error

	key string // of the object at Path, which is what is wrong; "": the whole of it
}

// Error is like `recipe.yaml:7:17: step "resize" (#3): size is "big": takes a whole number, or [height, width]`, and begins with "recipe: " where
// it is not about a file.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Position.String() + ": ")
	switch {
	case e.Step > 0 && e.Name != "":
		fmt.Fprintf(&b, "step %q (#%d): ", e.Name, e.Step)
	case e.Step > 0:
		fmt.Fprintf(&b, "step #%d: ", e.Step)
	}
	if path := strings.TrimPrefix(strings.TrimPrefix(e.Path, "args"), "."); path != "" && path != "op" {
		b.WriteString(path + " ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Position is a place in a file.
type Position struct {
	File         string // what messages call it; "": no file
	Line, Column int    // from 1, the column in characters; 0: not known
}

// String is like "recipe.yaml:7:17", as compilers write it, so that editors and terminals find the place; "recipe" where there is no file.
func (p Position) String() string {
	if p.File == "" {
		p.File = "recipe"
	}
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// at is a mistake of an argument, made by an operation that does not know which step it is in.
type at struct {
	path string
	error
}

func (e at) Unwrap() error { return e.error }

// arg says what is wrong with an argument. The text goes on after the argument's name: "is 0: takes a number from 1 on".
func arg(name, format string, values ...any) error {
	return at{name, fmt.Errorf(format, values...)}
}

// inside is what is wrong with an argument's own arguments.
func inside(name string, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, inside(name, e))
		}
		return errors.Join(all...)
	}
	if a, ok := err.(at); ok {
		return at{join(name, a.path), a.error}
	}
	if err != nil {
		return at{name, err}
	}
	return nil
}

// place turns what a part of a step, "args" or "failures", found wrong into mistakes of the step.
func place(step int, name, part string, err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, place(step, name, part, e)...)
		}
		return all
	}
	e := &Error{Step: step, Name: name, Err: err}
	if a, ok := err.(at); ok {
		e.Path, e.Err = join(part, a.path), a.error
	} else if part != "args" {
		e.Path = part
	}
	return []error{e}
}
