package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decoder fills the structs of a recipe, strictly: unknown and repeated keys are refused, nothing is converted, and all mistakes
// are collected. null says that something is not given.
type decoder struct {
	vars  *vars // what "${name}" in text stands for; nil: itself
	wrong func(path string, err error)
	chain func(steps value, path string) Chain // reads a list of steps; nil: none can stand here
}

// keyed is a mistake of which a key of the object is the place, not the object.
type keyed struct {
	key string
	error
}

// reflectOf makes a variable something to fill.
func reflectOf(p any) reflect.Value { return reflect.ValueOf(p).Elem() }

// object hands each member of v to the field of its name; stranger says what is wrong with another name. The names in the result were
// there.
func (d decoder) object(v value, path string, fields map[string]func(v value, path string), stranger func(key string) error) (given map[string]bool) {
	given = make(map[string]bool)
	for quoted, member := range v.members() {
		key, err := unquote(quoted, false)
		if err != nil {
			d.wrong(path, fmt.Errorf("has the key %s, which %w", quoted, err))
			continue
		}
		set, ok := fields[key]
		switch {
		case !ok:
			d.wrong(path, keyed{key, stranger(key)})
		case given[key]:
			d.wrong(path, keyed{key, fmt.Errorf("%s is given twice", key)})
		case member.kind() != 'n':
			set(member, join(path, key))
		}
		given[key] = ok || given[key]
	}
	return given
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// args fills the struct that dst points to.
func (d decoder) args(v value, dst any, path string) {
	if v.kind() != '{' {
		d.wrong(path, fmt.Errorf("takes its arguments by name%s, not %s", such(dst), v.describe()))
		return
	}
	fields, known := d.fields(reflect.ValueOf(fieldsOf(dst)).Elem())
	d.object(v, path, fields, func(key string) error {
		if r, ok := dst.(refuser); ok && r.refused()[key] != "" {
			return fmt.Errorf("%s is not an argument: %s", key, r.refused()[key])
		}
		return strangeArgument(key, known)
	})
}

// fields are the arguments of a struct, and their names.
func (d decoder) fields(s reflect.Value) (fields map[string]func(value, string), known []string) {
	fields = make(map[string]func(value, string))
	for _, f := range argumentFields(s.Type()) {
		field := s.FieldByIndex(f.Index)
		known = append(known, argumentName(f))
		fields[argumentName(f)] = func(v value, path string) { d.into(v, field, path) }
	}
	return fields, known
}

// inner fills a struct inside of an argument.
func (d decoder) inner(v value, s reflect.Value, path string) {
	fields, known := d.fields(s)
	given := d.object(v, path, fields, func(key string) error { return fmt.Errorf("has an %w", Unknown("key", key, known)) })
	for _, f := range argumentFields(s.Type()) {
		if f.Tag.Get("required") == "true" && !given[argumentName(f)] {
			d.wrong(path, missingKey(argumentName(f)))
		}
	}
}

// such is an example of an object of arguments, with the first that there is.
func such(dst any) string {
	for _, f := range argumentFields(reflect.TypeOf(fieldsOf(dst)).Elem()) {
		return fmt.Sprintf(", as in {%s: …}", argumentName(f))
	}
	return ""
}

// refuser is implemented by arguments that have none of some names that people look for.
type refuser interface {
	// refused returns the names, with what there is to say about each.
	refused() map[string]string
}

// argumentFields returns the fields of a struct that are arguments.
func argumentFields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return !f.IsExported() || f.Anonymous || argumentName(f) == "-"
	})
}

func argumentName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// taker is implemented by types that say themselves what they are written as.
type taker interface {
	json.Unmarshaler
	takes() string
}

// takes says what an argument of a type is written as.
func takes(t reflect.Type) string {
	if own, ok := reflect.New(t).Interface().(taker); ok {
		return own.takes()
	}
	if t == reflect.TypeFor[Chain]() {
		return "a list of steps"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return takes(t.Elem())
	case reflect.Struct:
		return fmt.Sprintf("an object like {%s: …}", argumentName(argumentFields(t)[0]))
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list, each " + takes(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("a list of %d, each %s", t.Len(), takes(t.Elem()))
	}
	return t.String()
}

