package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/shard"
)

// Input is implemented by arguments of sources that the engine reads.
type Input interface {
	recipe.Args
	// Early reports whether the fields of samples are known only when these are found.
	// Find notes them in the arguments.
	Early() bool
	// Find finds the samples. Folders are listed for files with the suffixes.
	Find(ctx context.Context, suffixes []string, o shard.Options) (Found, error)
}

// Found are samples that were found once, for any number of loaders.
type Found interface {
	Again() Contents // for another loader
	Close()
}

// Orderer is implemented by arguments of steps that order the samples of a source, or say
// which of them come: they call one of the methods of [Listing] for that.
type Orderer interface {
	recipe.Args
	Order(l *Listing, o fuse.Order) error
}

// Chosen are contents of which only some samples come.
type Chosen interface {
	Contents
	Chosen() Selection // nil: all do
}

// Lister makes the sources of a recipe. It lists files and opens shards once, however
// many loaders are made on the way to one.
type Lister struct {
	suffixes []string         // of files in folders
	found    map[string]Found // by the names of their steps
}

// NewLister returns one for a recipe.
func NewLister(r recipe.Recipe) *Lister {
	return &Lister{suffixes: suffixes(r), found: map[string]Found{}}
}

// Read finds the samples of all shards, and what is beside files in tables, and notes in
// the recipe, which is complete, what their fields are. It tells whether there were any.
func (l *Lister) Read(ctx context.Context, r recipe.Recipe, scanned func(done, all int),
	warn func(message string)) (noted bool, err error) {
	scanning := shard.Options{Scanned: scanned, Warn: warn}
	for i, s := range r.All() {
		in, ok := s.Args.(Input)
		if !ok || !in.Early() {
			continue
		}
		noted = true
		var m argument.Mistake
		switch _, err := l.find(ctx, s.Name, in, scanning); {
		case errors.As(err, &m):
			return noted, &recipe.Error{Step: i, Name: s.Name, Path: argument.Join("args", m.Path), Err: m.Err}
		case errors.Is(err, shard.ErrNoField):
			return noted, &recipe.Error{Step: i, Name: s.Name, Path: "args.fields", Err: err}
		case err != nil:
			return noted, fmt.Errorf("%w: %w", ErrSource, err)
		}
	}
	return noted, nil
}

// find finds the samples of a step.
func (l *Lister) find(ctx context.Context, name string, in Input, o shard.Options) (Found, error) {
	found, err := in.Find(ctx, l.suffixes, o)
	if err == nil {
		l.found[name] = found
	}
	return found, err
}

// Close closes the shards.
func (l *Lister) Close() {
	for _, f := range l.found {
		f.Close()
	}
}

// List makes the sources of a plan for one rank of a world, and returns them with the
// names of labels that folders give.
func (l *Lister) List(ctx context.Context, p fuse.Plan, rank, world int) (all []*Listing, classes []recipe.Path, err error) {
	var inFolders []Labelled
	unnamed := false
	first := int64(0)

	for _, f := range p.Samples.Sources() {
		s := &Listing{Source: record.Source{Name: f.Name, Draws: order.SourceID(f.Name), First: first}, Names: f.Names}
		if call := recipe.TraitsOf(f.Args).Call; call != nil {
			s.Contents = newObject(call, s, rank, world)
		} else if s.Contents, err = l.contents(ctx, f); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		if s.Iterated() && rank > 0 { // its numbers are those of other samples than on other ranks, and draw what others do not
			s.Draws = order.SourceID(fmt.Sprintf("%s/%d", f.Name, rank))
		}
		labelled, ok := s.Contents.(Labelled)
		unnamed = unnamed || !ok || labelled.Unnamed()
		if ok && labelled.ByFolder() {
			inFolders = append(inFolders, labelled)
		}

		s.Key, s.Samples = s.Contents.Key, s.Contents.Len()
		if c, ok := s.Contents.(Chosen); ok {
			if rows := c.Chosen(); rows != nil {
				s.Choose(f.Name, rows)
			}
		}
		for _, o := range f.Orders {
			if err := o.Args.(Orderer).Order(s, o); err != nil {
				return nil, nil, err
			}
		}
		first += s.Samples
		all = append(all, s)
	}

	// Folder names would be wrong for labels from elsewhere: one such source drops all.
	if classes = numberFolders(inFolders); unnamed {
		classes = nil
	}
	return all, classes, nil
}

// Begins returns the listings in which samples of a plan have positions, in its order:
// those of its sources, or of mixes of these. Samples come into batches of such a split.
func (l *Lister) Begins(p fuse.Plan, sources []*Listing, batches order.Split) ([]*Listing, error) {
	return begins(p.Samples, &sources, batches)
}

// begins takes the sources of a flow from those that are left.
func begins(f fuse.Flow, left *[]*Listing, batches order.Split) (all []*Listing, err error) {
	switch {
	case f.Source != nil:
		all, *left = (*left)[:1:1], (*left)[1:]
	case f.Batches != nil:
		return begins(f.Batches.Samples, left, batches)
	case f.Merge != nil:
		for _, of := range f.Merge.Of {
			some, err := begins(of, left, batches)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		if f.Merge.Mix != nil {
			return Mix(f.Merge, all, batches)
		}
	}
	return all, nil
}

// contents returns the contents of a source, for one loader.
func (l *Lister) contents(ctx context.Context, s *fuse.Source) (Contents, error) {
	found, ok := l.found[s.Name]
	if !ok {
		var err error
		if found, err = l.find(ctx, s.Name, s.Args.(Input), shard.Options{}); err != nil {
			return nil, err
		}
	}
	return found.Again(), nil
}

// suffixes returns the suffixes of files that a folder is listed for: arrays, recordings
// and videos, if the recipe reads any, and images, unless it decodes none.
func suffixes(r recipe.Recipe) (all []string) {
	found := map[string][]string{}
	for _, s := range r.All() {
		if t := recipe.TraitsOf(s.Args); t.Suffixes != nil {
			for _, suffix := range t.Suffixes {
				if !slices.Contains(found[t.Content], suffix) {
					found[t.Content] = append(found[t.Content], suffix)
				}
			}
		}
	}
	for _, content := range [...]string{"array", "audio", "video", "image"} {
		all = append(all, found[content]...)
	}
	if all == nil {
		return media.Suffixes()
	}
	return all
}

// ErrSource marks data that cannot be listed.
var ErrSource = errors.New("headrace: source")
