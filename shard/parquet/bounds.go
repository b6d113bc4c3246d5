package parquet

import "github.com/headrace/headrace/shard"

var _ shard.Bounded = Format{}

// Bounds implements [shard.Bounded].
func (Format) Bounds(f shard.File, name string) (all []shard.Bound, err error) {
	m, err := readFooter(f)
	if err != nil {
		return nil, err
	}
	columns, err := m.columns(f)
	if err == nil {
		err = m.check(f, len(columns))
	}
	if err != nil {
		return nil, err
	}
	for i, c := range columns {
		if c.name != name || c.meaning != asText || c.list || c.refused != "" {
			continue
		}
		for _, g := range m.groups {
			b := shard.Bound{Samples: g.rows}
			if of := g.chunks[i].bounds; of.least != nil && of.most != nil {
				b.Known, b.Least, b.Most = true, string(of.least), string(of.most)
			}
			all = append(all, b)
		}
	}
	return all, nil
}
