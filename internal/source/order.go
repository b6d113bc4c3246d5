package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Order says which samples an epoch has, where these are not all of the source: some may
// come twice, and others not at all.
type Order interface {
	// Len is how many places an epoch has.
	Len() int64
	// Epoch returns the samples at the places of an epoch. It may wait.
	Epoch(ctx context.Context, epoch int) (order.Sequence, error)
	// Known returns what Epoch has returned for one of the last epochs; nil: it has not.
	Known(epoch int) order.Sequence
}

// SetOrder gives the listing an order of its own.
func (l *Listing) SetOrder(o Order) { l.Order, l.Among = o, l.among }

// Sampler is an object of Python that says which samples come in an epoch.
type Sampler struct {
	Function string
	Length   int64 // samples in the first epoch
	Lists    int64 // batches of which it gives the samples as lists, there; 0: it gives none
	Places   bool  // its numbers are places, and the source itself knows which sample is there
}

// SampleBy has a sampler order the samples.
func (l *Listing) SampleBy(s Sampler) {
	l.SetOrder(&sampled{Sampler: s, samples: l.Samples, name: l.Name})
}

// ErrSampler marks what a sampler gives that is no order of samples.
var ErrSampler = errors.New("headrace: the sampler")

// sampled has the order of an object of Python.
type sampled struct {
	Sampler
	samples int64 // of the source
	name    string
	work    *core.Env
	pool    *extern.Pool
	Recent

	asking sync.Mutex // lanes ask for an epoch at once, of which there is one order
	drawn  sync.Map   // by epoch: what it has given for those that Recent knows
}

// Link opens the workers that have the object.
func (s *sampled) link(w *core.Env) (err error) {
	s.work = w
	o := extern.Options{
		Kind: extern.Index, In: sample.Schema{}, To: []string{"order"},
		Gives: sample.Schema{{Name: "order", Type: sample.TensorType(tensor.Int64, tensor.Unknown)}},
	}
	call := &recipe.Python{Function: s.Function, Fields: []string{"order"}}
	if s.pool, _, err = python.HostOf(w).Open(s.name+" order", call, o, nil); err == nil {
		s.pool.SetWorkers(1) // there is one call an epoch
	}
	return err
}

// Len implements Order.
func (s *sampled) Len() int64 { return s.Length }

// Epoch implements Order.
func (s *sampled) Epoch(ctx context.Context, epoch int) (order.Sequence, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if all := s.Known(epoch); all != nil {
		return all, nil
	}
	call := &extern.Call{ID: sample.ID{Source: s.name, Epoch: epoch, Index: int64(epoch)}, Key: s.name}
	if err := s.pool.Call(ctx, call); err != nil {
		return nil, err
	}
	data := call.Out[0].Data
	defer func() {
		if s.work.Shared.Has(data) {
			s.work.Shared.Give(data)
		}
	}()
	all := make([]int64, len(data)/8)
	for i := range all {
		all[i] = int64(binary.NativeEndian.Uint64(data[8*i:]))
	}
	d := &drawn{numbers: all}
	if s.Lists > 0 {
		if d = cut(all); d == nil {
			return nil, fmt.Errorf("%w of %q gives lists in epoch %d that do not add up", ErrSampler, s.name, epoch)
		}
	}
	if len(d.numbers) == 0 {
		return nil, fmt.Errorf("%w of %q gives no samples in epoch %d: have it give at least one, "+
			"or end before that with loader(epochs=%d)", ErrSampler, s.name, epoch, epoch)
	}
	if err := s.check(epoch, d.numbers); err != nil {
		return nil, err
	}

	s.drawn.Store(epoch, d)
	known := s.Keep(epoch, int64(len(d.numbers)), d.numbers)
	// There is a number for each place, so only epochs that are still known keep theirs.
	s.drawn.Range(func(key, _ any) bool {
		if s.Known(key.(int)) == nil {
			s.drawn.Delete(key)
		}
		return true
	})
	return known, nil
}

// check says which number is none of a sample.
func (s *sampled) check(epoch int, numbers []int64) error {
	for _, n := range numbers {
		if n < 0 || n >= s.samples && !s.Places {
			return fmt.Errorf("%w of %q gives sample %d in epoch %d: there are %d, numbered from 0",
				ErrSampler, s.name, n, epoch, s.samples)
		}
	}
	return nil
}
