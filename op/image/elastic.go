package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Elastic]("elastic", recipe.Between,
	"Move each pixel by a smooth random distance, as torchvision's 'ElasticTransform'.").
	Explained("", ".elastic()", ".elastic(alpha=120, sigma=(8, 4))").
	Called("alpha, sigma").
	Replacing("ElasticTransform(alpha, sigma)").Telling("seed"))

// Elastic are the arguments of the operation elastic.
type Elastic struct {
	Alpha  Pair   `json:"alpha,omitempty" default:"50"`
	Sigma  Pair   `json:"sigma,omitempty" default:"5"`
	Filter string `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"bilinear"`
	Fill   Fill   `json:"fill,omitempty" default:"0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Elastic) Docs() map[string]string {
	return ofWarps("center expand", map[string]string{
		"alpha": "how far: noise of 1 would move a pixel by half of it, before it is smoothed; or [across, down]",
		"sigma": "how smooth: the standard deviation in pixels of what blurs the noise, up to 100; or [across, down]",
	})
}

// Pair is a number for both directions, or one across and one down; in JSON a number or a
// list of two.
type Pair []float64

// Takes implements [recipe.Taker].
func (p *Pair) Takes() string { return "a number, or [across, down]" }

// JSONSchema implements [recipe.Schemer].
func (Pair) JSONSchema() map[string]any { return Range{}.JSONSchema() }

// MarshalJSON writes a number or a list.
func (p Pair) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(p...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Pair) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, p.Takes(), 2)
	if err == nil {
		*p = n
	}
	return err
}

// both are the numbers across and down.
func (p Pair) both() [2]float64 { return [2]float64{p[0], p[len(p)-1]} }

// Complete implements [recipe.Completer].
func (e Elastic) Complete() recipe.Args {
	e.Alpha, e.Sigma = argument.OneIfEqual(e.Alpha), argument.OneIfEqual(e.Sigma)
	return &e
}

// Refused implements [recipe.Refuser].
func (*Elastic) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (e *Elastic) Transform() media.Op {
	return media.Elastic{Alpha: e.Alpha.both(), Sigma: e.Sigma.both(), Filter: filter(e.Filter), Fill: e.Fill.color()}
}

// Check implements [recipe.Args].
func (e *Elastic) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{e.Fill.check(in, e.Images(in))}
	for name, p := range map[string]Pair{"alpha": e.Alpha, "sigma": e.Sigma} {
		if n := len(p); n > 2 {
			errs = append(errs, recipe.Wrong(name, "has %d numbers: must be one or two", n))
		}
	}
	return recipe.CheckTransform(in, e, errs...)
}
