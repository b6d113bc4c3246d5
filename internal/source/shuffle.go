package source

import "github.com/headrace/headrace/order"

// Shuffle is a random order in which all samples of a source come, each once.
type Shuffle struct {
	seed    uint64
	samples int64
	window  *int64 // nil: all
	blocks  order.Blocks
	lately
}

// newShuffle returns the order of contents, in windows of so many samples; nil: of all.
func newShuffle(c Contents, window *int64, seed uint64) (*Shuffle, error) {
	s := &Shuffle{seed: seed, samples: c.Len(), window: window}
	if window == nil {
		return s, nil
	}
	s.blocks = order.Runs(s.samples, *window)
	if c, ok := c.(interface {
		Blocks(least int64) (starts []int64, err error)
	}); ok {
		starts, err := c.Blocks(order.Run(*window))
		if err != nil {
			return nil, err
		}
		if starts != nil {
			s.blocks = order.BlocksAt(starts, s.samples)
		}
	}
	return s, nil
}

// of returns the function from a place of an epoch to a sample.
func (s *Shuffle) of(epoch int) func(place int64) int64 {
	if s.window == nil {
		p := order.Permute(s.samples, s.seed, epoch)
		return p.At
	}
	if at := s.Known(epoch); at != nil {
		return at
	}
	return s.keep(epoch, s.samples, order.PermuteWindows(s.blocks, *s.window, s.seed, epoch).At)
}
