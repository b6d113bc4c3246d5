package recipe

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/variables"
)

// Schema returns the JSON Schema (draft 2020-12) of recipes in files, for editors, with
// all operations that are registered. Loader is the schema of the section "loader", which
// package headrace has; nil: any object.
func Schema(loader map[string]any) []byte {
	if loader == nil {
		loader = map[string]any{"type": "object"}
	}
	defs := map[string]any{
		"variable": map[string]any{
			"title": "variable", "description": "a variable of the section vars, or of the environment",
			"type": "string", "pattern": `^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`,
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
		"title":   "Headrace recipe", "description": "A pipeline from files to batches, " +
			"as the program headrace and the Python package read it.",
		"type": "object", "required": []string{"headrace", "steps"}, "additionalProperties": false,
		"properties": map[string]any{
			"$schema":  map[string]any{"type": "string", "description": "where this schema is, for editors"},
			"headrace": map[string]any{"const": Version, "description": "the version of the notation"},
			"vars": map[string]any{
				"type":                 "object",
				"description":          `variables, which text names as "${name}", and their defaults; null where a value must be given`,
				"propertyNames":        map[string]any{"pattern": variables.Name.String()},
				"additionalProperties": map[string]any{"type": []string{"string", "number", "boolean", "null", "array"}},
				"examples":             []any{map[string]any{"root": "data/train", "size": 224}},
			},
			"seed": jsonschema.OrVariable(map[string]any{"type": "integer", "minimum": 0,
				"maximum": uint64(math.MaxUint64), "default": 0, "description": "of all random operations"}),
			"steps": map[string]any{"type": "array", "minItems": 1, "description": "the operations, in order",
				"items": map[string]any{"$ref": "#/$defs/step"}},
			"loader": loader,
		},
		"$defs": defs,
	})
	return b.Bytes()
}

// stepSchema says that a step is the name of an operation, or an object with just one
// operation.
func stepSchema() map[string]any {
	var alone []string
	var one []any
	name := map[string]any{"type": "string", "pattern": nameForm.String()}
	keys := map[string]any{
		"name": jsonschema.Described(name, "of the step, by default its operation's: statistics, messages and random draws refer to it"),
	}
	keys["failures"] = jsonschema.Described(jsonschema.Object(new(Failures)),
		"what happens to samples that fail in this step; by default as in the loader")

	for _, op := range Ops() {
		args := map[string]any{"$ref": "#/$defs/args." + op.Name}
		if !slices.ContainsFunc(op.Arguments(), func(a Argument) bool { return a.Required }) {
			alone = append(alone, op.Name)
			args = map[string]any{"anyOf": []any{args, map[string]any{"type": "null"}}}
		}
		keys[op.Name] = jsonschema.Described(args, op.Doc)
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
	for k, v := range jsonschema.Object(argument.Struct(o.New())) {
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
