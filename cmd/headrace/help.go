package main

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foldHelp has --help of all commands fit the terminal. The texts are written as
// paragraphs of any width.
func foldHelp(root *cobra.Command) {
	cobra.AddTemplateFuncs(map[string]any{
		"fold":  func(text string) string { return folded(text, widthFor(os.Stdout)) },
		"flags": func(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(widthFor(os.Stdout)) },
	})
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), "{{. | trim", "{{fold . | trim", 1))
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "flags .LocalFlags",
		".InheritedFlags.FlagUsages", "flags .InheritedFlags",
	).Replace(root.UsageTemplate()))
}

// folded breaks the lines of a text. Lines that follow one another are a paragraph. One
// that is indented stands alone; what is after two spaces in it is a column, which goes
// on in lines that are indented further.
func folded(text string, width int) string {
	var all []string
	var paragraph []string
	flush := func() {
		if paragraph != nil {
			all = append(all, wrapped(strings.Join(paragraph, " "), width)...)
			paragraph = nil
		}
	}

	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "  "):
			flush()
			for ; i+1 < len(lines) && indent(lines[i+1]) > indent(line)+2; i++ {
				line += " " + strings.TrimSpace(lines[i+1])
			}
			before, column := line[:indent(line)], line[indent(line):]
			if name, rest, ok := strings.Cut(column, "  "); ok {
				column = strings.TrimLeft(rest, " ")
				before += name + strings.Repeat(" ", len("  ")+len(rest)-len(column))
			}
			for _, part := range wrapped(column, width-utf8.RuneCountInString(before)) {
				all = append(all, before+part)
				before = continued(before)
			}
		case line == "":
			flush()
			all = append(all, "")
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(all, "\n")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
