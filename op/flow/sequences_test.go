package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/internal/recipetest"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

const tokens = `{"decode_npy":{"dtype":"int32","to":"tokens"}},`

func TestSchemasOfSequences(t *testing.T) {
	for steps, want := range map[string]string{
		`{"decode_npy":{"dtype":"float32"}}`:                                                  "array float32 [?], label int64, key text",
		`{"decode_npy":{"dtype":"bool","shape":[],"to":"bytes"}}`:                             "bytes bool, label int64, key text",
		`{"decode_npy":{"dtype":"bfloat16","shape":[null,80,null]}}`:                          "array bfloat16 [?, 80, ?], label int64, key text",
		`{"decode_npy":{"dtype":"float32","shape":[3,0]}},{"batch":{"size":2}}`:               "array float32 [3, 0], label int64, key text",
		tokens + `{"bucket_batch":{"lengths":[4,8],"size":2}}`:                                "tokens int32 [?], label int64, key text, tokens_length int64",
		tokens + `{"bucket_batch":{"lengths":[8],"size":2}}`:                                  "tokens int32 [8], label int64, key text, tokens_length int64",
		tokens + `{"bucket_batch":{"lengths":[8],"size":2,"pad_to":"longest"}}`:               "tokens int32 [?], label int64, key text, tokens_length int64",
		`{"decode_npy":{"dtype":"float64","shape":[null,80]}},{"pack":{"length":9,"size":2}}`: "array float64 [9, 80], label int64 [9], key text, array_segment_ids int32 [9], array_positions int32 [9]",
	} {
		r := recipetest.Labelled(t, steps)
		got, err := r.Check()
		if err != nil || got.String() != want || got.Check() != nil {
			t.Errorf("%s: %v, %v, want %s", steps, got, err, want)
		}
		if shapes := r.ImageShapes(); shapes != nil {
			t.Errorf("%s has images of %v", steps, shapes)
		}
	}
}

