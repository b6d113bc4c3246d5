package ops

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/store"
)

// openNamed opens the file that a record names. Objects of Python name it as they would
// open it themselves, from where their program runs, which is elsewhere than the engine.
func (w *Env) openNamed(ctx context.Context, path string) (store.File, error) {
	if _, _, ok := store.Scheme(path); !ok && !filepath.IsAbs(path) {
		if w.Host == nil || w.Host.python == nil {
			return store.File{}, fmt.Errorf("headrace: the path %q is relative: must begin with /", path)
		}
		path = filepath.Join(w.Host.python.Directory, path)
	}
	f, err := store.Open(ctx, path, 0)
	return f.Until(pipe.RunContext(ctx)), err // another stage may read it
}
