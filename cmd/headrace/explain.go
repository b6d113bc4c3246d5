package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/extern"
)

func explainCommand() *cobra.Command {
	batches := 50
	c := &cobra.Command{
		Use:   "explain PROGRAM [ARGUMENT…]",
		Short: "Measure what a faster loader would bring to a program",
		Long: `Run a Python program with any loader (PyTorch's DataLoader, StatefulDataLoader, Grain, tf.data, or ` +
			`Headrace), and measure what a faster one
would bring. It keeps the first batches, times --batches as they come, then as many of the kept ones, at no cost. Then it ends the program,
and you see how fast it was, how long it waited for its loader, and how fast it would be with a loader that costs nothing.

The program really trains meanwhile: have it write checkpoints elsewhere. Its Python needs the package headrace: $HEADRACE_PYTHON, or
python3. Arguments after the program are its own.`,
		Example: `  headrace explain train.py --lr 0.1
  headrace explain --batches 200 train.py`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			python, err := exec.LookPath(extern.Default().Executable)
			if err != nil {
				return fmt.Errorf("explain runs a Python program, but found no Python: %w; set HEADRACE_PYTHON", err)
			}
			command := append([]string{python, "-m", "headrace._loader.explain", "--batches", strconv.Itoa(batches)}, args...)
			return fmt.Errorf("%s: %w", python, unix.Exec(python, command, os.Environ()))
		},
	}
	c.Flags().IntVar(&batches, "batches", batches, "batches to time each way, at least 5")
	c.Flags().SetInterspersed(false)
	return c
}
