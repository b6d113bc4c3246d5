package recipe

import (
	"errors"
	"slices"

	"github.com/headrace/headrace/sample"
)

var mapOp = NewOp[Map]("map", Between, "Call a Python function on each sample, in worker processes.")

// Map are the arguments of the operation map.
type Map struct {
	Python
	To    []string `json:"to,omitzero" example:"[\"image\"]" doc:"fields for what it returns, one per value, if fields is given; by default the same fields"`
	Gives Gives    `json:"gives,omitzero" example:"{\"image\": {\"dtype\": \"uint8\", \"shape\": [224, 224, 3]}}" doc:"the fields it returns: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object with dtype and shape, null for an extent that differs; by default the first sample decides. A result that does not fit fails the sample"`
}

// Complete implements [Completer].
func (m Map) Complete() Args {
	m.Python = m.Python.Complete()
	if slices.Equal(m.To, m.Fields) {
		m.To = nil
	}
	return &m
}

// Identity implements [Identifier].
func (m Map) Identity(Recipe) Args { return &Map{Python: m.Python.Identity(), To: m.To} }

// Results are the names of what the function returns; nil: it returns whole samples.
func (m *Map) Results() []string {
	if m.To != nil {
		return m.To
	}
	return m.Fields
}

// Check implements [Args]. The schema is nil where Gives does not say what comes out.
func (m *Map) Check(in sample.Schema) (sample.Schema, error) {
	out, err := ResultOf(in, m.Fields, m.To, m.Gives)
	if err := errors.Join(append(m.CheckCall(in), err)...); err != nil {
		return nil, err
	}
	return out, nil
}

var flatMapOp = NewOp[FlatMap]("flat_map", Between, "Call a Python function that returns any number of samples for each, usually a generator.").Explained(`
Each sample moves on as soon as it is yielded. Later random steps draw for each. The number of batches is at most a bound.`,
	`def crops(sample, rng):
    for _ in range(4):
        y, x = rng.integers(0, 32, 2)
        yield {**sample, "image": sample["image"][y:y + 224, x:x + 224]}

.flat_map(crops)`).Called("function, *, fields, to, gives")

// FlatMap are the arguments of the operation flat_map: those of map.
type FlatMap Map

// Complete implements [Completer].
func (m FlatMap) Complete() Args {
	out := FlatMap(*Map(m).Complete().(*Map))
	return &out
}

// Identity implements [Identifier].
func (m FlatMap) Identity(r Recipe) Args {
	out := FlatMap(*Map(m).Identity(r).(*Map))
	return &out
}

// Results are the names of what the function returns; nil: it returns whole samples.
func (m *FlatMap) Results() []string { return (*Map)(m).Results() }

// CheckFailures implements [Failing].
func (m *FlatMap) CheckFailures(f *Failures) error {
	return f.CheckOnce("what flat_map has made of a sample is on its way already")
}

// Check implements [Args]. The schema is nil where Gives does not say what comes out.
func (m *FlatMap) Check(in sample.Schema) (sample.Schema, error) { return (*Map)(m).Check(in) }

var filterOp = NewOp[Filter]("filter", Between, "Keep the samples for which a Python function returns true.").Explained(`
Other samples are not errors or losses. The number of batches is then only a bound, and several ranks need 'steps_per_epoch'.`,
	`.filter(is_large, fields="image")`).Called("function, *, fields")

// Filter are the arguments of the operation filter.
type Filter struct {
	Python
}

// Complete implements [Completer].
func (f Filter) Complete() Args {
	f.Python = f.Python.Complete()
	return &f
}

// Identity implements [Identifier].
func (f Filter) Identity(Recipe) Args { return &Filter{f.Python.Identity()} }

// Check implements [Args].
func (f *Filter) Check(in sample.Schema) (sample.Schema, error) {
	return in, errors.Join(f.CheckCall(in)...)
}

// Traits implements [Traited].
func (m *Map) Traits() Traits { return Traits{Call: m.call(MapCall)} }

func (m *Map) call(kind CallKind) *Call {
	return &Call{Kind: kind, Python: m.Python, To: m.To, Gives: &m.Gives}
}

// WithGives implements [Giving].
func (m Map) WithGives(g Gives) Args {
	m.Gives = g
	return &m
}

// Traits implements [Traited].
func (m *FlatMap) Traits() Traits { return Traits{Count: More, Call: (*Map)(m).call(FlatMapCall)} }

// WithGives implements [Giving].
func (m FlatMap) WithGives(g Gives) Args {
	m.Gives = g
	return &m
}

// Traits implements [Traited].
func (f *Filter) Traits() Traits {
	return Traits{Count: Fewer, Call: &Call{Kind: FilterCall, Python: f.Python}}
}
