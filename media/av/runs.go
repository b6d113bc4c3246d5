package av

import (
	"cmp"
	"slices"
	"sort"
)

// Run is packets to be given to one decoder, one after the other, then drained: from a
// key packet to the last one that a wanted frame needs.
type Run struct {
	First, Last int   // packets, as decoded; both belong to it
	Frames      []int // the frames that are wanted, ascending, each once
}

// Runs returns what must be decoded to have frames, whose order and repeats do not
// matter. Runs are in the order of their packets and have none in common, so each can be
// decoded by itself, side by side with others. Every number must be that of a frame.
func (t *Table) Runs(frames []int) []Run {
	wanted := slices.Clone(frames)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)

	runs := make([]Run, 0, len(wanted))
	for i, n := range wanted {
		at := int(t.Frames[n])
		runs = append(runs, Run{First: t.from(at), Last: at, Frames: wanted[i : i+1 : i+1]})
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.First, b.First) })

	joined := runs[:0]
	for _, r := range runs {
		if len(joined) == 0 || r.First > joined[len(joined)-1].Last {
			joined = append(joined, r)
			continue
		}
		j := &joined[len(joined)-1]
		j.Last = max(j.Last, r.Last)
		j.Frames = append(j.Frames, r.Frames...)
	}
	for _, r := range joined {
		slices.Sort(r.Frames)
	}
	return joined
}

// Widen returns a run that begins one key packet earlier, for a decoder that withheld a
// frame: what is marked as a key packet is not always enough to decode what follows, as
// with gradual refresh. It reports whether there was one.
func (t *Table) Widen(r Run) (Run, bool) {
	before, ok := t.before(r.First)
	if ok {
		r.First = before
	}
	return r, ok
}

// from returns where decoding begins for a packet. A frame that is displayed before its
// key frame may refer to frames before that one, as in an open GOP. None of those refers
// to anything before the key frame in front.
func (t *Table) from(packet int) int {
	key := t.key(packet)
	if t.Packets[packet].PTS < t.Packets[key].PTS {
		if before, ok := t.before(key); ok {
			return before
		}
	}
	return key
}

// before returns where decoding can begin before a packet. There is nothing where all
// that comes before it is the end of a group whose beginning the file lacks.
func (t *Table) before(packet int) (int, bool) {
	if packet == 0 {
		return 0, false
	}
	before := t.key(packet - 1)
	return before, !t.cut || t.Packets[before].Key
}

// key returns the last key packet up to one; the first packet if there is none.
func (t *Table) key(packet int) int {
	n := sort.Search(len(t.keys), func(i int) bool { return int(t.keys[i]) > packet })
	if n == 0 {
		return 0
	}
	return int(t.keys[n-1])
}
