package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

func inspectCommand() *cobra.Command {
	var samples int
	var asJSON, asMermaid bool
	var format, ofRecipe string
	c := &cobra.Command{
		Use:   "inspect RECIPE|STATE|SHARDS…|MEDIA…",
		Short: "Draw a recipe, list shards, describe a state, film or recording",
		Long: `Draw what the engine makes of a recipe. Only the first samples are run:

  the graph      a bracket per stage, with the steps fused into it and its
                 workers, and the fields on each edge
  the sizes      samples and classes of the source, batches in an epoch, bytes
                 of a sample and of a batch, memory
  first samples  of the first epoch: what their files hold, and the resulting
                 numbers

Python functions are imported and called only with --samples. A function without gives hides the fields after it.

A sample that fails is shown with its error. If the files are missing, you still get the graph, and exit code 1. A mistake in the recipe is
reported with line and column, and exit code 2.

For shards, such as train.tar, 'train-{000..129}.tar' or a folder of them, it lists the format, the number of samples, their fields with
types and sizes, and the step that reads them. With --format, all arguments are shards.

For a loader's state, or a list of several ranks', in a .json file, it says where the run was, and what a restore reads again before its
first batch. With --recipe it also says whether the state fits the recipe.

For videos and recordings, such as film.mkv or talk.ogg, it says what they are, and whether one is a live ` +
			`recording, whose file has no end.`,
		Example: `  headrace inspect train.yaml
  headrace inspect train.yaml --set root=data/val --samples 20
  headrace inspect train.yaml --json | jq '.engine.batches_per_epoch'
  headrace inspect train.yaml --mermaid > graph.mmd
  headrace inspect 'train-{000..129}.tar'
  headrace inspect step-1200.json --recipe r.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && (format != "" || isShards(c.Context(), args[0]) || isMedia(args[0])) {
				return nil
			}
			return oneRecipe(c, args)
		},
	}
	options := recipeFlags(c)
	c.Flags().StringVar(&format, "format", "", "the arguments are shards of this format, such as tar")
	c.Flags().StringVar(&ofRecipe, "recipe", "", "the argument is a state: `file` of the recipe that it is checked against")
	c.Flags().IntVar(&samples, "samples", 5, "how many of the first samples to show; if given, "+
		"Python functions of the recipe are imported and called")
	c.Flags().BoolVar(&asJSON, "json", false, "print all of it as JSON")
	c.Flags().BoolVar(&asMermaid, "mermaid", false, "print the graph as Mermaid, which GitHub draws")
	c.MarkFlagsMutuallyExclusive("json", "mermaid")
	c.RunE = func(c *cobra.Command, args []string) error {
		if samples < 0 {
			return wrongUse(fmt.Errorf("--samples is %d: must be at least 0", samples))
		}
		if ofRecipe != "" || format == "" && isState(args[0]) {
			f, config, err := recipe.File{}, headrace.Config{}, error(nil)
			if ofRecipe == "" {
				return inspectState(c.Context(), args[0], nil, config, asJSON, c.OutOrStdout())
			}
			if f, config, err = options.read(ofRecipe); err != nil {
				return err
			}
			return inspectState(c.Context(), args[0], &f, config, asJSON, c.OutOrStdout())
		}
		if format == "" && isMedia(args[0]) {
			return inspectMedia(c.Context(), args, asJSON, c.OutOrStdout())
		}
		if format != "" || isShards(c.Context(), args[0]) {
			return inspectShards(c.Context(), args, format, asJSON, c.OutOrStdout(), c.ErrOrStderr())
		}
		f, config, err := options.read(args[0])
		if err != nil {
			return err
		}
		if asMermaid || len(f.Recipe.Functions()) > 0 && !c.Flags().Changed("samples") {
			samples = 0
		}
		i, err := inspect(c.Context(), f, config, samples)
		if len(i.Steps) == 0 {
			return err
		}
		return errors.Join(printInspection(c.OutOrStdout(), &i, asJSON, asMermaid), err)
	}
	return c
}

func printInspection(w io.Writer, i *inspection, asJSON, asMermaid bool) error {
	switch {
	case asJSON:
		return printJSON(w, i)
	case asMermaid:
		_, err := io.WriteString(w, i.mermaid())
		return err
	}
	p := newPage(w)
	i.draw(p)
	_, err := io.WriteString(w, p.text.String())
	return err
}
