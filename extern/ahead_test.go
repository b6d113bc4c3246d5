package extern_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Memory that a worker asks for it gets when all that it sent was taken. So of what is
// large, one sample is there.
func TestAGeneratorOfLargeResultsHasRoomForOne(t *testing.T) {
	var n notes
	gives := sample.Schema{{Name: "x", Type: intType}, {Name: "image", Type: sample.TensorType(tensor.Float32, 300, 300)}}
	pool := open(t, extern.Options{Function: "functions:endless_and_big", Kind: extern.FlatMap, In: intField, Gives: gives, Log: n.add})
	most, taken := int64(0), 0
	err := pool.Stream(within(t, time.Minute), &extern.Call{In: []extern.Value{number(0)}}, func(vs []extern.Value) error {
		if taken++; taken%5 == 0 {
			time.Sleep(100 * time.Millisecond) // so that it can run ahead if it does
		}
		if made := len(n.all()); made > taken+2 {
			t.Errorf("%d were made when %d were taken", made, taken)
		}
		most = max(most, heapOf(pool).Held())
		heapOf(pool).Give(vs[0].Data)
		heapOf(pool).Give(vs[1].Data)
		if taken == 20 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || most > pool.Ahead()*5/4 || most < pool.Ahead()*9/10 { // pieces of the heap are larger than what is in them
		t.Errorf("%v; %d bytes, where %d were foreseen", err, most, pool.Ahead())
	}
}

// How much may be ahead follows from what results are, or were.
func TestAhead(t *testing.T) {
	const small, large = 3 * 16, 300 * 300 * 4 // samples of what travels with messages; bytes of what does not
	x := sample.Field{Name: "x", Type: intType}
	for _, c := range []struct {
		gives sample.Schema
		want  int64
	}{
		{sample.Schema{x}, small * 8},
		{sample.Schema{x, {Name: "image", Type: sample.TensorType(tensor.Float32, 300, 300)}}, small*8 + large},
		{sample.Schema{x, {Name: "open", Type: sample.TensorType(tensor.Float32, tensor.Unknown)}}, small * 8},
	} {
		t.Run(fmt.Sprint(c.gives), func(t *testing.T) {
			options := extern.Options{Function: "functions:parts", Kind: extern.FlatMap, In: intField, Gives: c.gives}
			if got := open(t, options).Ahead(); got != c.want {
				t.Errorf("%d bytes are foreseen, want %d", got, c.want)
			}
		})
	}
	for name, kind := range map[string]sample.Type{"text": sample.TextType, "object": sample.ObjectType} {
		t.Run(name, func(t *testing.T) {
			pool := open(t, extern.Options{Function: "functions:texts", Kind: extern.FlatMap, In: intField, Gives: sample.Schema{{Name: "text", Type: kind}}})
			want := int64(0) // nothing has come
			for _, size := range []int64{0, 100, 5000, 1 << 20, 10} {
				if got := pool.Ahead(); got != want {
					t.Errorf("%d bytes are foreseen, want %d", got, want)
				}
				err := pool.Stream(within(t, time.Minute), &extern.Call{In: []extern.Value{number(size)}}, func(vs []extern.Value) error {
					one := int64(len(vs[0].Text) + len(vs[0].Data))
					if want = max(want, small*min(one, 4096)); one > 4096 {
						want = max(want, small*4096+one)
					}
					heapOf(pool).Give(vs[0].Data)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
