package column

import (
	"encoding/binary"
	"errors"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[HashBuckets]("hash_buckets", recipe.Between,
	"Replace text or whole numbers by the number of a bucket, int64, for an embedding table.").Explained(`
The bucket is 'XXH64(bytes, seed) % buckets', on every machine and in every version, so a model can be served with it:
'xxhash.xxh64(text, seed).intdigest() % buckets' in Python. Bytes are those of the text in UTF-8, or the number as 'int64' in 8 bytes,
little-endian, whatever its dtype.`,
	`.hash_buckets("user", 1_000_000)`).Called("fields, buckets"))

// HashBuckets are the arguments of the operation hash_buckets.
type HashBuckets struct {
	On
	Buckets *int64 `json:"buckets,omitempty" required:"true" min:"1" example:"1000000" doc:"the number of buckets, which are 0, 1, …"`
	Seed    int64  `json:"seed,omitempty" min:"0" doc:"another seed makes other buckets; by default 0"`
}

// Check implements [recipe.Args].
func (h *HashBuckets) Check(in sample.Schema) (sample.Schema, error) { return check(h, in, false) }

// CheckRows implements [recipe.OnRows].
func (h *HashBuckets) CheckRows(in sample.Schema) (sample.Schema, error) { return check(h, in, true) }

// Link implements [core.Linker].
func (h *HashBuckets) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, h, t)
}

func (h *HashBuckets) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(h); err != nil {
		return nil, err
	}
	seed, n := uint64(h.Seed), uint64(*h.Buckets)
	return h.each(in, batches, func(t sample.Type) (made, error) {
		if t.Kind == sample.Text {
			if len(t.Shape) > 1 || batches && len(t.Shape) > 0 {
				return made{}, errors.New("must be text, not lists of text")
			}
			return made{dtype: tensor.Int64, fill: hashTexts(seed, n)}, nil
		}
		return made{dtype: tensor.Int64, fill: hashWhole(t.DType, seed, n)}, whole(t)
	})
}

func hashTexts(seed, buckets uint64) fill {
	return func(to []byte, from []Values) *Bad {
		texts := &from[0].Texts
		dst := numbersOf[int64](to)[:texts.Len()]
		for i := range dst {
			dst[i] = int64(xxh64(texts.At(i), seed) % buckets)
		}
		return nil
	}
}

func hashWhole(d tensor.DType, seed, buckets uint64) fill {
	return func(to []byte, from []Values) *Bad {
		dst, data := numbersOf[int64](to), from[0].Data
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		var key [8]byte
		for at, n := 0, len(data)/d.Size(); at < n; at += atOnce {
			v := b.ints[:min(atOnce, n-at)]
			loadInts(v, data[at*d.Size():], d)
			for i, x := range v {
				binary.LittleEndian.PutUint64(key[:], uint64(x))
				dst[at+i] = int64(xxh64(key[:], seed) % buckets)
			}
		}
		return nil
	}
}
