package input

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/where"
)

var _ = Ops.Add(recipe.NewOp[ReadShards]("read", recipe.Source,
	"Read samples from files that hold many: tar (WebDataset), Parquet, Arrow, JSON lines, TFRecord, MDS and others."))

// ReadShards are the arguments of the operation read.
type ReadShards struct {
	From     Shards       `json:"from,omitzero" required:"true" example:"\"train-{000000..001281}.tar\""`
	Fields   FieldsFrom   `json:"fields,omitzero" example:"{\"bytes\": \"jpg\", \"label\": \"cls\"}"`
	Rows     string       `json:"rows,omitempty" example:"\"age > 3 and country in ('de', 'fr')\""`
	Window   Windows      `json:"window,omitzero" example:"{\"action\": [0, 1, 2]}"`
	Group    string       `json:"group,omitempty" example:"episode_index"`
	Time     string       `json:"time,omitempty" example:"timestamp" doc:"a column of times: offsets of window are seconds then"`
	Lookup   Lookups      `json:"lookup,omitzero" example:"{\"item\": \"items.parquet\"}"`
	Format   string       `json:"format,omitempty" example:"tar" doc:"the files' format; by default told from their contents or names"`
	Errors   string       `json:"errors,omitempty" choices:"strict,replace"`
	Root     recipe.Path  `json:"root,omitempty" doc:"where relative names start; by default the engine's current directory"`
	MaxBytes int64        `json:"max_bytes,omitempty" min:"1" doc:"largest sample read, in bytes; others are bad samples"`
	Gives    recipe.Gives `json:"gives,omitzero" example:"{\"bytes\": \"bytes\", \"label\": {\"dtype\": \"int64\"}}"`
}

// Docs implements [argument.Documented].
func (*ReadShards) Docs() map[string]string {
	return map[string]string{
		"from": "patterns have *, ?, […], ** and braces; a folder is all its shards",
		"fields": "what each field is in the files: the name of a part or column, \"json.caption\" for a member " +
			"of JSON, \"jpg;png\" for the first that exists, or [name, type], with a type as for gives of map; " +
			"[name, type, value] with the value for null, and [name, \"is_null\"] whether it is null; or a list of names. " +
			"By default everything; in tar files images are \"bytes\" then, and cls is \"label\"",
		"rows": "which samples come: those of which an expression about columns is true, such as " +
			"age > 3 and country in ('de', 'fr')",
		"window": "fields of which a sample has the values of several rows: offsets from its own row, in rows, or in " +
			"seconds of time. What is beyond the group is its first or last row, and true in 'action_is_pad'",
		"group": "a column that neighbours of one window have alike; by default each file is by itself",
		"lookup": "small tables that samples are joined with: by the field with keys, a file, or an object with from, and maybe " +
			"key, the table's column of keys; fields; and missing: 'null', for keys that the table does not have",
		"errors": "text that is not UTF-8: strict, the default: bad samples; replace: U+FFFD, as in Python",
		"gives":  "the fields' types, if known without reading the files; by default read from them",
	}
}

// Complete implements [recipe.Completer].
func (r ReadShards) Complete() recipe.Args {
	if r.MaxBytes == 0 {
		r.MaxBytes = defaultMaxBytes
	}
	r.Errors = recipe.NotStrict(r.Errors)
	return &r
}

// Identity leaves out where the files are, as the data may move, and the facts that are
// known of them: states say which they were. A name without a suffix may be that of a
// folder that is called otherwise there.
func (r ReadShards) Identity(recipe.Recipe) recipe.Args {
	h := sha256.New()
	var names Shards
	for _, from := range r.From {
		name := recipe.Path(path.Base(string(from)))
		if path.Ext(string(name)) == "" {
			name = ""
		}
		names = append(names, name)
		io.WriteString(h, string(name)+"\x00")
	}
	if len(names) > 1 { // it may be long
		names = Shards{recipe.Path(hex.EncodeToString(h.Sum(nil)))}
	}
	if e, err := where.Parse(r.Rows); err == nil { // blanks and quotes do not matter
		r.Rows = e.String()
	}
	tables := slices.Clone(r.Lookup)
	for i := range tables {
		if tables[i].From = recipe.Path(path.Base(string(tables[i].From))); tables[i].Columns != nil {
			tables[i].From, tables[i].Columns = recipe.Path(digestOf(tables[i].Columns)), nil
		}
	}
	return &ReadShards{From: names, Fields: r.Fields, Rows: r.Rows, Window: r.Window, Group: r.Group, Time: r.Time, Lookup: tables,
		Format: r.Format, Errors: r.Errors, MaxBytes: r.MaxBytes}
}

