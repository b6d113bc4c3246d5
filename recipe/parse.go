package recipe

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// Parse reads a recipe in its JSON form, as programs send it to each other, and returns it complete. The error joins an [*Error] for each
// mistake; what only [Recipe.Check] can see is not among them. Files may have more in them: [Read].
func Parse(doc []byte) (Recipe, error) {
	v, err := parseJSON(doc)
	if err != nil {
		return Recipe{}, err
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
	more  int     // mistakes that are only counted
	vars  *vars   // nil: "${" stands for itself
	steps []value // as they come: the first is step 1
	depth int     // of chains around the step that is read
}

// maxMistakes are told at once. A list of a million wrong paths is one mistake to whoever wrote it.
const maxMistakes = 50

func (p *reader) err() error {
	if p.more > 0 {
		return errors.Join(append(p.errs, &Error{Err: fmt.Errorf("has %d mistakes more", p.more)})...)
	}
	return errors.Join(p.errs...)
}

// decoder returns one whose mistakes are those of a step; step 0 is the recipe.
func (p *reader) decoder(step int, name *string) decoder {
	wrong := func(path string, err error) {
		if len(p.errs) == maxMistakes {
			p.more++
			return
		}
		e := &Error{Step: step, Name: *name, Path: path, Err: err}
		if k, ok := err.(keyed); ok {
			e.key, e.Err = k.key, k.error
		}
		p.errs = append(p.errs, e)
	}
	d := decoder{vars: p.vars, wrong: wrong}
	d.chain = func(v value, path string) Chain { return p.chain(d, v, path) }
	return d
}

// What trees may come to. Nobody writes such ones; who sends them means harm.
const (
	maxDepth = 16
	maxSteps = 100_000
)

// chain reads a list of steps.
func (p *reader) chain(d decoder, v value, path string) Chain {
	if p.depth == maxDepth {
		d.wrong(path, fmt.Errorf("is nested more than %d deep", maxDepth))
		return nil
	}
	p.depth++
	defer func() { p.depth-- }()
	all := Chain{}
	for _, e := range v.elements() {
		if len(p.steps) == maxSteps {
			d.wrong(path, fmt.Errorf("has more than %d steps, with those before", maxSteps))
			break
		}
		all = append(all, p.step(e))
	}
	return all
}

// recipe reads all of a recipe. Sections are the keys that it may have besides its own.
func (p *reader) recipe(v value, sections map[string]func(value, string)) (r Recipe) {
	d := p.decoder(0, new(string))
	if v.kind() != '{' {
		d.wrong("", fmt.Errorf(`is %s: takes an object like {"headrace": 1, "steps": […]}`, v.describe()))
		return r
	}
	if version := v.member("headrace"); version != nil && string(version) != strconv.Itoa(Version) {
		d.wrong("headrace", fmt.Errorf("is %s: this engine reads version %d of recipes", version.describe(), Version))
		return r // what else it says may be right in its own version
	}
	fields := map[string]func(value, string){
		"headrace": func(value, string) {},
		"seed":     func(v value, path string) { d.into(v, reflectOf(&r.Seed), path) },
		"steps": func(v value, path string) {
			if v.kind() != '[' {
				d.wrong(path, fmt.Errorf("is %s: takes a list of steps", v.describe()))
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
	given := d.object(v, "", fields, func(key string) error { return Unknown("key", key, known) })
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

// step reads the name of an operation, or an object with one key for it, whose value are the arguments.
func (p *reader) step(v value) (s Step) {
	p.steps = append(p.steps, v)
	var label string // what messages call the step, as long as it has no name
	d := p.decoder(len(p.steps), &label)
	var args value
	before := len(p.errs) + p.more
	switch v.kind() {
	case '"':
		d.into(v, reflectOf(&s.Op), "")
		label = s.Op
	case '{':
		op := v.operation()
		label = v.text("name", op)
		s.Op = op
		d.object(v, "", map[string]func(value, string){
			op:         func(v value, _ string) { args = v },
			"name":     func(v value, path string) { d.into(v, reflectOf(&s.Name), path) },
			"failures": func(v value, path string) { d.into(v, reflectOf(&s.Failures), path) },
		}, func(key string) error { return stranger(op, key) })
	default:
		d.wrong("", fmt.Errorf(`is %s: takes the name of an operation, or an object like {"resize": {"size": 256}}`, v.describe()))
		return s
	}
	op, ok := Find(s.Op)
	switch {
	case ok:
		s.Args = op.New()
		if args != nil {
			d.args(args, s.Args, "args")
		}
	case s.Op != "":
		d.wrong("op", unknownOp(s.Op))
	case v.kind() == '{' || len(p.errs)+p.more == before:
		d.wrong("", errors.New(`has no operation: takes an object like {"resize": {"size": 256}}`))
	}
	return s
}

// operation finds the key of a step that names its operation, or is likely to be meant so; "" where there is none.
func (v value) operation() string {
	var candidates []string
	for quoted := range v.members() {
		if key, err := unquote(quoted, false); err == nil && !slices.Contains(besides, key) {
			candidates = append(candidates, key)
		}
	}
	isOperation := func(key string) bool { _, ok := Find(key); return ok }
	isNoTypo := func(key string) bool { return nearest(key, besides) == "" }
	for _, likely := range []func(string) bool{isOperation, isNoTypo} {
		if i := slices.IndexFunc(candidates, likely); i >= 0 {
			return candidates[i]
		}
	}
	return ""
}

// besides are the keys that a step may have besides its operation.
var besides = []string{"name", "failures"}

// stranger says what is wrong with another key of a step.
func stranger(op, key string) error {
	if _, ok := Find(key); ok {
		return fmt.Errorf("has the operations %q and %q: each is a step of its own", op, key)
	}
	known, ok := Find(op)
	if ok && slices.ContainsFunc(known.Arguments(), func(a Argument) bool { return a.Name == key }) {
		return fmt.Errorf("has the key %q beside %s, of which it is an argument: takes {%q: {%q: …}}, in YAML two spaces further in", key, op, op, key)
	}
	if near := nearest(key, besides); near != "" {
		return fmt.Errorf("unknown key %q: did you mean %q?", key, near)
	}
	if isFailure(key) {
		return fmt.Errorf("has the key %q beside the operation: it belongs to failures: takes {\"failures\": {%q: …}}", key, key)
	}
	return fmt.Errorf("unknown key %q: takes an operation, name, failures", key)
}

// isFailure tells whether a key is one of those in the key failures of a step.
func isFailure(key string) bool {
	return slices.ContainsFunc(argumentFields(reflect.TypeFor[Failures]()), func(f reflect.StructField) bool { return argumentName(f) == key })
}

// strangeArgument says what is wrong with a name that is not among the arguments of an operation.
func strangeArgument(key string, known []string) error {
	if slices.Contains(besides, key) {
		return fmt.Errorf("has the key %q as an argument: it stands beside the operation, in YAML two spaces further out", key)
	}
	if isFailure(key) {
		return fmt.Errorf("has the key %q as an argument: it belongs to failures, beside the operation: takes {\"failures\": {%q: …}}", key, key)
	}
	return Unknown("argument", key, known)
}

func unknownOp(name string) error {
	hint := "there are " + list(names())
	if near := nearest(name, names()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("there is no operation %q: %s", name, hint)
}
