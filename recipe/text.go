package recipe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// identifier is implemented by arguments of which a part does not matter to which samples come out.
type identifier interface {
	// identity returns the arguments that do.
	identity(r Recipe) Args
}

// Fingerprint returns a number, in hexadecimal digits, that is the same for recipes that give the same samples in the same order, where
// the same files are found. It goes into saved states. The folder in which relative paths start is not a part of it: data may move.
func (r Recipe) Fingerprint() string {
	h := sha256.New()
	// What cannot be written has no samples either; Check finds it.
	_ = json.NewEncoder(h).Encode(identityForm{1, r.Seed, r.identity(r.Complete().Steps)})
	return hex.EncodeToString(h.Sum(nil))
}

// identityForm is what fingerprints are made of. It must not change with the notation: states would no longer fit the recipes they were saved of.
type identityForm struct {
	Headrace int            `json:"headrace"`
	Seed     uint64         `json:"seed"`
	Steps    []identityStep `json:"steps"`
}

type identityStep struct {
	Op     string           `json:"op"`
	Name   string           `json:"name"`
	Args   Args             `json:"args"`
	Chains [][]identityStep `json:"chains,omitempty"` // which the arguments are without
}

// identity leaves out what becomes of samples that fail: whoever lets a run skip them after one has stopped it goes on with its state.
func (r Recipe) identity(steps []Step) []identityStep {
	all := make([]identityStep, len(steps))
	for i, s := range steps {
		id := identityStep{Op: s.Op, Name: s.Name, Args: s.Args}
		if a, ok := s.Args.(identifier); ok {
			id.Args = a.identity(r)
		}
		if n, ok := id.Args.(nesting); ok {
			for _, c := range n.chains() {
				id.Chains = append(id.Chains, r.identity(c))
			}
			id.Args = n.with(make([]Chain, len(n.chains())))
		}
		all[i] = id
	}
	return all
}

// MarshalJSON writes r complete, without the names that steps have by default: equal recipes give equal text.
func (r Recipe) MarshalJSON() ([]byte, error) {
	steps, err := Chain(defaultNames{}.without(r.Complete().Steps)).MarshalJSON()
	if err != nil {
		return nil, r.unwritable(err)
	}
	return fmt.Appendf(nil, `{"headrace":%d,"seed":%d,"steps":%s}`, Version, r.Seed, steps), nil
}

// unwritable says which step cannot be written.
func (r Recipe) unwritable(err error) error {
	for i, s := range r.Complete().All() {
		if n, ok := s.Args.(nesting); ok {
			s.Args = n.with(make([]Chain, len(n.chains())))
		}
		if _, err := json.Marshal(s.Args); err != nil {
			return &Error{Step: i, Name: s.Name, Path: "args", Err: fmt.Errorf("cannot be written: %w", err)}
		}
		if _, err := json.Marshal(s.Failures); err != nil {
			return &Error{Step: i, Name: s.Name, Path: "failures", Err: fmt.Errorf("cannot be written: %w", err)}
		}
	}
	return err
}

// MarshalJSON writes a list of steps.
func (c Chain) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, s := range c {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = s.append(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func (s Step) append(b []byte) ([]byte, error) {
	args, err := plainJSON(s.Args)
	if err != nil {
		return nil, err
	}
	if string(args) == "{}" && s.Name == "" && s.Failures == nil {
		return appendPath(b, s.Op), nil
	}
	b = append(append(appendPath(append(b, '{'), s.Op), ':'), args...)
	if s.Name != "" {
		b = appendPath(append(b, `,"name":`...), s.Name)
	}
	if s.Failures != nil {
		failures, err := plainJSON(s.Failures)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"failures":`...), failures...)
	}
	return append(b, '}'), nil
}

// plainJSON writes a value without the escapes that are for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// defaultNames counts the steps of each operation, as completion does.
type defaultNames map[string]int

// without returns steps of which those have no name that would get just this one.
func (d defaultNames) without(steps []Step) []Step {
	all := make([]Step, len(steps))
	for i, s := range steps {
		if d[s.Op]++; s.Name == numbered(s.Op, d[s.Op]) {
			s.Name = ""
		}
		if n, ok := s.Args.(nesting); ok {
			s.Args = n.with(each(n.chains(), d.without))
		}
		all[i] = s
	}
	return all
}

// UnmarshalJSON reads as [Parse] does.
func (r *Recipe) UnmarshalJSON(b []byte) (err error) {
	*r, err = Parse(b)
	return err
}

// String shows r for people: a chain on a line, and below a step that holds others a tree of these. Defaults are left out, and so is the
// middle of what is long.
func (r Recipe) String() string { return strings.Join(lines(r.Complete().Steps), "\n") }

// lines shows a chain. What follows a step that holds others begins a new line.
func lines(steps []Step) (all []string) {
	line := ""
	for i, s := range steps {
		if i > 0 {
			line += " → "
		}
		line += s.text()
		if n, ok := s.Args.(nesting); ok && len(n.chains()) > 0 {
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
func branches(n nesting) (all []string) {
	chains := n.chains()
	for i, c := range chains {
		first, next := "├─ ", "│  "
		if i == len(chains)-1 {
			first, next = "└─ ", "   "
		}
		inside := lines(c)
		if len(inside) == 0 {
			inside = []string{"nothing"}
		}
		if r, ok := n.(*Route); ok {
			inside[0] = r.Branches[i].label() + ": " + inside[0]
		}
		all = append(all, first+inside[0])
		for _, line := range inside[1:] {
			all = append(all, next+line)
		}
	}
	return all
}

// text is like `resize(size=256)`, with the step's name where that says more: `flip: random_flip(p=0.1)`, and what becomes of samples that fail.
func (s Step) text() string {
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
	if !ok || reflect.TypeOf(fieldsOf(op.New())) != reflect.TypeOf(fieldsOf(s.Args)) {
		return nil
	}
	return differing(s.Args, Recipe{Steps: []Step{{Op: s.Op}}}.Complete().Steps[0].Args)
}

// differing returns the fields of a struct that are not as usual.
func differing(args, as any) (shown []string) {
	given, usual := reflect.ValueOf(fieldsOf(args)).Elem(), reflect.ValueOf(fieldsOf(as)).Elem()
	for _, f := range argumentFields(given.Type()) {
		if name := argumentName(f); name != "root" && !holds(f.Type) {
			v := given.FieldByIndex(f.Index)
			if !reflect.DeepEqual(v.Interface(), usual.FieldByIndex(f.Index).Interface()) {
				shown = append(shown, name+"="+short(v))
			}
		}
	}
	return shown
}

// holds tells whether arguments of a type have steps in them.
func holds(t reflect.Type) bool {
	return t == reflect.TypeFor[[]Chain]() || t == reflect.TypeFor[[]Branch]()
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
