package core

import (
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/sample"
)

// Scope is what a step finds at its place in a pipeline: the fields of samples, with the
// places of their values, and the memory that is reserved. Linking a step changes it to
// what the next one finds.
type Scope struct {
	Schema  sample.Schema
	Columns record.Columns
	Memory  *MemoryScope // nil: none has begun
}

// Decoded puts an array instead of a field.
func (t *Scope) Decoded(field, name string, is sample.Type) (from, to record.Column) {
	from, to = t.Columns.Take(field), t.Columns.PutArray(name)
	t.Schema = t.Schema.Replace(field, sample.Field{Name: name, Type: is})
	return from, to
}

// Add adds an array, if it has a name.
func (t *Scope) Add(name string, is sample.Type) (at record.Column) {
	if name != "" {
		at = t.Columns.PutArray(name)
		t.Schema = t.Schema.With(name, is)
	}
	return at
}
