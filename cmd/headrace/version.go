package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headrace/internal/version"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, and what is linked in",
		Long: `Print the version, the commit it was built from, the instructions that work on pixels on this machine, and what decodes and
writes each format. Pixels depend on the decoders, so reports of bugs should have this.`,
		Example: `  headrace version
  headrace version --json | jq -r .features.decoders.jpeg`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(c.OutOrStdout(), version.Here())
			}
			return printBuild(c.OutOrStdout(), version.Here())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}

func printBuild(w io.Writer, b version.Build) error {
	kind, kernels := "", b.Features.Kernels
	if !b.Features.Cgo {
		kind += ", without C"
	}
	if b.Features.Debug {
		kind += ", debug build"
	}
	if kernels == "" {
		kernels = "plain Go"
	}
	_, err := fmt.Fprintf(w, "headrace %s (commit %s, %s, %s%s)\npixels:   %s\ndecoders: %s\nencoders: %s\n",
		b.Version, b.Commit, b.Platform, b.Go, kind, kernels, pairs(b.Features.Decoders), pairs(b.Features.Encoders))
	return err
}

func pairs(of map[string]string) string {
	var s []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		s = append(s, k+"="+of[k])
	}
	return strings.Join(s, " ")
}
