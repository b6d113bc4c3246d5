package input

import (
	"context"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/store"
)

// othersTried is how many other files tell whether one alone is missing.
const othersTried = 16

// PlaceGone tells whether it is not the one file that has this error, but the place where
// they all are: a folder that was removed, a mount that has gone, a disk. Files from all
// over the listing have the same kind of error then, every one of those that are tried;
// of one or two files in all the folder decides.
func (f *FileSet) PlaceGone(ctx context.Context, index int64, err error) bool {
	if machine.BlameOf(err) != machine.BlamePlace {
		return false
	}
	n := f.Len()
	if n <= 2 {
		path := f.Table.Path(int(index))
		if _, _, ok := store.Scheme(path); ok {
			return false // stores have no folders that could be gone
		}
		_, err := os.Stat(filepath.Dir(path))
		return machine.BlameOf(err) == machine.BlamePlace
	}
	tries := min(n-1, othersTried)
	for k := range tries {
		if other := (index + 1 + k*(n-1)/tries) % n; machine.BlameOf(f.touch(ctx, other)) == machine.BlameItem {
			return false
		}
	}
	return true
}

// touch reads a little of a file.
func (f *FileSet) touch(ctx context.Context, index int64) error {
	file, err := store.Open(ctx, f.Table.Path(int(index)), f.most)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Touch()
}
