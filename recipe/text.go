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
	r = r.Complete()
	for i, s := range r.Steps {
		if a, ok := s.Args.(identifier); ok {
			r.Steps[i].Args = a.identity(r)
		}
	}
	h := sha256.New()
	// What cannot be written has no samples either; Check finds it.
	_ = json.NewEncoder(h).Encode(r.identity())
	return hex.EncodeToString(h.Sum(nil))
}

// identityForm is what fingerprints are made of. It must not change with the notation: states would no longer fit the recipes they were saved of.
type identityForm struct {
	Headrace int            `json:"headrace"`
	Seed     uint64         `json:"seed"`
	Steps    []identityStep `json:"steps"`
}

type identityStep struct {
	Op   string   `json:"op"`
	Name string   `json:"name"`
	From []string `json:"from,omitempty"`
	Args Args     `json:"args"`
}

func (r Recipe) identity() identityForm {
	f := identityForm{1, r.Seed, make([]identityStep, len(r.Steps))}
	for i, s := range r.Steps {
		f.Steps[i] = identityStep(s)
	}
	return f
}

// MarshalJSON writes r complete: equal recipes give equal text.
func (r Recipe) MarshalJSON() ([]byte, error) {
	r = r.Complete()
	b := fmt.Appendf(nil, `{"headrace":%d,"seed":%d,"steps":[`, Version, r.Seed)
	for i, s := range r.Steps {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = r.appendStep(b, i, s); err != nil {
			return nil, err
		}
	}
	return append(b, "]}"...), nil
}

func (r Recipe) appendStep(b []byte, i int, s Step) ([]byte, error) {
	var args bytes.Buffer
	e := json.NewEncoder(&args)
	e.SetEscapeHTML(false)
	if err := e.Encode(s.Args); err != nil {
		return nil, &Error{Step: i + 1, Name: s.Name, Path: "args", Err: fmt.Errorf("cannot be written: %w", err)}
	}
	written := bytes.TrimSpace(args.Bytes())
	named := r.named(i)
	if string(written) == "{}" && !named && s.From == nil {
		return appendPath(b, s.Op), nil
	}
	b = append(appendPath(append(b, '{'), s.Op), ':')
	b = append(b, written...)
	if named {
		b = appendPath(append(b, `,"name":`...), s.Name)
	}
	if s.From != nil {
		from, err := json.Marshal(s.From)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"from":`...), from...)
	}
	return append(b, '}'), nil
}

// named reports whether step i of a complete recipe has another name than it would get.
func (r Recipe) named(i int) bool {
	n := 0
	for _, s := range r.Steps[:i+1] {
		if s.Op == r.Steps[i].Op {
			n++
		}
	}
	return r.Steps[i].Name != numbered(r.Steps[i].Op, n)
}

// UnmarshalJSON reads as [Parse] does.
func (r *Recipe) UnmarshalJSON(b []byte) (err error) {
	*r, err = Parse(b)
	return err
}

// String shows r for people: as a chain where each step reads the one before it, otherwise a step a line. Defaults are left out, and so is the
// middle of what is long.
func (r Recipe) String() string {
	r = r.Complete()
	parts := make([]string, len(r.Steps))
	between := " → "
	for i, s := range r.Steps {
		parts[i] = s.text()
		if s.From != nil {
			between = "\n"
			parts[i] += " ← " + strings.Join(s.From, ", ")
		}
	}
	return strings.Join(parts, between)
}

// text is like `resize(size=256)`, with the step's name where that says more: `flip: random_flip(p=0.1)`.
func (s Step) text() string {
	text := s.Op
	if args := s.shown(); len(args) > 0 {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	if number, ok := strings.CutPrefix(s.Name, s.Op+"_"); ok && strings.Trim(number, "0123456789") == "" {
		return s.Name + strings.TrimPrefix(text, s.Op)
	}
	if s.Name != s.Op {
		return s.Name + ": " + text
	}
	return text
}

// shown returns the arguments that differ from their defaults.
func (s Step) shown() []string {
	op, ok := Find(s.Op)
	if !ok || reflect.TypeOf(fieldsOf(op.New())) != reflect.TypeOf(fieldsOf(s.Args)) {
		return nil
	}
	given := reflect.ValueOf(fieldsOf(s.Args)).Elem()
	usual := reflect.ValueOf(fieldsOf(Recipe{Steps: []Step{{Op: s.Op}}}.Complete().Steps[0].Args)).Elem()
	var shown []string
	for _, f := range argumentFields(given.Type()) {
		if name := argumentName(f); name != "root" {
			v := given.FieldByIndex(f.Index)
			if !reflect.DeepEqual(v.Interface(), usual.FieldByIndex(f.Index).Interface()) {
				shown = append(shown, name+"="+short(v))
			}
		}
	}
	return shown
}

// short writes a value in at most about forty characters.
func short(v reflect.Value) string {
	if v.Kind() == reflect.Slice && v.Len() > 3 {
		return fmt.Sprintf("[%s, … %d in all]", short(v.Index(0)), v.Len())
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Interface()); err != nil {
		return "?"
	}
	text := []rune(strings.TrimSpace(b.String()))
	if len(text) > 60 {
		return string(text[:30]) + "…" + string(text[len(text)-28:])
	}
	return string(text)
}
