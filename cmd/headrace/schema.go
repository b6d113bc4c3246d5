package main

import (
	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of recipes, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of recipes. With it, editors complete and explain operations and ` +
			`arguments, and mark mistakes while
you type. In YAML, refer to it in a comment at the top:

  # yaml-language-server: $schema=recipe.schema.json

In JSON, use the key "$schema".`,
		Example: `  headrace schema > recipe.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(recipe.Schema(headrace.ConfigSchema()))
			return err
		},
	}
}
