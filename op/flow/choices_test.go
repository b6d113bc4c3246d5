package flow_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// A word that an argument does not accept is refused with those that it does.
func TestWordsOfSequences(t *testing.T) {
	in := sample.Schema{{Name: "tokens", Type: sample.TensorType(tensor.Int64, tensor.Unknown)}}
	buckets := func(b flow.BucketBatch) recipe.Args {
		b.Lengths, b.Size = []int{8, 16}, 4
		return recipe.Completed(&b)
	}
	for _, c := range []struct {
		args recipe.Args
		want string
	}{
		{buckets(flow.BucketBatch{}), ""},
		{buckets(flow.BucketBatch{PadTo: "longes"}), `is "longes": did you mean "longest"?`},
		{buckets(flow.BucketBatch{Overlong: "cut"}), `is "cut": must be "error"`},
		{recipe.Completed(&flow.Pack{Length: recipe.RowLengths{All: 8}, Size: 2}), ""},
		{recipe.Completed(&flow.Pack{Length: recipe.RowLengths{All: 8}, Size: 2, Overlong: "trunkate"}), `did you mean "truncate"?`},
		{recipe.Completed(&flow.Pack{Length: recipe.RowLengths{All: 8}, Size: 2, Fit: "worst"}), `is "worst": `},
	} {
		_, err := c.args.Check(in)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.args, err, c.want)
		}
	}
}
