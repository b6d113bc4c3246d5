package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/shard/index"
)

// What people read fits a terminal of 80 columns, and a log. Names of files are theirs.
func TestNothingIsWiderThan80Columns(t *testing.T) {
	root := phototest.Folder(t, 20)
	t.Setenv(index.Variable, filepath.Join(root, "indices"))
	recipeIn(t, root, training)

	all := [][]string{
		{"--help"}, {"version"}, {"doctor"}, {"ops"},
		{"check", "r.yaml", "--set", "p=0.25"}, {"inspect", "r.yaml", "--set", "p=0.25"},
		{"run", "r.yaml", "--set", "p=0.25"}, {"run", "r.yaml", "--stats", "--fuse=false", "--set", "p=0.25"},
		{"bench", "r.yaml", "--set", "p=0.25", "--seconds", "0.1", "--rounds", "1", "--workers", "1,2,3,4,5,6"},
		{"profile", "r.yaml", "--set", "p=0.25", "--items", "8", "--workers", "1,2"},
		{"preview", "r.yaml", "--set", "p=0.25", "-o", "sheet.png"},
		{"init", "class0"}, {"inspect", "train.tar"}, {"index", "train.tar"},
		{"run", "r.yaml", "--set", "p=0.25", "--out", "tar:out/a-%03d.tar"},
		{"inspect", "branching.yaml"}, {"run", "branching.yaml", "--stats"},
		{"run", "none.yaml"}, {"run", "r.yaml", "--set", "p=2"}, {"inspect", "none.tar"}, {"run", "r.yaml", "--sett", "p=2"},
	}
	writeShard(t, filepath.Join(root, "train.tar"))
	if err := os.WriteFile(filepath.Join(root, "branching.yaml"), []byte(branching), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range rootCommand().Commands() {
		if !c.Hidden {
			all = append(all, []string{c.Name(), "--help"})
		}
	}
	for _, op := range recipe.Ops() {
		all = append(all, []string{"ops", op.Name})
	}

	for _, args := range all {
		got := invoke(t, root, args...)
		if got.stdout+got.stderr == "" {
			t.Errorf("%q says nothing", args)
		}
		for line := range strings.Lines(got.stdout + got.stderr) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.Contains(line, root) {
				t.Errorf("%q: %d characters: %s", args, n, line)
			}
		}
	}
}
