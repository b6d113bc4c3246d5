package shard

import (
	"slices"
	"sync/atomic"

	"github.com/headrace/headrace/shard/index"
)

// wiring says where the columns of a Reader are in a shard.
type wiring struct {
	field  [][]int // of a column: the numbers of the parts in the segment that it may be
	number []numbered
	record []int  // the number of the part that is a record
	parser Parser // of that
}

type wiringOf struct{ atomic.Pointer[wiring] }

// Place is where a sample's values are. It can be used again for the next sample.
type Place struct {
	Bytes int64 // that Read needs room for

	shard    int
	in       int
	segment  *index.Segment
	wires    *wiring
	parts    []index.Part // all of the sample
	wanted   []index.Part // those that are read, by their places
	chosen   []index.Part // that of each column
	spans    []span
	numbers  []byte
	fields   []Value // of a record
	parsed   []byte  // what of these is not in the record itself
	values   []Value
	unpacked bool   // parts are in what blocks hold
	lends    bool   // values are of use until the next Read only, and need not be in its memory
	lent     []lent // lends: by number of the span
}

// span is read as one. Where it is in the memory of Read follows from those before it,
// unless it has memory of its own.
type span struct {
	at, end, in int64
	data        []byte
}

// gap is how much between two values is read along with them. It is what is between
// neighbours in tar files, most often.
const gap = 2 << 10

// find returns the first of these parts that the sample has.
func (p *Place) find(fields []int) *index.Part {
	for _, f := range fields {
		for k := range p.parts {
			if p.parts[k].Field == f {
				return &p.parts[k]
			}
		}
	}
	return nil
}

// want adds a part to those that are read, in order, and once.
func (p *Place) want(w index.Part) {
	at := len(p.wanted)
	for k, other := range p.wanted {
		if other.Field == w.Field {
			return
		}
		if w.At < other.At {
			at = min(at, k)
		}
	}
	p.wanted = slices.Insert(p.wanted, at, w)
}

// of returns the bytes of a part.
func (p *Place) of(part index.Part, buf []byte) []byte {
	for _, s := range p.spans {
		if s.at <= part.At && part.At+part.Len <= s.end {
			at := part.At - s.at
			if s.data != nil {
				return s.data[at : at+part.Len : at+part.Len]
			}
			at += s.in
			return buf[at : at+part.Len : at+part.Len]
		}
	}
	return nil
}

// number puts a number into the Place's own memory.
func (p *Place) number(into *Value, add func([]byte) ([]byte, error)) error {
	before := len(p.numbers)
	all, err := add(p.numbers)
	if err != nil {
		return err
	}
	p.numbers = all
	into.Bytes = all[before:len(all):len(all)]
	return nil
}
