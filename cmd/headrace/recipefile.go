package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

// recipeOptions are the flags of commands that read a recipe. Where a flag is given, it
// takes the place of the same key in the recipe's section "loader".
type recipeOptions struct {
	set       []string
	workers   int
	epochs    int
	prefetch  int
	memory    int64
	onError   string
	maxErrors string
	order     string
	fuse      bool

	deadLetters string // of commands that have the flag; others write none

	flags   []*pflag.Flag
	command *cobra.Command
}

// recipeFlags adds the flags to a command, but those that it has itself, and completes
// its arguments.
func recipeFlags(c *cobra.Command, except ...string) *recipeOptions {
	o := &recipeOptions{command: c}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)

	f.StringArrayVarP(&o.set, "set", "s", nil, "set a variable of the recipe, as `name=value`; may be repeated")
	f.IntVar(&o.workers, "workers", 0, "samples in hand at once (default: 1.5 for each usable core)")
	f.IntVar(&o.epochs, "epochs", 0, "number of epochs")
	f.IntVar(&o.prefetch, "prefetch", 0, "batches ready ahead, 0: on demand (default 2)")
	f.Var(size{&o.memory}, "memory", "byte budget, such as 512MiB (default: a quarter of the available memory, at most 2 GiB)")
	f.StringVar(&o.onError, "on-error", "", "`policy` for bad samples: raise ends the run, "+
		"skip drops the sample, replace draws another (default raise)")
	f.StringVar(&o.maxErrors, "max-errors", "", "most bad samples of an epoch that --on-error skip and replace accept: "+
		"a `number`, or a rate such as 0.01 (default: 1 %, at least 10)")
	f.StringVar(&o.order, "order", "", "`order` of samples: input gives the same batches in every run, "+
		"completion lets fast samples overtake slow ones (default input)")
	f.BoolVar(&o.fuse, "fuse", true, "run all operations on an image in one pass; --fuse=false gives each its own statistics")

	f.VisitAll(func(one *pflag.Flag) {
		if !slices.Contains(except, one.Name) {
			c.Flags().AddFlag(one)
			o.flags = append(o.flags, one)
		}
	})

	complete := func(name string, values ...string) {
		if !slices.Contains(except, name) {
			c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	complete("on-error", string(headrace.Raise), string(headrace.Skip), string(headrace.Replace))
	complete("order", string(headrace.InputOrder), string(headrace.CompletionOrder))
	c.RegisterFlagCompletionFunc("set", completeVariables)
	c.ValidArgsFunction = completeRecipe
	return o
}

// oneRecipe is the rule for the arguments of these commands.
func oneRecipe(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("give a recipe: the name of a file, or - for standard input")
	case 1:
		return nil
	default:
		return fmt.Errorf("give one recipe, not %q; set variables with --set name=value", args)
	}
}

// completeRecipe offers the files that may be recipes.
func completeRecipe(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeVariables offers the variables of the recipe that is in the command line
// already.
func completeVariables(_ *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 || args[0] == "-" || strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	f, _ := recipe.ReadFile(args[0], recipe.Variables{}) // variables are known also where something else is wrong
	for _, v := range f.Vars {
		names = append(names, v.Name+"=")
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// read returns the recipe in a file and how to run it. Both have been checked, as far
// as they can be before the data is looked at.
func (o *recipeOptions) read(path string) (recipe.File, headrace.Config, error) {
	given, err := o.variables()
	if err != nil {
		return recipe.File{}, headrace.Config{}, wrongUse(err)
	}
	f, err := readRecipe(o.command.Context(), path, recipe.Variables{Given: given, Environment: os.LookupEnv})
	if ctx := o.command.Context(); ctx.Err() != nil {
		return f, headrace.Config{}, ctx.Err()
	}
	if err != nil {
		return f, headrace.Config{}, wrongUse(err)
	}
	_, mistakes := f.Check()
	config, err := o.config(f)
	return f, config, wrongUse(errors.Join(mistakes, err))
}

// readRecipe reads a recipe, or gives up: standard input may be a terminal at which
// nobody types, and a read knows nothing of signals.
func readRecipe(ctx context.Context, path string, v recipe.Variables) (recipe.File, error) {
	type result struct {
		file recipe.File
		err  error
	}
	done := make(chan result, 1)
	go func() {
		f, err := recipeAt(ctx, path, v)
		done <- result{f, noRecipe(path, fileMeant(path, err))}
	}()
	select {
	case r := <-done:
		return r.file, r.err
	case <-ctx.Done():
		return recipe.File{}, ctx.Err()
	}
}

// recipeAt reads a recipe from a file, from standard input or from a store.
func recipeAt(ctx context.Context, path string, v recipe.Variables) (recipe.File, error) {
	if _, _, ok := store.Scheme(path); !ok {
		return recipe.ReadFile(path, v)
	}
	f, err := store.Open(ctx, path, 0)
	if err != nil {
		return recipe.File{}, fmt.Errorf("the recipe cannot be read: %w", err)
	}
	defer f.Close()
	return recipe.ReadFrom(path, io.NewSectionReader(f, 0, f.Size()), v)
}

func (o *recipeOptions) variables() (map[string]string, error) {
	given := make(map[string]string)
	for _, text := range o.set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--set is %q: must be name=value", text)
		}
		given[name] = value
	}
	return given, nil
}

// config reads the section "loader", and puts the flags in their places.
func (o *recipeOptions) config(f recipe.File) (config headrace.Config, err error) {
	if config, err = headrace.FileConfig(f); err != nil {
		return config, err
	}

	if flag := o.command.Flags().Lookup("dead-letters"); flag == nil || flag.Changed {
		config.DeadLetters, config.DeadLettersOwn = recipe.Path(o.deadLetters), false
	}

	put := map[string]func(){
		"workers":  func() { config.Workers = &o.workers },
		"epochs":   func() { config.Epochs = &o.epochs },
		"prefetch": func() { config.Prefetch = &o.prefetch },
		"memory":   func() { config.Memory = &o.memory },
		"on-error": func() {
			config.OnError = headrace.OnError(o.onError)
			if config.OnError == headrace.Raise && !o.command.Flags().Changed("max-errors") {
				config.MaxErrors = headrace.MaxErrors{} // what the recipe says of skip
			}
		},
		"order": func() { config.Order = headrace.Order(o.order) },
		"fuse":  func() { config.Fuse = &o.fuse },
		"max-errors": func() {
			err = json.Unmarshal([]byte(o.maxErrors), &config.MaxErrors)
		},
	}

	for _, flag := range o.flags {
		if put := put[flag.Name]; flag.Changed && put != nil {
			put()
		}
	}

	if err != nil {
		return config, fmt.Errorf("--max-errors is %q: must be a whole number of samples or a rate like 0.01", o.maxErrors)
	}
	return config, config.Check()
}

// someBatch refuses what would do nothing at all, and look as if all were well.
func someBatch(i headrace.Info) error {
	if i.BatchesPerEpoch != 0 {
		return nil
	}
	return fmt.Errorf("%w: an epoch of %s has no batch of %d: use a smaller batch, or drop_last=false",
		headrace.ErrConfig, words.Plural(i.Samples, "sample"), i.Rows)
}
