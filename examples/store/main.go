// Command store reads shards of a store that it brings along: any [fs.FS], which may be a
// folder, a zip file or what is embedded in a program.
//
//	go run ./examples/store FOLDER      every sample of the tar files in FOLDER
package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
	"github.com/headrace/headrace/store"
)

type files struct{ fs.FS }

func (f files) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	var names []string
	err := fs.WalkDir(f, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	if err == nil {
		err = ctx.Err()
	}
	return func(yield func(store.Object, error) bool) {
		if err != nil {
			yield(store.Object{}, err)
			return
		}
		for _, name := range names {
			if o, err := f.Stat(ctx, name); !yield(o, err) {
				return
			}
		}
	}
}

func (f files) Stat(_ context.Context, name string) (store.Object, error) {
	s, err := fs.Stat(f, name)
	if err != nil {
		return store.Object{}, err
	}
	if s.IsDir() {
		return store.Object{}, fmt.Errorf("%w but a folder: %s", store.ErrNotRegular, name)
	}
	return store.Object{Name: name, Size: s.Size(), Version: s.ModTime().UTC().String()}, nil
}

func (f files) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	now, err := f.Stat(ctx, o.Name)
	if err != nil {
		return err
	}
	if now != o {
		return fmt.Errorf("%w: %s", store.ErrChanged, o.Name)
	}
	file, err := f.Open(o.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	n, err := file.(io.ReaderAt).ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: store FOLDER")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string, out io.Writer) error {
	store.Register("mine", files{os.DirFS(folder)})
	set, err := shard.Open(ctx, []string{"mine://*.tar"}, shard.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	for i := range set.Len() {
		fmt.Fprintln(out, set.Key(i))
	}
	return nil
}
