package av

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// Rational is a fraction: a time base in seconds, a rate, an aspect. Its parts have 32
// bits, so that products of a time and two fractions fit into 128.
type Rational struct{ Num, Den int32 }

// Positive reports whether r is a number above 0.
func (r Rational) Positive() bool { return r.Num > 0 && r.Den > 0 }

// Float returns r as a float64; NaN for 0/0.
func (r Rational) Float() float64 { return float64(r.Num) / float64(r.Den) }

// Inverse returns 1/r.
func (r Rational) Inverse() Rational { return Rational{r.Den, r.Num} }

func (r Rational) String() string { return fmt.Sprintf("%d/%d", r.Num, r.Den) }

// Reduce returns num/den in lowest terms, and whether its parts fit. Both must be above
// 0.
func Reduce(num, den int64) (r Rational, ok bool) {
	if num <= 0 || den <= 0 {
		return Rational{}, false
	}
	a, b := num, den
	for b != 0 {
		a, b = b, a%b
	}
	num, den = num/a, den/a
	if num > math.MaxInt32 || den > math.MaxInt32 {
		return Rational{}, false
	}
	return Rational{int32(num), int32(den)}, true
}

// Decimal returns the fraction that f's shortest decimal form is: 2997/100 for 29.97. If
// that has too many digits, it returns the nearest fraction with 9 of them.
func Decimal(f float64) (Rational, error) {
	if !(f > 0) || f > math.MaxInt32 {
		return Rational{}, fmt.Errorf("av: %v is not a number from 0 to %d", f, math.MaxInt32)
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if r, ok := fits(exact); ok {
		return r, nil
	}

	// One part gets all digits that there are.
	num, den := int64(math.Round(f*1e9)), int64(1e9)
	for f := f; f >= 1; f /= 10 {
		num, den = (num+5)/10, den/10
	}
	r, ok := Reduce(num, max(1, den))
	if !ok {
		return Rational{}, fmt.Errorf("av: %v is too small", f)
	}
	return r, nil
}

func fits(r *big.Rat) (Rational, bool) {
	if !r.Num().IsInt64() || !r.Denom().IsInt64() {
		return Rational{}, false
	}
	return Reduce(r.Num().Int64(), r.Denom().Int64())
}

// Rounding says what becomes of the part of a tick.
type Rounding int

// Down is towards negative infinity; Nearest takes halves up.
const (
	Down Rounding = iota
	Nearest
)

// Rescale returns how many ticks of base to n ticks of base from are. Both bases must be
// positive. A result beyond 64 bits becomes the nearest int64.
func Rescale(n int64, from, to Rational, how Rounding) int64 {
	negative := n < 0
	over := uint64(from.Num) * uint64(to.Den)
	under := uint64(from.Den) * uint64(to.Num)
	hi, lo := bits.Mul64(magnitude(n), over)
	if hi >= under {
		return saturated(negative)
	}
	q, rest := bits.Div64(hi, lo, under)

	var up bool // away from 0
	switch {
	case how == Down:
		up = negative && rest > 0
	case negative:
		up = rest > under-rest // -2.5 becomes -2
	default:
		up = rest >= under-rest
	}
	if up {
		q++
	}
	if q > math.MaxInt64 {
		return saturated(negative)
	}
	if negative {
		return -int64(q)
	}
	return int64(q)
}

// Compare returns -1, 0 or 1, as a ticks of base as are less than, equal to or more than
// b ticks of base bs. It is exact.
func Compare(a int64, as Rational, b int64, bs Rational) int {
	if (a < 0) != (b < 0) {
		return sign(a < 0)
	}
	ahi, alo := bits.Mul64(magnitude(a), uint64(as.Num)*uint64(bs.Den))
	bhi, blo := bits.Mul64(magnitude(b), uint64(bs.Num)*uint64(as.Den))
	switch {
	case ahi == bhi && alo == blo:
		return 0
	case ahi < bhi || ahi == bhi && alo < blo:
		return sign(a >= 0)
	default:
		return sign(a < 0)
	}
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func saturated(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}

// plus adds two times of which neither is negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
