package recipetest

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/tensor"
	"pgregory.net/rapid"
)

// Recipe draws a tree of steps of any operations, with any arguments that can be
// written; they need not fit together.
func Recipe(t *rapid.T) recipe.Recipe {
	r := recipe.Recipe{Seed: rapid.Uint64().Draw(t, "seed"), Steps: Chain(t, 6)}
	return r.Complete()
}

// Chain draws at most so many steps, and at most half as many in each chain inside.
func Chain(t *rapid.T, most int) recipe.Chain {
	ops := Ops()
	all := recipe.Chain{}
	for range rapid.IntRange(0, most).Draw(t, "steps") {
		op := ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]
		s := recipe.Step{Op: op.Name, Args: Args(t, op, most/2)}
		if rapid.Bool().Draw(t, "named") {
			s.Name = rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_.-]{0,8}`).Draw(t, "name")
		}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			s.Failures = new(recipe.Failures)
			anything.fields(t, reflect.ValueOf(s.Failures).Elem(), 0)
		}
		all = append(all, s)
	}
	return all
}

// Args draws arguments of an operation that can be written, with at most so many steps
// inside. They need not be right.
func Args(t *rapid.T, op recipe.Op, steps int) recipe.Args {
	args := op.New()
	anything.fields(t, reflect.ValueOf(args).Elem(), steps)
	return args
}

// Fitting draws arguments of an operation that are right for samples of a schema, by the
// tags of their fields, and returns them complete, with the schema after the step. It is
// false if it found none.
func Fitting(t *rapid.T, op recipe.Op, in sample.Schema) (args recipe.Args, out sample.Schema, ok bool) {
	for range 50 {
		args = op.New()
		usual.fields(t, reflect.ValueOf(args).Elem(), 0)
		args = recipe.Completed(args)
		if out, err := args.Check(in); err == nil {
			return args, out, true
		}
	}
	return nil, nil, false
}

// drawer draws values of arguments.
type drawer struct {
	usual        bool // values as people give them
	least, great float64
}

var (
	anything = drawer{}
	usual    = drawer{usual: true}
)

func (d drawer) fields(t *rapid.T, v reflect.Value, steps int) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !d.usual:
			if rapid.Bool().Draw(t, "given") {
				v.Field(i).Set(d.value(t, f.Type, steps))
			}
		case f.Anonymous: // which fields it works on: the usual ones
		case f.Tag.Get("required") == "true" || rapid.Bool().Draw(t, f.Name+" given"):
			d.tagged(t, v.Field(i), f.Tag, steps)
		}
	}
}

// tagged draws an argument by its tags: one of a few values, or an example, or something
// within bounds.
func (d drawer) tagged(t *rapid.T, v reflect.Value, tag reflect.StructTag, steps int) {
	var some []string
	if choices := tag.Get("choices"); choices != "" {
		some = strings.Split(choices, ",")
	} else if rapid.IntRange(0, 3).Draw(t, "example") == 0 {
		some = slices.DeleteFunc([]string{tag.Get("example"), tag.Get("default")}, func(s string) bool { return s == "" })
	}
	if len(some) > 0 {
		text := rapid.SampledFrom(some).Draw(t, "one of")
		if v.Kind() == reflect.String {
			v.SetString(text)
		} else if err := json.Unmarshal([]byte(text), v.Addr().Interface()); err != nil {
			t.Fatalf("the tags of an argument say %s, which it does not accept: %v", text, err)
		}
		return
	}
	d.least, d.great = bound(tag, "min", 0), bound(tag, "max", 40)
	v.Set(d.value(t, v.Type(), steps))
}

func bound(tag reflect.StructTag, name string, otherwise float64) float64 {
	if n, err := strconv.ParseFloat(tag.Get(name), 64); err == nil {
		return n
	}
	return otherwise
}

func (d drawer) whole(t *rapid.T) int {
	if d.usual {
		return rapid.IntRange(int(d.least), max(int(d.least), int(min(d.great, 40)))).Draw(t, "whole")
	}
	return rapid.IntRange(math.MinInt32, math.MaxInt32).Draw(t, "whole")
}

func (d drawer) side(t *rapid.T) int {
	if d.usual {
		return rapid.IntRange(1, 60).Draw(t, "side")
	}
	return rapid.IntRange(1, 5000).Draw(t, "side")
}

func (d drawer) number(t *rapid.T) float64 {
	if d.usual {
		return rapid.Float64Range(d.least, max(d.least, min(d.great, 1))).Draw(t, "number")
	}
	return rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64(), rapid.SampledFrom([]float64{0, 1, 1e-7, 1e21,
		5e-324})).Draw(t, "number")
}

// numbers draws so many numbers, rising as those of a range do.
func (d drawer) numbers(t *rapid.T, n int) []float64 {
	all := several(n, func() float64 { return d.number(t) })
	if d.usual {
		slices.Sort(all)
	}
	return all
}

// value draws a value of an argument's type.
func (d drawer) value(t *rapid.T, typ reflect.Type, steps int) reflect.Value {
	if v := d.known(t, typ, steps); v != nil {
		return reflect.ValueOf(v)
	}
	return d.unknown(t, typ, steps)
}

// unknown draws a value of a type that known does not name. If its notation has rules of
// its own, the type has to come there.
func (d drawer) unknown(t *rapid.T, typ reflect.Type, steps int) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(d.whole(t)))
	case reflect.Float64:
		v.SetFloat(d.number(t))
	case reflect.String:
		v.SetString(strings.ToValidUTF8(Text(t), ""))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(d.value(t, typ.Elem(), steps))
	case reflect.Array:
		for i := range typ.Len() {
			v.Index(i).Set(d.value(t, typ.Elem(), steps))
		}
	case reflect.Slice:
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			v = reflect.Append(v, d.value(t, typ.Elem(), steps))
		}
	case reflect.Struct:
		d.fields(t, v, steps)
	default:
		t.Fatalf("how to draw a %v is not said here", typ)
	}
	return v
}

// known draws a value of a type whose notation has rules; nil: it has none.
func (d drawer) known(t *rapid.T, typ reflect.Type, steps int) any {
	whole := func() int { return d.whole(t) }
	side := func() int { return d.side(t) }
	number := func() float64 { return d.number(t) }
	path := func() recipe.Path { return recipe.Path(Text(t)) }
	size := func() recipe.Size {
		return rapid.SampledFrom([]recipe.Size{{Height: side()}, {Height: side(), Width: side()}}).Draw(t, "size")
	}
	some := func(lengths ...int) int { return rapid.SampledFrom(lengths).Draw(t, "length") }
	switch reflect.New(typ).Elem().Interface().(type) {
	case int64:
		return rapid.Int64().Draw(t, "int64")
	case *uint64:
		return new(rapid.Uint64().Draw(t, "uint64"))
	case *[2]float64:
		return (*[2]float64)(d.numbers(t, 2))
	case recipe.Size:
		return size()
	case []recipe.Size:
		return several(some(0, 1, 2, 9), size)
	case recipe.Path:
		return path()
	case []recipe.Path:
		return several(some(0, 1, 3, 30), path)
	case input.Shards:
		return input.Shards(several(some(0, 1, 3), path))
	case input.Windows:
		return input.Windows(several(some(0, 1, 3), func() input.Window {
			offsets := rapid.SliceOfN(rapid.Float64Range(-9, 9), 0, 4).Draw(t, "offsets")
			return input.Window{Field: strings.ToValidUTF8(Text(t), ""), Offsets: offsets}
		}))
	case input.FieldsFrom:
		return fieldsFrom(t, some(0, 1, 3))
	case input.Lookups:
		return input.Lookups(several(some(0, 1, 3), func() input.Lookup {
			l := input.Lookup{Field: strings.ToValidUTF8(Text(t), ""), From: path(), Key: strings.ToValidUTF8(Text(t), "")}
			if rapid.Bool().Draw(t, "fields") {
				l.Fields = fieldsFrom(t, some(1, 3))
			}
			l.Missing = rapid.SampledFrom([]string{"", "null"}).Draw(t, "missing")
			if rapid.IntRange(0, 3).Draw(t, "given") == 0 {
				l.From, l.Columns = "", recipe.Columns{recipe.ColumnOf("id", []int64{3, 1}), recipe.ColumnOf("title", []string{"a", "b"})}
			}
			return l
		}))
	case []input.Pair:
		return several(some(0, 1, 20), func() input.Pair { return input.Pair{Path: path(), Label: rapid.Int64().Draw(t, "label")} })
	case recipe.Columns:
		return recipe.Columns{
			recipe.ColumnOf("text", several(some(0, 1, 3), func() string { return strings.ToValidUTF8(Text(t), "") })),
			recipe.ColumnOf("int64", several(some(0, 1, 3), func() int64 { return rapid.Int64().Draw(t, "int64") })),
			recipe.ColumnOf("float64", several(some(0, 1, 3), number)),
			recipe.ColumnOf("float32", several(some(0, 1, 3), func() float32 { return rapid.Float32().Draw(t, "float32") })),
			recipe.ColumnOf(strings.ToValidUTF8(Text(t), ""), several(some(0, 1, 3),
				func() bool { return rapid.Bool().Draw(t, "bool") })),
		}
	case *image.Padding:
		return &image.Padding{Left: whole(), Top: whole(), Right: whole(), Bottom: whole()}
	case image.Fill:
		return image.Fill(several(some(1, 3, 4), whole))
	case image.Paint:
		if rapid.Bool().Draw(t, "random") {
			return image.Paint{Random: true}
		}
		return image.Paint{Fill: image.Fill(several(some(1, 3, 4), whole))}
	case image.Degrees:
		return image.Degrees(d.numbers(t, some(1, 2)))
	case image.Pair:
		return image.Pair(d.numbers(t, some(1, 2)))
	case image.Shear:
		return image.Shear(d.numbers(t, some(1, 2, 4)))
	case image.Corners:
		place := func() float64 { return 60 * min(max(number(), -1e9), 1e9) } // finite
		return image.Corners(several(4, func() [2]float64 { return [2]float64{place(), place()} }))
	case image.Range:
		return image.Range(d.numbers(t, some(1, 2)))
	case image.WholeRange:
		return image.WholeRange(several(some(1, 2), whole))
	case sound.Range:
		return sound.Range(d.numbers(t, some(1, 2)))
	case recipe.Until:
		return rapid.SampledFrom([]recipe.Until{"longest", "shortest", recipe.UntilSamples(int64(whole()))}).Draw(t, "until")
	case *recipe.MaxErrors:
		return new(rapid.SampledFrom([]recipe.MaxErrors{recipe.ErrorCount(whole()), recipe.ErrorRate(1),
			recipe.ErrorRate(number())}).Draw(t, "errors"))
	case []float64:
		return d.numbers(t, some(0, 1, 2))
	case []int:
		return several(some(0, 1, 3), side)
	case recipe.Extents:
		return recipe.Extents(several(some(0, 1, 3), func() int { return rapid.IntRange(-1, 5000).Draw(t, "extent") }))
	case *recipe.PadValue:
		return new(recipe.PadValue{All: number()})
	case recipe.PadValue:
		if rapid.Bool().Draw(t, "one") {
			return recipe.PadValue{All: number()}
		}
		return recipe.PadValue{Fields: map[string]float64{"array": number(), strings.ToValidUTF8(Text(t), ""): number()}}
	case recipe.RowLengths:
		if rapid.Bool().Draw(t, "one length") {
			return recipe.RowLengths{All: max(1, whole())}
		}
		return recipe.RowLengths{Fields: map[string]int{"array": whole(), strings.ToValidUTF8(Text(t), ""): whole()}}
	case data.NewNames:
		return data.NewNames{"image": strings.ToValidUTF8(Text(t), ""), strings.ToValidUTF8(Text(t), ""): "a"}
	case recipe.Chain:
		if d.usual { // of steps on images: what they are is tested by themselves
			return recipe.Chain{named("invert"), named("random_invert")}
		}
		return Chain(t, steps)
	case []recipe.Chain:
		return several(some(0, 1, 2), func() recipe.Chain { return Chain(t, steps) })
	case []flow.Branch:
		return several(some(0, 1, 2), func() (b flow.Branch) {
			d.fields(t, reflect.ValueOf(&b).Elem(), steps)
			return b
		})
	case []recipe.When:
		return several(some(0, 1, 2), func() recipe.When {
			if rapid.Bool().Draw(t, "number") {
				return recipe.When{Number: new(rapid.Int64().Draw(t, "int64"))}
			}
			return recipe.When{Pattern: path()}
		})
	case recipe.Python:
		var p recipe.Python
		d.fields(t, reflect.ValueOf(&p).Elem(), steps)
		return p
	case recipe.On:
		var on recipe.On
		d.fields(t, reflect.ValueOf(&on).Elem(), steps)
		return on
	case *recipe.Collate:
		c := new(recipe.Collate)
		d.fields(t, reflect.ValueOf(c).Elem(), steps)
		c.Function = "collates:" + c.Function // which must be there to be read
		return c
	case []string:
		return several(some(0, 1, 2), func() string { return strings.ToValidUTF8(Text(t), "") })
	case *int64:
		return new(rapid.Int64().Draw(t, "int64"))
	case recipe.Gives:
		return gives(t)
	case column.Numbers:
		return column.Numbers(several(some(1, 2), number))
	case image.Channels:
		return image.Channels(several(some(1, 3), number))
	}
	return nil
}

// gives draws the results of a function, as a step may declare them.
func gives(t *rapid.T) recipe.Gives {
	g := recipe.Gives{Schema: sample.Schema{}}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		shape := several(rapid.IntRange(0, 3).Draw(t, "axes"), func() int { return rapid.IntRange(-1, 5000).Draw(t, "extent") })
		array := sample.TensorType(tensor.DType(rapid.IntRange(int(tensor.Bool), int(tensor.Float64)).Draw(t, "dtype")), shape...)
		g.Schema = g.Schema.With(strings.ToValidUTF8(Text(t), ""), rapid.SampledFrom([]sample.Type{sample.TextType,
			sample.BytesType, array}).Draw(t, "type"))
	}
	return g
}

func several[T any](n int, draw func() T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = draw()
	}
	return all
}

// fieldsFrom draws fields of shards.
func fieldsFrom(t *rapid.T, n int) input.FieldsFrom {
	return input.FieldsFrom(several(n, func() input.FieldFrom {
		f := input.FieldFrom{Name: strings.ToValidUTF8(Text(t), ""), From: strings.ToValidUTF8(Text(t), "")}
		if of := gives(t).Schema; len(of) > 0 {
			f.Type = of[0].Type
		}
		switch rapid.IntRange(0, 3).Draw(t, "null") {
		case 0:
			f.Null = &shard.Null{Text: strings.ToValidUTF8(Text(t), ""), Quoted: true}
		case 1:
			f.Null = &shard.Null{Text: rapid.SampledFrom([]string{"0", "-1.5", "true", "[]", "1000000000"}).Draw(t, "value")}
		case 2:
			f.Type, f.IsNull = sample.Type{}, true
		}
		return f
	}))
}

// named returns a step with the defaults of an operation that has no required arguments.
func named(name string) recipe.Step {
	ops := Ops()
	at := slices.IndexFunc(ops, func(op recipe.Op) bool { return op.Name == name })
	return recipe.Step{Op: name, Args: ops[at].New()}
}
