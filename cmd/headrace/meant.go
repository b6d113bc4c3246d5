package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace/internal/words"
)

// flagMeant adds to an error about an unknown flag which one was probably meant.
func flagMeant(c *cobra.Command, err error) error {
	given, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := words.Nearest(given, known); near != "" {
		return fmt.Errorf("unknown flag: --%s: did you mean --%s?", given, near)
	}
	return err
}

// fileMeant adds to an error about a recipe that is not there which file was probably
// meant.
func fileMeant(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder, name := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Dir(path))
	var known []string
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".yaml", ".yml", ".json":
			known = append(known, e.Name())
		}
	}
	if near := words.Nearest(name, known); near != "" {
		return fmt.Errorf("%w: did you mean %s?", err, folder+near)
	}
	return err
}
