package recipe

import (
	"errors"
	"slices"

	"github.com/headrace/headrace/sample"
)

var mapOp = operation[Map]("map", Between, "Call a Python function on each sample, in worker processes.")

// Map are the arguments of the operation map.
type Map struct {
	Python
	To    []string `json:"to,omitzero" example:"[\"image\"]" doc:"fields for what it returns, one per value, if fields is given; by default the same fields"`
	Gives Gives    `json:"gives,omitzero" example:"{\"image\": {\"dtype\": \"uint8\", \"shape\": [224, 224, 3]}}" doc:"the fields it returns: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object with dtype and shape, null for an extent that differs; by default the first sample decides. A result that does not fit fails the sample"`
}

func (m Map) complete() Args {
	m.Python = m.Python.complete()
	if slices.Equal(m.To, m.Fields) {
		m.To = nil
	}
	return &m
}

func (m Map) identity(Recipe) Args { return &Map{Python: m.Python.identity(), To: m.To} }

// Results are the names of what the function returns; nil: it returns whole samples.
func (m *Map) Results() []string {
	if m.To != nil {
		return m.To
	}
	return m.Fields
}

// Check implements [Args]. The schema is nil where Gives does not say what comes out.
func (m *Map) Check(in sample.Schema) (sample.Schema, error) {
	out, err := result(in, m.Fields, m.To, m.Gives)
	if err := errors.Join(append(m.check(in), err)...); err != nil {
		return nil, err
	}
	return out, nil
}

var flatMapOp = operation[FlatMap]("flat_map", Between, "Call a Python function that returns any number of samples for each, usually a generator.").more(`
Each sample moves on as soon as it is yielded. Later random steps draw for each. The number of batches is at most a bound.`,
	`def crops(sample, rng):
    for _ in range(4):
        y, x = rng.integers(0, 32, 2)
        yield {**sample, "image": sample["image"][y:y + 224, x:x + 224]}

.flat_map(crops)`).called("function, *, fields, to, gives")

// FlatMap are the arguments of the operation flat_map: those of map.
type FlatMap Map

func (m FlatMap) complete() Args {
	out := FlatMap(*Map(m).complete().(*Map))
	return &out
}

func (m FlatMap) identity(r Recipe) Args {
	out := FlatMap(*Map(m).identity(r).(*Map))
	return &out
}

// Results are the names of what the function returns; nil: it returns whole samples.
func (m *FlatMap) Results() []string { return (*Map)(m).Results() }

// checkFailures implements [failing].
func (m *FlatMap) checkFailures(f *Failures) error {
	return f.checkOnce("what flat_map has made of a sample is on its way already")
}

// Check implements [Args]. The schema is nil where Gives does not say what comes out.
func (m *FlatMap) Check(in sample.Schema) (sample.Schema, error) { return (*Map)(m).Check(in) }

var filterOp = operation[Filter]("filter", Between, "Keep the samples for which a Python function returns true.").more(`
Other samples are not errors or losses. The number of batches is then only a bound, and several ranks need 'steps_per_epoch'.`,
	`.filter(is_large, fields="image")`).called("function, *, fields")

// Filter are the arguments of the operation filter.
type Filter struct {
	Python
}

func (f Filter) complete() Args {
	f.Python = f.Python.complete()
	return &f
}

func (f Filter) identity(Recipe) Args { return &Filter{f.Python.identity()} }

// Check implements [Args].
func (f *Filter) Check(in sample.Schema) (sample.Schema, error) {
	return in, errors.Join(f.check(in)...)
}

// Traits implements [traited].
func (m *Map) Traits() Traits { return Traits{Call: m.call(MapCall)} }

func (m *Map) call(kind CallKind) *Call {
	return &Call{Kind: kind, Python: m.Python, To: m.To, Gives: &m.Gives}
}

// WithGives implements [Giving].
func (m Map) WithGives(g Gives) Args {
	m.Gives = g
	return &m
}

// Traits implements [traited].
func (m *FlatMap) Traits() Traits { return Traits{Count: More, Call: (*Map)(m).call(FlatMapCall)} }

// WithGives implements [Giving].
func (m FlatMap) WithGives(g Gives) Args {
	m.Gives = g
	return &m
}

// Traits implements [traited].
func (f *Filter) Traits() Traits {
	return Traits{Count: Fewer, Call: &Call{Kind: FilterCall, Python: f.Python}}
}