// Check implements [recipe.Args]. The schema is nil before the files are read.
func (r *ReadShards) Check(sample.Schema) (sample.Schema, error) {
	errs := []error{r.checkFrom(), r.Fields.Check(), r.Gives.Check(nil), recipe.CheckTextErrors(r.Errors)}
	if r.Root != "" && (r.Root[0] != '/' || r.Root.Check() != nil) {
		errs = append(errs, recipe.Wrong("root", "is %q: must be the absolute path of a folder", string(r.Root)))
	}
	if r.Rows != "" {
		if _, err := where.Parse(r.Rows); err != nil {
			errs = append(errs, recipe.Wrong("rows", "%w", err))
		}
	}
	errs = append(errs, r.Window.Check(r.Time != ""), r.Lookup.Check())
	for name, of := range map[string]string{"group": r.Group, "time": r.Time} {
		if of != "" && r.Window == nil {
			errs = append(errs, recipe.Wrong(name, "is %q, and has a meaning for windows alone: add window={…}", of))
		}
	}
	if r.MaxBytes < 0 {
		errs = append(errs, recipe.Wrong("max_bytes", "is %d: must be at least 1", r.MaxBytes))
	}
	out := r.schema()
	if i := out.Find("key"); i >= 0 && !out[i].Type.Equal(sample.TextType) {
		errs = append(errs, recipe.Wrong("fields", `has "key" as %v: that is the name of a sample, which is text; `+
			`read it under another name, as in {"id": "key"}`, out[i].Type))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// schema returns the schema of the samples, if it is known.
func (r *ReadShards) schema() sample.Schema {
	if r.Gives.Schema == nil {
		return nil
	}
	out := sample.Schema{}
	for _, f := range r.Gives.Schema {
		f.Type.Axes = recipe.SourceAxes(f)
		out = append(out, f)
	}
	if out.Find("key") < 0 {
		out = append(out, sample.Field{Name: "key", Type: sample.TextType})
	}
	return out
}

func (r *ReadShards) checkFrom() error {
	if len(r.From) == 0 {
		return argument.Given("from", false)
	}
	for i, p := range r.From {
		if err := p.Check(); err != nil {
			return recipe.Wrong(fmt.Sprintf("from[%d]", i), "%w", err)
		}
	}
	return nil
}

// Shards are names of files and folders, and patterns. One alone is text in JSON, too.
type Shards []recipe.Path

// Takes implements [recipe.Taker].
func (*Shards) Takes() string { return `text like "train-{000..129}.tar", or a list of such` }

// JSONSchema implements [recipe.Schemer].
func (*Shards) JSONSchema() map[string]any {
	one := jsonschema.Of(reflect.TypeFor[recipe.Path]())
	return map[string]any{"anyOf": []any{one, map[string]any{"type": "array",
		"items": jsonschema.OrVariable(jsonschema.Of(reflect.TypeFor[recipe.Path]())), "minItems": 1}}}
}

// MarshalJSON writes one name as text, and several as a list.
func (s Shards) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return s[0].MarshalJSON()
	}
	return json.Marshal([]recipe.Path(s))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Shards) UnmarshalJSON(b []byte) error {
	switch v := rawjson.Value(b); v.Kind() {
	case rawjson.Text:
		var one recipe.Path
		err := one.UnmarshalJSON(b)
		*s = Shards{one}
		return err
	case rawjson.List:
		*s = Shards{}
		for _, e := range v.Elements() {
			var one recipe.Path
			if e.Kind() != rawjson.Text || one.UnmarshalJSON(e) != nil {
				return rawjson.ErrKind
			}
			*s = append(*s, one)
		}
		return nil
	}
	return rawjson.ErrKind
}

