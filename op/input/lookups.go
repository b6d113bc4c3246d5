package input

import (
	"reflect"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/recipe"
)

// Lookups are small tables that are joined by key. In JSON they are an object.
type Lookups []Lookup

// Lookup is a table, and the field or column that has its keys.
type Lookup struct {
	Field   string
	From    recipe.Path
	Columns recipe.Columns // instead of From: the table itself
	Key     string         // the table's column; "": it is called as the field
	Fields  FieldsFrom     // nil: all but the key
	Missing string         // what a key does that the table does not have
}

// asNull has samples without a row be as if the table had nulls.
const asNull = "null"

// Check returns an error if lookups are not usable.
func (all Lookups) Check() error {
	seen := map[string]bool{}
	for _, l := range all {
		switch {
		case l.Field == "":
			return recipe.Wrong("lookup", "has a field without a name")
		case seen[l.Field]:
			return recipe.Wrong("lookup", "has two tables for %q", l.Field)
		}
		seen[l.Field] = true
		if err := l.check(); err != nil {
			return argument.Inside("lookup", argument.Inside(l.Field, err))
		}
	}
	return nil
}

func (l *Lookup) check() error {
	switch {
	case l.Columns != nil && l.From != "":
		return recipe.Wrong("columns", "is given beside from, which is the table in a file: give one of them")
	case l.Columns != nil:
		if err := checkTable(l.Columns); err != nil {
			return err
		}
	case l.From == "":
		return argument.Given("from", false)
	default:
		if err := l.From.Check(); err != nil {
			return recipe.Wrong("from", "%w", err)
		}
	}
	if l.Missing != "" && l.Missing != asNull {
		return recipe.Wrong("missing", "is %q: must be %q, or left out", l.Missing, asNull)
	}
	return l.Fields.Check()
}

// Takes implements [recipe.Taker].
func (*Lookups) Takes() string { return `an object like {"item": "items.parquet"}` }

// JSONSchema implements [recipe.Schemer].
func (*Lookups) JSONSchema() map[string]any {
	file := jsonschema.Of(reflect.TypeFor[recipe.Path]())
	text := jsonschema.OrVariable(jsonschema.Scalar("string"))
	oneOf := []any{map[string]any{"required": []any{"from"}}, map[string]any{"required": []any{"columns"}}}
	table := map[string]any{"type": "object", "oneOf": oneOf, "additionalProperties": false, "properties": map[string]any{
		"from": file, "columns": new(recipe.Columns).JSONSchema(), "key": text, "fields": new(FieldsFrom).JSONSchema(),
		"missing": map[string]any{"enum": []any{asNull}}}}
	return map[string]any{"type": "object", "minProperties": 1,
		"additionalProperties": map[string]any{"anyOf": []any{file, table}}}
}

// MarshalJSON writes the object.
func (all Lookups) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, l := range all {
		if i > 0 {
			b = append(b, ',')
		}
		from, err := l.From.MarshalJSON()
		word := "from"
		if l.Columns != nil {
			word = "columns"
			from, err = l.Columns.MarshalJSON()
		}
		if err != nil {
			return nil, err
		}
		b = append(rawjson.AppendQuote(b, l.Field), ':')
		if l.Key == "" && l.Fields == nil && l.Missing == "" && l.Columns == nil {
			b = append(b, from...)
			continue
		}
		b = append(rawjson.AppendQuote(append(b, '{'), word), ':')
		b = append(b, from...)
		if l.Key != "" {
			b = rawjson.AppendQuote(append(b, `,"key":`...), l.Key)
		}
		if l.Fields != nil {
			of, err := l.Fields.MarshalJSON()
			if err != nil {
				return nil, err
			}
			b = append(append(b, `,"fields":`...), of...)
		}
		if l.Missing != "" {
			b = rawjson.AppendQuote(append(b, `,"missing":`...), l.Missing)
		}
		b = append(b, '}')
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (all *Lookups) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.Object {
		return rawjson.ErrKind
	}
	*all = Lookups{}
	for quoted, member := range v.Members() {
		name, err := rawjson.Unquote(quoted)
		if err != nil {
			return rawjson.ErrKind
		}
		one := Lookup{Field: name}
		if err := one.read(member); err != nil {
			return err
		}
		*all = append(*all, one)
	}
	return nil
}

func (l *Lookup) read(v rawjson.Value) error {
	text := func(v rawjson.Value) (string, error) {
		if v.Kind() != rawjson.Text {
			return "", rawjson.ErrKind
		}
		return rawjson.Unquote(v)
	}
	switch v.Kind() {
	case rawjson.Text:
		return l.From.UnmarshalJSON(v)
	case rawjson.Object:
	default:
		return rawjson.ErrKind
	}
	for quoted, member := range v.Members() {
		name, err := rawjson.Unquote(quoted)
		if err != nil {
			return rawjson.ErrKind
		}
		switch name {
		case "from":
			if member.Kind() != rawjson.Text {
				return rawjson.ErrKind
			}
			err = l.From.UnmarshalJSON(member)
		case "columns":
			l.Columns = recipe.Columns{}
			err = l.Columns.UnmarshalJSON(member)
		case "key":
			l.Key, err = text(member)
		case "fields":
			err = l.Fields.UnmarshalJSON(member)
		case "missing":
			l.Missing, err = text(member)
		default:
			err = rawjson.ErrKind
		}
		if err != nil {
			return rawjson.ErrKind
		}
	}
	return nil
}
