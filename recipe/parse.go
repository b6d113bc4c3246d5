package recipe

import (
	"errors"
	"fmt"
	"strconv"
)

// Parse reads a recipe in its JSON form and returns it complete. The error joins an [*Error] for each mistake; what only
// [Recipe.Check] can see is not among them.
func Parse(doc []byte) (Recipe, error) {
	v, err := parseJSON(doc)
	if err != nil {
		return Recipe{}, err
	}
	var p parser
	r := p.recipe(v)
	if len(p.errs) > 0 {
		return Recipe{}, errors.Join(p.errs...)
	}
	return r.Complete(), nil
}

// parser collects the mistakes of a recipe.
type parser struct{ errs []error }

// decoder returns one whose mistakes are those of a step; step 0 is the recipe.
func (p *parser) decoder(step int, name *string) decoder {
	return decoder{func(path string, err error) {
		p.errs = append(p.errs, &Error{Step: step, Name: *name, Path: path, Err: err})
	}}
}

func (p *parser) recipe(v value) (r Recipe) {
	d := p.decoder(0, new(string))
	if v.kind() != '{' {
		d.wrong("", fmt.Errorf(`is %s: takes an object like {"headrace": 1, "steps": […]}`, v.describe()))
		return r
	}
	given := d.object(v, "", map[string]func(value, string){
		"headrace": func(v value, path string) {
			if string(v) != strconv.Itoa(Version) {
				d.wrong(path, fmt.Errorf("is %s: this engine reads version %d of recipes", v.describe(), Version))
			}
		},
		"seed": func(v value, path string) { d.into(v, reflectOf(&r.Seed), path) },
		"steps": func(v value, path string) {
			if v.kind() != '[' {
				d.wrong(path, fmt.Errorf("is %s: takes a list of steps", v.describe()))
				return
			}
			for i, e := range v.elements() {
				r.Steps = append(r.Steps, p.step(i+1, e))
			}
		},
	}, []string{"headrace", "seed", "steps"})
	for _, key := range []string{"headrace", "steps"} {
		if !given[key] {
			d.wrong("", missingKey(key))
		}
	}
	return r
}

func missingKey(key string) error {
	if key == "headrace" {
		return fmt.Errorf(`lacks the version of its notation: "headrace": %d`, Version)
	}
	return fmt.Errorf("lacks the key %q", key)
}

func (p *parser) step(number int, v value) (s Step) {
	var label string // what messages call the step, as long as it has no name
	d := p.decoder(number, &label)
	if v.kind() != '{' {
		d.wrong("", fmt.Errorf(`is %s: takes an object like {"op": "resize", "args": {"size": 256}}`, v.describe()))
		return s
	}
	label = v.text("name", v.text("op", ""))
	var args value
	d.object(v, "", map[string]func(value, string){
		"op":   func(v value, path string) { d.into(v, reflectOf(&s.Op), path) },
		"name": func(v value, path string) { d.into(v, reflectOf(&s.Name), path) },
		"from": func(v value, path string) { s.From = d.from(v, path) },
		"args": func(v value, _ string) { args = v },
	}, []string{"op", "name", "from", "args"})
	op, ok := Find(s.Op)
	switch {
	case ok:
		s.Args = op.New()
		if args != nil {
			d.args(args, s.Args, "args")
		}
	case s.Op != "":
		d.wrong("op", unknownOp(s.Op))
	case v.member("op") == nil:
		d.wrong("", errors.New(`lacks the key "op"`))
	}
	return s
}

func unknownOp(name string) error {
	hint := "there are " + list(names())
	if near := nearest(name, names()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("is %q: there is no operation of this name; %s", name, hint)
}

// from reads the name of a step or a list of them.
func (d decoder) from(v value, path string) []string {
	var one string
	var many []string
	switch v.kind() {
	case '[':
		d.into(v, reflectOf(&many), path)
		return many
	case '"':
		d.into(v, reflectOf(&one), path)
		return []string{one}
	}
	d.wrong(path, fmt.Errorf("is %s: takes the name of a step, or a list of names", v.describe()))
	return nil
}
