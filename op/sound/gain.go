package sound

import (
	"context"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Gain]("gain", recipe.Between,
	"Make a recording louder or softer by a random number of decibels.").Explained(`
Samples of int16 stay within their range; float32 may go beyond 1.`,
	`words = hr.files("words").decode_audio(16000, "mono", 1.0)`,
	`words.gain((-6, 6)).batch(32)`).
	Called("db").
	Telling("db"))

// Gain are the arguments of the operation gain.
type Gain struct {
	DB    Range  `json:"db,omitempty" required:"true" example:"[-6, 6]"`
	Field string `json:"field,omitempty" default:"audio" doc:"the samples, float32 or int16"`
}

// Docs implements [argument.Documented].
func (*Gain) Docs() map[string]string {
	return map[string]string{"db": "decibels, of amplitude: one number, or [least, greatest], between which it is drawn evenly"}
}

// Range is a number, or two between which one is drawn; in JSON a number or a list of
// two.
type Range []float64

// Takes implements [recipe.Taker].
func (d *Range) Takes() string { return "a number, or [least, greatest]" }

// JSONSchema implements [recipe.Schemer].
func (Range) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 2) }

// MarshalJSON writes a number or a list.
func (d Range) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(d...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Range) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, d.Takes(), 2)
	if err == nil {
		*d = n
	}
	return err
}

// mostDecibels is what a gain is at most, both ways: more says nothing.
const mostDecibels = 120

// Check implements [recipe.Args].
func (g *Gain) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(g); err != nil {
		return nil, err
	}
	if err := g.DB.check("db"); err != nil {
		return nil, err
	}
	_, err := checkWaves(in, g.Field)
	return in, err
}

// check checks decibels.
func (d Range) check(name string) error { return d.checkWithin(name, mostDecibels) }

func (d Range) checkWithin(name string, most float64) error {
	if len(d) == 1 || len(d) == 2 {
		if first, last := d[0], d[len(d)-1]; first >= -most && first <= last && last <= most {
			return nil
		}
	}
	return recipe.Wrong(name, "is %s: must be from %v to %v, or two rising numbers of these", argument.Written(d), -most, most)
}

// draw draws a number, evenly.
func (d Range) draw(chance order.Key, id uint64, draw uint32) float64 {
	least, most := d[0], d[len(d)-1]
	return least + float64((most-least)*chance.Float64(id, draw))
}

// Traits implements [recipe.Traited].
func (*Gain) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }

// louder is the part of a recipe that changes how loud recordings are.
type louder struct {
	env  *core.Env
	args *Gain
	name string
	id   uint64
	at   record.Column
	is   sample.Type
}

// Link implements [core.Linker].
func (g *Gain) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return &louder{w, g, name, order.OpID(name), t.Columns.Of[g.Field], t.Schema[t.Schema.Find(g.Field)].Type}, nil
}

// Run implements [core.Part].
func (p *louder) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	db := p.args.DB.draw(t.Chance, p.id, 0)
	factor := float32(math.Pow(10, db/20))
	v := it.Values
	is := v.Arrays[p.at.At]
	is.Data = p.env.Copied(v, is.Data) // another field may have the same memory
	v.Arrays[p.at.At] = is
	if p.is.DType == tensor.Float32 {
		for i, s := range floatsOf(is.Data) {
			floatsOf(is.Data)[i] = s * factor
		}
	} else {
		all := int16sOf(is.Data)
		for i, s := range all {
			all[i] = int16(min(max(math.RoundToEven(float64(float32(s)*factor)), math.MinInt16), math.MaxInt16))
		}
	}
	if p.env.Ledger {
		it.Drew(p.name, map[string]any{"db": db})
	}
	p.env.Settle(it)
	it.Account()
	return nil
}

// Foresee implements [core.Part]: the copy.
func (p *louder) Foresee(*record.Record, *core.Tool) int64 {
	if !p.is.Fixed() {
		return 0
	}
	n, _ := p.is.Shape.Bytes(p.is.DType) // checked with the recipe
	return n
}
