package recipe

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/argument"
)

// String shows r for people: a chain on a line, and below a step that holds others a tree
// of these. Defaults are left out, and so is the middle of what is long.
func (r Recipe) String() string { return strings.Join(lines(r.Complete().Steps), "\n") }

// lines shows a chain. What follows a step that holds others begins a new line.
func lines(steps []Step) (all []string) {
	line := ""
	for i, s := range steps {
		if i > 0 {
			line += " → "
		}
		line += s.Text()
		if n, ok := s.Args.(Nesting); ok && len(n.Chains()) > 0 {
			all = append(append(all, strings.TrimPrefix(line, " ")), branches(n)...)
			line = ""
		}
	}
	if line != "" {
		all = append(all, strings.TrimPrefix(line, " "))
	}
	return all
}

// branches shows the chains that an operation holds, each with what is taken by it.
func branches(n Nesting) (all []string) {
	chains := n.Chains()
	for i, c := range chains {
		first, next := "├─ ", "│  "
		if i == len(chains)-1 {
			first, next = "└─ ", "   "
		}
		inside := lines(c)
		if len(inside) == 0 {
			inside = []string{"nothing"}
		}
		if r := TraitsOf(n).Routing; r != nil {
			inside[0] = r.Label(i) + ": " + inside[0]
		}
		all = append(all, first+inside[0])
		for _, line := range inside[1:] {
			all = append(all, next+line)
		}
	}
	return all
}

// Text is like `resize(size=256)`, with the step's name where that says more: `flip:
// random_flip(p=0.1)`, and what becomes of samples that fail.
func (s Step) Text() string {
	text := s.Op
	if args := s.shown(); len(args) > 0 {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	number, ok := strings.CutPrefix(s.Name, s.Op+"_")
	switch {
	case ok && strings.Trim(number, "0123456789") == "":
		text = s.Name + strings.TrimPrefix(text, s.Op)
	case s.Name != s.Op:
		text = s.Name + ": " + text
	}
	if s.Failures != nil {
		usual := new(Failures)
		if w := s.Failures.Wait; w != nil && *w == defaultWait {
			usual.Wait = w
		}
		text += ".failures(" + strings.Join(differing(s.Failures, usual), ", ") + ")"
	}
	return text
}

// shown returns the arguments that differ from their defaults.
func (s Step) shown() []string {
	op, ok := Find(s.Op)
	if !ok || reflect.TypeOf(argument.Struct(op.New())) != reflect.TypeOf(argument.Struct(s.Args)) {
		return nil
	}
	return differing(s.Args, Recipe{Steps: []Step{{Op: s.Op}}}.Complete().Steps[0].Args)
}

// differing returns the fields of a struct that are not as usual. Zero is always usual:
// [Identifier] writes it for defaults.
func differing(args, as any) (shown []string) {
	given, usual := reflect.ValueOf(argument.Struct(args)).Elem(), reflect.ValueOf(argument.Struct(as)).Elem()
	for _, f := range argument.Fields(given.Type()) {
		if name := argument.Name(f); name != "root" && !holds(f.Type) {
			v := given.FieldByIndex(f.Index)
			if !v.IsZero() && !reflect.DeepEqual(v.Interface(), usual.FieldByIndex(f.Index).Interface()) {
				shown = append(shown, name+"="+short(v))
			}
		}
	}
	return shown
}

// holds reports whether arguments of a type have steps in them.
func holds(t reflect.Type) bool {
	if t == reflect.TypeFor[Chain]() {
		return true
	}
	switch t.Kind() {
	case reflect.Slice:
		return holds(t.Elem())
	case reflect.Struct:
		return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return holds(f.Type) })
	}
	return false
}

// short writes a value in at most about forty characters.
func short(v reflect.Value) string {
	if c, ok := v.Interface().(*Collate); ok && c != nil {
		return c.shown()
	}
	if v.Kind() == reflect.Slice && v.Len() > 3 {
		return fmt.Sprintf("[%s, … %d in all]", short(v.Index(0)), v.Len())
	}
	written, err := plainJSON(v.Interface())
	if err != nil {
		return "?"
	}
	text := []rune(string(written))
	if len(text) > 60 {
		return string(text[:30]) + "…" + string(text[len(text)-28:])
	}
	return string(text)
}
