package recipe

import (
	"fmt"
	"strings"
)

// Error is one mistake in a recipe. Where there are several, they come joined.
type Error struct {
	Step int    // which one, counted from 1; 0: the recipe as a whole
	Name string // of the step
	Path string // from the step to what is wrong: "args.size", "args.paths[3]", "from"; "": the step as a whole
	Err  error
}

// Error is like `recipe: step "resize" (#3): size is "big": takes a whole number or [height, width]`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("recipe: ")
	switch {
	case e.Step > 0 && e.Name != "":
		fmt.Fprintf(&b, "step %q (#%d): ", e.Name, e.Step)
	case e.Step > 0:
		fmt.Fprintf(&b, "step #%d: ", e.Step)
	}
	if path := strings.TrimPrefix(strings.TrimPrefix(e.Path, "args"), "."); path != "" {
		b.WriteString(path + " ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// at is a mistake of an argument, made by an operation that does not know which step it is in.
type at struct {
	path string
	error
}

func (e at) Unwrap() error { return e.error }

// arg says what is wrong with an argument. The text goes on after the argument's name: "is 0: takes a number from 1 on".
func arg(name, format string, values ...any) error {
	return at{"args." + name, fmt.Errorf(format, values...)}
}

// place turns what an operation found wrong into mistakes of its step.
func place(step int, name string, err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, place(step, name, e)...)
		}
		return all
	}
	e := &Error{Step: step, Name: name, Err: err}
	if a, ok := err.(at); ok {
		e.Path, e.Err = a.path, a.error
	}
	return []error{e}
}