func TestWhatSequencesRefuse(t *testing.T) {
	for steps, want := range map[string]string{
		`"decode_npy"`: `step "decode_npy" (#2): lacks the argument dtype`,
		`{"decode_npy":{"dtype":"float23","field":"label","to":"key"}}`: `step "decode_npy" (#2): dtype is "float23": did you mean "float32"? must be "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32" or "float64"
step "decode_npy" (#2): field is "label", which is int64: must be a field of bytes
step "decode_npy" (#2): to is "key": the samples have a field of this name already`,
		`{"decode_npy":{"dtype":"int8","field":"x"}}`:                                                                             `step "decode_npy" (#2): field is "x": the samples have the fields bytes, label, key`,
		`{"decode_npy":{"dtype":"int64","shape":[4294967296,4294967296]}}`:                                                        `step "decode_npy" (#2): shape is too large: tensor: shape [4294967296, 4294967296] has more than 2⁶³-1 elements`,
		tokens + `{"batch":{"size":2}}`:                                                                                           `step "batch" (#3): cannot stack sequences of different lengths: the field "tokens" is int32 [?]; keep them as lists of arrays, batch(…, ragged=["tokens"]), or end the recipe with bucket_batch or pack, or with batch and a collate function`,
		`{"decode_npy":{"dtype":"int8","shape":[3,null]}},{"batch":{"size":2}}`:                                                   `step "batch" (#3): cannot stack arrays of different shapes: the field "array" is int8 [3, ?]`,
		tokens + `"bucket_batch"`:                                                                                                 "step \"bucket_batch\" (#3): lacks the argument lengths\nstep \"bucket_batch\" (#3): has no limit: give at least one of size, global_size, tokens, seconds and bytes",
		tokens + `{"bucket_batch":{"lengths":[],"size":1}}`:                                                                       `step "bucket_batch" (#3): lengths is empty: give at least one number`,
		tokens + `{"bucket_batch":{"lengths":[3,3],"size":1}}`:                                                                    `step "bucket_batch" (#3): lengths is [3,3]: must be rising numbers, at least 1`,
		tokens + `{"bucket_batch":{"lengths":[0,3],"size":-1,"bytes":-1}}`:                                                        "step \"bucket_batch\" (#3): lengths is [0,3]: must be rising numbers, at least 1\nstep \"bucket_batch\" (#3): size is -1: must be from 1 to 2147483647\nstep \"bucket_batch\" (#3): bytes is -1: must be at least 1",
		tokens + `{"bucket_batch":{"lengths":[3,9],"tokens":8}}`:                                                                  `step "bucket_batch" (#3): tokens is 8: a single sample of length 9 is more`,
		tokens + `{"bucket_batch":{"lengths":[3,9],"tokens":9,"bytes":51}}`:                                                       `step "bucket_batch" (#3): bytes is 51: a single sample of length 9 is more`,
		tokens + `{"bucket_batch":{"lengths":[3],"size":1,"pad_to":"shortest","overlong":"cut"}}`:                                 "step \"bucket_batch\" (#3): pad_to is \"shortest\": must be \"bucket\" or \"longest\"\nstep \"bucket_batch\" (#3): overlong is \"cut\": must be \"error\", \"truncate\" or \"drop\"",
		tokens + `{"bucket_batch":{"lengths":[3],"size":1,"pad":0.5}}`:                                                            `step "bucket_batch" (#3): pad is 0.5 for the field "tokens": no int32 has this value`,
		tokens + `{"bucket_batch":{"lengths":[3],"size":1,"pad":{"label":-100}}}`:                                                 `step "bucket_batch" (#3): pad names "label": the fields that are padded are tokens`,
		`"decode_image",{"bucket_batch":{"lengths":[3],"size":1}}`:                                                                `step "bucket_batch" (#3): has no sequences to put into buckets, only image uint8 [?, ?, 3], label int64, key text: a sequence is an array whose first extent alone is unknown. A source or a function that makes one says so, beside its other fields: gives={"tokens": ("int32", (None,))}`,
		`{"bucket_batch":{"lengths":[3],"size":1}}`:                                                                               `step "bucket_batch" (#2): has no sequences to put into buckets, only bytes bytes, label int64, key text; put decode_npy before it`,
		`{"decode_npy":{"dtype":"int8","to":"x"}},{"bucket_batch":{"lengths":[9223372036854775807],"bytes":9223372036854775807}}`: `step "bucket_batch" (#3): has too much in a row of length 9223372036854775807: the field "x" is int8 [?]`,
		tokens + `"pack"`: "step \"pack\" (#3): lacks the argument length, or has 0 there: must be at least 1\nstep \"pack\" (#3): has no size, or 0: needs either size or global_size, at least 1",
		tokens + `{"pack":{"length":-1,"size":2147483648,"fit":"bets","open":-1,"overlong":"","pad":2147483648}}`: `step "pack" (#3): length is -1: must be from 1 to 2147483647
step "pack" (#3): size is 2147483648: must be from 1 to 2147483647
step "pack" (#3): fit is "bets": did you mean "best"? must be "best", "first", "best-wrap" or "wrap"
step "pack" (#3): open is -1: must be from 1 to 2147483647
step "pack" (#3): pad is 2.147483648e+09 for the field "tokens": no int32 has this value`,
		`{"decode_npy":{"dtype":"int8","shape":[2]}},{"pack":{"length":1,"size":1}}`: `step "pack" (#3): has no sequences to pack, only array int8 [2], label int64, key text: a sequence is an array whose first extent alone is unknown. If "array" differs in length, say so in the source or the step that makes it, beside its other fields: gives={"array": ("int8", (None,))}`,
		tokens + `{"pack":{"length":1,"size":1}},{"batch":{"size":1}}`:               `step "batch" (#4): cannot stack batches of different sizes: the field "tokens" is int32 [?, 1]; give "pack" a size and drop_last, or put unbatch before "batch"`,
	} {
		_, err := recipetest.Labelled(t, steps).Check()
		if err == nil {
			t.Errorf("%s is accepted", steps)
		} else if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(strings.ReplaceAll(err.Error(), "recipe: ", ""), "\n")); diff != "" {
			t.Errorf("%s:\n%s", steps, diff)
		}
	}
	for steps, want := range map[string]string{
		tokens + `{"pack":{"length":1,"size":1,"pad":"0"}}`:                     `pad is "0": must be a number, or an object like {field: number}`,
		tokens + `{"pack":{"length":1,"size":1,"pad":{"tokens":null}}}`:         `pad is an object: must be a number, or an object like {field: number}`,
		tokens + `{"pack":{"length":1,"size":1,"pad":{"tokens":1,"tokens":2}}}`: `pad is an object: must be`,
		`{"decode_npy":{"dtype":"int8","shape":3}}`:                             `shape is 3: must be a list of whole numbers, null for an extent that differs`,
		`{"decode_npy":{"dtype":"int8","shape":[-1]}}`:                          `shape is [-1]: must be a list of whole numbers, null for an extent that differs`,
		`{"decode_npy":{"dtype":"int8","shape":[1.5]}}`:                         `shape is [1.5]: must be`,
	} {
		if _, err := recipe.Parse([]byte(`{"headrace":1,"steps":["files",` + steps + `]}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", steps, err, want)
		}
	}
}

// A batch has a size on each rank or over all, and not both.
func TestWhatGlobalSizesRefuse(t *testing.T) {
	for args, want := range map[string]string{
		`"size":1,"global_size":2`: "has both size and global_size: give one of them",
		`"global_size":-2`:         "global_size is -2: must be from 1 to 2147483647",
		`"global_size":2147483648`: "global_size is 2147483648: must be from 1 to 2147483647",
	} {
		for _, step := range []string{`"pack":{"length":1,`, `"bucket_batch":{"lengths":[3],`} {
			_, err := recipetest.Labelled(t, tokens+"{"+step+args+"}}").Check()
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s%s: %v, want %s", step, args, err, want)
			}
		}
	}
}

// How many samples a batch has follows from the limits that there are.
func TestRowsOfBuckets(t *testing.T) {
	in := sample.Schema{
		{Name: "a", Type: sample.TensorType(tensor.Int32, tensor.Unknown)}, {Name: "b", Type: sample.TensorType(tensor.Float64, tensor.Unknown, 2)},
		{Name: "label", Type: sample.TensorType(tensor.Int64)}, {Name: "key", Type: sample.TextType},
	}
	for want, b := range map[string]flow.BucketBatch{
		"[7 7]":  {Size: 7},
		"[6 6]":  {GlobalSize: 24},
		"[6 4]":  {GlobalSize: 24, Tokens: 100},
		"[25 4]": {Tokens: 100},
		"[7 4]":  {Tokens: 100, Size: 7},
		"[9 1]":  {Bytes: 4*4*9 + 16*4*9 + 24*9 + 23}, // 20 bytes an element of a sequence, two lengths and a label a sample
		"[9 0]":  {Bytes: 4*4*9 + 16*4*9 + 24*9, Tokens: 1000},
	} {
		b.Lengths = []int{4, 25}
		if want == "[9 0]" {
			b.Lengths[1] = 49
		}
		if got, err := b.Rows(in, 6); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%+v: %v, %v, want %s", b, got, err, want)
		}
	}
}

// Images may have several sizes in front of a batch, if it is known which.
func TestImagesOfSeveralSizes(t *testing.T) {
	for steps, want := range map[string]string{
		`{"resize_to_bucket":{"sizes":[[4,6],[6,4]]}}`:                                                               "[[4, 6, 3] [6, 4, 3]]",
		`"random_rotate90",{"resize_to_bucket":{"sizes":[[4,6],5,[4,6]]}},"random_flip"`:                             "[[4, 6, 3] [5, 5, 3]]",
		`{"resize_to_bucket":{"sizes":[[4,6],[6,4]]}},"grayscale",{"pad":{"padding":[1,0]}}`:                         "[[4, 8, 1] [6, 6, 1]]",
		`{"resize_to_bucket":{"sizes":[[4,6],[6,4]]}},{"normalize":{"mean":0,"std":1}},{"layout":{"layout":"NCHW"}}`: "[[3, 4, 6] [3, 6, 4]]",
		`{"resize_to_bucket":{"sizes":[[4,6],[6,4]]}},{"center_crop":{"size":3}}`:                                    "[]",
		`{"resize_to_bucket":{"sizes":[[4,6]]}}`:                                                                     "[]",
		`{"center_crop":{"size":3}}`:                                                                                 "[]",
	} {
		r := recipetest.Labelled(t, `"decode_image",`+steps+`,{"batch":{"size":2}}`)
		_, err := r.Check()
		if got := fmt.Sprint(r.ImageShapes()); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", steps, got, err, want)
		}
	}
}

func TestPadValues(t *testing.T) {
	p := recipe.PadValue{Fields: map[string]float64{"a": -100}}
	if p.Of("a") != -100 || p.Of("b") != 0 || (recipe.PadValue{All: 3}).Of("b") != 3 {
		t.Error("the values are others")
	}
	one := recipetest.Labelled(t, tokens+`{"pack":{"length":1,"size":1}}`).Fingerprint()
	for _, pad := range []string{"0", "0.0", "{}", "null"} {
		if recipetest.Labelled(t, tokens+`{"pack":{"length":1,"size":1,"pad":`+pad+`}}`).Fingerprint() != one {
			t.Errorf("pad %s is another recipe", pad)
		}
	}
	for d, values := range map[tensor.DType][]float64{
		tensor.Bool: {0, 1}, tensor.Uint8: {0, 255}, tensor.Int8: {-128, 127}, tensor.Uint64: {0, 1 << 63}, tensor.Int64: {-1 << 63, 1 << 62},
		tensor.Float16: {65504, -1.5}, tensor.BFloat16: {1e38}, tensor.Float32: {-1e38}, tensor.Float64: {1e300},
	} {
		for _, v := range slices.Concat(values, []float64{2, 256, -129, 1 << 63, 1 << 32, 1e5, 1e39}) {
			text, _ := json.Marshal(v)
			_, err := recipetest.Labelled(t, fmt.Sprintf(`{"decode_npy":{"dtype":%q}},{"pack":{"length":1,"size":1,"pad":{"array":%s}}}`, d, text)).Check()
			if fits := representable(d, v); (err == nil) != fits {
				t.Errorf("%v of %v: %v", v, d, err)
			}
		}
	}
}

// representable says it by the greatest and the least value of a type, as NumPy has them.
func representable(d tensor.DType, v float64) bool {
	limits := map[tensor.DType][2]float64{
		tensor.Bool: {0, 1}, tensor.Uint8: {0, 255}, tensor.Int8: {-128, 127}, tensor.Uint64: {0, 18446744073709549568}, tensor.Int64: {-9223372036854775808, 9223372036854774784},
		tensor.Float16: {-65504, 65504}, tensor.BFloat16: {-3.3895314e38, 3.3895314e38}, tensor.Float32: {-3.4028235e38, 3.4028235e38}, tensor.Float64: {-1e308, 1e308},
	}[d]
	return v >= limits[0] && v <= limits[1]
}