// into fills one argument.
func (d decoder) into(v value, dst reflect.Value, path string) {
	err := d.fill(v, dst, path)
	if err == nil || errors.Is(err, errNoValue) {
		return
	}
	is := v.describe()
	var by replaced
	if errors.As(err, &by) {
		is += ", here " + by.with.describe()
	}
	var bad badText
	if errors.As(err, &bad) {
		d.wrong(path, fmt.Errorf("is %s, which %w", is, bad))
	} else {
		d.wrong(path, fmt.Errorf("is %s: takes %s", is, takes(dst.Type())))
	}
}

// errKind says that a value is not what an argument takes. What that is, takes says.
var errKind = errors.New("recipe: a value of another kind")

func (d decoder) fill(v value, dst reflect.Value, path string) error {
	own, whole := dst.Addr().Interface().(json.Unmarshaler)
	if d.vars != nil && (whole || v.kind() == '"') && bytes.IndexByte(v, '$') >= 0 {
		return d.fillReplaced(v, dst, path)
	}
	if dst.Type() == reflect.TypeFor[Chain]() {
		if d.chain == nil || v.kind() != '[' {
			return errKind
		}
		dst.Set(reflect.ValueOf(d.chain(v, path)))
		return nil
	}
	if whole {
		if v.kind() == 'n' {
			return errKind
		}
		return own.UnmarshalJSON(v[:len(v):len(v)])
	}
	switch kind := dst.Kind(); {
	case kind == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return d.fill(v, dst.Elem(), path)
	case kind == reflect.String:
		s, err := unquote(v, false)
		dst.SetString(s)
		return err
	case kind == reflect.Bool && v.kind() == 'b':
		dst.SetBool(v[0] == 't')
		return nil
	case kind == reflect.Slice && v.kind() == '[':
		d.slice(v, dst, path)
		return nil
	case kind == reflect.Array && v.kind() == '[':
		return d.array(v, dst, path)
	case kind == reflect.Struct && v.kind() == '{':
		d.inner(v, dst, path)
		return nil
	case v.kind() == '0':
		return number(v, dst)
	}
	return errKind
}

// replaced says with which value in the place of variables an argument could not be filled.
type replaced struct {
	with value
	error
}

func (e replaced) Unwrap() error { return e.error }

// fillReplaced fills an argument with a value that has variables in it. What takes text gets the text of a variable; else it is what that
// spells.
func (d decoder) fillReplaced(v value, dst reflect.Value, path string) error {
	plain := decoder{wrong: d.wrong}
	text, err := d.vars.filled(v, false)
	if err != nil {
		return err
	}
	if err = plain.fill(text, dst, path); err == nil {
		return nil
	}
	spelled, wrong := d.vars.filled(v, true)
	switch {
	case wrong != nil:
		return wrong
	case bytes.Equal(text, spelled):
		return replaced{text, err}
	case spelled.kind() == 'n': // as if it were not given
		dst.SetZero()
		return nil
	}
	if err := plain.fill(spelled, dst, path); err != nil {
		return replaced{spelled, err}
	}
	return nil
}

func number(v value, dst reflect.Value) error {
	switch dst.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(v), 10, dst.Type().Bits())
		dst.SetInt(n)
		return err
	case reflect.Uint64:
		n, err := strconv.ParseUint(string(v), 10, 64)
		dst.SetUint(n)
		return err
	case reflect.Float64:
		x, err := strconv.ParseFloat(string(v), 64)
		dst.SetFloat(x)
		return err
	}
	return errKind
}

func (d decoder) slice(v value, dst reflect.Value, path string) {
	dst.Set(reflect.MakeSlice(dst.Type(), 0, 0)) // a list that is empty was given, too
	// A path to each of a million elements would cost more than reading them.
	_, whole := reflect.New(dst.Type().Elem()).Interface().(json.Unmarshaler)
	for i, e := range v.elements() {
		dst.Grow(1)
		dst.SetLen(i + 1)
		if !whole || d.fill(e, dst.Index(i), "") != nil {
			d.into(e, dst.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

func (d decoder) array(v value, dst reflect.Value, path string) error {
	n := 0
	for i, e := range v.elements() {
		if n++; i < dst.Len() {
			d.into(e, dst.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	}
	if n != dst.Len() {
		return errKind
	}
	return nil
}
