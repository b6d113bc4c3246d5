package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/preview"
	failures "github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/live"
)

// pageOptions say whether headrace run has a page.
type pageOptions struct {
	text  string // as given: empty, any, or a port
	asked bool
	port  int // 0: any that is free
}

// anyPort is what --page alone means.
const anyPort = "any"

func (o *pageOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.text, "page", "", "serve a live view of the run on this `port` of 127.0.0.1, or on any that is free, and print "+
		"its address; without it HEADRACE_PAGE says")
	c.Flags().Lookup("page").NoOptDefVal = anyPort
}

func (o *pageOptions) parse() error {
	text, named := o.text, "--page"
	if text == "" {
		text, named = os.Getenv("HEADRACE_PAGE"), "HEADRACE_PAGE"
	}
	switch text {
	case "", "0":
		return nil
	case "1", anyPort:
		o.asked = true
		return nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return fmt.Errorf("%s is %q: must be a port, or %s for any that is free", named, text, anyPort)
	}
	o.asked, o.port = true, int(port)
	return nil
}

// show shows a run until the returned function is called.
func (o *pageOptions) show(recipe, name string, l *headrace.Loader, w *walk, say io.Writer) (stop func()) {
	info := l.Info()
	if file := filepath.Base(recipe); name == "" && file != "-" {
		name = strings.TrimSuffix(file, filepath.Ext(file))
	}
	newest := preview.NewestOf(l)
	w.seen = append(w.seen, newest.See)
	shown := live.Watch(live.Loader{
		Name: name, Program: "headrace run " + filepath.Base(recipe), PID: os.Getpid(), Stats: l.Stats,
		Batches: info.BatchesPerEpoch, Epochs: &w.epochs, Sample: newest.Next,
		Steps: func(ctx context.Context, epoch int) ([]live.Step, error) {
			return preview.Steps(ctx, l.Recipe(), headrace.Options{}, epoch)
		},
	})
	w.waited = append(w.waited, shown.Waited)
	w.watchers = append(w.watchers, &pageWatcher{shown: shown, seen: w.now})
	if o.asked {
		address, err := live.Serve(o.port)
		if err != nil {
			w.warn("page", err.Error())
		} else {
			fmt.Fprintln(say, "the page of this run: "+address)
		}
	}
	return shown.Close
}

// pageWatcher has the page learn what happens.
type pageWatcher struct {
	shown *live.Watched
	seen  progress
	next  int64 // the number of the next batch in its epoch
}

func (p *pageWatcher) start(start)                           {}
func (p *pageWatcher) end(ending) error                      { return nil }
func (p *pageWatcher) warn(code, message string)             { p.shown.Note(code, message) }
func (p *pageWatcher) epoch(headrace.EpochSummary, progress) { p.next = 0 }

func (p *pageWatcher) batch(now progress) {
	p.shown.Took(now.epoch, p.next, now.total-p.seen.total)
	p.next++
	p.seen = now
}

func (p *pageWatcher) lost(l headrace.Lost, _ progress) {
	step := failures.Step(l.Err)
	if step == "" {
		step = l.Stage
	}
	p.shown.Lost(live.Failure{
		Key: l.Key, Index: l.ID.Index, Epoch: l.ID.Epoch, Stage: step, Error: l.Cause().Error(), Replaced: l.Replaced,
	})
}

var _ watcher = (*pageWatcher)(nil)
