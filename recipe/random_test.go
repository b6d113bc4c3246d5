package recipe_test

import (
	"math"
	"reflect"
	"strings"

	"headrace/recipe"

	"pgregory.net/rapid"
)

// drawRecipe draws a tree of steps of any operations, with any arguments that can be written; they need not fit together.
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

// builtin are the operations of this package: other tests register their own.
func builtin() (ops []recipe.Op) {
	for _, op := range recipe.Ops() {
		if t := reflect.TypeOf(op.New()); t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "headrace/recipe" {
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

// drawArgument draws a value of an argument's type. A type of argument that is not here yet has to come here.
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
	case []recipe.Pair:
		return several(some(0, 1, 20), func() recipe.Pair { return recipe.Pair{Path: path(), Label: rapid.Int64().Draw(t, "label")} })
	case *recipe.Padding:
		return &recipe.Padding{Left: whole(), Top: whole(), Right: whole(), Bottom: whole()}
	case recipe.Fill:
		return recipe.Fill(several(some(1, 3, 4), whole))
	case recipe.Jitter:
		return recipe.Jitter(several(some(1, 2), number))
	case *recipe.MaxErrors:
		return new(rapid.SampledFrom([]recipe.MaxErrors{recipe.ErrorCount(whole()), recipe.ErrorRate(1), recipe.ErrorRate(number())}).Draw(t, "errors"))
	case []float64:
		return several(some(0, 1, 2), number)
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
	case recipe.Channels:
		return recipe.Channels(several(some(1, 3), number))
	}
	t.Fatalf("how to draw a %v is not said here", typ)
	return nil
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
