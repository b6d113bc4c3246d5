// Package variables replaces "${name}" in the text of a recipe's file by what the
// variable has: what was given, what is in the environment, or its default.
package variables

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/words"
)

// Var is a variable of a file.
type Var struct {
	Name  string
	Value string
	From  string // "given", "environment" or "default"; "": it has none, which is a mistake
}

// Table is the variables of a file as it is read.
type Table struct {
	Given       map[string]string
	Environment func(name string) (string, bool) // nil: there is none
	All         []Var                            // in the order of the file; those that only the environment has, come last

	inserted int // bytes in place of variables so far
}

// What variables may come to: a value of one, and all that is put in place of them. A
// default may name other variables, and ten lines that each double the one before would
// otherwise fill any memory.
const (
	maxVariable = 1 << 20
	maxInserted = 16 << 20
)

// Declare reads the section "vars" of a file. Wrong is called with each mistake.
func (x *Table) Declare(section rawjson.Value, wrong func(path string, err error)) {
	x.read(section, wrong)
	declared := x.names()
	for _, name := range slices.Sorted(maps.Keys(x.Given)) {
		if x.find(name) == nil {
			wrong("vars", undeclared(name, declared))
		}
	}
}

func undeclared(name string, declared []string) error {
	hint := ""
	if near := words.Nearest(name, declared); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("declares no variable %q that could be given: %sit declares %s", name, hint, words.List(declared))
}

func (x *Table) read(section rawjson.Value, wrong func(path string, err error)) {
	if section == nil || section.Kind() == rawjson.Null {
		return
	}
	if section.Kind() != rawjson.Object {
		wrong("vars",
			fmt.Errorf(`is %s: must be an object of variables and their defaults, like {"root": "data", "size": 224}`, section.Describe()))
		return
	}

	for quoted, usual := range section.Members() {
		name, err := rawjson.Unquote(quoted)
		switch {
		case err != nil:
			wrong("vars", fmt.Errorf("has the key %s, which %w", quoted, err))
		case !Name.MatchString(name):
			wrong("vars", argument.AtKey(name, fmt.Errorf("has the name %q: must be letters, digits and _ after the first letter", name)))
		case x.find(name) != nil:
			wrong("vars", argument.AtKey(name, fmt.Errorf("has %s twice", name)))
		default:
			v, err := x.choose(name, usual)
			if err != nil && !errors.Is(err, ErrNoValue) {
				wrong(argument.Join("vars", name), err)
			}
			x.All = append(x.All, v) // also after a mistake: it is known
		}
	}
}

// Name is the form of a variable's name.
var Name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// choose finds the value of a variable: given, of the environment, or by default.
func (x *Table) choose(name string, usual rawjson.Value) (Var, error) {
	if text, ok := x.Given[name]; ok {
		return Var{name, text, "given"}, nil
	}
	if text, ok := x.environment(name); ok {
		return Var{name, text, "environment"}, nil
	}
	text, err := x.usual(name, usual)
	if err != nil {
		return Var{Name: name}, err
	}
	return Var{name, text, "default"}, nil
}

func (x *Table) environment(name string) (string, bool) {
	if x.Environment == nil {
		return "", false
	}
	return x.Environment(name)
}

// usual is the text of a default.
func (x *Table) usual(name string, v rawjson.Value) (string, error) {
	switch v.Kind() {
	case rawjson.Null:
		return "", fmt.Errorf("has no value: give it by --set %s=…, in Python by %s=…, or in the environment", name, name)
	case rawjson.Object:
		return "", errors.New("is an object: must be text, a number, true, false, a list, or null where there is no default")
	case rawjson.Text:
		text, err := rawjson.UnquoteBytes(v)
		if err != nil {
			return "", fmt.Errorf("is %s, which %w", v.Describe(), err)
		}
		text, _, err = x.replace(text)
		return text, err
	}
	var b bytes.Buffer
	_ = json.Compact(&b, v) // it was checked
	return b.String(), nil
}

func (x *Table) find(name string) *Var {
	for i := range x.All {
		if x.All[i].Name == name {
			return &x.All[i]
		}
	}
	return nil
}

func (x *Table) names() []string {
	var all []string
	for _, v := range x.All {
		all = append(all, v.Name)
	}
	return all
}

// replace puts values instead of variables. Lone says that text was one variable and
// nothing else.
func (x *Table) replace(text string) (replaced string, lone bool, err error) {
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)

		switch {
		case !found:
			return b.String(), lone, nil
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			rest = after[1:]
		case strings.HasPrefix(after, "{"):
			name, end, closed := strings.Cut(after[1:], "}")
			if !closed || !Name.MatchString(name) {
				return "", false, rawjson.BadText(`has a "${" that is not a variable: write ${name}, or "$$" for a dollar sign`)
			}
			value, err := x.value(name)
			if err != nil {
				return "", false, err
			}

			if len(value) > maxVariable || x.inserted+len(value) > maxInserted {
				return "", false, rawjson.BadText(fmt.Sprintf("is too much: a variable may have %d bytes, "+
					"and all of them together %d", maxVariable, maxInserted))
			}
			x.inserted += len(value)
			b.WriteString(value)
			lone = before == "" && end == "" && len(rest) == len(text)
			rest = end

		default:
			b.WriteByte('$')
			rest = after
		}
	}
}

// ErrNoValue says that a mistake has been told where the variable is declared.
var ErrNoValue = errors.New("recipe: a variable without a value")

func (x *Table) value(name string) (string, error) {
	switch v := x.find(name); {
	case v != nil && v.From == "":
		return "", ErrNoValue
	case v != nil:
		return v.Value, nil
	}
	if text, ok := x.environment(name); ok {
		x.All = append(x.All, Var{name, text, "environment"})
		return text, nil
	}
	hint := `: declare it in the section "vars", or set it in the environment`
	if near := words.Nearest(name, x.names()); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return "", rawjson.BadText(fmt.Sprintf("names the unknown variable %q%s", name, hint))
}

// spelled is what the value of a variable means where no text is taken: a number,
// true, false, null or a list; nil where it is none.
func spelled(text string) rawjson.Value {
	v, err := rawjson.Parse([]byte(text))
	if err != nil || v.Kind() == rawjson.Object || v.Kind() == rawjson.Text {
		return nil
	}
	return v
}

// Fill returns v with all variables replaced. Where a text is one variable only, spell
// says whether it becomes what it spells.
func (x *Table) Fill(v rawjson.Value, spell bool) (rawjson.Value, error) {
	out, err := x.appendFilled(make([]byte, 0, len(v)), v, spell)
	return rawjson.Value(out), err
}

func (x *Table) appendFilled(b []byte, v rawjson.Value, spell bool) ([]byte, error) {
	var err error
	switch v.Kind() {
	case rawjson.Text:
		if bytes.IndexByte(v, '$') < 0 {
			break
		}

		text, err := rawjson.UnquoteBytes(v)
		if err != nil {
			return nil, err
		}
		text, lone, err := x.replace(text)
		if err != nil {
			return nil, err
		}
		if s := spelled(text); spell && lone && s != nil {
			return append(b, s...), nil
		}
		return rawjson.AppendQuote(b, text), nil

	case rawjson.List:
		b = append(b, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = x.appendFilled(b, e, spell); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil

	case rawjson.Object:
		b = append(b, '{')
		for key, member := range v.Members() {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			if b, err = x.appendFilled(append(append(b, key...), ':'), member, spell); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return append(b, v...), nil
}
