package flow

import (
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Shuffle]("shuffle", recipe.Ordering, "Visit samples in another random order in each epoch.").Explained(`
By default any sample may come next. That is best if each can be read alone: files, tar shards, Parquet with images,
uncompressed rows. If many are compressed together, as in '.json.gz', each read decompresses them all: set 'window' to
shuffle among about 64 runs of neighbours, which are read once. 'headrace inspect' says what your data needs.

The order depends only on the seed, the epoch and the window, not on machine, workers or ranks. It needs no buffer of samples.`,
	".shuffle()", ".shuffle(window=65_536)"))

// Shuffle are the arguments of the operation shuffle.
type Shuffle struct {
	Seed   *uint64 `json:"seed,omitempty" doc:"by default the pipeline's"`
	Window *int64  `json:"window,omitempty" min:"1" example:"65536"`
}

// Docs implements [argument.Documented].
func (*Shuffle) Docs() map[string]string {
	return map[string]string{
		"window": "shuffle this many samples at a time, drawn as runs of neighbours from many places, so that " +
			"what they share is read once; by default all at once. 65,536 suits text",
	}
}

// Identity writes out the seed.
func (s Shuffle) Identity(r recipe.Recipe) recipe.Args {
	if s.Seed == nil {
		s.Seed = &r.Seed
	}
	return &s
}

// Check implements [recipe.Args].
func (s *Shuffle) Check(in sample.Schema) (sample.Schema, error) {
	if w := argument.OrElse(s.Window, 1); w < 1 || w > recipe.MostSamples {
		return in, recipe.Wrong("window", "is %d: must be from 1 to %d", w, int64(recipe.MostSamples))
	}
	return in, nil
}

// Traits implements [recipe.Traited].
func (s *Shuffle) Traits() recipe.Traits {
	t := recipe.Traits{Seed: s.Seed, Notes: "shuffled again in each"}
	if s.Window != nil {
		t.Notes += fmt.Sprintf(", in windows of %s", words.Plural(*s.Window, "sample"))
	}
	return t
}

// Order implements [source.Orderer].
func (s *Shuffle) Order(l *source.Listing, o fuse.Order) error {
	n := l.Given()
	l.Window = n
	if s.Window == nil {
		l.Shuffle = (&shuffled{samples: n, of: func(epoch int) order.Sequence {
			all := order.Permute(n, o.Seed, epoch).Tabulated()
			return &all
		}}).epoch
		return nil
	}
	blocks := order.Runs(n, *s.Window)
	if c, ok := l.Contents.(interface {
		Blocks(least int64) (starts []int64, err error)
	}); ok {
		starts, err := c.Blocks(order.Run(*s.Window))
		if err != nil {
			return fmt.Errorf("%w: %w", source.ErrSource, err)
		}
		if starts != nil {
			blocks = order.BlocksAt(l.Starts(starts), n)
		}
	}
	l.Shuffle = (&shuffled{samples: n, of: func(epoch int) order.Sequence {
		return order.PermuteWindows(blocks, *s.Window, o.Seed, epoch)
	}}).epoch
	l.Window = min(n, 2**s.Window) // of blocks that begin and end anywhere
	return nil
}

// shuffled has the random order of each epoch.
type shuffled struct {
	samples int64
	of      func(epoch int) order.Sequence
	source.Recent
}

// epoch returns the order of an epoch. Lanes of a source share it.
func (s *shuffled) epoch(epoch int) order.Sequence {
	if all := s.Known(epoch); all != nil {
		return all
	}
	return s.Keep(epoch, s.samples, s.of(epoch))
}
