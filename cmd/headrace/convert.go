package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/recipe"
)

func convertCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "convert RECIPE",
		Short: "Print a recipe with all defaults, in YAML or JSON",
		Long: `Print a recipe with variables replaced and all defaults written out, so that it keeps its meaning when ` +
			`a default changes. By default YAML
becomes JSON and JSON becomes YAML. - is standard input.`,
		Example: `  headrace convert recipe.yaml
  headrace convert --to yaml --set root=/data recipe.yaml > fixed.yaml
  headrace convert - < recipe.json`,
		Args: oneRecipe,
	}

	o := recipeFlags(c, "workers", "epochs", "prefetch", "memory", "on-error", "max-errors", "order", "fuse")
	c.Flags().StringVar(&to, "to", "", "`notation` to print: yaml or json (default: the other one)")
	c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions([]string{"yaml", "json"}, cobra.ShellCompDirectiveNoFileComp))

	c.RunE = func(c *cobra.Command, args []string) error {
		if to != "" && to != "yaml" && to != "json" {
			return wrongUse(fmt.Errorf("--to is %q: must be yaml or json", to))
		}

		f, _, err := o.read(args[0])
		if err != nil {
			return err
		}

		if to == "" {
			to = map[bool]string{true: "json", false: "yaml"}[f.IsYAML()]
		}
		text := f.JSON()
		if to == "yaml" {
			text = f.YAML()
		}
		if to == "yaml" && len(text) > recipe.MaxYAML {
			return wrongUse(fmt.Errorf("the recipe would be %d bytes of YAML, more than the %d that are read again: "+
				"use --to json", len(text), recipe.MaxYAML))
		}

		_, err = c.OutOrStdout().Write(text)
		return err
	}

	return c
}
