package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/decode"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/variables"
	"github.com/headrace/headrace/sample"
)

// File is a recipe with what else is in its file.
type File struct {
	Name   string          // what messages call it; "": text without a name
	Recipe Recipe          // complete
	Loader json.RawMessage // the section "loader" as JSON, variables replaced; nil: there is none. Package headrace reads it
	Vars   []Var           // in the order of the file; those that only the environment has, come last

	text  document.Document
	steps []rawjson.Value // all that there are, in the order of the text: parts of it
}

// Variables are what those who read a file give for its variables. The zero value gives
// none.
type Variables struct {
	Given       map[string]string
	Environment func(name string) (string, bool) // os.LookupEnv; nil: there is none
}

// Var is a variable of a file.
type Var struct {
	Name  string
	Value string
	From  string // "given", "environment" or "default"; "": it has none, which is a mistake
}

// MaxYAML is the size of the largest YAML text that is read, as its tree may take a few
// hundred times the memory. JSON may be larger.
const MaxYAML = document.MaxYAML

// maxFile bounds what is read, for a wrong name may be one of something that does not
// end.
const maxFile = document.MaxBytes

// ReadFile reads a recipe from a file, or from standard input where the path is "-".
func ReadFile(path string, v Variables) (File, error) {
	name, in := path, os.Stdin
	if path == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return File{}, unread(err)
		}
		defer f.Close()
		in = f
	}
	return ReadFrom(name, in, v)
}

// ReadFrom reads a recipe from anywhere, of which messages speak by the name.
func ReadFrom(name string, in io.Reader, v Variables) (File, error) {
	doc, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return File{}, unread(err)
	}
	if len(doc) > maxFile {
		return File{}, &Error{Position: Position{File: name}, Err: fmt.Errorf("is larger than %d bytes, which no recipe may be", maxFile)}
	}
	return Read(name, doc, v)
}

// unread says that a recipe cannot be read.
func unread(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return fmt.Errorf("the recipe %s cannot be read: %w", at.Path, at.Err)
	}
	return fmt.Errorf("recipe: %w", err)
}

// Read reads a recipe as files have it, in YAML or JSON, of which messages speak by the
// name. The error joins an [*Error] for each mistake, with its place; what only
// [File.Check] can see is not among them. With an error, the file has no recipe, but its
// name and the variables that were found.
func Read(name string, doc []byte, v Variables) (File, error) {
	f := File{Name: name}
	var err error
	if f.text, err = document.Parse(doc); err != nil {
		return File{}, f.Locate(unreadable(err))
	}

	p := reader{vars: &variables.Table{Given: v.Given, Environment: v.Environment}}
	err = f.read(&p)
	f.steps = p.steps
	for _, v := range p.vars.All {
		f.Vars = append(f.Vars, Var(v))
	}
	if err != nil {
		return File{Name: name, Vars: f.Vars}, f.Locate(err) // the variables, for those who complete a command line
	}
	f.Recipe = f.Recipe.Complete()
	return f, nil
}

func (f *File) read(p *reader) error {
	doc := f.text.Value
	d := p.decoder(0, new(string))
	if doc.Kind() == rawjson.Object {
		p.vars.Declare(doc.Member("vars"), d.Wrong)
	}
	f.Recipe = p.recipe(doc, map[string]func(rawjson.Value, string){
		"$schema": func(rawjson.Value, string) {}, // for editors
		"vars":    func(rawjson.Value, string) {}, // they have been read
		"loader": func(v rawjson.Value, path string) {
			if v.Kind() != rawjson.Object {
				d.Wrong(path, fmt.Errorf(`is %s: must be an object like {"epochs": 1, "workers": 4}`, v.Describe()))
				return
			}
			f.Loader = p.loader(v, path, d)
		},
	})
	return p.err()
}

// loader replaces the variables of the section "loader", and else leaves it as it is.
func (p *reader) loader(v rawjson.Value, path string, d decode.Decoder) json.RawMessage {
	out := rawjson.Value{'{'}
	for quoted, member := range v.Members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		filled, err := p.vars.Fill(member, true)
		if _, ok := errors.AsType[rawjson.BadText](err); ok {
			name, _ := rawjson.Unquote(quoted)
			d.Wrong(argument.Join(path, name), err)
		}
		out = append(append(append(out, quoted...), ':'), filled...)
	}
	return json.RawMessage(append(out, '}'))
}

// IsYAML reports whether the file is YAML, beyond what JSON is.
func (f File) IsYAML() bool { return f.text.IsYAML() }

// Check is [Recipe.Check]; mistakes have their places in the file.
func (f File) Check() (sample.Schema, error) {
	schema, err := f.Recipe.Check()
	return schema, f.Locate(err)
}
