package recipe

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Schemer is implemented by types of arguments that say themselves, as a JSON Schema, what they are written as.
type Schemer interface {
	JSONSchema() map[string]any
}

// Schema returns the JSON Schema (draft 2020-12) of recipes in files, for editors, with all operations that are registered. Loader is the
// schema of the section "loader", which package headrace has; nil: any object.
func Schema(loader map[string]any) []byte {
	if loader == nil {
		loader = map[string]any{"type": "object"}
	}
	defs := map[string]any{
		"variable": map[string]any{
			"title": "variable", "description": "a variable of the section vars, or of the environment", "type": "string", "pattern": `^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`,
		},
		"step": stepSchema(),
	}
	for _, op := range Ops() {
		defs["args."+op.Name] = op.schema()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Headrace recipe", "description": "A pipeline from files to batches, as the program headrace and the Python package read it.",
		"type": "object", "required": []string{"headrace", "steps"}, "additionalProperties": false,
		"properties": map[string]any{
			"$schema":  map[string]any{"type": "string", "description": "where this schema is, for editors"},
			"headrace": map[string]any{"const": Version, "description": "the version of the notation"},
			"vars": map[string]any{
				"type": "object", "description": `variables, which text names as "${name}", and their defaults; null where a value must be given`,
				"propertyNames":        map[string]any{"pattern": variableName.String()},
				"additionalProperties": map[string]any{"type": []string{"string", "number", "boolean", "null", "array"}},
				"examples":             []any{map[string]any{"root": "data/train", "size": 224}},
			},
			"seed":   orVariable(map[string]any{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64), "default": 0, "description": "of all random operations"}),
			"steps":  map[string]any{"type": "array", "minItems": 1, "description": "the operations, in order", "items": map[string]any{"$ref": "#/$defs/step"}},
			"loader": loader,
		},
		"$defs": defs,
	})
	return b.Bytes()
}

// stepSchema says that a step is the name of an operation, or an object with just one operation.
func stepSchema() map[string]any {
	var alone []string
	var one []any
	name := map[string]any{"type": "string", "pattern": nameForm.String()}
	keys := map[string]any{
		"name": described(name, "of the step, by default its operation's: statistics, messages and random draws refer to it"),
	}
	keys["failures"] = described(ObjectSchema(new(Failures)), "what becomes of samples that fail in this step; by default what the loader says")
	for _, op := range Ops() {
		args := map[string]any{"$ref": "#/$defs/args." + op.Name}
		if !slices.ContainsFunc(op.Arguments(), func(a Argument) bool { return a.Required }) {
			alone = append(alone, op.Name)
			args = map[string]any{"anyOf": []any{args, map[string]any{"type": "null"}}}
		}
		keys[op.Name] = described(args, op.Doc)
		one = append(one, map[string]any{"required": []string{op.Name}})
	}
	return map[string]any{
		"description": "an operation",
		"anyOf": []any{
			map[string]any{"type": "string", "enum": alone},
			map[string]any{"type": "object", "properties": keys, "additionalProperties": false, "oneOf": one},
		},
	}
}

// schema describes the arguments of an operation.
func (o Op) schema() map[string]any {
	s := map[string]any{"title": o.Name, "description": o.Doc}
	for k, v := range ObjectSchema(fieldsOf(o.New())) {
		s[k] = v
	}
	properties := s["properties"].(map[string]any)
	for _, a := range o.Arguments() {
		if a.Default != nil {
			properties[a.Name].(map[string]any)["default"] = a.Default
		}
	}
	return s
}

