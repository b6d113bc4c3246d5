package arrowipc

// values are those of a column, one a row. Which of the three there are depends on what
// the column means.
type values struct {
	spans   []span
	ints    []int64
	absent  []bool // of ints or floats, rows without one; nil: there are none
	floats  []float64
	refused string // of a dictionary
}

// span is where a value of bytes is: in the file, or in the space of unpacked bytes where
// there are blocks. at is -1 where the value is null.
type span struct{ at, n int64 }

// clear forgets them; their memory is used again.
func (v *values) clear() {
	v.spans, v.ints, v.floats, v.absent = v.spans[:0], v.ints[:0], v.floats[:0], nil
}

// count returns how many values of a meaning there are.
func (v *values) count(m meaning) int {
	switch m {
	case asInt:
		return len(v.ints)
	case asFloat:
		return len(v.floats)
	}
	return len(v.spans)
}

// take adds value k of others. There is room in absent if they have some.
func (v *values) take(m meaning, of *values, k int) {
	switch m {
	case asInt:
		if of.absent != nil {
			v.absent[len(v.ints)] = of.absent[k]
		}
		v.ints = append(v.ints, of.ints[k])
	case asFloat:
		if of.absent != nil {
			v.absent[len(v.floats)] = of.absent[k]
		}
		v.floats = append(v.floats, of.floats[k])
	default:
		v.spans = append(v.spans, of.spans[k])
	}
}

// join adds all of others.
func (v *values) join(more *values) {
	v.spans = append(v.spans, more.spans...)
	if v.absent != nil || more.absent != nil {
		have := len(v.ints) + len(v.floats)
		v.absent = append(v.absent, make([]bool, have-len(v.absent))...)
		v.absent = append(v.absent, more.absent...)
		v.absent = append(v.absent, make([]bool, have+len(more.ints)+len(more.floats)-len(v.absent))...)
	}
	v.ints = append(v.ints, more.ints...)
	v.floats = append(v.floats, more.floats...)
	v.refused = max(v.refused, more.refused)
}

// add adds a value of bytes, or a null.
func (f *field) add(null []bool, i int, at, n int64) {
	if null != nil && null[i] {
		at, n = -1, 0
	}
	f.values.spans = append(f.values.spans, span{at, n})
}
