package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"headrace/sample"
)

// File is a recipe with what else stands in its file.
type File struct {
	Name   string          // what messages call it; "": text without a name
	Recipe Recipe          // complete
	Loader json.RawMessage // the section "loader" as JSON, variables replaced; nil: there is none. Package headrace reads it
	Vars   []Var           // in the order of the file; those that only the environment has, come last

	source source
}

// maxFile bounds what is read, for a wrong name may be one of something that does not end.
const maxFile = 1 << 30

// ReadFile reads a recipe from a file, or from standard input where the path is "-".
func ReadFile(path string, v Variables) (File, error) {
	name, in := path, os.Stdin
	if path == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return File{}, fmt.Errorf("recipe: %w", err)
		}
		defer f.Close()
		in = f
	}
	doc, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("recipe: %w", err)
	}
	if len(doc) > maxFile {
		return File{}, &Error{Position: Position{File: name}, Err: fmt.Errorf("is larger than %d bytes: takes a recipe", maxFile)}
	}
	return Read(name, doc, v)
}

// Read reads a recipe as files have it, in YAML or JSON, of which messages speak by the name. The error joins an [*Error] for each mistake,
// with its place; what only [File.Check] can see is not among them. With an error, the file has no recipe, but its name and the variables that were
// found.
func Read(name string, doc []byte, v Variables) (File, error) {
	f := File{Name: name}
	var err error
	if f.source, err = parseSource(doc); err != nil {
		return File{}, f.Locate(err)
	}
	p := reader{vars: &vars{Variables: v}}
	err = f.read(&p)
	f.source.steps = p.steps
	f.Vars = p.vars.all
	if err != nil {
		return File{Name: name, Vars: f.Vars}, f.Locate(err) // the variables, for those who complete a command line
	}
	f.Recipe = f.Recipe.Complete()
	return f, nil
}

func (f *File) read(p *reader) error {
	doc := f.source.doc
	d := p.decoder(0, new(string))
	if doc.kind() == '{' {
		p.vars.declare(doc.member("vars"), d)
	}
	f.Recipe = p.recipe(doc, map[string]func(value, string){
		"$schema": func(value, string) {}, // for editors
		"vars":    func(value, string) {}, // they have been read
		"loader": func(v value, path string) {
			if v.kind() != '{' {
				d.wrong(path, fmt.Errorf(`is %s: takes an object like {"epochs": 1, "workers": 4}`, v.describe()))
				return
			}
			f.Loader = p.loader(v, path, d)
		},
	})
	return p.err()
}

// loader replaces the variables of the section "loader", and else leaves it as it is.
func (p *reader) loader(v value, path string, d decoder) json.RawMessage {
	out := value{'{'}
	for quoted, member := range v.members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		filled, err := p.vars.filled(member, true)
		var bad badText
		if errors.As(err, &bad) {
			name, _ := unquote(quoted, false)
			d.wrong(join(path, name), err)
		}
		out = append(append(append(out, quoted...), ':'), filled...)
	}
	return json.RawMessage(append(out, '}'))
}

// IsYAML reports whether the file is YAML, beyond what JSON is.
func (f File) IsYAML() bool { return f.source.marks != nil }

// Check is [Recipe.Check]; mistakes have their places in the file.
func (f File) Check() (sample.Schema, error) {
	schema, err := f.Recipe.Check()
	return schema, f.Locate(err)
}