// FieldFrom is a field, and its name and type in the files.
type FieldFrom struct {
	Name string
	From string
	Type sample.Type // the zero Type: what is in the files tells
	Null *shard.Null // the value of samples that have none; nil: not said

	IsNull bool // it is whether a sample has none
}

// isNull stands for a type: of whether a sample has no value.
const isNull = "is_null"

// Column is the field as a set of files has it.
func (f FieldFrom) Column() shard.Column {
	return shard.Column{From: f.From, Type: f.Type, Null: f.Null, IsNull: f.IsNull}
}

// FieldsFrom are the fields of samples. In JSON they are an object, or a list of the
// names of those that are called as in the files.
type FieldsFrom []FieldFrom

// Names returns the names of the fields; nil: none are given.
func (f FieldsFrom) Names() (all []string) {
	for _, one := range f {
		all = append(all, one.Name)
	}
	return all
}

// Check returns an error if the names are not usable.
func (f FieldsFrom) Check() error {
	if f != nil && len(f) == 0 {
		return recipe.Wrong("fields", "is empty: give at least one field, or null for all")
	}
	seen := map[string]bool{}
	for _, one := range f {
		switch {
		case one.Name == "":
			return recipe.Wrong("fields", "has a field without a name")
		case one.From == "":
			return recipe.Wrong("fields", "does not say what %q is: give the name of a part or column", one.Name)
		case seen[one.Name]:
			return recipe.Wrong("fields", "has two fields %q", one.Name)
		}
		seen[one.Name] = true
	}
	return nil
}

// Takes implements [recipe.Taker].
func (*FieldsFrom) Takes() string {
	return `an object like {"bytes": "jpg", "label": ["cls", "int64"], "age": ["age", "float32", 0]}, or a list of names`
}

// JSONSchema implements [recipe.Schemer].
func (*FieldsFrom) JSONSchema() map[string]any {
	name := jsonschema.OrVariable(jsonschema.Scalar("string"))
	gives := new(recipe.Gives).JSONSchema()["additionalProperties"].(map[string]any)["anyOf"].([]any)
	typed := map[string]any{"type": "array", "prefixItems": []any{name,
		map[string]any{"anyOf": []any{jsonschema.Scalar("string"), gives[1], map[string]any{"type": "null"}}},
		map[string]any{"anyOf": []any{jsonschema.Scalar("string"), jsonschema.Scalar("number"), jsonschema.Scalar("boolean"),
			map[string]any{"type": "array", "maxItems": 0}}}}, "minItems": 2, "maxItems": 3}
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "object", "additionalProperties": map[string]any{"anyOf": []any{name, typed}}, "minProperties": 1},
		map[string]any{"type": "array", "items": name, "minItems": 1},
	}}
}

