package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/serve"
	"github.com/headrace/headrace/stats"
)

func profileCommand() *cobra.Command {
	var (
		o      headrace.ProfileOptions
		asJSON bool
		python string
	)
	c := &cobra.Command{
		Use:   "profile RECIPE",
		Short: "Measure each stage of a recipe alone",
		Long: `Run each stage of a recipe alone, as fast as it can, with each number of workers. The table says how ` +
			`many samples per second a stage can
do, how much more workers help, and how long an operation takes. The sentence above it names the bottleneck, and the next one.

headrace bench measures the whole recipe, headrace profile its parts. --fuse=false separates the operations of a fused stage.

A stage's results stay in memory until the next one has used them, within --memory. Samples come from the beginning of one epoch, each
once.`,
		Example: `  headrace profile train.yaml
  headrace profile train.yaml --workers 1,4,16 --items 1000
  headrace profile train.yaml --fuse=false --workers 1
  headrace profile train.yaml --json | jq '.stages[] | .name'`,
		Args: oneRecipe,
	}
	options := recipeFlags(c, "workers", "epochs", "prefetch")
	c.Flags().IntSliceVar(&o.Workers, "workers", nil, "numbers of workers to try (default: up to 1.5 for each core)")
	c.Flags().IntVar(&o.Items, "items", 0, "samples for each number of workers (default: 256, or as many as --memory has room for)")
	c.Flags().IntVar(&o.Epoch, "epoch", 0, "epoch to take the samples from")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.Flags().StringVar(&python, "python", "", "a `file` with what the protocol's OPEN says of Python, for clients")
	c.Flags().MarkHidden("python")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("items") && o.Items < 1 {
			return wrongUse(fmt.Errorf("--items is %d: must be at least 1", o.Items))
		}
		f, config, err := options.read(args[0])
		if err != nil {
			return err
		}
		if python != "" {
			text, err := os.ReadFile(python)
			if err == nil {
				o.Python, err = serve.ReadInterpreter(text)
			}
			if err != nil {
				return wrongUse(fmt.Errorf("--python: %w", err))
			}
		}
		progress := newProfileProgress(c.ErrOrStderr())
		o.Progress = progress.trial
		report, err := headrace.Profile(c.Context(), f.Recipe, config, o)
		progress.end()
		if errors.Is(err, headrace.ErrConfig) {
			return wrongUse(f.Locate(err))
		}
		if err != nil {
			return f.Locate(err)
		}
		if asJSON {
			return printJSON(c.OutOrStdout(), profileDocument{f.Name, machine.CPUs(), report,
				stats.ProfileVerdict(report), stats.ProfileText(report)})
		}
		_, err = io.WriteString(c.OutOrStdout(), stats.ProfileText(report)+"\n")
		return err
	}
	return c
}

// profileDocument is the JSON form of a result.
type profileDocument struct {
	File  string `json:"file"`
	Cores int    `json:"cores"` // that may be used
	pipe.Report
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
}

// profileProgress draws a bar on a terminal. Elsewhere it writes a line for each stage.
type profileProgress struct {
	w        io.Writer
	terminal *os.File // nil: it is none
	begun    time.Time
	stage    string
	drawn    bool
}

func newProfileProgress(w io.Writer) *profileProgress {
	p := &profileProgress{w: w, begun: time.Now()}
	if isTerminal(w) && os.Getenv("TERM") != "dumb" {
		p.terminal = w.(*os.File)
	}
	return p
}

func (p *profileProgress) trial(now pipe.ProfileProgress) {
	if p.terminal == nil {
		if now.Stage != p.stage {
			fmt.Fprintf(p.w, "measuring %s\n", now.Stage)
			p.stage = now.Stage
		}
		return
	}
	fmt.Fprint(p.w, "\r\x1b[K"+profileBar(now, time.Since(p.begun), terminalWidth(p.terminal)-1, colours(p.terminal)))
	p.drawn = true
}

func (p *profileProgress) end() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// profileBar draws a line of at most so many characters.
func profileBar(now pipe.ProfileProgress, since time.Duration, width int, colour bool) string {
	const most, least = 24, 8
	text := "  " + stats.ShortName(now.Stage)
	if now.Workers > 0 {
		text += ", " + words.Plural(int64(now.Workers), "worker")
	}
	if now.Trial > 0 {
		left := since / time.Duration(now.Trial) * time.Duration(now.Trials-now.Trial)
		if longer := text + "  " + clock(left) + " left"; utf8.RuneCountInString(longer)+least <= width {
			text = longer
		}
	}
	size := min(most, width-utf8.RuneCountInString(text))
	if size < least {
		return cutText(strings.TrimSpace(text), width)
	}
	return drawnBar(size*now.Trial/max(1, now.Trials), size, colour) + text
}
