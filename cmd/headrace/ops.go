package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
)

func opsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ops [OPERATION]",
		Short: "List the operations of recipes, or explain one",
		Long: `List all operations for the steps of a recipe, or explain one: what it does, and its arguments with ` +
			`types and defaults. Python's methods
have the same names and arguments.`,
		Example: `  headrace ops
  headrace ops random_resized_crop`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p := newPage(c.OutOrStdout())
			all := recipe.Ops()
			if len(args) == 0 {
				listOps(p, all)
				_, err := io.WriteString(c.OutOrStdout(), p.text.String())
				return err
			}
			var names []string
			for _, op := range all {
				if names = append(names, op.Name); op.Name == args[0] {
					explainOp(p, op)
					_, err := io.WriteString(c.OutOrStdout(), p.text.String())
					return err
				}
			}
			hint := "headrace ops lists all"
			if near := words.Nearest(args[0], names); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return wrongUse(fmt.Errorf("there is no operation %q: %s", args[0], hint))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, op := range recipe.Ops() {
				names = append(names, op.Name+"\t"+op.Doc)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	return c
}

// places are the groups in which operations are listed.
var places = []struct {
	place recipe.Place
	title string
}{
	{recipe.Source, "sources, with which a recipe begins"},
	{recipe.Ordering, "the order of samples"},
	{recipe.Between, "steps"},
	{recipe.Batching, "batches"},
}

func listOps(p *page, all []recipe.Op) {
	widest := 0
	for _, op := range all {
		widest = max(widest, len(op.Name))
	}
	for i, of := range places {
		if i > 0 {
			p.blank()
		}
		p.line("", p.bold, of.title)
		for _, op := range all {
			if op.Place == of.place {
				p.line("  "+op.Name+strings.Repeat(" ", widest+2-len(op.Name)), plainInk, op.Doc)
			}
		}
	}
	p.blank()
	p.line("", plainInk, "headrace ops OPERATION explains one; recipes with examples of all are in the guide.")
}

func explainOp(p *page, op recipe.Op) {
	p.line("", p.bold, op.Name)
	p.line("  ", plainInk, op.Doc)
	for _, paragraph := range op.Paragraphs() {
		p.blank()
		for i, item := range strings.Split(paragraph, "\n- ") {
			if i > 0 {
				item = "- " + item
			}
			p.line("  ", plainInk, strings.ReplaceAll(item, "\n", " "))
		}
	}
	for _, a := range op.Arguments() {
		p.blank()
		takes := a.Takes
		if a.Choices != nil {
			takes = words.Either(a.Choices)
		}
		switch {
		case a.Required:
			takes += "; must be given"
		case a.Default != nil:
			takes += "; default " + string(a.Default)
		}
		p.line("  ", p.bold, a.Name, ": "+takes)
		p.line("      ", plainInk, a.Doc)
	}
	if len(op.Example) > 0 {
		p.blank()
		p.line("  ", p.bold, "in Python")
	}
	for _, code := range op.Example {
		for line := range strings.SplitSeq(code, "\n") {
			p.text.WriteString(strings.TrimRight("      "+line, " ") + "\n") // code is not wrapped
		}
	}
}
