package recipe

import (
	"cmp"
	"fmt"
	"slices"

	"headrace/media"
	"headrace/recipe/internal/argument"
	"headrace/recipe/internal/jsonschema"
	"headrace/recipe/internal/rawjson"
	"headrace/sample"
	"headrace/tensor"
)

var normalizeOp = operation[Normalize]("normalize", Between, "Makes floating point of pixels: (v/255 - mean) / std, of 16 bits (v/65535 - mean) / std. Only layout may follow.")

// Normalize are the arguments of the operation normalize.
type Normalize struct {
	Mean  Channels `json:"mean,omitempty" required:"true" example:"[0.485, 0.456, 0.406]" doc:"what is subtracted from values between 0 and 1: one number, or [red, green, blue]"`
	Std   Channels `json:"std,omitempty" required:"true" example:"[0.229, 0.224, 0.225]" doc:"what the difference is divided by: one number, or [red, green, blue]"`
	DType string   `json:"dtype,omitempty" choices:"float32,float16,bfloat16" doc:"\"float32\", the default, \"float16\" or \"bfloat16\""`
}

// Channels is a number for all channels or one for each of red, green and blue; in JSON a
// number or a list of three.
type Channels []float64

// Takes implements [Taker].
func (c *Channels) Takes() string { return "a number, or [red, green, blue]" }

// JSONSchema implements [Schemer].
func (Channels) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 3) }

// MarshalJSON writes a number or a list.
func (c Channels) MarshalJSON() ([]byte, error) { return numbersOf(c...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Channels) UnmarshalJSON(b []byte) error {
	n, ok := parseNumbers[float64](b)
	if !ok || len(n) != 3 && (len(n) != 1 || rawjson.Value(b).Kind() == rawjson.List) {
		return fmt.Errorf("recipe: takes %s", c.Takes())
	}
	*c = n
	return nil
}

// three returns a number for each channel.
func (c Channels) three() (n [3]float64) {
	for i := range n {
		n[i] = c[i%len(c)]
	}
	return n
}

func (n Normalize) complete() Args {
	n.Mean, n.Std = oneIfEqual(n.Mean), oneIfEqual(n.Std)
	n.DType = cmp.Or(n.DType, "float32")
	return &n
}

// Transform implements [Transform].
func (n *Normalize) Transform() media.Op {
	op := media.Normalize{Mean: n.Mean.three(), Std: n.Std.three(), DType: tensor.Float32}
	if d, err := tensor.ParseDType(n.DType); err == nil {
		op.DType = d
	}
	return op
}

// Check implements [Args].
func (n *Normalize) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{
		argument.Given("mean", n.Mean != nil), argument.Given("std", n.Std != nil), checkCount("mean", n.Mean), checkCount("std", n.Std),
		argument.Choice(n, "dtype", n.DType),
	}
	if len(n.Std) > 0 && !(slices.Min(n.Std) > 0) {
		errs = append(errs, Wrong("std", "is %s: takes numbers above 0", shown(n.Std)))
	}
	return checkTransform(in, n, errs...)
}

// checkCount refuses what only a Go program can write.
func checkCount(name string, c Channels) error {
	if c != nil && len(c) != 1 && len(c) != 3 {
		return Wrong(name, "has %d numbers: takes 1 or 3", len(c))
	}
	return nil
}

var layoutOp = operation[Layout]("layout", Between, "Orders the axes of an image.")

// Layout are the arguments of the operation layout.
type Layout struct {
	Layout string `json:"layout,omitempty" required:"true" choices:"NHWC,NCHW" example:"NCHW" doc:"\"NHWC\": a pixel's channels side by side, as decoded; \"NCHW\": a plane for each channel. N is the axis of the batch"`
}

// Transform implements [Transform].
func (l *Layout) Transform() media.Op {
	layout, _ := media.ParseLayout(l.Layout)
	return media.ToLayout{Layout: layout}
}

// Check implements [Args].
func (l *Layout) Check(in sample.Schema) (sample.Schema, error) {
	if l.Layout == "" {
		return checkTransform(in, l, argument.Given("layout", false))
	}
	return checkTransform(in, l, argument.Choice(l, "layout", l.Layout))
}
