package column

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// What other programs make of the same text: those of github.com/cespare/xxhash and of
// Python's xxhash have these in their tests and pages.
func TestXXH64(t *testing.T) {
	for _, c := range []struct {
		text string
		seed uint64
		want uint64
	}{
		{"", 0, 0xEF46DB3751D8E999},
		{"a", 0, 0xD24EC4F1A98C6E5B},
		{"asdf", 0, 0x415872F599CEA71E},
		{"Call me Ishmael. Some years ago--never mind how long precisely-", 0, 0x02A2E85470D6FD96},
		{"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1},
		{"xxhash", 20141025, 13067679811253438005},
	} {
		if got := xxh64([]byte(c.text), c.seed); got != c.want {
			t.Errorf("%q with seed %d is %x, want %x", c.text, c.seed, got, c.want)
		}
	}
}

// dtypes are all that there are.
func dtypes() (all []tensor.DType) {
	for d := tensor.Bool; d.Valid(); d++ {
		all = append(all, d)
	}
	return all
}

// Numbers become those that package numbers reads and writes, one by one, of each dtype
// as each other, and a number that a dtype does not have is found.
func TestCasts(t *testing.T) {
	limits := map[tensor.DType][2]float64{
		tensor.Uint8: {0, 255}, tensor.Int8: {-128, 127}, tensor.Uint16: {0, 65535}, tensor.Int16: {-32768, 32767},
		tensor.Uint32: {0, 1<<32 - 1}, tensor.Int32: {-1 << 31, 1<<31 - 1}, tensor.Uint64: {0, 1 << 53}, tensor.Int64: {-1 << 53, 1 << 53},
	}
	rapid.Check(t, func(rt *rapid.T) {
		from, to := rapid.SampledFrom(dtypes()).Draw(rt, "from"), rapid.SampledFrom(dtypes()).Draw(rt, "to")
		var data []byte
		n := rapid.SampledFrom([]int{1, 3, 256, 257, 600}).Draw(rt, "numbers")
		for range n {
			v := rapid.OneOf(rapid.Float64Range(-300, 300), rapid.SampledFrom([]float64{0, 1, -1, 127, 128, 255, 256, 65535,
				1 << 31, math.NaN(), math.Inf(1), 1e9, -0.75})).Draw(rt, "value")
			if in, whole := limits[from]; whole {
				v = min(max(math.Trunc(v), in[0]), in[1])
				if v != v {
					v = 0
				}
			} else if from == tensor.Bool {
				v = float64(map[bool]int{true: 1}[v > 0])
			}
			if from == tensor.Float16 || from == tensor.BFloat16 {
				v = min(max(v, -300), 300)
			}
			data = numbers.Append(data, from, v)
		}

		got := make([]byte, n*to.Size())
		bad := casting(from, to)(got, []Values{{Data: data}})
		read, written := numbers.Reader(from), numbers.Reader(to)
		in, whole := limits[to]
		for i := range n {
			v := read(data, i)
			fits := !whole || math.Trunc(v) >= in[0] && math.Trunc(v) <= in[1]
			if to == tensor.Bool {
				fits = v == v
			}
			if fits = fits && !to.Overflows(v); !fits {
				if bad == nil || bad.Line != i {
					rt.Fatalf("number %d, %v %v, is no %v, and %+v", i, from, v, to, bad)
				}
				return
			}
			want := v
			switch {
			case whole:
				want = math.Trunc(v)
			case to == tensor.Bool:
				want = float64(map[bool]int{true: 1}[v != 0])
			case to == tensor.Float32:
				want = float64(float32(v))
			case to == tensor.Float16 && v == v:
				want = float64(tensor.FromFloat16(tensor.ToFloat16(v)))
			case to == tensor.BFloat16 && v == v:
				want = float64(math.Float32frombits(uint32(tensor.ToBFloat16(v)) << 16))
			}
			if have := written(got, i); bad == nil && have != want && !(have != have && want != want) {
				rt.Fatalf("number %d, %v %v, is %v %v, want %v", i, from, v, to, have, want)
			}
		}
		if bad != nil {
			rt.Fatalf("%v %x as %v: %+v", from, data, to, bad)
		}
	})
}

// The numbers of 64 bits keep all of their digits.
func TestWideNumbers(t *testing.T) {
	for _, c := range []struct {
		from, to tensor.DType
		v        uint64
		want     string // in memory, or what is wrong
	}{
		{tensor.Int64, tensor.Int64, math.MaxInt64, "ffffffffffffff7f"},
		{tensor.Int64, tensor.Uint64, math.MaxInt64, "ffffffffffffff7f"},
		{tensor.Uint64, tensor.Int64, math.MaxInt64, "ffffffffffffff7f"},
		{tensor.Uint64, tensor.Int64, 1 << 63, "is 9223372036854775808, which does not fit int64"},
		{tensor.Uint64, tensor.Uint8, math.MaxUint64, "is 18446744073709551615, which does not fit uint8"},
		{tensor.Int64, tensor.Uint64, math.MaxUint64, "is -1, which does not fit uint64"},
		{tensor.Int64, tensor.Int32, 1 << 31, "is 2147483648, which does not fit int32"},
		{tensor.Int64, tensor.Float32, 1<<53 + 1<<29 + 1, "0100005a"}, // by way of float64 it would be rounded twice, to 0000005a
		{tensor.Uint64, tensor.Float32, math.MaxUint64, "0000805f"},
		{tensor.Uint64, tensor.Bool, 1 << 63, "01"},
	} {
		data := binary.LittleEndian.AppendUint64(nil, c.v)
		to := make([]byte, c.to.Size())
		got := ""
		if bad := casting(c.from, c.to)(to, []Values{{Data: data}}); bad != nil {
			got = bad.Err.Error()
		} else {
			got = hex.EncodeToString(to)
		}
		if got != c.want {
			t.Errorf("%v %d as %v: %s, want %s", c.from, c.v, c.to, got, c.want)
		}
	}
}

// Buckets are those that counting finds.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var boundaries []float64
		at := -5.0
		for range rapid.IntRange(1, 20).Draw(rt, "boundaries") {
			at += float64(rapid.IntRange(1, 3).Draw(rt, "step"))
			boundaries = append(boundaries, at)
		}
		x, right := float64(rapid.IntRange(-6, 60).Draw(rt, "x"))/2, rapid.Bool().Draw(rt, "right")
		want := 0
		for _, b := range boundaries {
			if b < x || right && b == x {
				want++
			}
		}
		if got := bucket(boundaries, x, right); got != want {
			rt.Fatalf("%v among %v is in %d, want %d", x, boundaries, got, want)
		}
	})
}

