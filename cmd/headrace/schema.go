package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/doctor"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
)

// results are what commands print with --json, and what Python's stats() and as_dict() of
// errors return. Properties may be added to them; one that goes, or becomes something
// else, is a new version.
var results = map[string][]reflect.Type{
	"bench":   {reflect.TypeFor[benchDocument]()},
	"doctor":  {reflect.TypeFor[doctor.Report]()},
	"error":   {reflect.TypeFor[errorDocument]()},
	"inspect": {reflect.TypeFor[inspection]()},
	"profile": {reflect.TypeFor[profileDocument]()},
	"replay":  {reflect.TypeFor[replayed]()},
	"run": {reflect.TypeFor[startEvent](), reflect.TypeFor[lostEvent](), reflect.TypeFor[epochEvent](), reflect.TypeFor[warningEvent](),
		reflect.TypeFor[endEvent]()},
	"stats":   {reflect.TypeFor[statsDocument]()},
	"version": {reflect.TypeFor[description]()},
}

func schemaCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(results))
	return &cobra.Command{
		Use:   "schema [RESULT]",
		Short: "Print the JSON Schema of recipes, or of what a command prints",
		Long: `Print the JSON Schema (draft 2020-12) of recipes. With it, editors complete and explain operations and ` +
			`arguments, and mark mistakes while
you type. In YAML, refer to it in a comment at the top:

  # yaml-language-server: $schema=recipe.schema.json

In JSON, use the key "$schema".

With the name of a result, print its schema instead: that of what a command prints with --json, or of what
loader.stats() and error.as_dict() return in Python. Later versions may have more properties, so let pass
what you do not know. Results are ` + strings.Join(names, ", ") + `.`,
		Example: `  headrace schema > recipe.schema.json
  headrace schema stats`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := c.OutOrStdout().Write(recipe.Schema(headrace.ConfigSchema()))
				return err
			}
			if results[args[0]] == nil {
				return wrongUse(words.Unknown("result", args[0], names))
			}
			return printJSON(c.OutOrStdout(), resultSchema(args[0]))
		},
	}
}

func resultSchema(name string) jsonschema.Schema {
	var forms []any
	for _, t := range results[name] {
		forms = append(forms, jsonschema.Result(t))
	}
	s := jsonschema.Schema{"anyOf": forms}
	if len(forms) == 1 {
		s = forms[0].(jsonschema.Schema)
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "headrace " + name
	return s
}
