package flow

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var mixOp = Ops.Add(recipe.NewOp[Mix]("mix", recipe.Source, "Mix several sources by weights. They restart as often as needed."))

// Mix are the arguments of the operation mix.
type Mix struct {
	Of          []recipe.Chain   `json:"of" required:"true" min:"1"`
	Names       []string         `json:"names,omitempty"`
	Weights     []float64        `json:"weights,omitempty"`
	Repeat      []float64        `json:"repeat,omitempty"`
	Temperature *float64         `json:"temperature,omitempty"`
	Schedule    []recipe.Stretch `json:"schedule,omitempty"`
	In          string           `json:"in,omitempty" choices:"steps,samples"`
	By          string           `json:"by,omitempty"`
	Choose      string           `json:"choose,omitempty"`
	Until       recipe.Until     `json:"until,omitempty"`
	Source      *string          `json:"source,omitempty" default:"\"source\"" doc:"the field that gets the name; \"\": none"`
	Fill        *recipe.PadValue `json:"fill,omitempty"`
	Seed        *uint64          `json:"seed,omitempty" doc:"of the order; by default the pipeline's"`
}

// Docs implements [argument.Documented].
func (*Mix) Docs() map[string]string {
	return map[string]string{
		"of example": `[[{"files": {"pattern": "web"}}], [{"files": {"pattern": "books"}}]]`,
		"of":         "each has its own source and steps; all must have the same fields and dtypes",
		"names":      "what each is called; by default as the step of its source",
		"weights": "how often each is next: numbers from 0 on, relative to their sum. They hold in every 64 samples, as they " +
			"arrive at the mix",
		"repeat": "how often each comes in an epoch, instead of weights: 1 is once, 0.5 another half in each epoch",
		"temperature": "instead of weights: each counts as its number of samples to the power of 1 ÷ temperature. " +
			"1 is by size; larger ones are more even",
		"schedule": "instead of weights: other weights from a step on: [{from: 0, weights: [3, 1]}, {from: 50_000, weights: [1, 1]}]",
		"until": "an epoch ends when each has come at least once (longest, the default without repeat), before one " +
			"would restart (shortest), or after this many samples in all",
		"by": "the field in whose length weights and temperature count, as samples arrive: elements of an array, such as tokens; " +
			"bytes of a text or of a file; or a whole number as it is. By default samples count",
		"choose": "instead of weights: \"module:name\" of a function, or of a class made once for each lane and " +
			"epoch. It is called with (turn, given) and returns the name or number of the source that is next; given has " +
			"how many samples of each there were. With state_dict() and load_state_dict() an object resumes within an epoch",
		"in": "what schedule counts: steps, which are global batches, or samples",
		"fill": "values for fields that some sources lack: a number, or numbers by field, 0 for others; text is " +
			"empty; by default all must have the same fields",
	}
}

// Complete implements [recipe.Completer].
func (m Mix) Complete() recipe.Args {
	if m.Fill != nil {
		m.Fill = new(m.Fill.Complete())
	}
	// An empty list is not written, so it must mean what none means.
	if len(m.Schedule) > 0 {
		m.In = cmp.Or(m.In, "steps")
	}
	if len(m.Repeat) == 0 && len(m.Schedule) == 0 && m.Choose == "" {
		m.Until = cmp.Or(m.Until, "longest")
	}
	return &m
}

// Identity writes out the seed.
func (m Mix) Identity(r recipe.Recipe) recipe.Args {
	if m.Seed == nil {
		m.Seed = &r.Seed
	}
	return &m
}

// Chains implements [recipe.Nesting].
func (m *Mix) Chains() []recipe.Chain { return m.Of }

// With implements [recipe.Nesting].
func (m Mix) With(all []recipe.Chain) recipe.Args {
	m.Of = all
	return &m
}

// Inside implements [recipe.Nesting].
func (*Mix) Inside() recipe.Surroundings {
	return recipe.Surroundings{Op: mixOp.Name, Begins: true}
}

// Check implements [recipe.Args].
func (m *Mix) Check(in sample.Schema) (sample.Schema, error) { return recipe.CheckNested(m, in) }

