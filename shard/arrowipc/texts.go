package arrowipc

import "github.com/headrace/headrace/shard/internal/textlist"

// Lists of text are ranges of a stream of [textlist], to which the text of a batch
// unpacks. That needs the offsets of texts, and of lists in lists. So a block of offsets
// comes before, to which that of text refers; of lists in lists another one before that.

// texts finds the lists of a leaf of text.
func (b *batch) texts(f *field, in []*level, null []bool, have int, offsets, text buffer) error {
	rows := in[0].lists
	if rows == 0 {
		return nil
	}
	if err := b.enough(in, int64(have)); err != nil {
		return err
	}
	if len(in) > 1 && (in[1].fixed > 0 || in[1].sizes != nil) {
		f.refused = "the lists in its lists are views or of fixed size: write them as lists"
		return nil
	}

	ends, err := b.textEnds(f, offsets, text, have)
	if err != nil {
		return err
	}
	lost := make([]int32, have+1) // how many before each are null
	for i := range have {
		if lost[i+1] = lost[i]; null != nil && null[i] {
			lost[i+1]++
		}
	}
	if len(in) > 1 && in[1].lists > 0 {
		if ends, lost, err = b.marked(in[1], ends, lost); err != nil {
			return err
		}
	}
	if len(in) > 1 && in[1].lists == 0 {
		ends, lost = []int64{0}, []int32{0}
	}

	at := b.space
	if size := ends[len(ends)-1]; size > 0 {
		if err := b.textBlocks(f, in, have, offsets, text, size); err != nil {
			return err
		}
		at = b.space - size
	}
	for i := range rows {
		if in[0].null != nil && in[0].null[i] {
			f.values.spans = append(f.values.spans, span{at: -1})
			continue
		}
		from, to := in[0].at(i)
		if from < 0 || to < from || to >= int64(len(ends)) {
			return b.wrong("value %d is from %d to %d of %d", i, from, to, len(ends)-1)
		}
		s := span{at + ends[from], ends[to] - ends[from]}
		if lost[to] > lost[from] {
			s = span{at: -1} // a list of which an element has no value has none
		}
		f.values.spans = append(f.values.spans, s)
	}
	return nil
}

// textEnds is where in the stream each text ends, after a 0.
func (b *batch) textEnds(f *field, offsets, text buffer, have int) ([]int64, error) {
	if have == 0 {
		return []int64{0}, nil
	}
	size, err := b.sized(text)
	if err != nil {
		return nil, err
	}
	long := f.layout == offsets64
	raw, err := b.raw(offsets, (int64(have)+1)*widthOf(long))
	if err != nil {
		return nil, err
	}
	ends := make([]int64, have+1)
	for i := range have {
		from, to := offset(raw, i, long), offset(raw, i+1, long)
		if from < 0 || to < from || to > size || to-from > textlist.MostText {
			return nil, b.wrong("text %d is from %d to %d of %d", i, from, to, size)
		}
		ends[i+1] = ends[i] + 4 + to - from
	}
	return ends, nil
}

// marked is where in the stream each list in a list ends, and how much was null before.
func (b *batch) marked(inner *level, ends []int64, lost []int32) (_ []int64, _ []int32, err error) {
	all, gone := make([]int64, inner.lists+1), make([]int32, inner.lists+1)
	for i := range inner.lists {
		from, to := inner.at(i)
		if from < 0 || to < from || to >= int64(len(ends)) {
			return nil, nil, b.wrong("a list in a list is from %d to %d of %d", from, to, len(ends)-1)
		}
		all[i+1] = all[i] + 4 + ends[to] - ends[from]
		gone[i+1] = gone[i] + lost[to] - lost[from]
		if inner.null != nil && inner.null[i] {
			gone[i+1]++
		}
	}
	return all, gone, nil
}

// textBlocks adds the blocks: of offsets, and last the stream.
func (b *batch) textBlocks(f *field, in []*level, have int, offsets, text buffer, size int64) error {
	before, flags := int64(8), uint64(blockTexts|blockTarget)
	if len(in) > 1 {
		before += 8 * int64(in[1].lists+1)
		long := uint64(0)
		if in[1].wide {
			long = blockLong
		}
		if err := b.rewritten(in[1].buf, before, flags|blockInner|long); err != nil {
			return err
		}
		flags |= blockRefers
	}
	if f.layout == offsets64 {
		flags |= blockLong
	}
	if err := b.rewritten(offsets, before+8*int64(have+1), flags); err != nil {
		return err
	}
	return b.rewritten(text, size, blockTexts|blockRefers)
}
