package shard

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/shard/where"
	"github.com/headrace/headrace/tensor"
)

// Whole numbers are in a set exactly if the comparison is true of them as fractions.
func TestSetsOfWholeNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 53, -77}
	for range 3000 {
		d := []tensor.DType{tensor.Int64, tensor.Uint64, tensor.Int8}[r.IntN(3)]
		op := where.Op(r.IntN(6))
		values := make([]*big.Rat, 1)
		if op == where.Equal {
			values = make([]*big.Rat, 1+r.IntN(9))
		}
		for i := range values {
			values[i] = new(big.Rat).SetFrac(big.NewInt(edges[r.IntN(len(edges))]), big.NewInt(1+r.Int64N(3)))
			if r.IntN(4) == 0 {
				values[i].Mul(values[i], big.NewRat(5, 1)) // beyond the type
			}
		}
		set := setOf(op, values, d)
		least, most := int64(math.MaxInt64), int64(math.MinInt64)
		bits := make([]int64, 1+r.IntN(64))
		some := r.IntN(2) == 0 // of a narrow range
		for i := range bits {
			if bits[i] = edges[r.IntN(len(edges))] + r.Int64N(3) - 1; some {
				bits[i] = bits[0] + r.Int64N(2)
			}
			least, most = min(least, bits[i]), max(most, bits[i])
		}
		got, all := set.hasInts(bits), true
		for i, v := range bits {
			is := new(big.Rat).SetInt64(v)
			if d == tensor.Uint64 {
				is.SetInt(new(big.Int).SetUint64(uint64(v)))
			}
			want := holds(op, is, values)
			if got>>i&1 == 1 != want || set.hasInt(v) != want {
				t.Fatalf("%v %v %v as %v is %v", is, op, values, d, !want)
			}
			all = all && want
		}
		if yes, no := set.between(least, most); yes && !all || no && got != 0 {
			t.Fatalf("%v %v is %v of all from %d to %d, and %v of none", op, values, yes, least, most, no)
		}
	}
}

func holds(op where.Op, v *big.Rat, values []*big.Rat) (any bool) {
	for _, than := range values {
		any = any || is(op, v.Cmp(than))
	}
	return any
}

// Floats are compared with what the number is in their type. Not a number is unequal to
// every one.
func TestSetsOfFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	inf := math.Inf(1)
	edges := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, float64(float32(0.1)), 1e30, 65504,
		math.MaxFloat64, -math.MaxFloat64, inf, -inf, 5e-324, math.NaN()}
	for range 3000 {
		op, d := where.Op(r.IntN(6)), []tensor.DType{tensor.Float64, tensor.Float32, tensor.Float16}[r.IntN(3)]
		than := edges[r.IntN(8)]
		value := new(big.Rat).SetFloat64(than)
		set := setOf(op, []*big.Rat{value}, d)
		switch d {
		case tensor.Float32:
			than = float64(float32(than))
		case tensor.Float16:
			if h := float64(tensor.FromFloat16(tensor.ToFloat16(than))); !math.IsInf(h, 0) {
				than = h
			}
		}
		v := edges[r.IntN(len(edges))]
		want := map[where.Op]bool{where.Equal: v == than, where.Unequal: v != than, where.Less: v < than,
			where.AtMost: v <= than, where.More: v > than, where.AtLeast: v >= than}[op]
		if set.hasReal(v) != want || set.hasReals([]float64{0, v})>>1 == 1 != want {
			t.Fatalf("%v %v %v as %v is %v", v, op, than, d, !want)
		}
	}

	huge, _ := new(big.Rat).SetString("1e400") // between the largest number and infinity
	for _, sign := range []int64{1, -1} {
		beyond := new(big.Rat).Mul(huge, big.NewRat(sign, 1))
		for op := range where.Op(6) {
			set := setOf(op, []*big.Rat{beyond}, tensor.Float64)
			for _, v := range []float64{0, math.MaxFloat64, -math.MaxFloat64, inf, -inf} {
				less := v < 0 || sign > 0 && !math.IsInf(v, 1)
				if sign < 0 {
					less = math.IsInf(v, -1)
				}
				want := is(op, map[bool]int{true: -1, false: 1}[less])
				if set.hasReal(v) != want {
					t.Errorf("%v %v %d e400 is %v", v, op, sign, !want)
				}
			}
		}
	}
}

// Numbers that are read are those of their bytes.
func TestSetsOfBytes(t *testing.T) {
	three := []*big.Rat{big.NewRat(3, 1)}
	for d := tensor.Bool; d.Valid(); d++ {
		if d == tensor.BFloat16 { // no column is
			continue
		}
		b, err := appendWhole(nil, 3, d)
		if d == tensor.Bool {
			b, err = []byte{1}, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		yes, err := setOf(where.Equal, three, d).hasValue(b, d)
		if err != nil || yes != (d != tensor.Bool) {
			t.Errorf("3 as %v is %v, %v", d, yes, err)
		}
	}
	big64 := binary.NativeEndian.AppendUint64(nil, 1<<63)
	if yes, err := setOf(where.More, three, tensor.Uint64).hasValue(big64, tensor.Uint64); err != nil || !yes {
		t.Errorf("%v, %v", yes, err)
	}
	if _, err := setOf(where.More, three, tensor.Uint64).hasValue(big64[:3], tensor.Uint64); err == nil {
		t.Error("three bytes are a number of eight")
	}
}

// Dates and times are in the unit of their column.
func TestMoments(t *testing.T) {
	for _, c := range []struct{ logical, text, want string }{
		{"date32[day]", "1970-01-02", "1"},
		{"date32[day]", "1969-12-31 12:00", "-1/2"},
		{"date64[ms]", "1970-01-01T00:00:01.5", "1500"},
		{"timestamp[s]", "2026-11-29 09:30:00", "1795944600"},
		{"timestamp[us]", "1970-01-01 00:00:00.0000015", "3/2"},
		{"timestamp[ns]", "9999-12-31", "253402214400000000000"},
		{"timestamp[ms, tz=UTC]", "1970-01-01 01:00:00+01:00", "0"},
		{"timestamp[ms, tz=Europe/Paris]", "1970-01-01 00:00:01Z", "1000"},
		{"timestamp[ms, tz=UTC]", "1970-01-01", "0"},
		{"time32[ms]", "09:30", "34200000"},
		{"time64[ns]", "00:00:00.000000001", "1"},
	} {
		got, err := moment(c.logical, c.text)
		if err != nil || got.RatString() != c.want {
			t.Errorf("%s of %s is %v, %v", c.text, c.logical, got, err)
		}
	}
	for _, c := range [][2]string{{"date32[day]", "29.11.2026"}, {"timestamp[s]", "09:30"}, {"time32[s]", "2026-11-29"},
		{"timestamp[s]", "1970-01-01 00:00Z"}} {
		if got, err := moment(c[0], c[1]); err == nil {
			t.Errorf("%s of %s is %v", c[1], c[0], got)
		}
	}
	if got, err := moment("duration[s]", "09:30"); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