// Join implements [recipe.Nesting].
func (m *Mix) Join(_ sample.Schema, outs []sample.Schema) (sample.Schema, error) {
	errs := []error{m.checkOf(), m.checkNames(), m.checkShares(), m.checkUntil()}
	outs = recipe.WithKeys(outs)
	if name := argument.OrElse(m.Source, "source"); name != "" {
		outs = slices.Clone(outs)
		for i, out := range outs {
			var err error
			outs[i], err = recipe.WithSource(out, name, m.Of[i])
			if err != nil {
				errs = append(errs, recipe.Wrong(fmt.Sprintf("of[%d]", i), "%w", err))
			}
		}
	}
	if m.Fill != nil {
		var wrong []error
		outs, wrong = recipe.Filled(outs, *m.Fill)
		errs = append(errs, wrong...)
	}
	out, err := recipe.Unite(outs, func(i int) string { return fmt.Sprintf("of[%d]", i) })
	return out, errors.Join(append(errs, err, m.checkBy(out))...)
}

// checkBy checks the field whose length counts.
func (m *Mix) checkBy(out sample.Schema) error {
	if m.By == "" {
		return nil
	}
	if m.Repeat != nil {
		return recipe.Wrong("by", "is %q, but repeat says how often each sample comes, however long it is: give weights, "+
			"or leave by out", m.By)
	}
	if m.Weights == nil && m.Temperature == nil && m.Schedule == nil {
		return recipe.Wrong("by", "is %q, but no weights count its length: give weights, a temperature or a schedule", m.By)
	}
	if _, ok := m.Until.Samples(); !ok && (m.Until == "" || slices.Contains(recipe.UntilWords, string(m.Until))) {
		return recipe.Wrong("until", "must be a number of samples: weights count the length of %q as samples arrive at the mix, "+
			"so no source says when an epoch ends", m.By)
	}
	if out == nil {
		return nil
	}

	i := out.Find(m.By)
	if i < 0 {
		return recipe.Wrong("by", "is %q: the samples have the fields %s", m.By, words.List(out.Names()))
	}
	switch t := out[i].Type; {
	case t.Kind == sample.Text && len(t.Shape) == 0, t.Kind == sample.Bytes:
	case t.Kind == sample.Tensor && (len(t.Shape) > 0 || wholeNumbers(t.DType)):
	default:
		return recipe.Wrong("by", "is %q, which is %v: must be an array, a text, a file, or one whole number", m.By, t)
	}
	return nil
}

func (m *Mix) checkOf() error {
	if m.Of == nil {
		return errors.New("lacks the argument of")
	}
	if len(m.Of) == 0 {
		return recipe.Wrong("of", "is empty: give lists of steps, each beginning with a source such as files")
	}
	var errs []error
	for i, c := range m.Of {
		if len(c) == 0 {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("of[%d]", i), "is empty: it begins with a source such as files"))
		}
		if why := recipe.Unmixed(c); why != "" {
			errs = append(errs, recipe.Wrong(fmt.Sprintf("of[%d]", i), "%s", why))
		}
	}
	return errors.Join(errs...)
}

func (m *Mix) checkNames() error {
	if m.Names != nil && len(m.Names) != len(m.Of) {
		return recipe.Wrong("names", "is a list of %d, but of has %d: give one for each", len(m.Names), len(m.Of))
	}
	for i, name := range m.Names {
		switch {
		case name == "":
			return recipe.Wrong(fmt.Sprintf("names[%d]", i), "is empty: must be a name")
		case slices.Contains(m.Names[:i], name):
			return recipe.Wrong(fmt.Sprintf("names[%d]", i), "is %q, as another one: give each its own", name)
		}
	}
	return nil
}

// checkShares checks what says how often each comes: one of five ways.
func (m *Mix) checkShares() error {
	var given []string
	for _, a := range []struct {
		name string
		is   bool
	}{{"weights", m.Weights != nil}, {"repeat", m.Repeat != nil}, {"temperature", m.Temperature != nil}, {"schedule", m.Schedule != nil},
		{"choose", m.Choose != ""}} {
		if a.is {
			given = append(given, a.name)
		}
	}
	if len(given) > 1 {
		return recipe.Wrong(given[1], "is given together with %s: use only one of %s", given[0], words.List(given))
	}

	errs := []error{m.checkNumbers("weights", m.Weights), m.checkNumbers("repeat", m.Repeat)}
	if m.Choose != "" {
		errs = append(errs, recipe.CheckCallable("choose", m.Choose))
	}
	if t := m.Temperature; t != nil && !(*t > 0 && *t <= math.MaxFloat64) {
		errs = append(errs, recipe.Wrong("temperature", "is %v: must be a number above 0", *t))
	}
	if m.In != "" {
		errs = append(errs, argument.Choice(m, "in", m.In))
	}
	if m.In != "" && m.Schedule == nil {
		errs = append(errs, recipe.Wrong("in", "is %q, but there is no schedule that counts them", m.In))
	}
	if m.Schedule != nil && len(m.Schedule) == 0 {
		errs = append(errs, recipe.Wrong("schedule", "is empty: give weights from step 0 on"))
	}
	for i, s := range m.Schedule {
		name := fmt.Sprintf("schedule[%d]", i)
		switch {
		case i == 0 && s.From != 0:
			errs = append(errs, recipe.Wrong(name+".from", "is %d: the first weights must be from 0 on", s.From))
		case i > 0 && s.From <= m.Schedule[i-1].From:
			before := m.Schedule[i-1].From
			errs = append(errs, recipe.Wrong(name+".from", "is %d: must be above %d, that of the weights before", s.From, before))
		case s.From > recipe.MostSamples:
			errs = append(errs, recipe.Wrong(name+".from", "is %d: must be at most %d", s.From, int64(recipe.MostSamples)))
		}
		if s.Weights == nil {
			errs = append(errs, recipe.Wrong(name, "lacks the argument weights"))
		}
		errs = append(errs, m.checkNumbers(name+".weights", s.Weights))
	}
	return errors.Join(errs...)
}

