package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/headrace/headrace/docs"
	"github.com/headrace/headrace/internal/version"
)

// docsCommand prints the guide for programs, and writes what --help says in the forms
// that packages and the guide need. Those are hidden: who installs Headrace has both.
func docsCommand() *cobra.Command {
	var llms, skill bool
	c := &cobra.Command{
		Use:   "docs",
		Short: "Print the guide as one text, for programs that write programs",
		Long:  "Print the guide as one text, or the skill file that tells a coding agent how to write, check and measure pipelines.",
		Example: `  headrace docs --llms > llms.txt
  headrace docs --skill > SKILL.md`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text := docs.Guide()
			switch {
			case skill:
				text = docs.Skill()
			case !llms:
				return wrongUse(errors.New("give --llms for the guide, or --skill for the skill file"))
			}
			_, err := io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
	c.Flags().BoolVar(&llms, "llms", false, "print all pages of the guide (llms.txt)")
	c.Flags().BoolVar(&skill, "skill", false, "print the skill file (SKILL.md)")
	c.MarkFlagsMutuallyExclusive("llms", "skill")

	c.AddCommand(
		&cobra.Command{
			Use:    "man DIR",
			Hidden: true,
			Short:  "Write a man page for each command",
			Long: `Write a man page for each command into the folder DIR, which is created if needed. SOURCE_DATE_EPOCH sets their date, for
reproducible builds.`,
			Example: "  headrace docs man build/man && man build/man/headrace.1",
			Args:    cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				header := &doc.GenManHeader{Section: "1", Source: "headrace " + version.Version, Manual: "Headrace"}
				return writeDocs(c, args[0], func(root *cobra.Command, dir string) error { return doc.GenManTree(root, header, dir) })
			},
		},
		&cobra.Command{
			Use:    "markdown DIR",
			Hidden: true,
			Short:  "Write a Markdown page for each command",
			Long: "Write a Markdown page for each command into the folder DIR, " +
				"which is created if needed. The guide is built from them.",
			Example: "  headrace docs markdown build/commands",
			Args:    cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				return writeDocs(c, args[0], doc.GenMarkdownTree)
			},
		},
	)

	return c
}

// writeDocs writes the pages of all commands that people see.
func writeDocs(c *cobra.Command, dir string, write func(root *cobra.Command, dir string) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := c.Root()
	root.DisableAutoGenTag = true // it has the day in it
	root.InitDefaultCompletionCmd()
	describe(root)
	return write(root, dir)
}

// describe has the texts of all commands read as Markdown, which the pages are made of.
func describe(c *cobra.Command) {
	if c.Name() != "completion" && (!c.HasParent() || c.Parent().Name() != "completion") { // Cobra's own texts are Markdown already
		c.Long = asMarkdown(folded(c.Long, widestPage))
	}
	for _, sub := range c.Commands() {
		describe(sub)
	}
}

var special = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`)

// asMarkdown is the text of a terminal as Markdown: what is indented stays as it is,
// and nothing else is more than it says.
func asMarkdown(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch indented := strings.HasPrefix(line, "  "); {
		case indented && !inside:
			b.WriteString("\n    " + line)
			inside = true
		case indented:
			b.WriteString("    " + line)
		case strings.TrimSpace(line) == "":
			b.WriteString(line)
		default:
			if inside {
				b.WriteString("\n")
				inside = false
			}
			b.WriteString(special.Replace(line))
		}
	}
	return b.String()
}
