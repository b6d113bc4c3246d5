package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/store"
)

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init FOLDER",
		Short: "Print a first recipe for a folder",
		Long: `Print a training recipe for the files in a folder: images, recordings, videos or arrays (.npy), told by name. Subfolders become classes.
Nothing is written: send the output to a file, and edit it.`,
		Example: `  headrace init data/train > train.yaml
  headrace inspect train.yaml
  headrace preview train.yaml -o sheet.png`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := lookAround(c.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(c.ErrOrStderr(), found.summary())
			_, err = fmt.Fprint(c.OutOrStdout(), found.recipe(args[0]))
			return err
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
}

// A medium is what files may be, with the steps that a training on them begins with.
type medium struct {
	name     string // of one: "image"
	suffixes []string
	content  bool                      // files are read whole
	steps    func(first string) string // of which the path is given
}

func always(steps string) func(string) string { return func(string) string { return steps } }

var mediums = []medium{
	{"image", media.Suffixes(), true, always(`  - decode_image
  - random_resized_crop: {size: 224}
  - random_flip
  - normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}
  - layout: {layout: NCHW}
  - batch: {size: 64}
`)},
	{"recording", recordings(), true, always(`  - decode_audio: {rate: 16000, duration: 2.0, channels: 1}
  - log_mel
  - batch: {size: 64}
`)},
	{"video", video.Suffixes(), false, always(`  - decode_video: {frames: 16, stride: 4}
  - resize: {size: 256}
  - center_crop: {size: 224}
  - batch: {size: 8}
`)},
	{"array", []string{".npy"}, true, arraySteps},
}

// arraySteps has the type and the shape of the first array.
func arraySteps(first string) string {
	layout, err := npy.ReadLayout(beginning(first))
	if err != nil {
		return "  - decode_npy: {dtype: float32} # say which, and their shape\n  - batch: {size: 64}\n"
	}
	shape := make([]string, len(layout.Shape))
	for i, n := range layout.Shape {
		shape[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("  - decode_npy: {dtype: %v, shape: [%s]}\n  - batch: {size: 64}\n", layout.DType(), strings.Join(shape, ", "))
}

// beginning returns what a file begins with, more than any header has.
func beginning(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, npy.MaxHeader)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}

// recordings are the suffixes of files that have sound alone.
func recordings() []string {
	return slices.DeleteFunc(sound.Suffixes(), func(s string) bool { return slices.Contains(video.Suffixes(), s) })
}

// surroundings are what a folder has.
type surroundings struct {
	counts  []int  // of files, by medium
	first   string // path of one of the files
	most    int    // the medium with most of them
	classes int    // folders that those are in, if none is the folder itself
}

// lookAround counts the files of each medium.
func lookAround(ctx context.Context, folder string) (found surroundings, err error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return found, err
	}
	found.counts = make([]int, len(mediums))
	classes, firsts := make([]int, len(mediums)), make([]string, len(mediums))
	for i, m := range mediums {
		t, err := store.List(ctx, "/", absolute, m.suffixes)
		switch {
		case errors.Is(err, store.ErrNoFiles) && !errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return found, err
		}
		found.counts[i], classes[i], firsts[i] = t.Len(), classesOf(t, absolute), t.Path(0)
	}

	found.most = slices.Index(found.counts, slices.Max(found.counts))
	if found.counts[found.most] == 0 {
		return found, fmt.Errorf("%s has no images, recordings, videos or arrays: a recipe of your own begins with files or source (headrace ops files)", folder)
	}
	found.classes, found.first = classes[found.most], firsts[found.most]
	return found, nil
}

// classesOf counts the folders of files; 0: some are in the folder itself, or all are in
// one.
func classesOf(t *store.Table, folder string) int {
	folders := map[string]bool{}
	for i := range t.Len() {
		if filepath.Dir(t.Path(i)) == folder {
			return 0
		}
		folders[t.Parent(i)] = true
	}
	if len(folders) < 2 {
		return 0
	}
	return len(folders)
}

// summary is like "4,000 images in 10 classes; also 3 arrays".
func (s *surroundings) summary() string {
	say := func(i int) string { return words.Plural(int64(s.counts[i]), mediums[i].name) }
	text := say(s.most)
	if s.classes > 0 {
		text += " in " + strconv.Itoa(s.classes) + " classes"
	}
	var others []string
	for i := range mediums {
		if i != s.most && s.counts[i] > 0 {
			others = append(others, say(i))
		}
	}
	if others != nil {
		text += "; left out: " + words.List(others)
	}
	return text
}

func (s *surroundings) recipe(folder string) string {
	m := mediums[s.most]
	arguments := []string{"pattern: " + quoted(folder)}
	if s.classes > 0 {
		arguments = append(arguments, "label: parent")
	}
	if !m.content {
		arguments = append(arguments, "content: false")
	}
	return "headrace: 1\nsteps:\n  - files: {" + strings.Join(arguments, ", ") + "}\n  - shuffle\n" + m.steps(s.first)
}

// quoted is a text as YAML takes it within braces.
func quoted(text string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/.-_", r) || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	begins := func(r rune) bool { return plain(r) && r != '-' && (r < '0' || r > '9') }
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 && strings.IndexFunc(text, begins) == 0 {
		return text
	}
	return strconv.Quote(text)
}
