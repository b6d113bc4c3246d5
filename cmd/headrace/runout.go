package main

import (
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

// outOptions are the flags about what headrace run writes.
type outOptions struct {
	text         string
	target       export.Target
	shardSize    int64
	shardSamples int64
	images       string
	quality      int
	every        time.Duration
	overwrite    bool
	part         string
	ofParts      export.Part
	checkParts   bool

	command *cobra.Command
}

func (o *outOptions) addFlags(c *cobra.Command) {
	o.command = c
	f := c.Flags()
	f.StringVarP(&o.text, "out", "o", "",
		"write the samples to a `target`: tar:PATTERN (parquet:, arrow:, jsonl:, tfrecord:, bin:) or npy:FOLDER")
	f.Var(size{&o.shardSize}, "shard-size", "largest shard, such as 500MB (default 1GB)")
	f.Int64Var(&o.shardSamples, "shard-samples", 0, "most samples in a shard (default: as its size allows)")
	f.StringVar(&o.images, "images", "", "`format` of images in shards: npy, png, jpg or webp (default: npy in tar, else png)")
	f.IntVar(&o.quality, "quality", 0, "of jpg and webp, 1 to 100 (default: 95 for jpg; webp is lossless)")
	f.DurationVar(&o.every, "checkpoint", 5*time.Second, "how often to sync to disk: a kill loses no more work than that")
	f.BoolVar(&o.overwrite, "overwrite", false, "start over, and remove what an earlier run wrote")
	f.StringVar(&o.part, "part", "", "`i/n`: part i of n, from 0, of an epoch's samples; the parts together are the whole")
	f.BoolVar(&o.checkParts, "check-parts", false, "run nothing: verify that all parts of --out are there, of one recipe, and whole")
	c.RegisterFlagCompletionFunc("out", cobra.FixedCompletions(export.Targets(),
		cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("images", cobra.FixedCompletions([]string{"npy", "png", "jpg", "webp"},
		cobra.ShellCompDirectiveNoFileComp))
}

// check finds mistakes before anything is listed.
func (o *outOptions) check(r recipe.Recipe, c headrace.Config) (err error) {
	if o.text == "" {
		for _, name := range []string{"check-parts", "shard-size", "shard-samples", "images", "quality", "checkpoint", "overwrite"} {
			if o.command.Flags().Changed(name) {
				return fmt.Errorf("--%s has no meaning without --out", name)
			}
		}
		return nil
	}

	if o.target, err = export.ParseTarget(o.text); err != nil {
		return fmt.Errorf("--out is %w", err)
	}
	o.target = o.target.Part(o.ofParts)
	if _, _, err := store.WriterOf(o.target.Dir); err != nil {
		return fmt.Errorf("--out: %w", err)
	}

	if c.Order == headrace.CompletionOrder {
		return errors.New("--out with the order completion: a run that goes on could not end with the same files; use --order input")
	}
	if r.Overtakes() {
		return errors.New(`--out with a step of the order "completion": a run that goes on could not end with the ` +
			`same files; leave order out`)
	}
	for _, s := range r.All() {
		if recipe.TraitsOf(s.Args).Merging.Varies() {
			return fmt.Errorf("--out with a merge by arrival (%s): a run that goes on could "+
				"not end with the same files; use the order round_robin", s.Name)
		}
	}

	if o.every < 0 {
		return fmt.Errorf("--checkpoint is %v: must be a duration such as 5s, or 0 for one after every batch", o.every)
	}
	for _, name := range []string{"shard-size", "shard-samples", "images", "quality"} {
		if o.target.Kind == "npy" && o.command.Flags().Changed(name) {
			return fmt.Errorf("--%s has no meaning with --out npy: it is for shards", name)
		}
	}
	return nil
}

// open returns nil where nothing is to be written.
func (o *outOptions) open(info headrace.Info, c headrace.Config) (*export.Export, error) {
	if o.text == "" {
		return nil, nil
	}
	signal.Ignore(syscall.SIGXFSZ) // a limit of file sizes is an error with a file's name then
	e, err := export.Open(export.Options{
		Target: o.target, ShardBytes: o.shardSize, ShardSamples: o.shardSamples, Images: o.images, Quality: o.quality,
		Part: o.ofParts, Every: max(o.every, 1), Overwrite: o.overwrite,
	}, export.Run{Info: info, Epochs: *c.Epochs, Fused: c.Fuse == nil || *c.Fuse})
	if errors.Is(err, export.ErrOptions) || errors.Is(err, export.ErrOther) {
		return nil, wrongUse(&outputError{err})
	}
	if err != nil {
		return nil, &outputError{err}
	}
	return e, nil
}

// summary says what was written.
func summary(t export.Target, m export.Manifest) string {
	where := t.Dir
	if n := len(m.Files); t.Name != "" && n > 0 {
		where = store.Join(t.Dir, m.Files[0].Name)
		if n > 1 {
			where += " … " + m.Files[n-1].Name
		}
	}
	text := fmt.Sprintf("Wrote %s, %s in %s: %s", words.Plural(m.Samples, "sample"), bytesize.Text(m.Bytes()),
		words.Plural(int64(len(m.Files)), "file"), where)
	return text + failed(m.Lost(), m.Replaced())
}

// failed says how many samples were lost and replaced, after what else is to be said.
func failed(lost, replaced int64) (text string) {
	if lost > 0 {
		text += fmt.Sprintf("; %s lost", words.Thousands(lost))
	}
	if replaced > 0 {
		text += fmt.Sprintf("; %s replaced", words.Thousands(replaced))
	}
	return text
}
