package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/stats"
)

// runOptions are the flags of headrace run.
type runOptions struct {
	recipe *recipeOptions
	out    outOptions
	trace  traceOptions
	serve  metricsOptions
	ray    rayOptions
	page   pageOptions
	json   bool
	stats  bool
	quiet  bool

	stdout, stderr io.Writer
}

func runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run RECIPE",
		Short: "Run a recipe, and write the samples with --out",
		Long: `Run a recipe in this process as a training program would, and say what the bottleneck is. This tells ` +
			`you whether every file can be read,
and how fast. It runs one epoch unless the recipe sets a number. "-" reads the recipe from standard input.

Progress goes to standard error: a bar on a terminal, else a line every ten seconds. The result goes to standard output, with --stats as a
table of all stages, too. --json prints an object per line as things happen: start, lost (a sample), epoch, warning, end.

--out writes the samples as the recipe makes them, so that expensive operations run once:

  --out tar:FOLDER/train-%06d.tar
    WebDataset shards. A sample's files are named by its number and key, and
    by field: .npy for the image (or .png, .jpg, .webp by --images), .cls for
    the label, .key.txt for the key.
  --out parquet:FOLDER/train-%06d.parquet
    A row per sample, with images as in Hugging Face's datasets.
  --out arrow:FOLDER/train-%06d.arrow
    A row per sample, with arrays as lists of a fixed size.
  --out tfrecord:FOLDER/train-%06d.tfrecord
    Records of tf.train.Example.
  --out jsonl:FOLDER/train-%06d.jsonl
    A JSON object per line and sample, without images.
  --out bin:FOLDER/corpus-%06d.bin
    Tokens as Megatron reads them, with an .idx beside each file.
  --out npy:FOLDER
    One array per field (image.npy, label.npy), and key.jsonl. Map them with
    numpy.load(…, mmap_mode="r").

manifest.json (for shards: train.manifest.json) lists what was written. It comes last: without it a run is not complete. Repeat the command
to continue an interrupted run, with the same bytes in the end. Several epochs follow each other, each with its own augmentation; names in
shards then begin with e0-, e1-, ….

--ray makes the samples in parts on a Ray cluster, as python -m headrace.ray does: docs/guide/cluster.md. Parts that are there are not made
again.

--metrics serves what is counted for Prometheus, as docs/guide/metrics.md says.

HEADRACE_LOG=json writes progress to standard error as --json prints it.

--page serves a live view of the run, and prints its address to standard error; --page=7070 chooses the port. headrace top shows the same in
a terminal.

--trace writes a file for https://ui.perfetto.dev: every operation, wait and hand-over, by worker and time. It opens even if the run was
interrupted.

Exit codes: 0 done; 1 failed; 2 wrong use, or a mistake in the recipe; 3 done, but samples were lost or replaced (--on-error); 130
interrupted. A file that crashes a C decoder ends the program by a signal; the first goroutine printed has its name.`,
		Example: `  headrace run recipe.yaml
  headrace run recipe.yaml --set root=/data/train --epochs 3 --workers 8
  headrace run recipe.yaml --on-error skip --json > run.jsonl
  headrace run recipe.yaml --on-error replace --dead-letters bad.jsonl
  headrace run recipe.yaml --out tar:shards/train-%06d.tar
  headrace run recipe.yaml --out npy:arrays
  headrace run recipe.yaml --trace trace.json`,
		Args: oneRecipe,
		RunE: func(c *cobra.Command, args []string) error {
			o.stdout, o.stderr = c.OutOrStdout(), c.ErrOrStderr()
			if o.ray.asked() {
				return o.ray.become(c.Context(), args[0])
			}
			return o.run(c.Context(), args[0])
		},
	}
	o.recipe = recipeFlags(c)
	o.out.addFlags(c)
	o.trace.addFlags(c)
	o.serve.addFlags(c)
	o.ray.addFlags(c)
	o.page.addFlags(c)
	c.Flags().StringVar(&o.recipe.deadLetters, "dead-letters", "", "append a line of JSON "+
		"to this `file` for each sample that is lost or replaced")
	c.Flags().BoolVar(&o.json, "json", false, "print events as JSON, one object per line")
	c.Flags().BoolVar(&o.stats, "stats", false, "print stages, memory and processes at the end")
	c.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print mistakes and failures only")
	return c
}

