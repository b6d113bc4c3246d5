package serve

import (
	"slices"

	"headrace/extern"
	"headrace/recipe"
	"headrace/wire"
)

// interpreter is what OPEN says of Python; nil: nothing.
func interpreter(p *wire.Python) (*extern.Interpreter, error) {
	if p == nil {
		return nil, nil
	}
	i := &extern.Interpreter{Functions: p.Functions}
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
	if p.Environment != nil {
		i.Environment = []string{}
	}
	for name, value := range p.Environment {
		i.Environment = append(i.Environment, name+"="+text(value))
	}
	slices.Sort(i.Environment)
	return i, err
}

// log tells the client what workers say.
func (s *session) log(l extern.Line) {
	s.conn.SendJSON(wire.KindLog, s.stream.Load(), wire.Log{Stage: l.Stage, Level: l.Level, Logger: l.Logger, Message: l.Message})
}
