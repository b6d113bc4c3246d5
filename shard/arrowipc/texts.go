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
	hides(f, null, func(i int) bool { return ends[i+1]-ends[i] > 4 })
	if len(in) > 1 && in[1].lists > 0 {
		hides(f, in[1].null, func(i int) bool { from, to := in[1].at(i); return to > from })
		if ends, err = b.marked(in[1], ends); err != nil {
			return err
		}
	}
	if f.refused != "" {
		return nil
	}
	if len(in) > 1 && in[1].lists == 0 {
		ends = []int64{0}
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
		f.values.spans = append(f.values.spans, span{at + ends[from], ends[to] - ends[from]})
	}
	return nil
}

// hides refuses a field of which an element is null and yet has something. Blocks do not
// say what is null: it is the empty text, or the empty list, because it has nothing.
func hides(f *field, null []bool, some func(i int) bool) {
	for i, n := range null {
		if n && some(i) {
			f.refused = "an element of its lists has no value (null), and text beneath: write the file without it"
		}
	}
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

// marked is where in the stream each list in a list ends.
func (b *batch) marked(inner *level, ends []int64) ([]int64, error) {
	all := make([]int64, inner.lists+1)
	for i := range inner.lists {
		from, to := inner.at(i)
		if from < 0 || to < from || to >= int64(len(ends)) {
			return nil, b.wrong("a list in a list is from %d to %d of %d", from, to, len(ends)-1)
		}
		all[i+1] = all[i] + 4 + ends[to] - ends[from]
	}
	return all, nil
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
