// Package jsonschema describes arguments for editors, as JSON Schema (draft 2020-12).
//
// Wherever something else than text is accepted, a variable of the file may be: schemas
// refer to "#/$defs/variable", and lists of steps to "#/$defs/step", which package recipe
// defines.
package jsonschema

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
)

// Schema is a JSON Schema.
type Schema = map[string]any

// References to what package recipe defines.
var (
	step     = Schema{"$ref": "#/$defs/step"}
	variable = Schema{"$ref": "#/$defs/variable"}
)

// Object returns the schema of an object that is read into a struct. Of the fields' tags
// it reads `json`, `doc`, `required`, `choices`, `min`, `max` (of a list: of its length),
// `example`, and `unit`: what is in bytes may have a unit.
func Object(pointer any) Schema {
	properties := make(map[string]any)
	required := []string{}
	for _, f := range argument.Fields(reflect.TypeOf(pointer).Elem()) {
		s := Of(f.Type)
		limit(s, f.Tag)
		if f.Tag.Get("unit") == "bytes" {
			s = anyOf(s, Schema{"type": "string", "pattern": `^ *[0-9.]+ *([KkMmGgTt]?[Bb]|[KkMmGgTt][Ii][Bb])? *$`})
		}
		s = OrVariable(s)

		// null says that an argument is not given.
		if argument.Required(f) {
			required = append(required, argument.Name(f))
		} else if choices, ok := s["anyOf"].([]any); ok {
			s["anyOf"] = append(choices, Scalar("null"))
		} else {
			s = anyOf(s, Scalar("null"))
		}

		s = Described(s, f.Tag.Get("doc"))
		if example := f.Tag.Get("example"); example != "" {
			s["examples"] = []any{written(example)}
		}
		properties[argument.Name(f)] = s
	}
	return Schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// Of describes what an argument of a type is written as. Types that have a form of their
// own say it themselves, by a method JSONSchema.
func Of(t reflect.Type) Schema {
	if own, ok := reflect.New(t).Interface().(interface{ JSONSchema() map[string]any }); ok {
		return own.JSONSchema()
	}

	switch t.Kind() {
	case reflect.Pointer:
		return Of(t.Elem())
	case reflect.Bool:
		return Scalar("boolean")
	case reflect.Int, reflect.Int64:
		return Scalar("integer")
	case reflect.Uint64:
		return Scalar("integer", Schema{"minimum": 0, "maximum": uint64(math.MaxUint64)})
	case reflect.Float64:
		return Scalar("number")
	case reflect.String:
		return Scalar("string")
	case reflect.Slice:
		return Schema{"type": "array", "items": OrVariable(Of(t.Elem()))}
	case reflect.Struct:
		return Object(reflect.New(t).Interface())
	case reflect.Array:
		return Schema{"type": "array", "items": OrVariable(Of(t.Elem())), "minItems": t.Len(), "maxItems": t.Len()}
	}
	return Schema{}
}

// limit adds what the tags of a field say about its values.
func limit(s Schema, tag reflect.StructTag) {
	for key, name := range map[string]string{"min": "minimum", "max": "maximum"} {
		if n := tag.Get(key); n != "" && s["type"] == "array" {
			s[name[:len("min")]+"Items"] = json.RawMessage(n)
		} else if n != "" {
			s[name] = json.RawMessage(n)
		}
	}
	if words := tag.Get("choices"); words != "" {
		var all []any
		for _, w := range strings.Split(words, ",") {
			all = append(all, written(w))
		}
		s["enum"] = all
	}
}

// written is what a tag has as JSON, or else as text.
func written(tag string) any {
	if json.Valid([]byte(tag)) {
		return json.RawMessage(tag)
	}
	return tag
}

// OrVariable accepts a variable, too. Text may have variables anywhere in it.
func OrVariable(s Schema) Schema {
	either, several := s["anyOf"].([]any)
	switch {
	case holdsSteps(s): // which have places in the file
		return s
	case several:
		return anyOf(append(slices.Clone(either), variable)...)
	case s["type"] != "string":
		return anyOf(s, variable)
	case s["enum"] != nil:
		return anyOf(s, Schema{"type": "string", "pattern": `\$\{`})
	}
	return s
}

// holdsSteps tells whether it is a list of steps, or of what has some.
func holdsSteps(s Schema) bool {
	items, _ := s["items"].(Schema)
	return items != nil && (items["$ref"] == step["$ref"] || items["type"] == "object" || holdsSteps(items))
}

// Described is s with a text about it.
func Described(s Schema, text string) Schema {
	s = maps.Clone(s)
	if text != "" {
		s["description"] = text
	}
	return s
}

// Scalar describes one value of a kind.
func Scalar(kind string, limits ...Schema) Schema {
	s := Schema{"type": kind}
	for _, l := range limits {
		maps.Copy(s, l)
	}
	return s
}

// OneOrList describes one value of a kind, or a list that has one of these lengths.
func OneOrList(kind string, limits Schema, lengths ...int) Schema {
	all := []any{Scalar(kind, limits)}
	for _, n := range lengths {
		all = append(all, Schema{"type": "array", "items": OrVariable(Scalar(kind, limits)), "minItems": n, "maxItems": n})
	}
	return anyOf(all...)
}

// Steps describes a list of steps.
func Steps() Schema { return Schema{"type": "array", "items": step} }

func anyOf(all ...any) Schema { return Schema{"anyOf": all} }
