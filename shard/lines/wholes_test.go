package lines

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"

	"pgregory.net/rapid"
)

// What is read at once is what the reader of any value makes of it.
func TestWholesAreReadAsAnyList(t *testing.T) {
	number := rapid.StringMatching(`0|-0|-?[1-9][0-9]{0,19}|127|-128|-129|32767|32768|65535|65536|` +
		`2147483647|-2147483648|-2147483649|4294967295|4294967296`)
	other := rapid.SampledFrom([]string{"", "01", "-", "--1", "1.0", "1e3", "null", "true", "NaN", "[1]", `"1"`, "1 2", "+1", "1,",
		"x"})
	blank := rapid.SampledFrom([]string{"", "", "", " ", "\t ", "\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		var all []string
		for range rapid.IntRange(0, 20).Draw(t, "elements") {
			e := number.Draw(t, "number")
			if rapid.IntRange(0, 30).Draw(t, "rare") == 0 {
				e = other.Draw(t, "other")
			}
			all = append(all, blank.Draw(t, "before")+e+blank.Draw(t, "after"))
		}
		end := rapid.SampledFrom([]string{"]", "]", "]", "]}", "]]", "", ",", "]12345678"}).Draw(t, "end")
		text := []byte("[" + strings.Join(all, ",") + end)
		d := rapid.SampledFrom([]tensor.DType{tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint16, tensor.Uint32, tensor.Uint64,
			tensor.Int8, tensor.Float32, tensor.Bool}).Draw(t, "dtype")
		length := rapid.SampledFrom([]int{tensor.Unknown, tensor.Unknown, len(all), 3}).Draw(t, "length")

		at := jsonReader{b: text}
		got, n, ok := at.wholes([]byte("abc"), d, length)
		if !ok {
			if string(got) != "abc" || at.at != 0 {
				t.Fatalf("%s: %q is read up to %d", text, got, at.at)
			}
			return
		}
		r := jsonReader{b: text}
		v, err := r.value()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		shape := []int{length}
		want, err := v.array([]byte("abc"), d, shape, shard.AsSaid)
		if err != nil || !bytes.Equal(got, want) || shape[0] != n || at.at != r.at {
			t.Fatalf("%s as %v: %q, %d up to %d, want %q, %v up to %d: %v", text, d, got, n, at.at, want, shape, r.at, err)
		}
	})
}

// Lists of token ids, as programs write them, are read at once.
func TestTokensAreReadAtOnce(t *testing.T) {
	for _, text := range []string{
		"[1]", "[0, 50000, 7]", "[12345678,123456789,1234567]", "[ 1 , -2 ]", "[2147483647]", "[-2147483648]", "[1,\n2\r\n]", "[100, -100]",
	} {
		r := jsonReader{b: []byte(text)}
		if _, n, ok := r.wholes(nil, tensor.Int32, tensor.Unknown); !ok || n != 1+strings.Count(text, ",") || r.at != len(text) {
			t.Errorf("%s: %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"[]", "[ ]", "[2147483648]", "[-2147483649]", "[1234567890123456]", "[[1]]", "{}", "1", "", "[1", "[1,]"} {
		r := jsonReader{b: []byte(text)}
		if all, _, ok := r.wholes(nil, tensor.Int32, tensor.Unknown); ok || len(all) > 0 || r.at != 0 {
			t.Errorf("%s: %v up to %d", text, all, r.at)
		}
	}
}

// Numbers may be at any place among the 64 bytes that are looked at together, and the
// list may take another form anywhere.
func TestTokensAtAnyPlace(t *testing.T) {
	for _, odd := range []string{"7", "12345678", "123456789", "-5", "0", "00", "1 ", "1\t", "", "4.5"} {
		for place := range 80 {
			for _, comma := range []string{",", ", ", ",  ", " ,"} {
				all := slices.Repeat([]string{"50", "31999", "8"}, 30)
				all[place] = odd
				text := []byte("[" + strings.Join(all, comma) + "]")
				r, any := jsonReader{b: text}, jsonReader{b: text}
				got, n, ok := r.wholes(nil, tensor.Int32, tensor.Unknown)
				v, err := any.value()
				want, shape := []byte(nil), []int{tensor.Unknown}
				if err == nil {
					want, err = v.array(nil, tensor.Int32, shape, shard.AsSaid)
				}
				if ok != (err == nil) || ok && (!bytes.Equal(got, want) || n != 90) {
					t.Fatalf("%s: %v, %d, %q, want %q: %v", text, ok, n, got, want, err)
				}
			}
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	list := []byte("{\"tokens\": [" + strings.Repeat("1234, 50, 29871, ", 1000) + "7]}")
	want := []sample.Field{{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}}
	into := make([]shard.Value, 1)
	var scratch []byte
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		var err error
		if scratch, err = (JSONL{}).Parse(list, want, into, scratch[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
