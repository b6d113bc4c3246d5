package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/live"
)

// topOptions are the flags of headrace top.
type topOptions struct {
	all   bool
	once  bool
	json  bool
	every time.Duration
}

func topCommand() *cobra.Command {
	var o topOptions
	c := &cobra.Command{
		Use:   "top [LOADER]",
		Short: "Watch loaders that run, in the terminal",
		Long: `Show what a loader of yours on this machine does, once a second: what limits, how fast each stage is, ` +
			`what its workers do, what is ready in each queue, memory and failures. It sees loaders that have a page (loader(page=True), ` +
			`headrace run --page, HEADRACE_PAGE=1) or metrics (loader(metrics=…)).

Without LOADER it is the first one. LOADER is a name, or a number of a process.

--all shows a line for each loader and rank. Ranks that the others wait for are marked.

In a pipe it prints one report and ends, as with --once. Ctrl-C ends it.`,
		Example: `  headrace top
  headrace top train
  headrace top --all
  headrace top --once --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), c.OutOrStdout(), strings.Join(args, ""))
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "a line for each loader and rank of this machine")
	c.Flags().BoolVar(&o.once, "once", false, "print one report and end")
	c.Flags().BoolVar(&o.json, "json", false, "print all that is known as JSON, an object per line and report")
	c.Flags().DurationVar(&o.every, "every", time.Second, "the time between two reports")
	return c
}

func (o *topOptions) run(ctx context.Context, w io.Writer, name string) error {
	if o.every < time.Second/10 {
		return wrongUse(fmt.Errorf("--every is %v: must be at least 100ms", o.every))
	}
	terminal := isTerminal(w) && os.Getenv("TERM") != "dumb"
	// On the other screen of a terminal nothing of the shell's is lost.
	if terminal && !o.once && !o.json {
		io.WriteString(w, "\x1b[?1049h\x1b[?25l")
		defer io.WriteString(w, "\x1b[?25h\x1b[?1049l")
	}

	for {
		all, err := live.All(ctx)
		if err != nil {
			return fmt.Errorf("other processes cannot be asked: %w", err)
		}
		chosen, err := choose(all, name)
		if err != nil && (o.once || !terminal) {
			return err
		}
		text := o.text(newPage(w), all, chosen, err)
		if o.json {
			if err := json.NewEncoder(w).Encode(all); err != nil {
				return err
			}
		} else {
			if terminal && !o.once {
				text = "\x1b[H\x1b[2J" + text
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		if o.once || !terminal && !o.json {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
		}
	}
}

var errNoLoader = errors.New("no loader of yours shows itself on this machine: " +
	"it needs loader(page=True) or loader(metrics=…), headrace run --page, or HEADRACE_PAGE=1")

// choose returns the loader of a name or process.
func choose(all []*live.Moment, name string) (*live.Moment, error) {
	if len(all) == 0 {
		return nil, errNoLoader
	}
	byRank(all)
	var names []string
	for _, m := range all {
		if name == "" || m.Name == name || fmt.Sprint(m.PID) == name {
			return m, nil
		}
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return nil, fmt.Errorf("no loader %q shows itself: there are %s", name, strings.Join(names, ", "))
}

func byRank(all []*live.Moment) {
	slices.SortStableFunc(all, func(a, b *live.Moment) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.PID, b.PID))
	})
}

func (o *topOptions) text(p *page, all []*live.Moment, chosen *live.Moment, err error) string {
	switch {
	case err != nil:
		p.line("", plainInk, err.Error())
	case o.all:
		p.loaders(all)
	default:
		p.moment(chosen, len(all)-1)
	}
	return p.text.String()
}

// moment writes a loader.
func (p *page) moment(m *live.Moment, others int) {
	head := p.bold(visible(m.Name))
	if m.Ranks > 1 {
		head += fmt.Sprintf("  rank %d of %d", m.Rank, m.Ranks)
	}
	head += "  " + p.dim(fmt.Sprintf("%s, process %d, %s", visible(m.Program), m.PID, clock(time.Duration(m.Running*float64(time.Second)))))
	p.text.WriteString(head + "\n")
	p.text.WriteString(p.progress(m.Progress) + "\n\n")
	p.line("", p.bold, m.Sentence)
	if m.Helps != "" {
		p.line("", plainInk, visible(m.Helps))
	}
	if m.Stalled != "" {
		p.line("  ", p.red, visible(strings.ReplaceAll(m.Stalled, "\n", " ")))
	}
	main := ""
	if m.Loop.Main > 0 {
		main = fmt.Sprintf(", the steps with where=\"main\" %s (%s)", took(m.Loop.Main), sharePercent(m.Loop.MainShare))
	}
	p.line("", plainInk, fmt.Sprintf("%s samples/s, %s batches/s. Your loop waits %s of the time: a step takes %s%s, a wait %s.",
		amount(m.Loop.Samples), amount(m.Loop.Batches), sharePercent(m.Loop.Share), took(m.Loop.Step), main, took(m.Loop.Wait)))
	p.blank()

	for i, s := range m.Stages {
		p.stage(s, i == m.Limits)
	}
	p.blank()
	p.resources(m)
	for _, f := range m.Failures {
		p.marked("  ", "✗", p.red, " ", fmt.Sprintf("%s: %s (%s, epoch %d)", visible(f.Key), visible(f.Error), visible(f.Stage), f.Epoch))
	}
	for _, n := range m.Notes {
		p.line("  · ", plainInk, time.UnixMilli(n.Time).Format("15:04:05 ")+visible(n.Text))
	}
	if others > 0 {
		p.line("", p.dim, fmt.Sprintf("%d more: headrace top --all", others))
	}
}

func (p *page) progress(now live.Progress) string {
	text := fmt.Sprintf("epoch %d", now.Epoch+1)
	if now.Epochs > 0 {
		text += fmt.Sprintf(" of %d", now.Epochs)
	}
	if now.Batches <= 0 {
		return fmt.Sprintf("%s, batch %d", text, now.Batch)
	}
	const size = 30
	full := int(min(size, size*now.Batch/now.Batches))
	return fmt.Sprintf("%s  %s  batch %d of %d", text, drawnBar(full, size, p.colour), now.Batch, now.Batches)
}

// stageWidth is the room for the name of a stage.
const stageWidth = 26

// stage writes two lines: the stage with its clocks, and the queue after it.
func (p *page) stage(s live.Stage, limits bool) {
	name := s.Name
	if s.Workers > 1 {
		name = cutText(name, stageWidth-4) + fmt.Sprintf(" ×%d", s.Workers)
	}
	name = visible(cutText(name, stageWidth))
	mark, as := "  ", plainInk
	if limits {
		mark, as = "▶ ", p.yellow
	}
	line := fmt.Sprintf("%-*s %7s/s  ", stageWidth, name, amount(s.Rate))
	p.text.WriteString(as(mark+line) + p.clocks(s) + "\n")

	var more []string
	for _, of := range []struct {
		name  string
		share float64
	}{{"busy", s.Busy}, {"gated", s.Gated}, {"blocked", s.Blocked}, {"starved", s.Starved}} {
		if of.share >= 0.005 {
			more = append(more, fmt.Sprintf("%s %s", of.name, sharePercent(of.share)))
		}
	}
	if s.Typical > 0 {
		more = append(more, fmt.Sprintf("99 %% within %s", took(s.Slow)))
	}
	if s.Lost > 0 {
		more = append(more, fmt.Sprintf("%d lost", s.Lost))
	}
	if s.Room > 0 {
		more = append(more, fmt.Sprintf("%s of %d ready after it", amount(s.Ready), s.Room))
	}
	p.line("    ", p.dim, strings.Join(more, ", "))
}

// clocks draws where workers spent their time: busy, gated, blocked, starved.
func (p *page) clocks(s live.Stage) string {
	const size = 30
	text, drawn := "", 0
	for _, of := range []struct {
		share       float64
		sign, color string
	}{{s.Busy, "█", "32"}, {s.Gated, "▒", "35"}, {s.Blocked, "░", "33"}, {s.Starved, "·", "2"}} {
		n := min(size-drawn, int(of.share*size+0.5))
		text += painted(p.colour, of.color, strings.Repeat(of.sign, n))
		drawn += n
	}
	return text
}

func (p *page) resources(m *live.Moment) {
	var parts []string
	for _, one := range m.Processes {
		parts = append(parts, fmt.Sprintf("%s %s cores, %s", visible(one.Name), amount(one.Cores), bytesize.Text(one.Resident)))
	}
	if parts != nil {
		p.fact("processes", strings.Join(parts, "; ")+fmt.Sprintf("; of %d cores", m.Cores))
	}
	if m.Memory.Limit > 0 {
		p.fact("memory", fmt.Sprintf("%s of %s; %d of %d batches held by the program", bytesize.Text(m.Memory.Used),
			bytesize.Text(m.Memory.Limit), m.Memory.Leased, m.Memory.Slots))
	}
	if m.Waits.Count > 0 {
		p.fact("waits", fmt.Sprintf("half within %s, 99 %% within %s, the longest %s", took(m.Waits.Typical),
			took(m.Waits.Slow), took(m.Waits.Longest)))
	}
	if m.Lost+m.Replaced > 0 {
		p.fact("lost", fmt.Sprintf("%d, and %d replaced", m.Lost, m.Replaced))
	}
}

// amount writes a number of items, or cores.
func amount(x float64) string {
	if x == 0 {
		return "0"
	}
	return rateText(x)
}

// took writes seconds, from microseconds on.
func took(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return seconds(d)
}

func sharePercent(x float64) string {
	if x > 0 && x < 0.005 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

// loaders writes a line for each loader. Ranks that the others wait for are marked.
func (p *page) loaders(all []*live.Moment) {
	byRank(all)
	p.text.WriteString(p.dim(fmt.Sprintf("  %-18s %9s %10s %6s  %s", "loader", "rank", "samples/s", "waits", "limit")) + "\n")
	late := live.Late(all)
	for i, m := range all {
		rank, mark := "-", " "
		if m.Ranks > 1 {
			rank = fmt.Sprintf("%d of %d", m.Rank, m.Ranks)
		}
		if late[i] {
			mark = "▶"
		}
		limit := "-"
		switch {
		case m.Stalled != "":
			limit = "stalled"
		case m.Limits >= 0 && m.Limits < len(m.Stages):
			limit = m.Stages[m.Limits].Name
		case m.Limits == -1:
			limit = "your loop"
		}
		if m.Loop.MainShare >= 0.005 {
			limit += fmt.Sprintf(" (where=\"main\" %s)", sharePercent(m.Loop.MainShare))
		}
		line := fmt.Sprintf("%s %-18s %9s %10s %6s  %s", mark, visible(cutText(m.Name, 18)), rank, amount(m.Loop.Samples),
			sharePercent(m.Loop.Share), visible(limit))
		p.text.WriteString(cutText(line, p.width) + "\n")
	}
}
