package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"headrace/extern"
)

func explainCommand() *cobra.Command {
	batches := 50
	c := &cobra.Command{
		Use:   "explain PROGRAM [ARGUMENT…]",
		Short: "Run a training program, and say what a faster loader would bring",
		Long: `Runs a program of Python as it is, whatever loader it has: PyTorch's DataLoader, StatefulDataLoader, Grain, tf.data, or Headrace. The
first batches are kept as copies; then as many as --batches says are timed as they come; then as many again, for which the program gets the kept
ones, at no cost. The program is ended, and told is how fast it was, how much of the time it waited for its loader, and how fast it would be with a
loader that costs nothing.

The program trains on while it is measured: have it write its checkpoints elsewhere. It needs the package headrace to be installed beside
it: Python is $HEADRACE_PYTHON, or python3. What follows the program are its own arguments.`,
		Example: `  headrace explain train.py --lr 0.1
  headrace explain --batches 200 train.py`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			python, err := exec.LookPath(extern.Default().Executable)
			if err != nil {
				return fmt.Errorf("explain runs a program of Python, and finds none: %w; set HEADRACE_PYTHON", err)
			}
			command := append([]string{python, "-m", "headrace._loader.explain", "--batches", strconv.Itoa(batches)}, args...)
			return fmt.Errorf("%s: %w", python, unix.Exec(python, command, os.Environ()))
		},
	}
	c.Flags().IntVar(&batches, "batches", batches, "how many batches are timed each way, at least 5")
	c.Flags().SetInterspersed(false)
	return c
}
