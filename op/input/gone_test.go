package input

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/store"
)

// One missing file is a bad sample. Where all are missing, the folder is, and that is no
// sample's fault.
func TestAFolderThatIsGoneIsNoBadSample(t *testing.T) {
	for _, n := range []int{1, 2, 3, 40} {
		root, paths := folderOfFiles(t, max(2, n))
		if n == 1 {
			os.Remove(paths[1])
			paths = paths[:1]
		}
		f := &Files{}
		for _, path := range paths {
			f.Paths = append(f.Paths, recipe.Path(path))
		}
		set, err := list(t.Context(), f, nil, shard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		missing := func(i int64) error {
			_, err := store.Open(t.Context(), set.Table.Path(int(i)), 0)
			return err
		}
		os.Remove(paths[n/2])
		err = missing(int64(n / 2))
		if err == nil || set.PlaceGone(t.Context(), int64(n/2), err) {
			t.Errorf("one of %d files: %v", n, err)
		}
		if err := os.Rename(root, root+"-gone"); err != nil {
			t.Fatal(err)
		}
		for i := range int64(n) {
			if err := missing(i); !set.PlaceGone(t.Context(), i, err) {
				t.Errorf("all of %d files: %v", n, err)
			}
		}
	}
}

// folderOfFiles makes files that nobody decodes.
func folderOfFiles(t *testing.T, n int) (root string, paths []string) {
	root = filepath.Join(t.TempDir(), "files")
	for i := range n {
		path := filepath.Join(root, fmt.Sprintf("%03d", i))
		paths = append(paths, path)
		if err := errors.Join(os.MkdirAll(root, 0o755), os.WriteFile(path, []byte("file"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root, paths
}
