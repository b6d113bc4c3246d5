package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe/internal/argument"
	"github.com/headrace/headrace/sample"
)

var mergeOp = operation[Merge]("merge", Source, "Combine several sources.")

// Merge are the arguments of the operation merge.
type Merge struct {
	Of      []Chain   `json:"of" required:"true" min:"1" example:"[[{\"files\": {\"pattern\": \"cats\"}}], [{\"files\": {\"pattern\": \"dogs\"}}]]" doc:"each has its own source and no batches; all must have the same fields and dtypes"`
	Order   string    `json:"order,omitempty" choices:"round_robin,weights,arrival" doc:"round_robin; weights, the default if given; arrival: whichever has a sample first, which differs between runs"`
	Weights []float64 `json:"weights,omitempty" doc:"how often each is next: numbers above 0, relative to their sum; they hold until the first source ends"`
	Seed    *uint64   `json:"seed,omitempty" doc:"for drawing by weights; by default the pipeline's"`
	Until   Until     `json:"until,omitempty" default:"longest" doc:"an epoch ends with the longest source, the shortest, or after this many samples in all"`
	Fill    *PadValue `json:"fill,omitempty" doc:"values for fields that some sources lack: a number, or numbers by field, 0 for others; text is empty; by default all must have the same fields"`
}

func (m Merge) complete() Args {
	if m.Order == "" && m.Weights != nil {
		m.Order = "weights"
	}
	if m.Fill != nil {
		m.Fill = new(m.Fill.complete())
	}
	m.Order = cmp.Or(m.Order, "round_robin")
	return &m
}

// identity writes out whose seed it is, where there is one.
func (m Merge) identity(r Recipe) Args {
	if m.Seed == nil && m.Order == "weights" {
		m.Seed = &r.Seed
	}
	return &m
}

func (m *Merge) chains() []Chain { return m.Of }

func (m Merge) with(all []Chain) Args {
	m.Of = all
	return &m
}

func (*Merge) inside() surroundings { return surroundings{op: mergeOp.Name, begins: true} }

// Check implements [Args]. Mistakes in the chains are numbered from this operation, which
// is step 1.
func (m *Merge) Check(in sample.Schema) (sample.Schema, error) { return checkAlone(m, in) }

func (m *Merge) join(_ sample.Schema, outs []sample.Schema) (sample.Schema, error) {
	errs := []error{argument.Choice(m, "order", m.Order), m.checkUntil(), m.checkWeights()}
	if m.Of == nil {
		errs = append(errs, errors.New("lacks the argument of"))
	} else if len(m.Of) == 0 {
		errs = append(errs, Wrong("of", "is empty: give lists of steps, each beginning with a source such as files"))
	}
	for i, c := range m.Of {
		if len(c) == 0 {
			errs = append(errs, Wrong(fmt.Sprintf("of[%d]", i), "is empty: it begins with a source such as files"))
		}
	}
	if m.Seed != nil && m.Order != "weights" {
		errs = append(errs, Wrong("seed", `is %d, but nothing is drawn: it is for order="weights"`, *m.Seed))
	}
	outs = WithKeys(outs)
	if m.Fill != nil {
		var wrong []error
		outs, wrong = Filled(outs, *m.Fill)
		errs = append(errs, wrong...)
	}
	out, err := unite(outs, func(i int) string { return fmt.Sprintf("of[%d]", i) })
	return out, errors.Join(append(errs, err)...)
}

// WithKeys gives samples the field key where those of others have one: each has a name.
func WithKeys(all []sample.Schema) []sample.Schema {
	at := -1
	for _, s := range all {
		if i := s.Find("key"); i >= 0 && s[i].Type.Kind == sample.Text {
			at = i
			break
		}
	}
	if at < 0 {
		return all
	}
	all = slices.Clone(all)
	for i, s := range all {
		if s != nil && s.Find("key") < 0 {
			all[i] = slices.Insert(slices.Clone(s), min(at, len(s)), sample.Field{Name: "key", Type: sample.TextType})
		}
	}
	return all
}

func (m *Merge) checkUntil() error {
	switch n, ok := m.Until.Samples(); {
	case !ok:
		return argument.OneOf("until", string(m.Until), untilWords)
	case n < 1:
		return Wrong("until", "is %d: must be a number of samples, at least 1, longest or shortest", n)
	case m.Order == "arrival":
		return Wrong("until", `is %d, but order is "arrival", which counts nothing: use another order`, n)
	}
	return nil
}

// Filled gives samples the fields that those of others have, in the order in which they
// are first there.
func Filled(all []sample.Schema, fill PadValue) (filled []sample.Schema, wrong []error) {
	var union, lacked sample.Schema
	for _, s := range all {
		for _, f := range s {
			if union.Find(f.Name) < 0 {
				union = append(union, f)
			}
		}
	}
	for _, s := range all {
		if s == nil {
			filled = append(filled, nil)
			continue
		}
		whole := slices.Clone(union)
		for i, f := range union {
			if at := s.Find(f.Name); at >= 0 {
				whole[i] = s[at]
			} else if lacked.Find(f.Name) < 0 {
				lacked = append(lacked, f)
			}
		}
		filled = append(filled, whole)
	}

	for _, f := range lacked {
		number := f.Type.Kind == sample.Tensor && len(f.Type.Shape) == 0
		switch v := fill.Of(f.Name); {
		case f.Type.Kind == sample.Text:
		case !number:
			wrong = append(wrong, Wrong("fill", "is for numbers and text, and the field %q, which some lack, is %v: leave it out with drop", f.Name, f.Type))
		case !hasValue(f.Type.DType, v):
			wrong = append(wrong, Wrong("fill", "is %v for the field %q: no %v has this value", v, f.Name, f.Type.DType))
		}
	}
	if slices.ContainsFunc(all, func(s sample.Schema) bool { return s == nil }) {
		return filled, wrong // what the others have is not known yet
	}
	for _, name := range slices.Sorted(maps.Keys(fill.Fields)) {
		if lacked.Find(name) < 0 {
			wrong = append(wrong, Wrong("fill", "names %q: %s", name, lacks(lacked)))
		}
	}
	return filled, wrong
}

func lacks(fields sample.Schema) string {
	if len(fields) == 0 {
		return "no field is missing"
	}
	return "the fields that some lack are " + words.List(fields.Names())
}

func (m *Merge) checkWeights() error {
	switch {
	case m.Weights == nil && m.Order == "weights":
		return Wrong("weights", "is missing: order=\"weights\" draws by them, one for each of of")
	case m.Weights == nil:
		return nil
	case m.Order != "weights":
		return Wrong("weights", `is given, but order is %q: use "weights" with them`, m.Order)
	case len(m.Weights) != len(m.Of):
		return Wrong("weights", "is a list of %d, but of has %d: give one for each", len(m.Weights), len(m.Of))
	}
	sum := 0.0
	for i, w := range m.Weights {
		if !(w > 0) {
			return Wrong(fmt.Sprintf("weights[%d]", i), "is %v: must be a number above 0", w)
		}
		sum += w
	}
	if sum > math.MaxFloat64 {
		return Wrong("weights", "has too large a sum")
	}
	return nil
}

// Traits implements [traited].
func (m *Merge) Traits() Traits {
	return Traits{Seed: m.Seed, Merging: &Merging{Order: m.Order, Weights: m.Weights, Until: m.Until, Fill: m.Fill}}
}
