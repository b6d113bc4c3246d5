package group

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/pipe"
)

// BucketOpts are the settings of [Buckets]. A batch is handed on when it has Size
// samples, or as many as Tokens allow.
type BucketOpts struct {
	// Lengths are the greatest length of each bucket, rising. None: one bucket, for all
	// lengths up to Tokens.
	Lengths []int
	// Size is the most samples of a batch; 0: no limit.
	Size int
	// Sizes are that for each bucket, where they differ.
	Sizes []int
	// Tokens is the most samples times their padded length; 0: no limit. It may be in
	// bytes, if Lengths are.
	Tokens int
	// Longest pads to the longest sample of a batch, and not to the greatest length of
	// its bucket. Without Lengths it is always so.
	Longest bool
	// Overlong says what becomes of samples that are longer than the last bucket's.
	Overlong Overlong
}

// Limit is the greatest length that fits.
func (o BucketOpts) Limit() int {
	if n := len(o.Lengths); n > 0 {
		return o.Lengths[n-1]
	}
	if o.Tokens > 0 {
		return o.Tokens
	}
	return math.MaxInt
}

// Check returns what is wrong with the settings, all of it.
func (o BucketOpts) Check() error {
	errs := []error{o.Overlong.check()}
	if o.Size < 0 || o.Tokens < 0 {
		errs = append(errs, fmt.Errorf("group: batches of %d samples and %d tokens: no limit may be below 0", o.Size, o.Tokens))
	}
	if len(o.Sizes) > 0 && (len(o.Sizes) != len(o.Lengths) || slices.Min(o.Sizes) < 1) {
		errs = append(errs, fmt.Errorf("group: sizes are %v for buckets of the lengths %v: each must be at least 1", o.Sizes, o.Lengths))
	}
	if o.Size == 0 && o.Tokens == 0 && len(o.Sizes) == 0 {
		errs = append(errs, errors.New("group: has neither size nor tokens: without a limit no batch would end"))
	}
	for i, n := range o.Lengths {
		if n < 1 || i > 0 && n <= o.Lengths[i-1] {
			errs = append(errs, fmt.Errorf("group: the buckets' lengths are %v: must be rising numbers, at least 1", o.Lengths))
			break
		}
	}
	if o.Tokens > 0 && len(o.Lengths) > 0 && o.Limit() > o.Tokens {
		errs = append(errs, fmt.Errorf("group: a sample of length %d alone is more than %d tokens", o.Limit(), o.Tokens))
	}
	return errors.Join(errs...)
}

// Buckets makes aggregators that gather samples of like lengths. The shape of a batch
// is the length to which its samples are padded. At the end of an epoch each bucket
// gives what it has, shortest first, or drops it, as [pipe.AggregateOpts] say.
//
// Buckets know nothing of each other, and a bucket begins again after each of its
// batches. A batch ends before the first sample that does not fit, which is then the
// first that its bucket holds.
func Buckets[T any](length func(T) int, o BucketOpts) (begin func() pipe.Aggregator[T, Placed[T, int]], err error) {
	return BucketsOf(length, func(to int, _ []pipe.Held[T]) int { return to }, o)
}

// BucketsOf is [Buckets] of batches whose shape follows from their samples, too: of is
// given the length to which they are padded.
func BucketsOf[T, S any](length func(T) int, of func(to int, all []pipe.Held[T]) S, o BucketOpts) (
	begin func() pipe.Aggregator[T, Placed[T, S]], err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Lengths, o.Sizes = slices.Clone(o.Lengths), slices.Clone(o.Sizes)
	return func() pipe.Aggregator[T, Placed[T, S]] {
		b := &buckets[T, S]{length: length, of: of, opts: o}
		for i, n := range o.Lengths {
			size := o.Size
			if len(o.Sizes) > 0 && (size == 0 || o.Sizes[i] < size) {
				size = o.Sizes[i]
			}
			b.all = append(b.all, bucket[T]{opts: &b.opts, greatest: n, size: size})
		}
		if len(o.Lengths) == 0 {
			b.opts.Longest = true
			b.all = []bucket[T]{{opts: &b.opts, greatest: o.Limit(), size: o.Size}}
		}
		return b
	}, nil
}

type buckets[T, S any] struct {
	length func(T) int
	of     func(int, []pipe.Held[T]) S
	opts   BucketOpts
	all    []bucket[T]
}

func (b *buckets[T, S]) Add(_ context.Context, v pipe.Held[T], e *pipe.Emitter[T, Placed[T, S]]) error {
	n, err := b.opts.Overlong.Fit(b.length(v.Value), b.opts.Limit())
	if err != nil {
		return err
	}
	at, _ := slices.BinarySearch(b.opts.Lengths, n)
	to := &b.all[at]
	if !to.takes(n) {
		b.emit(to, e)
	}
	to.held, to.longest = append(to.held, v), max(to.longest, n)
	if !to.takes(to.longest) { // nor anything else
		b.emit(to, e)
	}
	return nil
}

func (b *buckets[T, S]) Flush(_ context.Context, e *pipe.Emitter[T, Placed[T, S]]) error {
	for i := range b.all {
		b.emit(&b.all[i], e)
	}
	return nil
}

// bucket is the batch that is being gathered of lengths up to greatest.
type bucket[T any] struct {
	opts     *BucketOpts
	greatest int
	size     int // the most samples of a batch; 0: no limit
	longest  int
	held     []pipe.Held[T]
}

// takes tells whether one more sample of length n fits.
func (b *bucket[T]) takes(n int) bool {
	rows := len(b.held) + 1
	if b.size > 0 && rows > b.size {
		return false
	}
	if b.opts.Longest {
		n = max(b.longest, n, 1) // empty samples take room, too: a batch of them would not end
	} else {
		n = b.greatest
	}
	return b.opts.Tokens == 0 || n <= b.opts.Tokens/rows
}

func (b *buckets[T, S]) emit(from *bucket[T], e *pipe.Emitter[T, Placed[T, S]]) {
	if len(from.held) == 0 {
		return
	}
	to := from.greatest
	if b.opts.Longest {
		to = from.longest
	}
	emit(e, b.of(to, from.held), from.held)
	from.held, from.longest = from.held[:0], 0
}
