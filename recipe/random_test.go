package recipe_test

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
	"pgregory.net/rapid"
)

// drawRecipe draws a tree of steps of any operations, with any arguments that can be
// written; they need not fit together.
func drawRecipe(t *rapid.T) recipe.Recipe {
	r := recipe.Recipe{Seed: rapid.Uint64().Draw(t, "seed"), Steps: drawChain(t, 6)}
	return r.Complete()
}

// drawChain draws at most so many steps, and at most half as many in each chain inside.
func drawChain(t *rapid.T, most int) recipe.Chain {
	ops := builtin()
	all := recipe.Chain{}
	for range rapid.IntRange(0, most).Draw(t, "steps") {
		op := ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]
		s := recipe.Step{Op: op.Name, Args: drawArgs(t, op, most/2)}
		if rapid.Bool().Draw(t, "named") {
			s.Name = rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_.-]{0,8}`).Draw(t, "name")
		}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			s.Failures = new(recipe.Failures)
			drawFields(t, reflect.ValueOf(s.Failures).Elem(), 0)
		}
		all = append(all, s)
	}
	return all
}

// drawTree draws a recipe whose steps fit together: sources, merged or not, and
// branches, each in the other.
func drawTree(t *rapid.T) recipe.Recipe {
	all := append(drawSource(t, 2), drawImageSteps(t, 2)...)
	all = append(all, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 8}}}, recipe.Step{Args: &recipe.Batch{Size: 4}})
	return recipe.Recipe{Seed: rapid.Uint64().Draw(t, "seed"), Steps: all}.Complete()
}

// drawSource draws what images come from, and at most so many merges around each other.
func drawSource(t *rapid.T, deep int) recipe.Chain {
	if deep == 0 || rapid.Bool().Draw(t, "files") {
		return recipe.Chain{{Args: &recipe.Files{Pattern: "a", Label: "parent"}}, {Op: "shuffle"}, {Op: "decode_image", Failures: drawFailures(t)}}
	}
	m := new(recipe.Merge)
	for range rapid.IntRange(1, 3).Draw(t, "chains") {
		m.Of = append(m.Of, append(drawSource(t, deep-1), drawImageSteps(t, deep-1)...))
	}
	switch m.Order = rapid.SampledFrom([]string{"", "round_robin", "arrival", "weights"}).Draw(t, "order"); m.Order {
	case "weights":
		m.Weights = several(len(m.Of), func() float64 { return rapid.Float64Range(0.1, 9).Draw(t, "weight") })
		m.Seed = new(rapid.Uint64().Draw(t, "seed"))
	}
	if m.Until = rapid.SampledFrom([]recipe.Until{"", "shortest", "longest", "7"}).Draw(t, "until"); m.Order == "arrival" && m.Until == "7" {
		m.Until = ""
	}
	return recipe.Chain{{Args: m}}
}

// drawImageSteps draws what happens to images, and at most so many routes inside each
// other.
func drawImageSteps(t *rapid.T, deep int) (all recipe.Chain) {
	for range rapid.IntRange(0, 2).Draw(t, "steps") {
		if deep > 0 && rapid.Bool().Draw(t, "route") {
			all = append(all, recipe.Step{Args: drawRoute(t, deep)})
		} else {
			all = append(all, recipe.Step{Op: rapid.SampledFrom([]string{"random_flip", "rotate90", "random_grayscale"}).Draw(t, "op"), Failures: drawFailures(t)})
		}
	}
	return all
}

func drawRoute(t *rapid.T, deep int) *recipe.Route {
	r := &recipe.Route{By: rapid.SampledFrom([]string{"key", "label"}).Draw(t, "by")}
	for i := range rapid.IntRange(1, 3).Draw(t, "branches") {
		w := recipe.When{Number: new(int64(i))}
		if r.By == "key" {
			w = recipe.When{Pattern: recipe.Path(fmt.Sprint("**/", i, "*"))}
		}
		r.Branches = append(r.Branches, recipe.Branch{When: []recipe.When{w}, Steps: drawImageSteps(t, deep-1)})
	}
	if rapid.Bool().Draw(t, "others") {
		r.Branches = append(r.Branches, recipe.Branch{Steps: drawImageSteps(t, deep-1)})
	}
	return r
}

func drawFailures(t *rapid.T) *recipe.Failures {
	f := &recipe.Failures{OnError: rapid.SampledFrom([]string{"", "raise", "skip", "replace"}).Draw(t, "on_error")}
	if f.OnError != "raise" && rapid.Bool().Draw(t, "limited") {
		f.MaxErrors = new(rapid.SampledFrom([]recipe.MaxErrors{recipe.ErrorCount(3), recipe.ErrorRate(0.5)}).Draw(t, "errors"))
	}
	f.Retries = rapid.IntRange(0, 100).Draw(t, "retries")
	if seconds := rapid.IntRange(0, 100).Draw(t, "limit"); seconds > 0 {
		f.TimeLimit = new(float64(seconds))
	}
	return f
}

var isRoom = regexp.MustCompile(`^github.com/headrace/headrace/(op/\w+|recipe)$`)

// builtin are the operations of the rooms: other tests register their own.
func builtin() (ops []recipe.Op) {
	for _, op := range recipe.Ops() {
		if t := reflect.TypeOf(op.New()); t.Kind() == reflect.Pointer && isRoom.MatchString(t.Elem().PkgPath()) {
			ops = append(ops, op)
		}
	}
	return ops
}

func drawArgs(t *rapid.T, op recipe.Op, steps int) recipe.Args {
	args := op.New()
	drawFields(t, reflect.ValueOf(args).Elem(), steps)
	return args
}

func drawFields(t *rapid.T, v reflect.Value, steps int) {
	for i := range v.NumField() {
		if f := v.Field(i); rapid.Bool().Draw(t, "given") {
			f.Set(reflect.ValueOf(drawArgument(t, f.Type(), steps)))
		}
	}
}

// drawArgument draws a value of an argument's type. A type of argument that is not here
// yet has to come here.
func drawArgument(t *rapid.T, typ reflect.Type, steps int) any {
	whole := func() int { return rapid.IntRange(math.MinInt32, math.MaxInt32).Draw(t, "whole") }
	side := func() int { return rapid.IntRange(1, 5000).Draw(t, "side") }
	number := func() float64 {
		return rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64(), rapid.SampledFrom([]float64{0, 1, 1e-7, 1e21, 5e-324})).Draw(t, "number")
	}
	path := func() recipe.Path { return recipe.Path(drawText(t)) }
	size := func() recipe.Size {
		return rapid.SampledFrom([]recipe.Size{{Height: side()}, {Height: side(), Width: side()}}).Draw(t, "size")
	}
	some := func(lengths ...int) int { return rapid.SampledFrom(lengths).Draw(t, "length") }
	switch reflect.New(typ).Elem().Interface().(type) {
	case bool:
		return rapid.Bool().Draw(t, "bool")
	case int:
		return whole()
	case int64:
		return rapid.Int64().Draw(t, "int64")
	case string:
		return strings.ToValidUTF8(drawText(t), "")
	case *bool:
		return new(rapid.Bool().Draw(t, "bool"))
	case *int:
		return new(whole())
	case *uint64:
		return new(rapid.Uint64().Draw(t, "uint64"))
	case float64:
		return number()
	case *float64:
		return new(number())
	case *[2]float64:
		return &[2]float64{number(), number()}
	case *[3]int:
		return &[3]int{whole(), whole(), whole()}
	case recipe.Size:
		return size()
	case []recipe.Size:
		return several(some(0, 1, 2, 9), size)
	case recipe.Path:
		return path()
	case []recipe.Path:
		return several(some(0, 1, 3, 30), path)
	case recipe.Shards:
		return recipe.Shards(several(some(0, 1, 3), path))
	case recipe.FieldsFrom:
		return recipe.FieldsFrom(several(some(0, 1, 3), func() recipe.FieldFrom {
			f := recipe.FieldFrom{Name: strings.ToValidUTF8(drawText(t), ""), From: strings.ToValidUTF8(drawText(t), "")}
			if of := drawGives(t).Schema; len(of) > 0 {
				f.Type = of[0].Type
			}
			return f
		}))
	case []recipe.Pair:
		return several(some(0, 1, 20), func() recipe.Pair { return recipe.Pair{Path: path(), Label: rapid.Int64().Draw(t, "label")} })
	case recipe.Columns:
		return recipe.Columns{
			recipe.ColumnOf("text", several(some(0, 1, 3), func() string { return strings.ToValidUTF8(drawText(t), "") })),
			recipe.ColumnOf("int64", several(some(0, 1, 3), func() int64 { return rapid.Int64().Draw(t, "int64") })),
			recipe.ColumnOf("float64", several(some(0, 1, 3), number)),
			recipe.ColumnOf("float32", several(some(0, 1, 3), func() float32 { return rapid.Float32().Draw(t, "float32") })),
			recipe.ColumnOf(strings.ToValidUTF8(drawText(t), ""), several(some(0, 1, 3), func() bool { return rapid.Bool().Draw(t, "bool") })),
		}
	case *image.Padding:
		return &image.Padding{Left: whole(), Top: whole(), Right: whole(), Bottom: whole()}
	case image.Fill:
		return image.Fill(several(some(1, 3, 4), whole))
	case image.Jitter:
		return image.Jitter(several(some(1, 2), number))
	case recipe.Until:
		return rapid.SampledFrom([]recipe.Until{"longest", "shortest", recipe.UntilSamples(int64(whole()))}).Draw(t, "until")
	case *recipe.MaxErrors:
		return new(rapid.SampledFrom([]recipe.MaxErrors{recipe.ErrorCount(whole()), recipe.ErrorRate(1), recipe.ErrorRate(number())}).Draw(t, "errors"))
	case []float64:
		return several(some(0, 1, 2), number)
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
		return recipe.PadValue{Fields: map[string]float64{"array": number(), strings.ToValidUTF8(drawText(t), ""): number()}}
	case recipe.NewNames:
		return recipe.NewNames{"image": strings.ToValidUTF8(drawText(t), ""), strings.ToValidUTF8(drawText(t), ""): "a"}
	case recipe.Chain:
		return drawChain(t, steps)
	case []recipe.Chain:
		return several(some(0, 1, 2), func() recipe.Chain { return drawChain(t, steps) })
	case []recipe.Branch:
		return several(some(0, 1, 2), func() (b recipe.Branch) {
			drawFields(t, reflect.ValueOf(&b).Elem(), steps)
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
		drawFields(t, reflect.ValueOf(&p).Elem(), steps)
		return p
	case recipe.On:
		var on recipe.On
		drawFields(t, reflect.ValueOf(&on).Elem(), steps)
		return on
	case *recipe.Collate:
		c := new(recipe.Collate)
		drawFields(t, reflect.ValueOf(c).Elem(), steps)
		c.Function = "collates:" + c.Function // which must be there to be read
		return c
	case []string:
		return several(some(0, 1, 2), func() string { return strings.ToValidUTF8(drawText(t), "") })
	case *int64:
		return new(rapid.Int64().Draw(t, "int64"))
	case recipe.Gives:
		return drawGives(t)
	case image.Channels:
		return image.Channels(several(some(1, 3), number))
	}
	t.Fatalf("how to draw a %v is not said here", typ)
	return nil
}

func drawGives(t *rapid.T) recipe.Gives {
	g := recipe.Gives{Schema: sample.Schema{}}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		shape := several(rapid.IntRange(0, 3).Draw(t, "axes"), func() int { return rapid.IntRange(-1, 5000).Draw(t, "extent") })
		array := sample.TensorType(tensor.DType(rapid.IntRange(int(tensor.Bool), int(tensor.Float64)).Draw(t, "dtype")), shape...)
		g.Schema = g.Schema.With(strings.ToValidUTF8(drawText(t), ""), rapid.SampledFrom([]sample.Type{sample.TextType, sample.BytesType, array}).Draw(t, "type"))
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

// drawText draws text that notations find hard, and bytes that are no text.
func drawText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[-?:,\[\]{}#&*!|>'"%@ \t\n$\\~=<0-9a-z.]{0,8}`),
		rapid.SampledFrom([]string{
			"", "null", "~", "yes", "No", "on", "y", "true", "1", "0x1f", "0o7", "010", "1e3", ".5", ".inf", "1:30", "2001-01-01", "1_000", "<<", "=", "- a", "a: b", "a #b", "${x}",
			"$$", "$", "${", "data/*/\xff.jpg", "\x80\xed\xa0\x80", " a ", "a\u0085b\u2028c", "\ufeff", "😀", "\ufffd", "\ufffd\xff", "a\nb", "\x00", "'", `"`, `\`, "é", strings.Repeat("long ", 40),
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	).Draw(t, "text")
}