// checkNumbers checks numbers of which there is one for each source.
func (m *Mix) checkNumbers(name string, all []float64) error {
	if all == nil {
		return nil
	}
	if len(all) != len(m.Of) {
		return recipe.Wrong(name, "is a list of %d, but of has %d: give one for each", len(all), len(m.Of))
	}
	some := false
	for i, v := range all {
		if !(v >= 0) || v > math.MaxFloat64 {
			return recipe.Wrong(fmt.Sprintf("%s[%d]", name, i), "is %v: must be a number, at least 0", v)
		}
		if v > most {
			return recipe.Wrong(fmt.Sprintf("%s[%d]", name, i), "is %v: must be at most %v", v, most)
		}
		some = some || v > 0
	}
	if !some {
		return recipe.Wrong(name, "has only zeros: one number must be above 0")
	}
	return nil
}

// most bounds weights and repeats, so that sums and products have a value.
const most = 1e15

// uneven returns the number of the first chain, and the name of its step, that changes
// how many samples arrive; "": none does, or no weights count them.
func (m *Mix) uneven() (chain int, step string) {
	if m.Weights == nil && m.Temperature == nil && m.Schedule == nil {
		return 0, ""
	}
	for i, c := range m.Of {
		if step := recipe.Uneven(c); step != "" {
			return i, step
		}
	}
	return 0, ""
}

func (m *Mix) checkUntil() error {
	if i, step := m.uneven(); step != "" {
		if _, ok := m.Until.Samples(); !ok && (m.Until == "" || slices.Contains(recipe.UntilWords, string(m.Until))) {
			return recipe.Wrong("until", "must be a number of samples: of[%d] has the step %q, so samples count as they arrive "+
				"at the mix, and no source says when an epoch ends; or put the step after the mix, or use repeat", i, step)
		}
	}
	if m.Until == "" {
		if m.Choose != "" {
			return recipe.Wrong("until", "is missing: with choose no source says when an epoch ends: give a number of samples")
		}
		if m.Schedule != nil {
			return recipe.Wrong("until", "is missing: weights change, so no source says when an epoch ends: give a number of samples")
		}
		return nil
	}

	switch n, ok := m.Until.Samples(); {
	case !ok && m.Choose != "" && slices.Contains(recipe.UntilWords, string(m.Until)):
		return recipe.Wrong("until", "is %q, but with choose no source says when an epoch ends: give a number of samples", m.Until)
	case !ok && m.Schedule != nil && slices.Contains(recipe.UntilWords, string(m.Until)):
		return recipe.Wrong("until", "is %q, but weights change, so no source says when an epoch ends: give a number of samples", m.Until)
	case !ok:
		return argument.OneOf("until", string(m.Until), recipe.UntilWords)
	case n < 1 || n > recipe.MostSamples:
		return recipe.Wrong("until", "is %d: must be a number of samples, from 1 to %d, longest or shortest", n, int64(recipe.MostSamples))
	}
	return nil
}

// Traits implements [recipe.Traited].
func (m *Mix) Traits() recipe.Traits {
	_, uneven := m.uneven()
	return recipe.Traits{Seed: m.Seed, Merging: &recipe.Merging{Order: "mix", Until: m.Until, Fill: m.Fill, Mix: &recipe.Mixing{
		Names: m.Names, Weights: m.Weights, Repeat: m.Repeat, Temperature: argument.OrElse(m.Temperature, 0),
		Schedule: m.Schedule, In: m.In, Source: argument.OrElse(m.Source, "source"),
		Choose: m.Choose, By: m.By, Arrivals: uneven != "" || m.By != "" || m.Choose != "",
	}}}
}
