package ops

import (
	"fmt"
	"path/filepath"

	"headrace/store"
)

// openNamed opens the file that a record names.
func openNamed(path string) (store.File, error) {
	if !filepath.IsAbs(path) {
		return store.File{}, fmt.Errorf("headrace: the path %q is relative: must begin with /", path)
	}
	return store.Local{}.Open(path)
}
