// Command headrace is the engine and its tools.
//
// Read serve.go for how a Python program starts it, and package headrace for what it runs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:   "headrace",
		Short: "Load data for training and inference: read, decode, transform and batch it with every core",
		Long: `Headrace reads samples from where they lie, decodes and transforms them with every core, and hands finished batches to a
training or inference program through shared memory.

Most people meet it as the Python package headrace, which starts this program by itself.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(serveCommand(), versionCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "headrace:", err)
		os.Exit(1)
	}
}
