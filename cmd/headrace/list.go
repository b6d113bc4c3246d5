package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// listCommand is for the Python package, which labels files by a function of their names.
func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "list PATTERN",
		Short:  "Print the files of a pattern as JSON",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			here, err := os.Getwd()
			if err != nil {
				return err
			}
			names, err := headrace.List(c.Context(), here, args[0])
			if err != nil {
				return err
			}
			all := make([]recipe.Path, len(names))
			for i, name := range names {
				all[i] = recipe.Path(name)
			}
			return printJSON(c.OutOrStdout(), all)
		},
	}
}
