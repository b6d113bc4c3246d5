package recipe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/rawjson"
)

// Error is one mistake in a recipe. Where there are several, they come joined.
type Error struct {
	Position
	Step int    // which one, counted from 1 as [Recipe.All] does; 0: the recipe as a whole
	Name string // of the step
	// from the step to what is wrong: "args.size", "args.paths[3]", "failures.wait",
	// "name", "op" for the operation; "": the step as a whole
	Path string
	Err  error

	key string // of the object at Path, which is what is wrong; "": the whole of it
}

// Error is like `recipe.yaml:7:17: step "resize" (#3): size is "big": must be a whole
// number, or [height, width]`, and begins with "recipe: " where it is not about a file.
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

// String is like "recipe.yaml:7:17", as compilers write it, so that editors and terminals
// find the place; "recipe" where there is no file.
func (p Position) String() string {
	if p.File == "" {
		p.File = "recipe"
	}
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Wrong says what is wrong with an argument, for a Check. The text goes on after the
// argument's name: "is 300: must be from 0 to 255".
func Wrong(argumentName, format string, values ...any) error {
	return argument.Wrong(argumentName, format, values...)
}

// place turns what a part of a step, "args" or "failures", found wrong into mistakes of
// the step.
func place(step int, name, part string, err error) (all []error) {
	for _, err := range joined(err) {
		e := &Error{Step: step, Name: name, Err: err}
		if m, ok := err.(argument.Mistake); ok {
			e.Path, e.Err = argument.Join(part, m.Path), m.Err
		} else if part != "args" {
			e.Path = part
		}
		all = append(all, e)
	}
	return all
}

// unreadable turns mistakes in the text of a recipe into those of the recipe.
func unreadable(err error) error {
	var all []error
	for _, err := range joined(err) {
		if s, ok := err.(*rawjson.SyntaxError); ok {
			err = &Error{Position: Position{Line: s.Line, Column: s.Column}, Err: s.Err}
		}
		all = append(all, err)
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// joined returns all errors that are joined to one, at any depth.
func joined(err error) (all []error) {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range many.Unwrap() {
		all = append(all, joined(e)...)
	}
	return all
}
