package flow

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Split]("split", recipe.Ordering,
	"Use the samples whose names fall between two shares: parts that never overlap.").Explained(`
A sample's name and the seed say where between 0 and 1 it falls, so it stays in its part whatever is added to the data.
Shares are approximate: of 10,000 samples, a tenth is 1,000 ± 60.`))

// byKey is the argument by where samples are divided by their names.
const byKey = "key"

// Split are the arguments of the operation split.
type Split struct {
	From *float64 `json:"from,omitempty" default:"0" min:"0" max:"1" doc:"where the part begins: the shares of the parts before it"`
	To   *float64 `json:"to,omitempty" default:"1" min:"0" max:"1" example:"0.9" doc:"where it ends, so its share is the difference"`
	By   string   `json:"by,omitempty" default:"key"`
	Seed *uint64  `json:"seed,omitempty" default:"0" doc:"another seed is another split; it is not the pipeline's"`
}

// Docs implements [argument.Documented].
func (*Split) Docs() map[string]string {
	return map[string]string{
		"by": "key, the sample's name, a field of files (label, a column or of metadata), or a column of read of text, " +
			"whole numbers or truth values; samples with the same value are in the same part",
	}
}

// Check implements [recipe.Args].
func (s *Split) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	from, to := s.ends()
	for _, end := range []struct {
		name  string
		value float64
	}{{"from", from}, {"to", to}} {
		if !(end.value >= 0 && end.value <= 1) { // NaN is neither
			errs = append(errs, recipe.Wrong(end.name, "is %v: must be from 0 to 1", end.value))
		}
	}
	if from >= to {
		errs = append(errs, recipe.Wrong("to", "is %v, and from is %v: must be above it", to, from))
	}
	if by := s.by(); by != byKey && in != nil {
		if i := in.Find(by); i < 0 {
			errs = append(errs, recipe.Wrong("by", "is %q, and there is no such field: the samples have %s", by, in))
		} else if t := in[i].Type; len(t.Shape) > 0 {
			errs = append(errs, recipe.Wrong("by", "is %q, which is %v: must be text or one number", by, t))
		}
	}
	return in, errors.Join(errs...)
}

func (s *Split) ends() (from, to float64) {
	return argument.OrElse(s.From, 0), argument.OrElse(s.To, 1)
}

func (s *Split) by() string {
	if s.By == "" {
		return byKey
	}
	return s.By
}

// Traits implements [recipe.Traited].
func (*Split) Traits() recipe.Traits { return recipe.Traits{Selects: true, Divides: true} }

// Order implements [source.Orderer].
func (s *Split) Order(l *source.Listing, o fuse.Order) error {
	name, failed, err := s.names(l)
	if err != nil {
		return err
	}
	from, to := s.ends()
	n, seed := l.Given(), argument.OrElse(s.Seed, 0)
	l.Divide(o.Name, func(index int64) bool {
		at := order.Side(seed, name(index))
		return at >= from && at < to
	})
	if err := failed(); err != nil {
		return fmt.Errorf("%w: split has by=%q, and a sample has no such value: %w", core.ErrConfig, s.by(), err)
	}
	if l.Given() == 0 && n > 0 {
		return fmt.Errorf("%w: none of the %d samples of %q falls into this part of the split, from %v to %v by %s: "+
			"a part needs at least one sample, so give it a larger share, or split more samples",
			core.ErrConfig, n, l.Name, from, to, strconv.Quote(s.by()))
	}
	return nil
}

// names returns the function from a sample of the source to what says which part it is
// in. Failed returns the error of a sample that has none.
func (s *Split) names(l *source.Listing) (name func(index int64) string, failed func() error, err error) {
	by := s.by()
	if by == byKey {
		name, err = l.Named()
		return name, func() error { return nil }, err
	}
	if c, ok := l.Contents.(interface {
		ValueOf(field string) (value func(index int64) string, failed func() error)
	}); ok {
		if value, failed := c.ValueOf(by); value != nil {
			return value, failed, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: split has by=%q, a field that %q has only once a sample is read: split by %q, "+
		"by a field of files (label, a column beside the paths, or metadata), by a column of text or whole numbers of read, "+
		"or leave out the other parts with a filter of yours", core.ErrConfig, by, l.Name, byKey)
}