func (o *runOptions) run(ctx context.Context, path string) error {
	f, config, err := o.recipe.read(path)
	if err != nil {
		return err
	}

	if config.Epochs == nil {
		config.Epochs = new(int)
		*config.Epochs = 1
	}
	if err := o.out.choosePart(&config); err != nil {
		return wrongUse(err)
	}
	if err := o.out.check(f.Recipe, config); err != nil {
		return wrongUse(err)
	}
	if o.out.checkParts {
		return o.checkParts(ctx)
	}

	if err := o.serve.parse(); err != nil {
		return wrongUse(err)
	}
	if err := o.page.parse(); err != nil {
		return wrongUse(err)
	}
	if err := o.trace.create(); err != nil {
		return err
	}
	defer o.trace.discard()

	w := &walk{watchers: o.watchers(), epochs: *config.Epochs}
	options := headrace.Options{Lost: w.sampleLost, Warn: w.warn, Log: extern.Print(o.words(w))}
	nameCrashes(&options)
	l, err := headrace.Open(ctx, f.Recipe, config, options)
	if err != nil {
		return f.Locate(err)
	}
	defer l.Close()

	if err := someBatch(l.Info()); err != nil {
		return err
	}
	if w.out, err = o.out.open(l.Info(), config); err != nil {
		return err
	}
	if w.out != nil {
		defer w.out.Close()
	}
	if err := o.trace.begin(l); err != nil {
		return err
	}

	w.begin(f, l.Info())
	if o.page.asked || o.serve.address != "" {
		defer o.page.show(path, o.serve.at.Labels.Loader, l, w, o.saying(w))()
	}
	defer o.serve.publish(l, w)()
	err = w.walk(ctx, l)
	l.Stop()

	var untraced error
	w.trace, untraced = o.trace.end()
	err = errors.Join(err, untraced, l.Finish())
	return o.end(w, l.Stats(), err)
}

func (o *runOptions) watchers() (all []watcher) {
	stderr, ok := o.stderr.(*os.File)
	terminal := ok && isTerminal(stderr) && os.Getenv("TERM") != "dumb"
	if o.json {
		all = append(all, &events{w: o.stdout})
		if !terminal || isTerminal(o.stdout) {
			return all // one of both is to be read by a program, or they would meet on the screen
		}
	}
	if o.quiet {
		return append(all, &warnings{o.stderr})
	}
	if os.Getenv("HEADRACE_LOG") == "json" { // for programs that collect logs: what --json prints
		return append(all, &events{w: o.stderr})
	}
	if terminal {
		return append(all, newBar(stderr))
	}
	return append(all, newLines(o.stderr))
}

// words is where goes what functions of Python print: standard output is the command's
// own.
func (o *runOptions) words(w *walk) io.Writer {
	if o.quiet {
		return io.Discard
	}
	for _, watcher := range w.watchers {
		if d, ok := watcher.(*display); ok {
			return d
		}
	}
	return o.stderr
}

// saying returns the writer of lines that were asked for.
func (o *runOptions) saying(w *walk) io.Writer {
	if o.quiet {
		return o.stderr
	}
	return o.words(w)
}

// end tells how the run ended, and returns that as an error.
func (o *runOptions) end(w *walk, s stats.Snapshot, err error) error {
	code := exitDone
	switch {
	case err != nil:
		err = w.explained(err)
		code = exitCode(&commandError{err})
	case w.missing() > 0:
		code = exitLost
	}
	untold := w.end(code, err, s)
	if !o.json && !o.quiet && untold == nil {
		untold = o.tell(w, s)
	}
	if err = errors.Join(err, untold); err == nil && code != exitDone {
		return &codeError{code, nil} // all has been said
	}
	return err
}

// tell writes the statistics, and what was written.
func (o *runOptions) tell(w *walk, s stats.Snapshot) error {
	text := ""
	switch {
	case s.Yielded > 0 && o.stats:
		text = stats.Text(s) + "\n"
	case s.Yielded > 0:
		text = stats.Brief(s) + "\n"
	}
	if m, ok := w.written(); ok {
		text += summary(o.out.target, m) + "\n"
	}
	if w.trace != nil {
		text += w.trace.text() + "\n"
	}
	_, err := io.WriteString(o.stdout, text)
	return err
}
