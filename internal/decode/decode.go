// Package decode fills the structs of a recipe from JSON, strictly.
//
// Unknown and repeated keys are refused, nothing is converted, and all mistakes are
// collected. null says that something is not given.
package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/variables"
	"github.com/headrace/headrace/internal/words"
)

// Decoder fills what belongs together: a step, or what is around all steps.
type Decoder struct {
	Vars  *variables.Table             // what "${name}" in text means; nil: itself
	Wrong func(path string, err error) // is called with each mistake

	// Steps reads a list of steps, for arguments of StepsType; nil: none can be here.
	Steps     func(v rawjson.Value, path string) reflect.Value
	StepsType reflect.Type

	// Unknown says what is wrong with a name that is not among the arguments args has.
	Unknown func(args any, name string, known []string) error
}

// Of makes a variable something to fill.
func Of(p any) reflect.Value { return reflect.ValueOf(p).Elem() }

// Object hands each member of v to the field of its name; unknown says what is wrong
// with another name. The names in the result were there.
func (d Decoder) Object(v rawjson.Value, path string, fields map[string]func(v rawjson.Value, path string),
	unknown func(key string) error) (given map[string]bool) {
	given = make(map[string]bool)
	for quoted, member := range v.Members() {
		key, err := rawjson.Unquote(quoted)
		if err != nil {
			d.Wrong(path, fmt.Errorf("has the key %s, which %w", quoted, err))
			continue
		}
		set, ok := fields[key]
		switch {
		case !ok:
			d.Wrong(path, argument.AtKey(key, unknown(key)))
		case given[key]:
			d.Wrong(path, argument.AtKey(key, fmt.Errorf("%s is given twice", key)))
		case member.Kind() != rawjson.Null:
			set(member, argument.Join(path, key))
		}
		given[key] = ok || given[key]
	}
	return given
}

// Args fills the struct of the arguments that dst points to.
func (d Decoder) Args(v rawjson.Value, dst any, path string) {
	if v.Kind() != rawjson.Object {
		d.Wrong(path, fmt.Errorf("give its arguments by name%s, not %s", example(dst), v.Describe()))
		return
	}
	fields, known := d.fields(reflect.ValueOf(argument.Struct(dst)).Elem())
	d.Object(v, path, fields, func(key string) error { return d.Unknown(dst, key, known) })
}

// example is one of an object of arguments, with the first that there is.
func example(dst any) string {
	for _, f := range argument.FieldsOf(dst) {
		return fmt.Sprintf(", as in {%s: …}", argument.Name(f))
	}
	return ""
}

// fields are the arguments of a struct, and their names.
func (d Decoder) fields(s reflect.Value) (fields map[string]func(rawjson.Value, string), known []string) {
	fields = make(map[string]func(rawjson.Value, string))
	for _, f := range argument.Fields(s.Type()) {
		field := s.FieldByIndex(f.Index)
		known = append(known, argument.Name(f))
		fields[argument.Name(f)] = func(v rawjson.Value, path string) { d.Into(v, field, path) }
	}
	return fields, known
}

// inner fills a struct inside of an argument.
func (d Decoder) inner(v rawjson.Value, s reflect.Value, path string) {
	fields, known := d.fields(s)
	given := d.Object(v, path, fields, func(key string) error { return fmt.Errorf("has an %w", words.Unknown("key", key, known)) })
	for _, f := range argument.Fields(s.Type()) {
		if argument.Required(f) && !given[argument.Name(f)] {
			d.Wrong(path, fmt.Errorf("lacks the key %q", argument.Name(f)))
		}
	}
}

// Into fills one argument.
func (d Decoder) Into(v rawjson.Value, dst reflect.Value, path string) {
	err := d.fill(v, dst, path)
	if err == nil || errors.Is(err, variables.ErrNoValue) {
		return
	}
	is := v.Describe()
	if by, ok := errors.AsType[replaced](err); ok {
		is += ", here " + by.with.Describe()
	}

	if bad, ok := errors.AsType[rawjson.BadText](err); ok {
		d.Wrong(path, fmt.Errorf("is %s, which %w", is, bad))
	} else {
		d.Wrong(path, fmt.Errorf("is %s: must be %s", is, argument.Takes(dst.Type())))
	}
}

