package compile

import (
	"fmt"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// stackingOf links a step that makes batches in a chain of a merge or route. Of most
// bytes, 0 is any number.
func stackingOf(env *core.Env, p fuse.Part, scope *core.Scope, most int64) (next *batch.Stacking, err error) {
	of := recipe.TraitsOf(p.Step.Args).Batches
	next = &batch.Stacking{Env: env, Rows: of.Size, DropLast: of.DropLast}
	if of.Collate != nil {
		next.Collate, scope.Schema, err = python.NewListing(env, *p.Step, scope.Schema, &scope.Columns)
		scope.Columns.Rows = false
		return next, err
	}

	layout, err := batch.NewLayout(scope.Schema, batch.Size{Rows: of.Size})
	if err != nil {
		return nil, err
	}
	if most > 0 && int64(layout.Bytes) > most {
		return nil, fmt.Errorf("%w: memory is %d bytes, and one batch of %q, of %d rows, takes %d: raise memory or use a smaller batch",
			core.ErrConfig, most, p.Name(), of.Size, layout.Bytes)
	}
	for _, f := range scope.Schema {
		next.In = append(next.In, python.Field{Name: f.Name, Type: f.Type, Column: scope.Columns.Take(f.Name)})
	}
	rows := tensor.Unknown
	if of.DropLast {
		rows = of.Size
	}
	out := sample.Schema{}
	for _, f := range scope.Schema {
		f.Type = f.Type.Rows(rows)
		next.Out, out = append(next.Out, scope.Columns.PutAny(f.Name, f.Type)), append(out, f)
	}
	scope.Schema, scope.Columns.Rows = out, true
	return next, nil
}
