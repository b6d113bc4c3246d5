package progress

// Outputs calls f with every range of source items that the lineage has whole or has a
// part of, as Origins does, and with the numbers of the outputs on the way from them:
// none where it is about the items themselves. An element of a batch is what the batch's
// member was, so batches are not on the way.
func (t *Lineage) Outputs(f func(of Range, numbers []int64)) {
	t.each(func(s Range) { f(s, nil) })
	if t.extra == nil {
		return
	}
	for _, s := range t.extra.children {
		s.outputs(f)
	}
}

func (s childRange) outputs(f func(Range, []int64)) {
	parent := s.of.parent.element()
	last := s.Hi
	if s.closes {
		last--
	}
	for k := s.Lo; k < last; k++ {
		parent.output(k, s.of.order != nil, f)
	}
	if s.Lo == last {
		childRange{of: s.of, Range: s.Range, closes: true}.origins(func(of Range) { f(of, nil) })
	}
}

// output calls f for the k-th child of an item. Of an item that was put together, it is
// the k-th member; what an aggregator makes, or is made beyond the last member, is a
// further output of the member that origins says it is about.
func (t *Lineage) output(k int64, ordered bool, f func(Range, []int64)) {
	n := t.Count()
	if t.joined() && n > 0 {
		if k < n && !ordered {
			t.nth(k).Outputs(f)
			return
		}
		t = t.nth(min(k, n-1))
	}
	t.Outputs(func(of Range, numbers []int64) { f(of, append(numbers[:len(numbers):len(numbers)], k)) })
}
