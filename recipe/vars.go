package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Variables are what those who read a file give for its variables. The zero value gives none.
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

// vars are the variables of a file as it is read.
type vars struct {
	Variables
	all      []Var
	inserted int // bytes in place of variables so far
}

// What variables may come to: a value of one, and all that is put in place of them. A default may name other variables, and ten lines
// that each double the one before would otherwise fill any memory.
const (
	maxVariable = 1 << 20
	maxInserted = 16 << 20
)

// declare reads the section "vars" of a file.
func (x *vars) declare(section value, d decoder) {
	x.read(section, d)
	declared := x.names()
	for _, name := range slices.Sorted(maps.Keys(x.Given)) {
		if x.find(name) == nil {
			d.wrong("vars", undeclared(name, declared))
		}
	}
}

func undeclared(name string, declared []string) error {
	hint := ""
	if near := nearest(name, declared); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("declares no variable %q that could be given: %sit declares %s", name, hint, list(declared))
}

func (x *vars) read(section value, d decoder) {
	if section == nil || section.kind() == 'n' {
		return
	}
	if section.kind() != '{' {
		d.wrong("vars", fmt.Errorf(`is %s: takes an object of variables and their defaults, like {"root": "data", "size": 224}`, section.describe()))
		return
	}
	for quoted, usual := range section.members() {
		name, err := unquote(quoted, false)
		switch {
		case err != nil:
			d.wrong("vars", fmt.Errorf("has the key %s, which %w", quoted, err))
		case !variableName.MatchString(name):
			d.wrong("vars", keyed{name, fmt.Errorf("has the name %q: takes letters, digits and _ after the first letter", name)})
		case x.find(name) != nil:
			d.wrong("vars", keyed{name, fmt.Errorf("has %s twice", name)})
		default:
			v, err := x.choose(name, usual)
			if err != nil && !errors.Is(err, errNoValue) {
				d.wrong(join("vars", name), err)
			}
			x.all = append(x.all, v) // also after a mistake: it is known
		}
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// choose finds the value of a variable: given, of the environment, or by default.
func (x *vars) choose(name string, usual value) (Var, error) {
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

func (x *vars) environment(name string) (string, bool) {
	if x.Environment == nil {
		return "", false
	}
	return x.Environment(name)
}

// usual is the text of a default.
func (x *vars) usual(name string, v value) (string, error) {
	switch v.kind() {
	case 'n':
		return "", fmt.Errorf("has no value: give it by --set %s=…, in Python by %s=…, or in the environment", name, name)
	case '{':
		return "", errors.New("is an object: takes text, a number, true, false, a list, or null where there is no default")
	case '"':
		text, err := unquote(v, true)
		if err != nil {
			return "", fmt.Errorf("is %s, which %w", v.describe(), err)
		}
		text, _, err = x.replace(text)
		return text, err
	}
	var b bytes.Buffer
	_ = json.Compact(&b, v) // it was checked
	return b.String(), nil
}

func (x *vars) find(name string) *Var {
	for i := range x.all {
		if x.all[i].Name == name {
			return &x.all[i]
		}
	}
	return nil
}

func (x *vars) names() []string {
	var all []string
	for _, v := range x.all {
		all = append(all, v.Name)
	}
	return all
}

// replace puts values in the place of variables. Lone says that text was one variable and nothing else.
func (x *vars) replace(text string) (replaced string, lone bool, err error) {
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
			if !closed || !variableName.MatchString(name) {
				return "", false, badText(`has a "${" that begins no variable: ${name} does, and "$$" is a dollar sign`)
			}
			value, err := x.value(name)
			if err != nil {
				return "", false, err
			}
			if len(value) > maxVariable || x.inserted+len(value) > maxInserted {
				return "", false, badText(fmt.Sprintf("takes too much: a variable may have %d bytes, and all that is put in their places %d", maxVariable, maxInserted))
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

// errNoValue says that a mistake has been told where the variable is declared.
var errNoValue = errors.New("recipe: a variable without a value")

func (x *vars) value(name string) (string, error) {
	switch v := x.find(name); {
	case v != nil && v.From == "":
		return "", errNoValue
	case v != nil:
		return v.Value, nil
	}
	if text, ok := x.environment(name); ok {
		x.all = append(x.all, Var{name, text, "environment"})
		return text, nil
	}
	hint := `: declare it in the section "vars", or set it in the environment`
	if near := nearest(name, x.names()); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return "", badText(fmt.Sprintf("names the variable %q, which there is not%s", name, hint))
}

// spelled is what the value of a variable stands for where no text is taken: a number, true, false, null or a list; nil where it is none.
func spelled(text string) value {
	v, err := parseJSON([]byte(text))
	if err != nil || v.kind() == '{' || v.kind() == '"' {
		return nil
	}
	return v
}

// filled returns v with all variables replaced. Where a text is one variable only, spell says whether it becomes what it spells.
func (x *vars) filled(v value, spell bool) (value, error) {
	out, err := x.appendFilled(make(value, 0, len(v)), v, spell)
	return value(out), err
}

func (x *vars) appendFilled(b []byte, v value, spell bool) ([]byte, error) {
	var err error
	switch v.kind() {
	case '"':
		if bytes.IndexByte(v, '$') < 0 {
			break
		}
		text, err := unquote(v, true)
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
		return appendPath(b, text), nil
	case '[':
		b = append(b, '[')
		for i, e := range v.elements() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = x.appendFilled(b, e, spell); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case '{':
		b = append(b, '{')
		for key, member := range v.members() {
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
