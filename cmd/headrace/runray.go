package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace/extern"
)

// rayOptions are the flags of a run in parts on a Ray cluster.
type rayOptions struct {
	parts   int
	command *cobra.Command
}

func (o *rayOptions) addFlags(c *cobra.Command) {
	o.command = c
	c.Flags().IntVar(&o.parts, "ray", 0, "make the samples in so many `parts`, each by a task of the Ray cluster at $RAY_ADDRESS")
}

func (o *rayOptions) asked() bool { return o.command.Flags().Changed("ray") }

// notOfTasks are flags that are about this process alone.
var notOfTasks = []string{"check-parts", "json", "metrics", "part", "quiet", "stats", "trace"}

// arguments returns those of python -m headrace.ray.
func (o *rayOptions) arguments(path string) ([]string, error) {
	if o.parts < 1 {
		return nil, fmt.Errorf("--ray is %d: must be at least 1", o.parts)
	}
	own := []string{"-m", "headrace.ray", "run", path, "--parts", strconv.Itoa(o.parts)}
	var tasks []string
	var err error
	o.command.Flags().Visit(func(f *pflag.Flag) {
		list, several := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "ray":
		case slices.Contains(notOfTasks, f.Name):
			err = fmt.Errorf("--%s has no meaning with --ray: each part is a run of its own on some machine", f.Name)
		case f.Name == "out":
			own = append(own, "--out", f.Value.String())
		case f.Name == "workers": // of a task, which Ray gives as many cores
			own, tasks = append(own, "--cpus", f.Value.String()), append(tasks, "--workers="+f.Value.String())
		case several && f.Name == "set":
			for _, one := range list.GetSlice() {
				own = append(own, "--set", one)
			}
		case several:
			for _, one := range list.GetSlice() {
				tasks = append(tasks, "--"+f.Name+"="+one)
			}
		default:
			tasks = append(tasks, "--"+f.Name+"="+f.Value.String())
		}
	})
	if err == nil && !o.command.Flags().Changed("out") {
		err = errors.New("--ray needs --out: parts that are written are all that is left of a run on other machines")
	}
	if len(tasks) > 0 {
		own = append(append(own, "--"), tasks...)
	}
	return own, err
}

// become has this process be python -m headrace.ray. It returns only if that cannot be.
func (o *rayOptions) become(ctx context.Context, path string) error {
	arguments, err := o.arguments(path)
	if err != nil {
		return wrongUse(err)
	}
	python := extern.Default().Executable
	found, err := exec.LookPath(python)
	if err != nil {
		return fmt.Errorf("--ray needs a Python with headrace[ray]: %w; name one with HEADRACE_PYTHON", err)
	}
	if out, err := exec.CommandContext(ctx, found, "-c", "import headrace.ray").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("--ray: %s cannot import headrace.ray: %s\ninstall it there with pip install 'headrace[ray]', or name "+
			"another Python with HEADRACE_PYTHON", found, lines[len(lines)-1])
	}
	return fmt.Errorf("--ray: %w", syscall.Exec(found, append([]string{python}, arguments...), os.Environ()))
}
