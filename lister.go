package headrace

import (
	"context"
	"errors"
	"fmt"

	"headrace/internal/source"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/shard"
)

// lister lists each source of files once, however many loaders are made on the way to
// one.
type lister struct {
	suffixes []string // of files in folders
	listed   map[string]*source.Files
	opened   map[string]*source.Shards // by the names of their steps
}

// reads tells whether a recipe reads shards, or tables beside files.
func (l *lister) reads(r recipe.Recipe) bool {
	for _, s := range r.All() {
		switch args := s.Args.(type) {
		case *recipe.ReadShards:
			return true
		case *recipe.Files:
			if args.Metadata != "" {
				return true
			}
		}
	}
	return false
}

// openShards finds the samples of all shards, and what is beside files in tables, and
// notes in the recipe, which is complete, what their fields are.
func (l *lister) openShards(ctx context.Context, r recipe.Recipe, o Options) (err error) {
	l.opened = map[string]*source.Shards{}
	scanning := shard.Options{Scanned: o.Scanned}
	for i, s := range r.All() {
		switch args := s.Args.(type) {
		case *recipe.ReadShards:
			l.opened[s.Name], err = source.OpenShards(ctx, args, scanning)
		case *recipe.Files:
			if args.Metadata == "" {
				continue
			}
			var files *source.Files
			if files, err = source.NewFiles(ctx, *args, l.suffixes, scanning); err == nil {
				l.listed[s.Name], args.Gives.Schema = files, files.Gives()
			}
		}
		switch {
		case errors.Is(err, shard.ErrNoField):
			err = &recipe.Error{Step: i, Name: s.Name, Path: "args.fields", Err: err}
		case err != nil:
			err = fmt.Errorf("%w: %w", ErrSource, err)
		}
		if err != nil {
			delete(l.opened, s.Name)
			l.close()
			return err
		}
	}
	return nil
}

// shards returns the contents of a step that reads shards, for one loader.
func (l *lister) shards(_ context.Context, name string, _ *recipe.ReadShards) (source.Contents, error) {
	return l.opened[name].Again(), nil
}

func (l *lister) close() {
	for _, s := range l.opened {
		s.Set.Close()
	}
}

func (l *lister) files(ctx context.Context, s *fuse.Source) (*source.Files, error) {
	if known, ok := l.listed[s.Name]; ok {
		again := *known
		return &again, nil
	}
	files, err := source.NewFiles(ctx, s.Files, l.suffixes, shard.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	l.listed[s.Name] = files
	return files, nil
}