// MarshalJSON writes the object.
func (f FieldsFrom) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendQuote(b, one.Name), ':')
		if one.Type.Kind == 0 && one.Null == nil && !one.IsNull {
			b = rawjson.AppendQuote(b, one.From)
			continue
		}
		b = append(rawjson.AppendQuote(append(b, '['), one.From), ',')
		t, err := one.kind()
		if err != nil {
			return nil, err
		}
		b = append(b, t...)
		switch {
		case one.Null == nil:
		case one.Null.Quoted:
			b = rawjson.AppendQuote(append(b, ','), one.Null.Text)
		default:
			b = append(append(b, ','), one.Null.Text...)
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// kind is the type in JSON.
func (f FieldFrom) kind() ([]byte, error) {
	switch {
	case f.IsNull:
		return rawjson.AppendQuote(nil, isNull), nil
	case f.Type.Kind == 0:
		return []byte("null"), nil
	case len(f.Type.Shape) == 0:
		return rawjson.AppendQuote(nil, f.Type.As(nil).String()), nil
	}
	name := f.Type.DType.String()
	if f.Type.Kind != sample.Tensor {
		name = f.Type.Kind.String()
	}
	return json.Marshal(recipe.GivenArray{DType: name, Shape: recipe.Extents(f.Type.Shape)})
}

// UnmarshalJSON reads what MarshalJSON wrote, or a list of names.
func (f *FieldsFrom) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	*f = FieldsFrom{}
	switch v.Kind() {
	case rawjson.List:
		for _, e := range v.Elements() {
			name, err := rawjson.Unquote(e)
			if e.Kind() != rawjson.Text || err != nil {
				return rawjson.ErrKind
			}
			*f = append(*f, FieldFrom{Name: name, From: name})
		}
		return nil
	case rawjson.Object:
		// Members come in the order of the text, which is the order of the fields.
		for quoted, member := range v.Members() {
			name, err := rawjson.Unquote(quoted)
			if err != nil {
				return rawjson.ErrKind
			}
			one, err := readFieldFrom(name, member)
			if err != nil {
				return err
			}
			*f = append(*f, one)
		}
		return nil
	}
	return rawjson.ErrKind
}

func readFieldFrom(name string, v rawjson.Value) (one FieldFrom, err error) {
	one.Name = name
	switch v.Kind() {
	case rawjson.Text:
		one.From, err = rawjson.Unquote(v)
		return one, err
	case rawjson.List:
		n := 0
		for i, e := range v.Elements() {
			switch n++; i {
			case 0:
				if e.Kind() != rawjson.Text {
					return one, rawjson.ErrKind
				}
				one.From, err = rawjson.Unquote(e)
			case 1:
				if one.IsNull = string(e) == `"`+isNull+`"`; !one.IsNull && e.Kind() != rawjson.Null {
					if one.Type, err = typeNamed(e); err != nil {
						return one, fmt.Errorf("has %s as the type of %q: must be a type of numbers such as \"int64\" or \"float32\", "+
							"\"text\", \"bytes\", or an object like {\"dtype\": \"float32\", \"shape\": [4]}", e, name)
					}
				}
			case 2:
				one.Null, err = readNull(e)
			}
			if err != nil {
				return one, rawjson.ErrKind
			}
		}
		switch {
		case n != 2 && n != 3,
			n == 2 && one.Type.Kind == 0 && !one.IsNull, // neither a type nor a value
			one.IsNull && one.Null != nil:
			return one, rawjson.ErrKind
		}
		return one, nil
	}
	return one, rawjson.ErrKind
}

// readNull reads a value for null.
func readNull(v rawjson.Value) (*shard.Null, error) {
	switch v.Kind() {
	case rawjson.Text:
		text, err := rawjson.Unquote(v)
		return &shard.Null{Text: text, Quoted: true}, err
	case rawjson.Number, rawjson.Bool:
		return &shard.Null{Text: string(v)}, nil
	case rawjson.List:
		for range v.Elements() {
			return nil, rawjson.ErrKind
		}
		return &shard.Null{Text: "[]"}, nil
	}
	return nil, rawjson.ErrKind
}

// typeNamed reads a type as gives has it, or the name of a type of numbers.
func typeNamed(v rawjson.Value) (sample.Type, error) {
	if v.Kind() == rawjson.Text {
		name, err := rawjson.Unquote(v)
		if err != nil {
			return sample.Type{}, err
		}
		if name == "text" || name == "bytes" {
			return recipe.ParseGiven(v)
		}
		v = rawjson.Value(append(rawjson.AppendQuote([]byte(`{"dtype":`), name), '}'))
	}
	t, err := recipe.ParseGiven(v)
	if err == nil && (t.Kind == sample.Object || t.Kind == sample.Text && len(t.Shape) == 0) {
		err = rawjson.ErrKind
	}
	return t, err
}
