package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"headrace"
	"headrace/internal/version"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and what decodes each format",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "headrace %s (%s/%s, %s)\ndecoders: %s\n",
				version.Version, runtime.GOOS, runtime.GOARCH, runtime.Version(), headrace.Decoder())
			return err
		},
	}
}
