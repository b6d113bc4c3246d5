package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/video/index"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

func indexCommand() *cobra.Command {
	var o index.Options
	c := &cobra.Command{
		Use:   "index PATH…",
		Short: "Index shards or videos, so that reading needs no scan",
		Long: `Find where each sample of shards or each packet of videos is, so that reading needs no scan.

Shards, such as WebDataset's tar files: PATH is a file, a folder of shards, or a pattern such as 'train-{000..129}.tar', each a set of its
own. The index goes to ~/.cache/headrace/index, to the folder index in $HEADRACE_CACHE, or with --beside to the folder _headrace beside the
shards. Running a recipe writes a missing index, too. Only changed shards are indexed again.

Videos: PATH is a file, a folder, or a pattern such as 'films/*/*.mkv'. Without an index, a clip of a Matroska, WebM, AVI, MPEG-TS or FLV
file reads the whole file; with one, decode_video and video_clips read only the packets they need. MP4 and MOV have their own index and are
skipped. Indices go to ~/.cache/headrace/video, to the folder video in $HEADRACE_CACHE, or with --beside to FILE.hri beside each file, for
other machines. An index is valid for a file of the same size and modification time, and the same version of Headrace and FFmpeg: run this
again after videos change.

An index that another user could have written, who could not have written the data, is not used: a warning says so, and one is made for you
alone. Root's are always used.

A file that cannot be indexed is named with the reason, and the exit code is 1.`,
		Example: `  headrace index films
  headrace index 'films/*/*.mkv' --beside
  HEADRACE_CACHE=/shared/cache headrace index films   # and for training
  headrace index 'train-{000..129}.tar' 'val-*.tar'`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&o.Beside, "beside", false, "write each index beside its file, as FILE"+index.Suffix)
	c.Flags().BoolVar(&o.Force, "force", false, "rewrite indices that are up to date, too")
	c.Flags().IntVar(&o.Jobs, "jobs", 0, "files at once (default: the number of cores)")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case o.Jobs < 0:
			return wrongUse(fmt.Errorf("--jobs is %d: must be at least 0", o.Jobs))
		case len(index.Folders()) == 0 && !o.Beside:
			return errors.New("there is no folder for indices: HOME is not set; set HEADRACE_CACHE, or use --beside")
		}
		sets, films := setsOf(c.Context(), args)
		for _, set := range sets {
			if err := indexShards(c.Context(), set, o, c.OutOrStdout(), c.ErrOrStderr()); err != nil {
				return err
			}
		}
		if len(films) == 0 {
			return nil
		}
		paths, err := videosOf(c.Context(), films)
		if err != nil {
			return err
		}
		return runIndex(c.Context(), paths, o, c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

// setsOf tells shards and videos apart: by the suffixes of names, and folders by what is
// in them.
func setsOf(ctx context.Context, args []string) (sets, films []string) {
	for _, arg := range args {
		shards := shard.Named(arg)
		if folder, _ := store.HasFolder(ctx, arg); folder {
			_, err := videosOf(ctx, []string{arg})
			shards = errors.Is(err, store.ErrNoFiles)
		}
		if shards {
			sets = append(sets, arg)
		} else {
			films = append(films, arg)
		}
	}
	return sets, films
}

// indexShards writes the index of a set.
func indexShards(ctx context.Context, set string, o index.Options, out, progress io.Writer) error {
	b := &indexBar{w: progress}
	scanned := 0
	begin := time.Now()
	d, err := shard.Open(ctx, []string{set}, shard.Options{Beside: o.Beside, Force: o.Force, Jobs: o.Jobs, Scanned: func(done, all int) {
		scanned = done
		b.scanned(done, all)
	}, Warn: func(message string) { b.line(message) }})
	b.clear()
	if err != nil {
		return fmt.Errorf("%s: %w", set, err)
	}
	defer d.Close()
	shards := int64(len(d.Index().Shards))
	fmt.Fprintf(out, "%s, %s of %s: %s\n", words.Plural(d.Len(), "sample"), words.Plural(shards, "shard"), d.Format.Name(), d.Kept())
	for _, of := range []struct {
		n    int64
		said string
	}{{int64(scanned), fmt.Sprintf("indexed in %v", time.Since(begin).Round(time.Millisecond))},
		{shards - int64(scanned), "had an index that fits"}} {
		if of.n > 0 {
			fmt.Fprintf(out, "  %s %s\n", words.Thousands(of.n), of.said)
		}
	}
	return nil
}

// videosOf lists the videos of files, folders and patterns, by their whole names.
func videosOf(ctx context.Context, args []string) (all []string, err error) {
	for _, arg := range args {
		path, err := absolute(arg)
		if err != nil {
			return nil, err
		}
		if _, err := store.Stat(ctx, "", path); err == nil {
			all = append(all, path)
			continue
		}
		t, err := store.List(ctx, "/", path, video.Suffixes())
		if err != nil {
			return nil, err
		}
		for i := range t.Len() {
			all = append(all, t.Path(i))
		}
	}
	return all, nil
}

// runIndex writes indices, and says what became of the files.
func runIndex(ctx context.Context, paths []string, o index.Options, out, progress io.Writer) error {
	var counts [4]int64
	var frames int64
	var seconds float64
	b := &indexBar{w: progress, all: len(paths)}
	err := index.Build(ctx, paths, o, func(r index.Result) {
		counts[r.Outcome]++
		frames, seconds = frames+int64(r.Frames), seconds+r.Seconds
		if r.Err != nil {
			b.line("✗ " + r.Err.Error())
		}
		b.step()
	})
	b.clear()

	length := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(out, "%s, %s, %v\n", words.Plural(int64(len(paths)), "video"), words.Plural(frames, "frame"), length)
	for _, of := range []struct {
		outcome index.Outcome
		said    string
	}{
		{index.Written, "indexed"}, {index.UpToDate, "had an index that fits"},
		{index.Needless, "MP4 or MOV, which have one of their own"}, {index.Failed, "could not be indexed"},
	} {
		if n := counts[of.outcome]; n > 0 {
			fmt.Fprintf(out, "  %s %s\n", words.Thousands(n), of.said)
		}
	}
	if err == nil && counts[index.Failed] > 0 {
		err = &codeError{exitFailed, nil}
	}
	return err
}
