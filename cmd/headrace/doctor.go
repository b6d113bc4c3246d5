package main

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"headrace/internal/doctor"
	"headrace/internal/words"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine has, whether it works, and what each missing thing would bring",
		Long: `Examine the machine: the CPU and the instructions used, cores and memory that a container or a batch system
leaves, limits, shared memory, and what decodes and writes each format. Pictures are really decoded and memory is really shared, by the code that does it
for loaders.

Each line is a fact: ✓ all is well, ! there could be more, ✗ it is not there or does not work. Below the last two is what it would bring
and how to have it. Exit code 1 says that something is missing without which nothing runs.`,
		Example: `  headrace doctor
  docker run --rm --cpus 2 IMAGE headrace doctor               # what a container leaves
  headrace doctor --json | jq '.findings[] | select(.status != "ok") | .advice'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			m := doctor.Here()
			m.AVIF, m.FFmpeg, m.Decode = openAVIF, openFFmpeg, decodeRecording
			report := doctor.Examine(m)
			if err := printReport(c.OutOrStdout(), report, asJSON); err != nil {
				return err
			}
			if !report.Usable {
				return &codeError{exitFailed, nil} // the report has said it
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}

// These open libavif and FFmpeg, in programs that can.
var (
	openAVIF        func() (version, codecs string, err error)
	openFFmpeg      func() (doctor.FFmpeg, error)
	decodeRecording func(data []byte) error
)

func printReport(w io.Writer, r doctor.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}

	p := reportPrinter{w: w, colours: colours(w)}
	p.line("headrace %s (commit %s, %s)", r.Build.Version, r.Build.Commit, r.Build.Platform)
	wide := 0
	for _, f := range r.Findings {
		wide = max(wide, utf8.RuneCountInString(f.Name))
	}

	topic, low := "", 0
	for _, f := range r.Findings {
		if f.Topic != topic {
			topic = f.Topic
			p.line("\n%s", p.in("1", topic))
		}
		if f.Status != doctor.OK {
			low++
		}
		p.line("  %s %-*s  %s", p.mark(f.Status), wide, f.Name, f.Fact)
		if f.Advice != "" {
			p.line("    %*s  %s", wide, "", p.in("2", "→ "+f.Advice))
		}
	}

	switch {
	case !r.Usable:
		p.line("\n%s", p.in("31;1", "Not usable here: see ✗ above."))
	case low > 0:
		p.line("\nUsable. %s could be better.", words.Plural(int64(low), "thing"))
	default:
		p.line("\nAll is well.")
	}
	return p.err
}

// reportPrinter writes lines until that fails.
type reportPrinter struct {
	w       io.Writer
	colours bool
	err     error
}

func (p *reportPrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *reportPrinter) in(code, text string) string { return painted(p.colours, code, text) }

func (p *reportPrinter) mark(s doctor.Status) string {
	switch s {
	case doctor.OK:
		return p.in("32", "✓")
	case doctor.Low:
		return p.in("33", "!")
	default:
		return p.in("31", "✗")
	}
}
