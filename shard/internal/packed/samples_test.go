package packed_test

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/packed"
	"github.com/headrace/headrace/shard/shardtest"
)

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		size, samples int64
		fits          bool
	}{
		{100, 0, true}, {100, 1 << 24, true}, {100, 1<<24 + 1, false}, {1 << 30, 1 << 34, true}, {1 << 30, 1<<34 + 16, false}, {0, 1 << 62, false},
	} {
		err := packed.Samples(&shardtest.Sparse{Length: c.size}, c.samples)
		if (err == nil) != c.fits || err != nil && !errors.Is(err, shard.ErrUnsupported) {
			t.Errorf("%d samples of %d bytes: %v", c.samples, c.size, err)
		}
	}
}