// No step allocates memory, however many numbers there are.
func TestFillAllocatesNothing(t *testing.T) {
	in := sample.Schema{{Name: "f", Type: sample.TensorType(tensor.Float32)}, {Name: "n", Type: sample.TensorType(tensor.Int64)},
		{Name: "text", Type: sample.TextType}}
	f, n := make([]byte, 4*1000), make([]byte, 8*1000)
	texts := sample.Texts{Bytes: make([]byte, 5*1000)}
	for i := range 1000 {
		texts.Ends = append(texts.Ends, 5*(i+1))
	}
	values := map[string]Values{"f": {Data: f}, "n": {Data: n}, "text": {Texts: texts}}
	for _, s := range []Step{
		&Cast{On{[]string{"f", "n"}}, "int32"},
		&Cast{On{[]string{"n"}}, "float16"},
		&Scale{On: On{[]string{"f", "n"}}, Mean: Numbers{1}, Std: Numbers{2}},
		&Clip{On: On{[]string{"f", "n"}}, Min: new(0.0)},
		&Log1p{On{[]string{"f", "n"}}},
		&FillNaN{On{[]string{"f"}}, new(1.0)},
		&Bucketize{On: On{[]string{"f", "n"}}, Boundaries: []float64{0, 1}},
		&HashBuckets{On: On{[]string{"n", "text"}}, Buckets: new(int64(7))},
		&OneHot{On{[]string{"n"}}, new(3), new(0.1)},
		&Concat{Fields: []string{"f", "n"}, To: "x", DType: "float32"},
	} {
		all, err := s.columns(in, false)
		if err != nil {
			t.Fatalf("%T: %v", s, err)
		}
		for _, c := range all {
			var from []Values
			for _, name := range c.From {
				from = append(from, values[name])
			}
			to := make([]byte, c.Lines(from)*c.OutLine)
			allocations := testing.AllocsPerRun(20, func() {
				if bad := c.Fill(to, from); bad != nil {
					t.Fatalf("%T: %v", s, bad.Err)
				}
			})
			if allocations > 0.5 { // a pool may be emptied between
				t.Errorf("%T of %v allocates %v times", s, c.From, allocations)
			}
		}
	}
}

// What only a Go program can write is refused, too.
func TestArgumentsOfPrograms(t *testing.T) {
	in, on := sample.Schema{{Name: "f", Type: sample.TensorType(tensor.Float32)}}, On{[]string{"f"}}
	nan := math.NaN()
	for want, s := range map[string]Step{
		"is empty: must be a number, or a list of numbers": &Scale{On: on, Mean: Numbers{}, Std: Numbers{1}},
		"has NaN: must be numbers":                         &Scale{On: on, Min: Numbers{nan}, Max: Numbers{1}},
		"has NaN as min or max: must be numbers":           &Clip{On: on, Min: &nan},
		"is NaN: must be a number":                         &FillNaN{on, &nan},
		"is +Inf: must be a number":                        &Bucketize{On: on, Boundaries: []float64{0, math.Inf(1)}},
	} {
		if _, err := s.Check(in); err == nil || err.Error() != want {
			t.Errorf("%T: %v, want %s", s, err, want)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	const rows = 4096
	in := sample.Schema{{Name: "f", Type: sample.TensorType(tensor.Float32)}, {Name: "n", Type: sample.TensorType(tensor.Int64)}}
	values := map[string]Values{"f": {Data: make([]byte, 4*rows)}, "n": {Data: make([]byte, 8*rows)}}
	for name, s := range map[string]Step{
		"cast":         &Cast{On{[]string{"n"}}, "float32"},
		"scale":        &Scale{On: On{[]string{"f"}}, Mean: Numbers{1}, Std: Numbers{2}},
		"clip":         &Clip{On: On{[]string{"f"}}, Min: new(0.0)},
		"log1p":        &Log1p{On{[]string{"f"}}},
		"bucketize":    &Bucketize{On: On{[]string{"f"}}, Boundaries: []float64{0, 1, 2, 3, 4, 5, 6, 7}},
		"hash_buckets": &HashBuckets{On: On{[]string{"n"}}, Buckets: new(int64(1000))},
		"one_hot":      &OneHot{On{[]string{"n"}}, new(8), new(float64)},
		"concat":       &Concat{Fields: []string{"f", "n"}, To: "x", DType: "float32"},
	} {
		all, err := s.columns(in, false)
		if err != nil {
			b.Fatal(err)
		}
		var from []Values
		for _, name := range all[0].From {
			from = append(from, values[name])
		}
		to := make([]byte, rows*all[0].OutLine)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				all[0].Fill(to, from)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
