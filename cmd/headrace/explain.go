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
		Long: `Run a Python program as it is, whatever loader it has: PyTorch's DataLoader, StatefulDataLoader, Grain, tf.data, or Headrace. The first
batches are kept; then --batches are timed as they come; then as many again are served from the kept ones, at no cost. Then the program is
ended, and you see how fast it was, how long it waited for its loader, and how fast it would be with a loader that costs nothing.

The program trains on while it is measured: have it write its checkpoints elsewhere. The package headrace must be installed beside it:
Python is $HEADRACE_PYTHON, or python3. Arguments after the program are its own.`,
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
	c.Flags().IntVar(&batches, "batches", batches, "batches to time each way, at least 5")
	c.Flags().SetInterspersed(false)
	return c
}
