package main

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/doctor"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/shard"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [NAME]",
		Short: "Show what this machine has, or whether a store can be read",
		Long: `Examine this machine: CPU, instructions, the cores and memory that a container or batch system allows, ` +
			`limits, shared memory, and what
decodes and writes each format. It really decodes images and shares memory, with the loaders' own code.

With the name of an object or a folder of a store, such as s3://bucket/train, a pattern or braces, examine that instead: where it is,
whose credentials are used, and whether it can be listed and read.

Each line is a fact: ✓ all is well, ! could be better, ✗ missing or not working; after ! and ✗ comes what to do. The exit code is 1 if
Headrace cannot run at all, or the name cannot be read.`,
		Example: `  headrace doctor
  docker run --rm --cpus 2 IMAGE headrace doctor   # what a container leaves
  headrace doctor s3://bucket/train                # can it be read?
  headrace doctor --json | jq '.findings[] | select(.status != "ok")'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var report doctor.Report
			if len(args) > 0 {
				names, err := shard.Expand(args[0])
				if err != nil {
					return err
				}
				report = doctor.Store(c.Context(), names...)
			} else {
				m := doctor.Here()
				m.AVIF, m.TIFF, m.FFmpeg, m.FLAC, m.Decode = openAVIF, openTIFF, openFFmpeg, libFLAC, decodeRecording
				report = doctor.Examine(m)
			}
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

// These open libavif, libtiff and FFmpeg, in programs that can.
var (
	openAVIF        func() (version, codecs string, err error)
	openTIFF        func() (version string, err error)
	openFFmpeg      func() (doctor.FFmpeg, error)
	decodeRecording func(data []byte) error

	libFLAC string // its name and version, if it is linked in
)

func printReport(w io.Writer, r doctor.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}

	p := newPage(w)
	p.line("", plainInk, fmt.Sprintf("headrace %s (commit %s, %s)", r.Build.Version, r.Build.Commit, r.Build.Platform))
	wide := 0
	for _, f := range r.Findings {
		wide = max(wide, utf8.RuneCountInString(f.Name))
	}

	topic, low := "", 0
	for _, f := range r.Findings {
		if f.Topic != topic {
			topic = f.Topic
			p.blank()
			p.line("", p.bold, topic)
		}
		if f.Status != doctor.OK {
			low++
		}
		mark, ink := marked(p, f.Status)
		p.marked("  ", mark, ink, fmt.Sprintf(" %-*s  ", wide, f.Name), f.Fact)
		if f.Advice != "" {
			p.line(fmt.Sprintf("    %*s  ", wide, ""), p.dim, "→ "+f.Advice)
		}
	}

	p.blank()
	switch {
	case !r.Usable:
		p.line("", p.red, "Not usable here: see ✗ above.")
	case low > 0:
		p.line("", plainInk, fmt.Sprintf("Usable. %s could be better.", words.Plural(int64(low), "thing")))
	default:
		p.line("", plainInk, "All is well.")
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

func marked(p *page, s doctor.Status) (string, ink) {
	switch s {
	case doctor.OK:
		return "✓", p.green
	case doctor.Low:
		return "!", p.yellow
	default:
		return "✗", p.red
	}
}
