package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
)

func benchCommand() *cobra.Command {
	var (
		workers []int
		seconds float64
		rounds  int
		asJSON  bool
		feeds   feed
	)
	c := &cobra.Command{
		Use:   "bench RECIPE",
		Short: "Measure a recipe with several numbers of workers",
		Long: `Run a recipe with each number of workers, and print a table: samples per second and their spread, ` +
			`speed-up over the first column, CPU time,
memory, where each stage's workers spend their time, and which stage is the bottleneck.

Each number of workers has its own process. They take turns, because machines drift: with --rounds 5 and --seconds 10, each gets five
slices of two seconds; slowest–fastest are over its slices. A warm-up before each slice is not counted. Epochs repeat without end.

Ctrl-C prints what was measured so far, with exit code 130.`,
		Example: `  headrace bench train.yaml
  headrace bench train.yaml --seconds 30 --workers 1,2,4,8
  headrace bench train.yaml --feed 8x4200
  headrace bench train.yaml --json | jq '.columns[] | {workers, verdict}'`,
		Args: oneRecipe,
	}
	options := recipeFlags(c, "workers", "epochs")
	c.Flags().IntSliceVar(&workers, "workers", nil, "numbers of workers, a column each (default: up to all cores)")
	c.Flags().Float64Var(&seconds, "seconds", 10, "seconds to measure each number of workers")
	c.Flags().IntVar(&rounds, "rounds", 5, "slices of that time, in turns with the other columns")
	c.Flags().Var(&feeds, "feed", "samples per second, such as 4200 or 8x4200: say how many cores that takes")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON, with all slices")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkBench(workers, seconds, rounds); err != nil {
			return wrongUse(err)
		}
		f, config, err := options.read(args[0])
		if err != nil {
			return err
		}
		plan := planBench(f.Recipe, config, workers, seconds, rounds)
		for _, n := range plan.workers {
			if err := withWorkers(config, n).Check(); err != nil {
				return wrongUse(err)
			}
		}
		progress := newBenchProgress(c.ErrOrStderr(), plan)
		m, err := measure(c.Context(), plan, progress.open, progress.slice)
		progress.end()
		if asJSON {
			return errors.Join(printJSON(c.OutOrStdout(), m.document(f.Name, feeds, err != nil)), err)
		}
		if err != nil && len(m.begun()) == 0 {
			return err
		}
		p := newPage(c.OutOrStdout())
		p.line("", p.bold, f.Name, fmt.Sprintf(": %s for each number of workers, in %s; %s",
			secondsText(seconds), words.Plural(int64(rounds), "round"), words.Plural(int64(machine.CPUs()), "core")))
		p.blank()
		m.table(p)
		if feeds.consumers > 0 && len(m.begun()) > 0 {
			p.line("", plainInk, feeds.line(m))
		}
		_, failed := io.WriteString(c.OutOrStdout(), p.text.String())
		return errors.Join(failed, err)
	}
	return c
}

func checkBench(workers []int, seconds float64, rounds int) error {
	switch {
	case len(workers) != len(slices.Compact(slices.Sorted(slices.Values(workers)))):
		return fmt.Errorf("--workers names a number twice")
	case !(seconds > 0 && seconds <= 86400):
		return fmt.Errorf("--seconds is %v: must be a number of seconds up to a day", seconds)
	case rounds < 1:
		return fmt.Errorf("--rounds is %d: must be at least 1", rounds)
	}
	return nil
}

func planBench(r recipe.Recipe, c headrace.Config, workers []int, seconds float64, rounds int) benchPlan {
	if workers == nil {
		workers = usualWorkers(machine.CPUs())
	}
	return benchPlan{recipe: r, config: c, workers: workers, rounds: rounds, seconds: seconds, warm: min(1, seconds/float64(rounds)/4)}
}

// usualWorkers are at most five numbers up to all cores.
func usualWorkers(cores int) []int {
	var all []int
	for _, part := range []int{cores, 8, 4, 2, 1} {
		all = append(all, max(1, cores/part))
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func secondsText(s float64) string { return fmt.Sprintf("%g s", s) }

// benchProgress tells what was measured last: in one line that changes on a terminal,
// in a line for each slice elsewhere.
type benchProgress struct {
	w     io.Writer
	plan  benchPlan
	done  int
	begun time.Time
	quiet bool // a terminal, which no line was left on
}

func newBenchProgress(w io.Writer, plan benchPlan) *benchProgress {
	return &benchProgress{w: w, plan: plan, begun: time.Now(), quiet: true}
}

// open tells what may take long where there are many files.
func (b *benchProgress) open(workers int) {
	if isTerminal(b.w) {
		fmt.Fprintf(b.w, "\r\x1b[Klisting the files for %s", words.Plural(int64(workers), "worker"))
		b.quiet = false
	}
}

func (b *benchProgress) slice(round, workers int, s benchSlice) {
	b.done++
	all := b.plan.rounds * len(b.plan.workers)
	text := fmt.Sprintf("round %d of %d, %s: %s samples/s", round+1, b.plan.rounds,
		words.Plural(int64(workers), "worker"), rateText(s.rate()))
	if !isTerminal(b.w) {
		fmt.Fprintln(b.w, text)
		return
	}
	left := time.Since(b.begun) / time.Duration(b.done) * time.Duration(all-b.done)
	fmt.Fprintf(b.w, "\r\x1b[K%s, %s left", text, clock(left))
	b.quiet = false
}

// end leaves the terminal with an empty line.
func (b *benchProgress) end() {
	if !b.quiet {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
