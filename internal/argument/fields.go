// Package argument is about structs whose fields are the arguments of an operation: their
// names, what they are written as, and what is wrong with their values.
//
// Of the tags of a field it reads `json`, which has the argument's name, `required`,
// `choices`, `min` and `max`; tags may be in [Documented] too. It knows no operation.
package argument

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Struct returns a pointer to the struct whose fields are the arguments: args itself, or
// what it holds in their place.
func Struct(args any) any {
	if h, ok := args.(interface{ Held() any }); ok {
		return h.Held()
	}
	return args
}

// Documented is implemented by structs with tags that are too long for a line. Docs has
// `doc` under the names of the arguments, and other tags under both, as in "of example".
type Documented interface {
	Docs() map[string]string
}

// Fields returns the fields of a struct that are arguments, with their tags.
func Fields(t reflect.Type) []reflect.StructField {
	all := slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return !f.IsExported() || f.Anonymous || Name(f) == "-"
	})
	for i := range all {
		all[i].Tag += docs(t, all[i])
	}
	return all
}

// docs returns the tags of a field that [Documented] has.
func docs(t reflect.Type, f reflect.StructField) (tags reflect.StructTag) {
	for _, i := range f.Index[:len(f.Index)-1] { // an embedded struct describes its own
		t = t.Field(i).Type
	}
	d, ok := reflect.New(t).Interface().(Documented)
	if !ok {
		return ""
	}
	for of, text := range d.Docs() {
		if name, tag, _ := strings.Cut(of, " "); name == Name(f) {
			tags += reflect.StructTag(fmt.Sprintf(" %s:%q", cmp.Or(tag, "doc"), text))
		}
	}
	return tags
}

// FieldsOf returns the fields of the struct that has these arguments.
func FieldsOf(args any) []reflect.StructField { return Fields(reflect.TypeOf(Struct(args)).Elem()) }

// Has tells whether a struct has an argument of this name.
func Has(t reflect.Type, name string) bool {
	return slices.ContainsFunc(Fields(t), func(f reflect.StructField) bool { return Name(f) == name })
}

// Name is what the argument is called.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// Required tells whether the argument has to be given.
func Required(f reflect.StructField) bool { return f.Tag.Get("required") == "true" }

// Takes says what an argument of a type is written as. Types that have a form of their
// own say it themselves, by a method Takes.
func Takes(t reflect.Type) string {
	if own, ok := reflect.New(t).Interface().(interface{ Takes() string }); ok {
		return own.Takes()
	}

	switch t.Kind() {
	case reflect.Pointer:
		return Takes(t.Elem())
	case reflect.Struct:
		return fmt.Sprintf("an object like {%s: …}", Name(Fields(t)[0]))
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number, at least 0"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list, each " + Takes(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("a list of %d, each %s", t.Len(), Takes(t.Elem()))
	}
	return t.String()
}
