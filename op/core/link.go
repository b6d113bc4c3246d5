package core

import "github.com/headrace/headrace/recipe"

// Linker is implemented by arguments of steps that bring their own code along. Those on
// images have none, and those that call functions of Python.
type Linker interface {
	recipe.Args
	// Link makes the part of a step of this name, and changes the scope to that of the
	// next step.
	Link(w *Env, name string, t *Scope) (Part, error)
}

// HasCode reports whether the engine can carry a step out that is a part of its own.
func HasCode(args recipe.Args) bool {
	switch args.(type) {
	case Linker, recipe.FieldStep:
		return true
	}
	t := recipe.TraitsOf(args)
	return t.Call != nil || t.Count == recipe.Rows || t.Batches != nil
}

// LinkRow links a step whose result goes into the rows of batches: one that
// fuse.Filler says can.
func LinkRow(w *Env, s recipe.Step, t *Scope) (RowPart, error) {
	next, err := s.Args.(Linker).Link(w, s.Name, t)
	if err != nil {
		return nil, err
	}
	row := next.(interface {
		RowPart
		FillRows()
	})
	row.FillRows()
	return row, nil
}
