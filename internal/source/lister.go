package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/shard"
)

// Lister makes the sources of a recipe. It lists files and opens shards once, however
// many loaders are made on the way to one.
type Lister struct {
	suffixes []string // of files in folders
	listed   map[string]*Files
	opened   map[string]*Shards // both by the names of their steps
}

// NewLister returns one for a recipe.
func NewLister(r recipe.Recipe) *Lister {
	return &Lister{suffixes: suffixes(r), listed: map[string]*Files{}, opened: map[string]*Shards{}}
}

// Read finds the samples of all shards, and what is beside files in tables, and notes in
// the recipe, which is complete, what their fields are. It tells whether there were any.
func (l *Lister) Read(ctx context.Context, r recipe.Recipe, scanned func(done, all int),
	warn func(message string)) (noted bool, err error) {
	scanning := shard.Options{Scanned: scanned, Warn: warn}
	for i, s := range r.All() {
		switch args := s.Args.(type) {
		case *input.ReadShards:
			var shards *Shards
			if shards, err = openShards(ctx, args, scanning); err == nil {
				l.opened[s.Name] = shards
			}
		case *input.Files:
			if args.Metadata == "" {
				continue
			}
			var files *Files
			if files, err = newFiles(ctx, *args, l.suffixes, scanning); err == nil {
				l.listed[s.Name], args.Gives.Schema = files, files.Gives()
			}
		default:
			continue
		}

		switch noted = true; {
		case errors.Is(err, shard.ErrNoField):
			return noted, &recipe.Error{Step: i, Name: s.Name, Path: "args.fields", Err: err}
		case err != nil:
			return noted, fmt.Errorf("%w: %w", ErrSource, err)
		}
	}
	return noted, nil
}

// Close closes the shards.
func (l *Lister) Close() {
	for _, s := range l.opened {
		s.Set.Close()
	}
}

// List makes the sources of a plan for one rank of a world, and returns them with the
// names of labels that folders give.
func (l *Lister) List(ctx context.Context, p fuse.Plan, rank, world int) (all []*Listing, classes []recipe.Path, err error) {
	var parents []*Files
	unnamed := false
	first := int64(0)

	for _, f := range p.Samples.Sources() {
		s := &Listing{Source: record.Source{Name: f.Name, Draws: order.SourceID(f.Name), First: first}, Names: f.Names}
		switch args := f.Args.(type) {
		case *input.ReadShards:
			s.Contents = l.opened[f.Name].Again()
			unnamed = true
		case *input.Object:
			s.Contents = newObject(args, s, rank, world)
			unnamed = true
			if s.Iterated() && rank > 0 { // its numbers are those of other samples than on other ranks, and draw what others do not
				s.Draws = order.SourceID(fmt.Sprintf("%s/%d", f.Name, rank))
			}
		case *input.Files:
			files, err := l.files(ctx, f.Name, args)
			if err != nil {
				return nil, nil, err
			}
			s.Contents = files
			tabled := (args.Columns != nil || args.Metadata != "") && args.Label == ""
			unnamed = unnamed || args.Pairs != nil || tabled
			if args.Label == "parent" {
				parents = append(parents, files)
			}
		}

		s.Key, s.Samples = s.Contents.Key, s.Contents.Len()
		if args, ok := f.Order.(*flow.Shuffle); ok {
			if s.Shuffle, err = newShuffle(s.Contents, args.Window, f.Seed); err != nil {
				return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
			}
		}
		own, err := newOrder(f, s.Samples)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", core.ErrConfig, err)
		}
		if own != nil {
			s.Order, s.Among = own, s.among
		}
		first += s.Samples
		all = append(all, s)
	}

	if classes = labelByParent(parents); unnamed {
		classes = nil
	}
	return all, classes, nil
}

// files are those of a source, for one loader.
func (l *Lister) files(ctx context.Context, name string, args *input.Files) (*Files, error) {
	if known, ok := l.listed[name]; ok {
		again := *known
		return &again, nil
	}
	files, err := newFiles(ctx, *args, l.suffixes, shard.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	l.listed[name] = files
	return files, nil
}
