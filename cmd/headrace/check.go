package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check RECIPE…",
		Short: "Check recipes for mistakes, without reading data",
		Long: `Check recipes without reading data or importing functions: steps, arguments, the fields between steps, ` +
			`variables, and loader options. Every
other command does this first. Each valid recipe gets a line, each mistake one with its place in the file. The exit code is 2 if there is a
mistake.`,
		Example: `  headrace check train.yaml
  headrace check --set root=/data recipes/*.yaml
  git ls-files '*.yaml' | xargs headrace check   # before a commit`,
		Args: cobra.MinimumNArgs(1),
	}
	o := recipeFlags(c)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		var mistakes []error
		for _, name := range args {
			f, _, err := o.read(name)
			if err != nil {
				mistakes = append(mistakes, err)
				continue
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %d steps, no mistakes\n", name, len(f.Recipe.Steps))
		}
		return wrongUse(errors.Join(mistakes...))
	}
	return c
}