func (d Decoder) fill(v rawjson.Value, dst reflect.Value, path string) error {
	own, whole := dst.Addr().Interface().(json.Unmarshaler)
	if d.Vars != nil && (whole || v.Kind() == rawjson.Text) && bytes.IndexByte(v, '$') >= 0 {
		return d.fillReplaced(v, dst, path)
	}
	if dst.Type() == d.StepsType {
		if d.Steps == nil || v.Kind() != rawjson.List {
			return rawjson.ErrKind
		}
		dst.Set(d.Steps(v, path))
		return nil
	}
	if whole {
		if v.Kind() == rawjson.Null {
			return rawjson.ErrKind
		}
		// Without its capacity, beyond which types from elsewhere have no business.
		return own.UnmarshalJSON(v[:len(v):len(v)])
	}

	switch kind := dst.Kind(); {
	case kind == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return d.fill(v, dst.Elem(), path)
	case kind == reflect.String:
		s, err := rawjson.Unquote(v)
		dst.SetString(s)
		return err
	case kind == reflect.Bool && v.Kind() == rawjson.Bool:
		dst.SetBool(v[0] == 't')
		return nil
	case kind == reflect.Slice && v.Kind() == rawjson.List:
		d.slice(v, dst, path)
		return nil
	case kind == reflect.Array && v.Kind() == rawjson.List:
		return d.array(v, dst, path)
	case kind == reflect.Struct && v.Kind() == rawjson.Object:
		d.inner(v, dst, path)
		return nil
	case v.Kind() == rawjson.Number:
		return number(v, dst)
	}
	return rawjson.ErrKind
}

// replaced says with which value instead of variables an argument could not be
// filled.
type replaced struct {
	with rawjson.Value
	error
}

func (e replaced) Unwrap() error { return e.error }

// fillReplaced fills an argument with a value that has variables in it. What accepts text
// gets the text of a variable; else it is what that spells.
func (d Decoder) fillReplaced(v rawjson.Value, dst reflect.Value, path string) error {
	plain := Decoder{Wrong: d.Wrong, StepsType: d.StepsType}
	text, err := d.Vars.Fill(v, false)
	if err != nil {
		return err
	}
	if err = plain.fill(text, dst, path); err == nil {
		return nil
	}

	spelled, wrong := d.Vars.Fill(v, true)
	switch {
	case wrong != nil:
		return wrong
	case bytes.Equal(text, spelled):
		return replaced{text, err}
	case spelled.Kind() == rawjson.Null: // as if it were not given
		dst.SetZero()
		return nil
	}
	if err := plain.fill(spelled, dst, path); err != nil {
		return replaced{spelled, err}
	}
	return nil
}

func number(v rawjson.Value, dst reflect.Value) error {
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
	return rawjson.ErrKind
}

func (d Decoder) slice(v rawjson.Value, dst reflect.Value, path string) {
	dst.Set(reflect.MakeSlice(dst.Type(), 0, 0)) // a list that is empty was given, too

	// A path to each of a million elements would cost more than reading them.
	_, whole := reflect.New(dst.Type().Elem()).Interface().(json.Unmarshaler)
	for i, e := range v.Elements() {
		dst.Grow(1)
		dst.SetLen(i + 1)
		if !whole || d.fill(e, dst.Index(i), "") != nil {
			d.Into(e, dst.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

func (d Decoder) array(v rawjson.Value, dst reflect.Value, path string) error {
	n := 0
	for i, e := range v.Elements() {
		if n++; i < dst.Len() {
			d.Into(e, dst.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	}
	if n != dst.Len() {
		return rawjson.ErrKind
	}
	return nil
}
