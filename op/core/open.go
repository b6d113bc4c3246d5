package core

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/store"
)

// PythonHost calls functions of Python. Package op/python has it.
type PythonHost interface {
	// Directory is where the program runs; "": it is not known.
	Directory() string
}

// OpenNamed opens the file that a record names. Objects of Python name it as they would
// open it themselves, from where their program runs, which is elsewhere than the engine.
// An object that its source has found is read in that version, and not looked for again.
func (w *Env) OpenNamed(ctx context.Context, it *record.Record, path string) (store.File, error) {
	if it.Found != nil && it.Found.Name() == path {
		return it.Found.Until(pipe.RunContext(ctx)), nil
	}
	if _, _, ok := store.Scheme(path); !ok && !filepath.IsAbs(path) {
		if w.Host == nil || w.Host.Directory() == "" {
			return store.File{}, fmt.Errorf("headrace: the path %q is relative: must begin with /", path)
		}
		path = filepath.Join(w.Host.Directory(), path)
	}
	f, err := store.Open(ctx, path, 0)
	return f.Until(pipe.RunContext(ctx)), err // another stage may read it
}
