package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/headrace/headrace/internal/version"
)

// docsCommand writes what --help says in the forms that packages and the guide need. It
// is hidden: who installs Headrace has both.
func docsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:    "docs",
		Short:  "Write the reference of all commands as files",
		Hidden: true,
		Args:   cobra.NoArgs,
	}

	c.AddCommand(
		&cobra.Command{
			Use:   "man DIR",
			Short: "Write a man page for each command",
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
			Use:   "markdown DIR",
			Short: "Write a Markdown page for each command",
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
