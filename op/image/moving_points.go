package image

import (
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/tensor"
)

// MovingPoints are points of an image.
type MovingPoints struct {
	from  int // the first step that moves them
	at    record.Column
	dtype tensor.DType
	size  int // numbers of each point, of which the first two are its place
}

// newMovingPoints finds the field of samples in a scope.
func newMovingPoints(field string, from int, t *core.Scope) MovingPoints {
	is := t.Schema[t.Schema.Find(field)].Type
	return MovingPoints{from, t.Columns.Of[field], is.DType, is.Shape[len(is.Shape)-1]}
}

// move moves the points as a plan has moved the pixels. Another view of the image may
// have the same points in the same memory, so they are copied first.
func (p *MovingPoints) move(env *core.Env, v *record.Values, plan *media.Plan) {
	is := v.Arrays[p.at.At]
	data, number := env.Copied(v, is.Data), numbers.Reader(p.dtype)
	point := p.size * p.dtype.Size()
	for at := 0; at+point <= len(data); at += point {
		x, y := plan.MovedPoint(number(data[at:], 0), number(data[at:], 1), p.from)
		numbers.Append(numbers.Append(data[:at], p.dtype, x), p.dtype, y) // where they are
	}
	v.Arrays[p.at.At] = record.Array{Shape: is.Shape, Data: data}
}

// bytes returns the most that moving takes.
func (p *MovingPoints) bytes(v *record.Values) int64 { return int64(len(v.Arrays[p.at.At].Data)) }
