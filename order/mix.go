package order

import (
	"math"
	"math/bits"
)

// A Mix says of each turn of an epoch which of several sources it is, and which of that
// source's draws. Draws of a source are numbered from 0, over all epochs, without gaps.
//
// Before every turn that begins a block, each source has had as many draws as its share
// of the turns so far, within [MixWithin]; so no source waits long, and nothing adds
// up. Within a block of [MixBlock] turns the order is random, so that no pattern shows.
//
// Turns go on from epoch to epoch. Where shares are numbers of draws whose sum is an
// epoch's turns, each epoch has exactly as many.
//
// As [Permutation], it is computed, and not stored: a Mix has some dozens of bytes a
// source for each of its stretches.
type Mix struct {
	turns     int64 // of an epoch
	seed      uint64
	stretches []stretch
}

const (
	// MixBlock counts the turns that are in random order together. Batches of a multiple
	// of it have their shares of all sources, too.
	MixBlock = 64

	// MixWithin bounds the distance of the number of draws of a source from its share,
	// where a block begins.
	MixWithin = 2
)

// A Stretch gives sources their shares from a turn on, counted over all epochs. Shares
// are relative to their sum; a source with a share of 0 has no turns.
type Stretch struct {
	From   int64
	Shares []uint64
}

// Shares returns whole numbers that are to each other as weights are, for a [Stretch].
// Weights must be finite, from 0 on, with one above 0. One above 0 has a share.
func Shares(weights []float64) []uint64 {
	most := 0.0
	for _, w := range weights {
		most = max(most, w)
	}
	all := make([]uint64, len(weights))
	for i, w := range weights {
		if w > 0 {
			all[i] = max(1, uint64(math.Round(w/most*(1<<32))))
		}
	}
	return all
}

// NewMix returns the mix of epochs of so many turns. The first stretch begins at 0, and
// each after the one before it; all have shares of the same sources, of at most 2³²
// together and one of at least 1, or of at most 2⁴⁸ that are numbers of draws.
func NewMix(turns int64, seed uint64, stretches ...Stretch) *Mix {
	m := &Mix{turns: max(1, turns), seed: seed}
	before := make([]int64, len(stretches[0].Shares))
	owed := make([]int64, len(before))
	for i, s := range stretches {
		next := stretch{from: s.From, before: before}
		shares := s.Shares
		if i+1 < len(stretches) {
			// Numbers of draws, so that what one stretch owes a source the next one
			// gives.
			shares = quotas(stretches[i+1].From-s.From, shares, owed)
			before = sums(before, shares)
		}
		next.tree = newTree(shares)
		m.stretches = append(m.stretches, next)
	}
	return m
}

// Turns returns the number of turns of an epoch.
func (m *Mix) Turns() int64 { return m.turns }

// Epoch returns the turns of an epoch. The function is for one goroutine: it keeps what
// turns of a block have in common.
func (m *Mix) Epoch(epoch int) func(place int64) (source int, draw int64) {
	first := m.first(epoch)
	key := epochKey(m.seed, epoch, purposeMix)
	block, begins, order := int64(-1), int64(0), Permutation{}
	return func(place int64) (int, int64) {
		if b := place / MixBlock; b != block {
			block, begins = b, b*MixBlock
			order = permute(min(MixBlock, m.turns-begins), philox(key, pair(uint64(b), 0)).low())
		}
		return m.at(first + begins + order.At(place-begins))
	}
}

// Before returns how many draws each source has had when an epoch begins.
func (m *Mix) Before(epoch int) []int64 { return m.drawn(m.first(epoch)) }

// Place is the inverse of Epoch: the turn that is a draw of a source. Nothing is of a
// source without turns.
func (m *Mix) Place(source int, draw int64) (epoch int, place int64) {
	i := 0
	for i+1 < len(m.stretches) && m.stretches[i+1].before[source] <= draw {
		i++
	}
	s := &m.stretches[i]
	turn := s.from + s.tree.turn(source, draw-s.before[source])
	epoch, place = int(turn/m.turns), turn%m.turns
	begins := place / MixBlock * MixBlock
	order := permute(min(MixBlock, m.turns-begins), philox(epochKey(m.seed, epoch, purposeMix), pair(uint64(place/MixBlock), 0)).low())
	for k := range order.n {
		if order.At(int64(k)) == place-begins {
			return epoch, begins + int64(k)
		}
	}
	panic("order: a permutation lacks a number")
}

// first is the turn with which an epoch begins, over all epochs. After 2⁶⁰ turns they are
// counted from 0 again.
func (m *Mix) first(epoch int) int64 {
	most := max(1, (1<<60)/m.turns)
	e := int64(epoch) % most
	if e < 0 {
		e += most
	}
	return e * m.turns
}

// at is a turn over all epochs.
func (m *Mix) at(turn int64) (source int, draw int64) {
	s := m.in(turn)
	source, draw = s.tree.at(uint64(turn - s.from))
	return source, s.before[source] + draw
}

// drawn returns the number of draws of each source before a turn.
func (m *Mix) drawn(turn int64) []int64 {
	s := m.in(turn)
	all := make([]int64, len(s.before))
	s.tree.count(uint64(turn-s.from), all)
	for i, n := range s.before {
		all[i] += n
	}
	return all
}

// in is the stretch of a turn.
func (m *Mix) in(turn int64) *stretch {
	i := len(m.stretches) - 1
	for m.stretches[i].from > turn {
		i--
	}
	return &m.stretches[i]
}

// stretch is a number of turns with the same shares.
type stretch struct {
	from   int64
	before []int64 // draws of each source
	tree   *mixTree
}

func sums(a []int64, b []uint64) []int64 {
	all := make([]int64, len(a))
	for i := range a {
		all[i] = a[i] + int64(b[i])
	}
	return all
}

// quotas divides turns by shares. Owed is what each source should have had before and has
// not, in parts of 2³²; the rest stays there.
func quotas(turns int64, shares []uint64, owed []int64) []uint64 {
	total := uint64(0)
	for _, s := range shares {
		total += s
	}

	all, left := make([]uint64, len(shares)), turns
	for i, s := range shares {
		hi, lo := bits.Mul64(uint64(turns), s)
		whole, rest := bits.Div64(hi, lo, total)
		part, _ := bits.Div64(rest>>32, rest<<32, total)
		n := int64(whole)
		owed[i] += int64(part)
		if more := owed[i] >> 32; n+more >= 0 {
			n += more
			owed[i] -= more << 32
		}
		all[i] = uint64(n)
		left -= n
	}

	for ; left != 0; left -= sign(left) {
		best, without := -1, -1 // without a share
		for i := range all {
			switch {
			case left < 0 && all[i] == 0:
			case left > 0 && shares[i] == 0:
				if owed[i] > 0 && (without < 0 || owed[i] > owed[without]) {
					without = i
				}
			case best < 0 || sign(left)*(owed[i]-owed[best]) > 0:
				best = i
			}
		}
		// What has no share here waits for a stretch that gives it one. Only after
		// stretches of a few turns would others get further ahead than MixWithin.
		if without >= 0 && owed[best] < 0 {
			best = without
		}
		all[best] = uint64(int64(all[best]) + sign(left))
		owed[best] -= sign(left) << 32
	}
	return all
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}
