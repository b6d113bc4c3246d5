package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/store"
)

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init FOLDER",
		Short: "Print a first recipe for a folder",
		Long: `Print a training recipe for the files in a folder: images, recordings, videos or arrays (.npy, .npz), told ` +
			`by name. Subfolders become classes. The folder may be one of a store, such as s3://bucket/train, and a pattern
in quotes takes its place.
Nothing is written: send the output to a file, and edit it.`,
		Example: `  headrace init data/train > train.yaml
  headrace init 'data/train/**/*.jpg' > train.yaml
  headrace inspect train.yaml
  headrace preview train.yaml -o sheet.png`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := lookAround(c.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(c.ErrOrStderr(), found.summary())
			_, err = fmt.Fprint(c.OutOrStdout(), found.recipe(c.Context(), args[0]))
			return err
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
}

// A medium is a kind of files, with a first recipe for them.
type medium struct {
	recipe.Beginning
	suffixes []string
}

// mediums returns those that operations decode. A suffix of several belongs to the last:
// videos have sound too.
func mediums() (all []medium) {
	var taken []string
	for _, op := range slices.Backward(recipe.Ops()) {
		if op.Beginning == nil {
			continue
		}
		mine := slices.DeleteFunc(recipe.TraitsOf(recipe.Completed(op.New())).Suffixes,
			func(s string) bool { return slices.Contains(taken, s) })
		taken = append(taken, mine...)
		all = append(all, medium{*op.Beginning, mine})
	}
	slices.Reverse(all)
	return all
}

// steps returns the first steps for files such as this one.
func (m *medium) steps(ctx context.Context, path string) string {
	f, err := store.Open(ctx, path, 0)
	if err != nil {
		return m.Steps(strings.NewReader(""))
	}
	defer f.Close()
	return m.Steps(io.NewSectionReader(f, 0, f.Size()))
}

// surroundings are what a folder has.
type surroundings struct {
	mediums []medium
	counts  []int  // of files, by medium
	first   string // path of one of the files
	most    int    // the medium with most of them
	classes int    // folders that those are in, if none is the folder itself
}

// lookAround counts the files of each medium, in a folder or of a pattern.
func lookAround(ctx context.Context, named string) (found surroundings, err error) {
	absolute, err := strings.TrimSuffix(named, "/"), error(nil)
	if _, _, away := store.Scheme(named); !away {
		absolute, err = filepath.Abs(named)
	}
	if err != nil {
		return found, err
	}
	found.mediums = mediums()
	found.counts = make([]int, len(found.mediums))
	t, err := store.List(ctx, "/", absolute, found.suffixes())
	switch {
	case errors.Is(err, store.ErrNoFiles) && !errors.Is(err, fs.ErrNotExist):
		t = new(store.Table) // others are there
	case err != nil:
		return found, err
	}
	firsts := make([]int, len(found.mediums))
	for i := range t.Len() {
		m := found.mediumOf(t.Key(i))
		if m < 0 { // of a pattern, which finds all
			continue
		}
		if found.counts[m] == 0 {
			firsts[m] = i
		}
		found.counts[m]++
	}

	found.most = slices.Index(found.counts, slices.Max(found.counts))
	if found.counts[found.most] == 0 {
		var all []string
		for _, m := range found.mediums {
			all = append(all, m.Of+"s")
		}
		last := len(all) - 1
		return found, fmt.Errorf("%s has no %s or %s: a recipe of your own begins with files or source (headrace ops files)",
			named, strings.Join(all[:last], ", "), all[last])
	}
	found.first = t.Path(firsts[found.most])
	folder := absolute
	if strings.ContainsAny(absolute, "*?[") {
		if folder, err = store.Base(ctx, "/", absolute); err != nil {
			return found, err
		}
	}
	found.classes = found.classesOf(t, folder)
	return found, nil
}

func (s *surroundings) suffixes() (all []string) {
	for _, m := range s.mediums {
		all = append(all, m.suffixes...)
	}
	return all
}

// mediumOf returns the number of a file's medium; negative: it has none.
func (s *surroundings) mediumOf(name string) int {
	name = strings.ToLower(name)
	return slices.IndexFunc(s.mediums, func(m medium) bool {
		return slices.ContainsFunc(m.suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
	})
}

// classesOf counts the folders of what most files are; 0: some are in the folder itself,
// or all are in one.
func (s *surroundings) classesOf(t *store.Table, folder string) int {
	folders := map[string]bool{}
	for i := range t.Len() {
		if s.mediumOf(t.Key(i)) != s.most {
			continue
		}
		if path := t.Path(i); path[:strings.LastIndexByte(path, '/')] == strings.TrimSuffix(folder, "/") {
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
	say := func(i int) string { return words.Plural(int64(s.counts[i]), s.mediums[i].Of) }
	text := say(s.most)
	if s.classes > 0 {
		text += " in " + strconv.Itoa(s.classes) + " classes"
	}
	var others []string
	for i := range s.mediums {
		if i != s.most && s.counts[i] > 0 {
			others = append(others, say(i))
		}
	}
	if others != nil {
		text += "; left out: " + words.List(others)
	}
	return text
}

func (s *surroundings) recipe(ctx context.Context, folder string) string {
	m := s.mediums[s.most]
	arguments := []string{"pattern: " + quoted(folder)}
	if s.classes > 0 {
		arguments = append(arguments, "label: parent")
	}
	if m.Paths {
		arguments = append(arguments, "content: false")
	}
	return "headrace: 1\nsteps:\n  - files: {" + strings.Join(arguments, ", ") + "}\n  - shuffle\n" + m.steps(ctx, s.first)
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
