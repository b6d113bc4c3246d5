package python

import (
	"errors"
	"slices"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Map]("map", recipe.Between, "Call a Python function on each sample, in worker processes."))

// Map are the arguments of the operation map.
type Map struct {
	recipe.Python
	recipe.Pace
	To    []string     `json:"to,omitzero" example:"[\"image\"]"`
	Gives recipe.Gives `json:"gives,omitzero" example:"{\"image\": {\"dtype\": \"uint8\", \"shape\": [224, 224, 3]}}"`
}

// Docs implements [argument.Documented].
func (*Map) Docs() map[string]string {
	return map[string]string{
		"to": "fields for what it returns, one per value, if fields is given; by default the same fields",
		"gives": "the fields it returns: \"text\", \"bytes\", \"object\" (any value, as a pickle), or an object " +
			"with dtype and shape, null for an extent that differs; by default the first sample decides. A result " +
			"that does not fit fails the sample",
	}
}

// Complete implements [recipe.Completer].
func (m Map) Complete() recipe.Args {
	m.Python = m.Python.Complete()
	if slices.Equal(m.To, m.Fields) {
		m.To = nil
	}
	return &m
}

// Identity implements [recipe.Identifier].
func (m Map) Identity(recipe.Recipe) recipe.Args { return &Map{Python: m.Python.Identity(), To: m.To} }

// Check implements [recipe.Args]. The schema is nil if Gives has no fields.
func (m *Map) Check(in sample.Schema) (sample.Schema, error) {
	out, err := recipe.ResultOf(in, m.Fields, m.To, m.Gives)
	if err := errors.Join(append(m.CheckCall(in), m.CheckPace(), err)...); err != nil {
		return nil, err
	}
	return out, nil
}

// Traits implements [recipe.Traited].
func (m *Map) Traits() recipe.Traits { return recipe.Traits{Call: m.call(recipe.MapCall)} }

func (m *Map) call(kind recipe.CallKind) *recipe.Call {
	return &recipe.Call{Kind: kind, Python: m.Python, Pace: m.Pace, To: m.To, Gives: &m.Gives}
}

// WithPace implements [recipe.Paced].
func (m Map) WithPace(p recipe.Pace) recipe.Args {
	m.Pace = p
	return &m
}

// WithGives implements [recipe.Giving].
func (m Map) WithGives(g recipe.Gives) recipe.Args {
	if m.Gives = g; g.Tuple {
		m.To = g.Schema.Names()
	}
	return &m
}
