package shard

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/headrace/headrace/shard/where"
	"github.com/headrace/headrace/tensor"
)

// numberSet has numbers of one dtype, in ranges that include their ends, do not overlap,
// and are in order. Whole numbers are compared exactly, floats after rounding the
// number of the expression to their type.
type numberSet struct {
	ints  []span64
	reals []realSpan
	nan   bool   // it is in the set
	flip  uint64 // what makes the order of unsigned numbers that of signed ones
}

type span64 struct{ from, to int64 }

type realSpan struct{ from, to float64 }

// setOf returns the numbers v of a dtype for which v op one of the values is true.
func setOf(op where.Op, values []*big.Rat, d tensor.DType) *numberSet {
	s := new(numberSet)
	if isFloat(d) {
		for _, v := range values {
			s.addReals(op, realOf(v, d))
		}
		s.nan = op == where.Unequal
		slices.SortFunc(s.reals, func(a, b realSpan) int { return cmp.Compare(a.from, b.from) })
		return s
	}
	least, most := big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
	if d == tensor.Uint64 {
		s.flip = 1 << 63
		least, most = new(big.Int), new(big.Int).SetUint64(math.MaxUint64)
	}
	for _, v := range values {
		for _, r := range wholes(op, v, least, most) {
			s.ints = append(s.ints, span64{s.int64(r[0]), s.int64(r[1])})
		}
	}
	slices.SortFunc(s.ints, func(a, b span64) int { return cmp.Compare(a.from, b.from) })
	return s
}

// wholes returns the ranges of whole numbers, from least to most, that a comparison with
// a value is true of.
func wholes(op where.Op, v *big.Rat, least, most *big.Int) (all [][2]*big.Int) {
	floor := new(big.Int).Div(v.Num(), v.Denom()) // Euclidean, and the denominator is positive
	above := new(big.Int).Add(floor, big.NewInt(1))
	below := new(big.Int).Sub(floor, big.NewInt(1))
	add := func(from, to *big.Int) {
		if from.Cmp(least) < 0 {
			from = least
		}
		if to.Cmp(most) > 0 {
			to = most
		}
		if from.Cmp(to) <= 0 {
			all = append(all, [2]*big.Int{from, to})
		}
	}

	whole := v.IsInt()
	switch op {
	case where.Equal:
		if whole {
			add(floor, floor)
		}
	case where.Unequal:
		if whole {
			add(least, below)
			add(above, most)
		} else {
			add(least, most)
		}
	case where.Less:
		if whole {
			add(least, below)
		} else {
			add(least, floor)
		}
	case where.AtMost:
		add(least, floor)
	case where.More:
		add(above, most)
	case where.AtLeast:
		if whole {
			add(floor, most)
		} else {
			add(above, most)
		}
	}
	return all
}

// int64 is a number as it is compared.
func (s *numberSet) int64(v *big.Int) int64 {
	if s.flip != 0 {
		return int64(v.Uint64() ^ s.flip)
	}
	return v.Int64()
}

// realOf rounds a number to a dtype, unless that would make it infinite.
func realOf(v *big.Rat, d tensor.DType) float64 {
	exact, _ := v.Float64()
	rounded := exact
	switch d {
	case tensor.Float32:
		one, _ := v.Float32()
		rounded = float64(one)
	case tensor.Float16:
		rounded = float64(tensor.FromFloat16(tensor.ToFloat16(exact)))
	}
	if math.IsInf(rounded, 0) {
		return exact
	}
	return rounded
}

// addReals adds the floats that a comparison with a number is true of. A number beyond
// all of them is none, and between the largest and infinity.
func (s *numberSet) addReals(op where.Op, v float64) {
	inf := math.Inf(1)
	below, above := realSpan{-inf, math.Nextafter(v, -inf)}, realSpan{math.Nextafter(v, inf), inf}
	upTo, from, one := realSpan{-inf, v}, realSpan{v, inf}, []realSpan{{v, v}}
	if math.IsInf(v, 0) {
		below.to, above.from, one = -inf, -math.MaxFloat64, nil
		if v > 0 {
			below.to, above.from = math.MaxFloat64, inf
		}
		upTo, from = below, above
	}
	switch op {
	case where.Equal:
		s.reals = append(s.reals, one...)
	case where.Unequal:
		s.reals = append(s.reals, below, above)
	case where.Less:
		s.reals = append(s.reals, below)
	case where.AtMost:
		s.reals = append(s.reals, upTo)
	case where.More:
		s.reals = append(s.reals, above)
	case where.AtLeast:
		s.reals = append(s.reals, from)
	}
}

// between tells whether all numbers from least to most are in the set, or none.
func (s *numberSet) between(least, most int64) (all, none bool) {
	if s.flip != 0 {
		return false, false // the bounds are those of signed numbers
	}
	i := sort.Search(len(s.ints), func(i int) bool { return s.ints[i].to >= least })
	if i == len(s.ints) || s.ints[i].from > most {
		return false, true
	}
	return s.ints[i].from <= least && most <= s.ints[i].to, false
}

// fewSpans are compared with every number.
const fewSpans = 4

// hasInts has a bit for each of at most 64 numbers that is in the set.
func (s *numberSet) hasInts(all []int64) (yes uint64) {
	if len(s.ints) <= fewSpans {
		for _, span := range s.ints {
			width := uint64(span.to) - uint64(span.from)
			for k, v := range all {
				if uint64(v)^s.flip-uint64(span.from) <= width {
					yes |= 1 << k
				}
			}
		}
		return yes
	}
	for k, v := range all {
		if s.hasInt(v) {
			yes |= 1 << k
		}
	}
	return yes
}

func (s *numberSet) hasInt(v int64) bool {
	v = int64(uint64(v) ^ s.flip)
	i := sort.Search(len(s.ints), func(i int) bool { return s.ints[i].to >= v })
	return i < len(s.ints) && s.ints[i].from <= v
}

// hasReals is hasInts of floats.
func (s *numberSet) hasReals(all []float64) (yes uint64) {
	for k, v := range all {
		if s.hasReal(v) {
			yes |= 1 << k
		}
	}
	return yes
}

func (s *numberSet) hasReal(v float64) bool {
	if v != v {
		return s.nan
	}
	if len(s.reals) <= fewSpans {
		for _, span := range s.reals {
			if span.from <= v && v <= span.to {
				return true
			}
		}
		return false
	}
	i := sort.Search(len(s.reals), func(i int) bool { return s.reals[i].to >= v })
	return i < len(s.reals) && s.reals[i].from <= v
}
