package recipe

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/decode"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/variables"
	"github.com/headrace/headrace/internal/words"
)

// Parse reads a recipe in its JSON form, as programs send it to each other, and returns
// it complete. The error joins an [*Error] for each mistake; what only [Recipe.Check] can
// see is not among them. Files may have more in them: [Read].
func Parse(doc []byte) (Recipe, error) {
	v, err := rawjson.Parse(doc)
	if err != nil {
		return Recipe{}, unreadable(err)
	}
	var p reader
	r := p.recipe(v, nil)
	if err := p.err(); err != nil {
		return Recipe{}, err
	}
	return r.Complete(), nil
}

// reader collects the mistakes of a recipe.
type reader struct {
	errs  []error
	more  int              // mistakes that are only counted
	vars  *variables.Table // nil: "${" means itself
	steps []rawjson.Value  // as they come: the first is step 1
	depth int              // of chains around the step that is read
}

// maxMistakes are reported at once. A list of a million wrong paths is one mistake to
// whoever wrote it.
const maxMistakes = 50

func (p *reader) err() error {
	if p.more > 0 {
		return errors.Join(append(p.errs, &Error{Err: fmt.Errorf("has %d mistakes more", p.more)})...)
	}
	return errors.Join(p.errs...)
}

// decoder returns one whose mistakes are those of a step; step 0 is the recipe.
func (p *reader) decoder(step int, name *string) decode.Decoder {
	wrong := func(path string, err error) {
		if len(p.errs) == maxMistakes {
			p.more++
			return
		}
		e := &Error{Step: step, Name: *name, Path: path, Err: err}
		if k, ok := err.(argument.Keyed); ok {
			e.key, e.Err = k.Key, k.Unwrap()
		}
		p.errs = append(p.errs, e)
	}
	d := decode.Decoder{Vars: p.vars, Wrong: wrong, Unknown: unknownArgument, StepsType: reflect.TypeFor[Chain]()}
	d.Steps = func(v rawjson.Value, path string) reflect.Value { return reflect.ValueOf(p.chain(d, v, path)) }
	return d
}

// chain reads a list of steps.
func (p *reader) chain(d decode.Decoder, v rawjson.Value, path string) Chain {
	if p.depth == maxDepth {
		d.Wrong(path, fmt.Errorf("is nested more than %d deep", maxDepth))
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	all := Chain{}
	for _, e := range v.Elements() {
		if len(p.steps) == maxSteps {
			d.Wrong(path, fmt.Errorf("has more than %d steps, with those before", maxSteps))
			break
		}
		all = append(all, p.step(e))
	}
	return all
}

// recipe reads all of a recipe. Sections are the keys that it may have besides its own.
func (p *reader) recipe(v rawjson.Value, sections map[string]func(rawjson.Value, string)) (r Recipe) {
	d := p.decoder(0, new(string))
	if v.Kind() != rawjson.Object {
		d.Wrong("", fmt.Errorf(`is %s: must be an object like {"headrace": 1, "steps": […]}`, v.Describe()))
		return r
	}
	if version := v.Member("headrace"); version != nil && string(version) != strconv.Itoa(Version) {
		d.Wrong("headrace", fmt.Errorf("is %s: this engine reads version %d of recipes", version.Describe(), Version))
		return r // what else it says may be right in its own version
	}

	fields := map[string]func(rawjson.Value, string){
		"headrace": func(rawjson.Value, string) {},
		"seed":     func(v rawjson.Value, path string) { d.Into(v, decode.Of(&r.Seed), path) },
		"steps": func(v rawjson.Value, path string) {
			if v.Kind() != rawjson.List {
				d.Wrong(path, fmt.Errorf("is %s: must be a list of steps", v.Describe()))
				return
			}
			r.Steps = p.chain(d, v, path)
		},
	}

	known := []string{"headrace", "seed", "steps"}
	for key, section := range sections {
		fields[key] = section
	}
	if sections != nil {
		known = []string{"headrace", "vars", "seed", "steps", "loader"}
	}

	given := d.Object(v, "", fields, func(key string) error { return words.Unknown("key", key, known) })
	for _, key := range []string{"headrace", "steps"} {
		if !given[key] {
			d.Wrong("", missingKey(key))
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

// step reads the name of an operation, or an object with one key for it, whose value are
// the arguments.
func (p *reader) step(v rawjson.Value) (s Step) {
	p.steps = append(p.steps, v)
	var label string // what messages call the step, as long as it has no name
	d := p.decoder(len(p.steps), &label)

	var args rawjson.Value
	before := len(p.errs) + p.more
	switch v.Kind() {
	case rawjson.Text:
		d.Into(v, decode.Of(&s.Op), "")
		label = s.Op

	case rawjson.Object:
		op := operationOf(v)
		label = op
		if name, err := rawjson.Unquote(v.Member("name")); err == nil {
			label = name
		}
		s.Op = op
		d.Object(v, "", map[string]func(rawjson.Value, string){
			op:         func(v rawjson.Value, _ string) { args = v },
			"name":     func(v rawjson.Value, path string) { d.Into(v, decode.Of(&s.Name), path) },
			"failures": func(v rawjson.Value, path string) { d.Into(v, decode.Of(&s.Failures), path) },
		}, func(key string) error { return unknownKey(op, key) })
	default:
		d.Wrong("", fmt.Errorf(`is %s: must be the name of an operation, or an object like {"resize": {"size": 256}}`, v.Describe()))
		return s
	}

	op, ok := Find(s.Op)
	switch {
	case ok:
		s.Args = op.New()
		if args != nil {
			d.Args(args, s.Args, "args")
		}
	case s.Op != "":
		d.Wrong("op", unknownOp(s.Op))
	case v.Kind() == rawjson.Object || len(p.errs)+p.more == before:
		d.Wrong("", errors.New(`has no operation: write an object like {"resize": {"size": 256}}`))
	}
	return s
}
