package serve

import (
	"encoding/json"
	"slices"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/wire"
)

// ReadInterpreter parses a client's description of its Python, as in OPEN.
func ReadInterpreter(text []byte) (*extern.Interpreter, error) {
	var p wire.Python
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	return interpreter(&p, nil)
}

// interpreter returns the Python that OPEN describes, or nil if it describes none.
func interpreter(p *wire.Python, program *extern.Program) (*extern.Interpreter, error) {
	if p == nil {
		return nil, nil
	}

	i := &extern.Interpreter{Functions: p.Functions, Imports: p.Imports, Modules: p.Modules, Code: p.Code, Program: program}
	var err error
	text := func(p wire.Path) string {
		var path recipe.Path
		if p != nil && err == nil {
			err = path.UnmarshalJSON(p)
		}
		return string(path)
	}

	i.Executable, i.Directory = text(p.Executable), text(p.Directory)
	for _, a := range p.Arguments {
		i.Arguments = append(i.Arguments, text(a))
	}
	for _, folder := range p.Path {
		i.Path = append(i.Path, text(folder))
	}

	// Empty is not nil, which would stand for this process's own environment.
	if p.Environment != nil {
		i.Environment = []string{}
	}
	for name, value := range p.Environment {
		i.Environment = append(i.Environment, name+"="+text(value))
	}
	slices.Sort(i.Environment)
	for name, s := range p.Sets {
		set := extern.Set{Name: s.Name, Processes: s.Processes, Threads: s.Threads, Initializer: s.Initializer,
			Environment: map[string]string{}}
		for name, value := range s.Environment {
			set.Environment[name] = text(value)
		}
		if i.Sets == nil {
			i.Sets = map[string]extern.Set{}
		}
		i.Sets[name] = set
	}
	return i, err
}
