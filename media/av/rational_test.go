package av

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func part() *rapid.Generator[int32] { return rapid.Int32Range(1, math.MaxInt32) }

func TestRescaleEqualsBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		from, to := Rational{part().Draw(t, "a"), part().Draw(t, "b")}, Rational{part().Draw(t, "c"), part().Draw(t, "d")}
		exact := new(big.Rat).Mul(new(big.Rat).SetInt64(n), big.NewRat(int64(from.Num), int64(from.Den)))
		exact.Mul(exact, big.NewRat(int64(to.Den), int64(to.Num)))
		for _, how := range []Rounding{Down, Nearest} {
			shifted := new(big.Rat).Set(exact)
			if how == Nearest {
				shifted.Add(shifted, big.NewRat(1, 2))
			}
			floor := new(big.Int).Div(shifted.Num(), shifted.Denom()) // Euclidean: down for positive denominators
			want := int64(math.MaxInt64)
			if floor.IsInt64() {
				want = floor.Int64()
			} else if floor.Sign() < 0 {
				want = math.MinInt64
			}
			if got := Rescale(n, from, to, how); got != want {
				t.Fatalf("%d × %v in %v, rounding %d: %d, want %d", n, from, to, how, got, want)
			}
		}
	})
}

func TestCompareEqualsBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		as, bs := Rational{part().Draw(t, "an"), part().Draw(t, "ad")}, Rational{part().Draw(t, "bn"), part().Draw(t, "bd")}
		if rapid.Bool().Draw(t, "close") {
			b = Rescale(a, as, bs, Down)
		}
		x := new(big.Rat).Mul(new(big.Rat).SetInt64(a), big.NewRat(int64(as.Num), int64(as.Den)))
		y := new(big.Rat).Mul(new(big.Rat).SetInt64(b), big.NewRat(int64(bs.Num), int64(bs.Den)))
		if got := Compare(a, as, b, bs); got != x.Cmp(y) {
			t.Fatalf("%d × %v against %d × %v: %d, want %d", a, as, b, bs, got, x.Cmp(y))
		}
	})
}

func TestDecimalsAreExact(t *testing.T) {
	for f, want := range map[float64]Rational{
		29.97: {2997, 100}, 2: {2, 1}, 0.5: {1, 2}, 23.976: {2997, 125}, 1e-9: {1, 1000000000}, 0.1: {1, 10}, 2147483647: {2147483647, 1},
	} {
		if got, err := Decimal(f); err != nil || got != want {
			t.Errorf("%v is %v, %v; want %v", f, got, err, want)
		}
	}
	for _, f := range []float64{math.Pi, 30000.0 / 1001, 1.0 / 3, 12345678.87654321} {
		got, err := Decimal(f)
		if err != nil || math.Abs(got.Float()-f) > 1e-8*f {
			t.Errorf("%v is %v, %v", f, got, err)
		}
	}
	for _, f := range []float64{0, -1, math.NaN(), math.Inf(1), 1e10, 1e-30} {
		if got, err := Decimal(f); err == nil {
			t.Errorf("%v is %v, want an error", f, got)
		}
	}
}
