package main

import (
	"github.com/spf13/cobra"

	"github.com/headrace/headrace/serve"
)

func serveCommand() *cobra.Command {
	var o serve.Options
	c := &cobra.Command{
		Use:   "serve --fd N",
		Short: "Be the engine of the program that started this one",
		Long: `Serve the program that started this one, over a socket that it left open; it ends with that program. ` +
			`Client libraries call this, people do
not: docs/protocol.md describes the messages.`,
		Args:        cobra.NoArgs,
		Hidden:      true,
		Annotations: map[string]string{deaf: "the client is the one who says when to end, and it gets the same signals"},
		RunE: func(c *cobra.Command, _ []string) error {
			return serve.Serve(c.Context(), o)
		},
	}
	c.Flags().IntVar(&o.Control, "fd", -1, "descriptor of the control connection, one end of a Unix socket pair")
	c.Flags().IntVar(&o.Page, "page", -1, "descriptor of the crash page, a memfd (default: none)")
	c.Flags().IntVar(&o.Parent, "parent", 0, "the process that starts this one; if it has ended already, so does this (default: not asked)")
	c.MarkFlagRequired("fd")
	return c
}
