package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headrace/internal/words"
	"headrace/media/video"
	"headrace/media/video/index"
	"headrace/store"
)

func indexCommand() *cobra.Command {
	var o index.Options
	c := &cobra.Command{
		Use:   "index PATH…",
		Short: "Keep the index of videos, so that clips of them need not read whole files",
		Long: `Finds the packets of videos, and keeps what it found. Of Matroska, WebM, AVI, MPEG-TS and FLV a clip takes reading the whole file
to find its packets; with an index, decode_video and video_clips read no more than the packets that they need, as they do of MP4 and MOV,
which have an index of their own and are left alone.

PATH is a file, a folder, or a pattern such as 'films/*/*.mkv'. Indices are written to ~/.cache/headrace/video, or the folder video in
the one that HEADRACE_CACHE names, or with --beside to FILE.hri beside each file, where other machines find them. Only one that fits is ever used:
of the same size and time of change of the file, and of the same version of Headrace and FFmpeg. Run this again after videos have changed: it
writes the indices that are missing, old or damaged, and leaves the others.

The exit code is 1 if a file could not be indexed; each is named with what is wrong.`,
		Example: `  headrace index films
  headrace index 'films/*/*.mkv' --beside
  HEADRACE_CACHE=/shared/cache headrace index films   # and the same for training`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&o.Beside, "beside", false, "write each index beside its file, as FILE"+index.Suffix)
	c.Flags().BoolVar(&o.Force, "force", false, "write those again, too, that fit")
	c.Flags().IntVar(&o.Jobs, "jobs", 0, "how many files at once; by default as many as there are cores")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case o.Jobs < 0:
			return wrongUse(fmt.Errorf("--jobs is %d: must be at least 0", o.Jobs))
		case index.Folder() == "" && !o.Beside:
			return errors.New("there is no folder for indices: HOME is not set; set HEADRACE_CACHE, or say --beside")
		}
		paths, err := videosOf(c.Context(), args)
		if err != nil {
			return err
		}
		return runIndex(c.Context(), paths, o, c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

// videosOf lists the videos of files, folders and patterns, by their whole names.
func videosOf(ctx context.Context, args []string) (all []string, err error) {
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		if s, err := os.Stat(path); err == nil && s.Mode().IsRegular() {
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

// indexBar shows people how far it is, on a terminal.
type indexBar struct {
	w         io.Writer
	done, all int
	drawn     time.Time
}

func (b *indexBar) step() {
	b.done++
	if !isTerminal(b.w) || time.Since(b.drawn) < time.Second/10 && b.done < b.all {
		return
	}
	b.drawn = time.Now()
	f := b.w.(*os.File)
	tail := fmt.Sprintf("  %s/%s", words.Thousands(int64(b.done)), words.Thousands(int64(b.all)))
	size := min(40, terminalWidth(f)-1-len("indexing  ")-len(tail))
	if size < 8 {
		fmt.Fprint(b.w, clearLine+strings.TrimSpace(tail))
		return
	}
	fmt.Fprint(b.w, clearLine+"indexing  "+drawnBar(size*b.done/b.all, size, colours(f))+tail)
}

func (b *indexBar) line(text string) {
	b.clear()
	fmt.Fprintln(b.w, text)
}

func (b *indexBar) clear() {
	if isTerminal(b.w) {
		fmt.Fprint(b.w, clearLine)
	}
}

const clearLine = "\r\x1b[K"
