package headrace

import (
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/pipe"
)

// Again returns how many bytes of samples a run reads again that goes on from a record of
// this recipe, by the keys of its sources: those of samples that a step held, and that
// are in no batch yet. A source is left out if it cannot tell without reading, such as a
// program's object. Gather must accept the record.
func (l *Loader) Again(from State) map[string]int64 {
	all := map[string]int64{}
	for key, at := range from.Sources {
		if bytes, known := sizeOf(l.partOf(key, from), from.Epoch, held(at)); known {
			all[key] = bytes
		}
	}
	return all
}

// partOf returns the part of a source that the rank of a record had, or one of its lanes.
func (l *Loader) partOf(key string, from State) *source.Listing {
	var part *source.Listing
	if name, lane, ok := pipe.LaneIn(key); ok && l.any() {
		whole := l.begins[l.index(name)]
		part = whole.InLane(l.share(whole, lane))
	} else {
		whole := l.begins[l.index(key)]
		split, _ := l.listing.split(whole, from.WorldSize, from.Rank) // Gather has seen that there is one
		part = whole.InLane(split)
	}
	part.Begin(from.Epoch, from.Sources[key].Done, nil)
	return part
}

// held returns the ranges of positions that are between those given.
func held(at SourceState) (between [][2]int64) {
	end := at.Position
	for _, given := range at.Ahead {
		between = append(between, [2]int64{end, given[0]})
		end = given[1]
	}
	return between
}

// sizeOf returns the bytes of the samples in ranges of positions; false: they are not
// known.
func sizeOf(s *source.Listing, epoch int, ranges [][2]int64) (sum int64, known bool) {
	at := s.Locate(epoch)
	if s.Iterated() || at == nil && len(ranges) > 0 {
		return 0, false
	}
	for _, r := range ranges {
		for pos := r[0]; pos < r[1]; pos++ {
			of, index := at(pos)
			sized, ok := of.Contents.(source.Sized)
			if !ok {
				return 0, false
			}
			n, known := sized.Size(index)
			if !known {
				return 0, false
			}
			sum += n
		}
	}
	return sum, true
}
