package image

import (
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Normalize]("normalize", recipe.Between,
	"Convert pixels to floating point: (v / 255 - mean) / std, or for 'uint16' (v / 65535 - mean) / std. "+
		"Only 'layout' may follow.").Explained(`
NumPy has no bfloat16: arrays are 'ml_dtypes.bfloat16' if that package is installed (JAX brings it), else 'uint16' with the same bytes, as
'loader.schema' says; 'torch.from_numpy(a).view(torch.bfloat16)' converts them. After '.to("torch")' they are 'torch.bfloat16'.`,
	`.normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)).layout("NCHW")`).Called("mean, std, dtype").
	Replacing("Normalize(mean, std)"))

// Normalize are the arguments of the operation normalize.
type Normalize struct {
	Mean  Channels `json:"mean,omitempty" required:"true" example:"[0.485, 0.456, 0.406]"`
	Std   Channels `json:"std,omitempty" required:"true" example:"[0.229, 0.224, 0.225]" doc:"divides the difference, likewise; above 0"`
	DType string   `json:"dtype,omitempty" choices:"float32,float16,bfloat16" default:"float32" doc:"the dtype of the result"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Normalize) Docs() map[string]string {
	return map[string]string{
		"mean": "subtracted from values between 0 and 1: one number, or one for each of red, green and blue",
	}
}

// Channels is a number for all channels or one for each of red, green and blue; in JSON a
// number or a list of three.
type Channels []float64

// Takes implements [recipe.Taker].
func (c *Channels) Takes() string { return "a number, or [red, green, blue]" }

// JSONSchema implements [recipe.Schemer].
func (Channels) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 3) }

// MarshalJSON writes a number or a list.
func (c Channels) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(c...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Channels) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, c.Takes(), 3)
	if err == nil {
		*c = n
	}
	return err
}

// three returns a number for each channel.
func (c Channels) three() (n [3]float64) {
	for i := range n {
		n[i] = c[i%len(c)]
	}
	return n
}

// Complete implements [recipe.Completer].
func (n Normalize) Complete() recipe.Args {
	n.Mean, n.Std = argument.OneIfEqual(n.Mean), argument.OneIfEqual(n.Std)
	return &n
}

// Transform implements [recipe.Transform].
func (n *Normalize) Transform() media.Op {
	d, _ := tensor.ParseDType(n.DType)
	return media.Normalize{Mean: n.Mean.three(), Std: n.Std.three(), DType: d}
}

// Check implements [recipe.Args].
func (n *Normalize) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{checkCount("mean", n.Mean), checkCount("std", n.Std)}
	if len(n.Std) > 0 && !(slices.Min(n.Std) > 0) {
		errs = append(errs, recipe.Wrong("std", "is %s: must be numbers above 0", argument.Written(n.Std)))
	}
	// Numbers for values up to 255 would give a model nothing but noise to train on.
	errs = append(errs, checkScale("mean", n.Mean), checkScale("std", n.Std))
	return recipe.CheckTransform(in, n, errs...)
}

// checkScale refuses numbers for images whose values go up to 255: here they go up to 1,
// so no mean is above 1, and no deviation above a half.
func checkScale(name string, c Channels) error {
	if len(c) == 0 || slices.Max(c) <= 1 {
		return nil
	}
	scaled := make(Channels, len(c))
	for i, v := range c {
		scaled[i] = math.Round(v/255*1e4) / 1e4
	}
	return recipe.Wrong(name, "is %s, but values are between 0 and 1 here, not 0 and 255: write %s",
		argument.Written(c), argument.Written(scaled))
}

// checkCount refuses what only a Go program can write.
func checkCount(name string, c Channels) error {
	if c != nil && len(c) != 1 && len(c) != 3 {
		return recipe.Wrong(name, "has %d numbers: must have 1 or 3", len(c))
	}
	return nil
}
