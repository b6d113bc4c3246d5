// Command headrace is the engine and its tools.
//
// Read serve.go for how a Python program starts it, run.go for how a recipe is run
// here, and package headrace for what both run. exit.go says how a command ends,
// recipefile.go what the commands that take a recipe have in common.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/node"
	"github.com/headrace/headrace/internal/version"
)

func main() {
	runtime.GOMAXPROCS(processors())
	node.Meet()
	os.Exit(execute(rootCommand(), os.Args[1:], os.Stderr))
}

// processors is how many Go is to have: twice as many as there are cores, unless the
// environment says something. Anyone who calls C keeps one meanwhile, and decoders are in
// C nearly all the time. Once none is left, Go's monitor takes them away again from
// those in C, and looks every 20 µs whether it must, on a core that decodes.
func processors() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" {
		return n
	}
	return 2 * n
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "headrace",
		Short: "Load data for training and inference with every core",
		Long: `Headrace reads samples, decodes and transforms them on every core, and hands batches to a training or ` +
			`inference program through shared
memory.

You normally use the Python package headrace, which starts this program itself. These commands run, measure and explain recipes in files.

Exit codes: 0 done; 1 failed; 2 wrong use, or a mistake in the recipe; 3 done, with lost samples that the recipe allows; 130 interrupted.`,
		Example: `  headrace doctor                                    # what this machine has
  headrace init data/train > first.yaml              # a first recipe
  headrace inspect recipe.yaml                       # steps, stages, fields
  headrace preview recipe.yaml -o sheet.png          # what comes out
  headrace bench recipe.yaml --workers 1,2           # what limits it
  headrace run recipe.yaml --set root=/data/train    # is every file good?
  headrace top                                       # watch loaders that run`,
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	foldHelp(root)
	root.SetVersionTemplate("headrace {{.Version}}\n")
	root.SetFlagErrorFunc(flagMeant)
	root.AddCommand(
		benchCommand(),
		benchWorkerCommand(),
		checkCommand(),
		convertCommand(), listCommand(),
		docsCommand(),
		doctorCommand(),
		previewCommand(),
		replayCommand(),
		profileCommand(),
		explainCommand(),
		indexCommand(),
		initCommand(),
		inspectCommand(),
		opsCommand(),
		runCommand(),
		schemaCommand(),
		serveCommand(),
		topCommand(),
		versionCommand(),
	)
	return root
}

// execute runs a command line, writes what went wrong, and returns the exit code.
func execute(root *cobra.Command, args []string, stderr *os.File) int {
	root.SetArgs(args)
	watch(root)
	c, err := root.ExecuteContextC(context.Background())
	report(stderr, err)
	if ran := (*commandError)(nil); err != nil && !errors.As(err, &ran) {
		fmt.Fprintf(stderr, "%s --help tells more\n", c.CommandPath())
	}
	return exitCode(err)
}
