package export

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store"
)

// Options say what is written where. Zero fields mean their defaults.
type Options struct {
	Target
	ShardBytes   int64         // most bytes of a shard, if it has more than one sample; 0: 10⁹
	ShardSamples int64         // most samples of a shard; 0: as many as fit
	Images       string        // how shards have images: "npy", "png", "jpg" or "webp"; "": npy in tar, png in others
	Quality      int           // of jpg and webp; 0: 95 for jpg, lossless for webp
	Part         Part          // of the samples that are written
	Every        time.Duration // how often a checkpoint is written; 0: 5 s
	Overwrite    bool          // remove what an earlier run wrote

	away *away // of a folder in a store; nil: Dir is one of this machine
}

// where returns a name in the folder as messages have it.
func (o *Options) where(name string) string {
	if o.away != nil {
		return store.Join(o.away.shown, name)
	}
	return filepath.Join(o.Dir, name)
}

// hasSize refuses a file that is not the one that the journal speaks of.
func (o *Options) hasSize(f File) error {
	if o.away != nil {
		return o.away.hasSize(f.Name, f.Bytes)
	}
	return hasSize(filepath.Join(o.Dir, f.Name), f.Bytes)
}

// besideShard returns the name of the file beside a shard; "": there is none.
func (o *Options) besideShard(name string) string {
	if k := kinds[o.Kind]; k.beside != "" {
		return strings.TrimSuffix(name, k.suffix) + k.beside
	}
	return ""
}

// Run says what is written.
type Run struct {
	Info   headrace.Info
	Epochs int
	Fused  bool
}

func (o Options) check() error {
	images := kinds[o.Kind].images
	switch {
	case o.Images != "" && len(images) == 0:
		return fmt.Errorf("%w: --images is %q: --out %s writes arrays and no images; use --out tar", ErrOptions, o.Images, o.Kind)
	case o.Images != "" && !slices.Contains(images, o.Images):
		return fmt.Errorf("%w: --images is %q: must be %s or %s", ErrOptions, o.Images,
			strings.Join(images[:len(images)-1], ", "), images[len(images)-1])
	case o.Quality < 0 || o.Quality > 100:
		return fmt.Errorf("%w: --quality is %d: must be from 1 to 100", ErrOptions, o.Quality)
	case o.Quality != 0 && o.Images != "jpg" && o.Images != "webp":
		return fmt.Errorf("%w: --quality has no meaning with --images %s: use it with jpg or webp", ErrOptions, cmp.Or(o.Images, "npy"))
	case o.ShardBytes < 0:
		return fmt.Errorf("%w: --shard-size is %d: must be a number of bytes, at least 1", ErrOptions, o.ShardBytes)
	case o.ShardSamples < 0:
		return fmt.Errorf("%w: --shard-samples is %d: must be at least 1", ErrOptions, o.ShardSamples)
	}
	return nil
}

// checkShapes refuses to put arrays of different shapes into one.
func (o Options) checkShapes(fields []headrace.Field) error {
	for _, f := range fields {
		if o.Kind == "npy" && !f.Shape.Fixed() && !isLists(f) {
			return fmt.Errorf("%w: --out npy writes one array of all samples: the field %q is %v %v, "+
				"and has other shapes in other batches; use --out tar", ErrOptions, f.Name, f.DType, f.Shape)
		}
	}
	return nil
}

// checkWhole refuses batches that have no samples in them any more.
func checkWhole(i headrace.Info) error {
	if i.Single {
		return fmt.Errorf("%w: --out writes what comes into batches: end the recipe with batch", ErrOptions)
	}
	if i.Whole {
		return fmt.Errorf("%w: --out writes samples, and collate makes whole batches of them: leave it out of the recipe", ErrOptions)
	}
	return nil
}
