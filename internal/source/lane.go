package source

import (
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/order"
)

// InLane returns the same source with another share of its order: that of a lane. It has
// the contents of l, and its samples take the way of those of l.
func (l *Listing) InLane(share order.Split) *Listing {
	return &Listing{
		Source: record.Source{Name: l.Name, Draws: l.Draws, First: l.First, Samples: l.Samples, Key: l.Key, Among: l.Among,
			Whole: &l.Source},
		Names: l.Names, Contents: l.Contents, Shuffle: l.Shuffle, Order: l.Order, choices: l.choices, Split: share,
		Scope: l.Scope, Most: l.Most,
	}
}