// ObjectSchema returns the JSON Schema of an object that is read into a struct. Of the fields' tags it takes `json`, `doc`, `required`, `choices`,
// `min`, `max` (of a list: of its length), `example`, and `unit`: what is in bytes may have a unit. Wherever something else than text is taken, a variable may stand.
func ObjectSchema(pointer any) map[string]any {
	properties := make(map[string]any)
	required := []string{}
	for _, f := range argumentFields(reflect.TypeOf(pointer).Elem()) {
		s := typeSchema(f.Type)
		limit(s, f.Tag)
		if f.Tag.Get("unit") == "bytes" {
			s = map[string]any{"anyOf": []any{s, map[string]any{"type": "string", "pattern": `^ *[0-9.]+ *([KkMmGgTt]?[Bb]|[KkMmGgTt][Ii][Bb])? *$`}}}
		}
		s = orVariable(s)
		if f.Tag.Get("required") == "true" {
			required = append(required, argumentName(f))
		} else if choices, ok := s["anyOf"].([]any); ok {
			s["anyOf"] = append(choices, map[string]any{"type": "null"})
		} else {
			s = map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
		}
		s = described(s, f.Tag.Get("doc"))
		if example := f.Tag.Get("example"); example != "" {
			s["examples"] = []any{written(example)}
		}
		properties[argumentName(f)] = s
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// typeSchema describes what an argument of a type is written as.
func typeSchema(t reflect.Type) map[string]any {
	if own, ok := reflect.New(t).Interface().(Schemer); ok {
		return own.JSONSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64)}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": orVariable(typeSchema(t.Elem()))}
	case reflect.Struct:
		return ObjectSchema(reflect.New(t).Interface())
	case reflect.Array:
		return map[string]any{"type": "array", "items": orVariable(typeSchema(t.Elem())), "minItems": t.Len(), "maxItems": t.Len()}
	}
	return map[string]any{}
}

// limit adds what the tags of a field say about its values.
func limit(s map[string]any, tag reflect.StructTag) {
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

// orVariable lets a variable stand in the place of a value. Text may have variables anywhere in it.
func orVariable(s map[string]any) map[string]any {
	either, several := s["anyOf"].([]any)
	switch {
	case holdsSteps(s): // which have places in the file
		return s
	case several:
		return map[string]any{"anyOf": append(slices.Clone(either), map[string]any{"$ref": "#/$defs/variable"})}
	case s["type"] != "string":
		return map[string]any{"anyOf": []any{s, map[string]any{"$ref": "#/$defs/variable"}}}
	case s["enum"] != nil:
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "string", "pattern": `\$\{`}}}
	}
	return s
}

// holdsSteps tells whether it is a list of steps, or of what has some.
func holdsSteps(s map[string]any) bool {
	items, _ := s["items"].(map[string]any)
	return items != nil && (items["$ref"] == "#/$defs/step" || items["type"] == "object" || holdsSteps(items))
}

func described(s map[string]any, text string) map[string]any {
	s = maps.Clone(s)
	if text != "" {
		s["description"] = text
	}
	return s
}

// listSchema describes a list of so many values of one kind.
func listSchema(kind string, least, most int, limits ...map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": orVariable(scalarSchema(kind, limits...)), "minItems": least, "maxItems": most}
}

func scalarSchema(kind string, limits ...map[string]any) map[string]any {
	s := map[string]any{"type": kind}
	for _, l := range limits {
		for k, v := range l {
			s[k] = v
		}
	}
	return s
}

func oneOrList(kind string, limits map[string]any, lengths ...int) map[string]any {
	all := []any{scalarSchema(kind, limits)}
	for _, n := range lengths {
		all = append(all, listSchema(kind, n, n, limits))
	}
	return map[string]any{"anyOf": all}
}

// JSONSchema implements [Schemer].
func (Size) JSONSchema() map[string]any {
	return oneOrList("integer", map[string]any{"minimum": 1}, 2)
}

// JSONSchema implements [Schemer].
func (Path) JSONSchema() map[string]any { return map[string]any{"type": "string"} }

// JSONSchema implements [Schemer].
func (Pair) JSONSchema() map[string]any {
	return map[string]any{"type": "array", "prefixItems": []any{typeSchema(reflect.TypeFor[Path]()), orVariable(scalarSchema("integer"))}, "minItems": 2, "maxItems": 2}
}

// JSONSchema implements [Schemer].
func (Padding) JSONSchema() map[string]any {
	return oneOrList("integer", map[string]any{"minimum": 0}, 2, 4)
}

// JSONSchema implements [Schemer].
func (Fill) JSONSchema() map[string]any {
	return oneOrList("integer", map[string]any{"minimum": 0, "maximum": math.MaxUint16}, 1, 3, 4)
}

// JSONSchema implements [Schemer].
func (Jitter) JSONSchema() map[string]any { return oneOrList("number", nil, 2) }

// JSONSchema implements [Schemer].
func (Channels) JSONSchema() map[string]any { return oneOrList("number", nil, 3) }

// JSONSchema implements [Schemer].
func (Chain) JSONSchema() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/step"}}
}

// JSONSchema implements [Schemer].
func (When) JSONSchema() map[string]any {
	return map[string]any{"anyOf": []any{scalarSchema("string"), scalarSchema("integer", map[string]any{"minimum": math.MinInt64, "maximum": math.MaxInt64})}}
}
