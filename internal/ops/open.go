package ops

import (
	"fmt"
	"path/filepath"

	"github.com/headrace/headrace/store"
)

// openNamed opens the file that a record names. Objects of Python name it as they would
// open it themselves, from where their program runs, which is elsewhere than the engine.
func (w *Env) openNamed(path string) (store.File, error) {
	if !filepath.IsAbs(path) {
		if w.Host == nil || w.Host.python == nil {
			return store.File{}, fmt.Errorf("headrace: the path %q is relative: must begin with /", path)
		}
		path = filepath.Join(w.Host.python.Directory, path)
	}
	return store.Local{}.Open(path)
}
