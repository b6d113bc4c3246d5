package input

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Files]("files", recipe.Source,
	"Read files: those that match a pattern, all images below a folder, or a list."))

// Files are the arguments of the operation files. Exactly one of Pattern, Paths and Pairs
// is given.
type Files struct {
	Pattern  recipe.Path    `json:"pattern,omitempty" example:"data/train/*/*.JPEG"`
	Paths    []recipe.Path  `json:"paths,omitzero" doc:"paths, in this order"`
	Pairs    []Pair         `json:"pairs,omitzero" doc:"files and their labels"`
	Columns  recipe.Columns `json:"columns,omitzero" doc:"with paths: more fields; types are int64, float32, float64, bool and text"`
	Metadata recipe.Path    `json:"metadata,omitempty" example:"metadata.jsonl"`
	Fields   FieldsFrom     `json:"fields,omitzero" example:"{\"caption\": \"text\"}"`
	Gives    recipe.Gives   `json:"gives,omitzero" example:"{\"caption\": \"text\"}"`
	Errors   string         `json:"errors,omitempty" choices:"strict,replace"`
	Root     recipe.Path    `json:"root,omitempty" doc:"where relative paths start; by default the engine's current directory"`
	Label    string         `json:"label,omitempty" choices:"parent"`
	Content  *bool          `json:"content,omitempty"`
	MaxBytes int64          `json:"max_bytes,omitempty" min:"1" doc:"largest file read, in bytes; others are bad samples"`
}

// Docs implements [argument.Documented].
func (*Files) Docs() map[string]string {
	return map[string]string{
		"pattern": "a pattern (*, ?, […], and ** for any number of folders), or a folder: all images below it",
		"metadata": "with a pattern or folder: a csv, jsonl or parquet table in that folder, one row per file, " +
			"named by its column file_name; other columns become fields",
		"fields": "with metadata: which columns become fields, as for read; by default all",
		"gives":  "with metadata: its fields' types, if known without reading it; by default read from it",
		"errors": "with metadata: text that is not UTF-8, as for read: strict, the default: an error; replace: " +
			"U+FFFD",
		"label": "\"parent\": label each file with its folder's number, in bytewise order of their names",
		"content": "read the files; false: samples have the field \"path\" instead, and decode_video reads what " +
			"it needs",
	}
}

// Pair is a path with its label; in JSON [path, label].
type Pair struct {
	Path  recipe.Path
	Label int64
}

// defaultMaxBytes bounds what one odd file that a pattern catches can do to the memory of
// the machine.
const defaultMaxBytes = 1 << 30

// Complete implements [recipe.Completer].
func (f Files) Complete() recipe.Args {
	if f.MaxBytes == 0 {
		f.MaxBytes = defaultMaxBytes
	}
	f.Errors = recipe.NotStrict(f.Errors)
	if f.Reads() {
		f.Content = nil
	}
	return &f
}

// Reads reports whether samples have the content of their files, and not their paths
// alone.
func (f *Files) Reads() bool { return argument.OrElse(f.Content, true) }

// Identity leaves out the folder in which relative paths start, as the data may move, and
// has the digest of a list in its place, as it may be long.
func (f Files) Identity(recipe.Recipe) recipe.Args {
	f.Root, f.Gives = "", recipe.Gives{} // states know what is in the table

	// Lengths are hashed, too, or paths that are cut elsewhere would have the same
	// digest.
	h := sha256.New()
	add := func(p recipe.Path, label int64) {
		var sizes [16]byte
		binary.LittleEndian.PutUint64(sizes[:], uint64(len(p)))
		binary.LittleEndian.PutUint64(sizes[8:], uint64(label))
		h.Write(sizes[:])
		io.WriteString(h, string(p))
	}
	for _, p := range f.Paths {
		add(p, 0)
	}
	for _, p := range f.Pairs {
		add(p.Path, p.Label)
	}
	f.Columns.Digest(h)

	f.Columns = nil
	digest := recipe.Path(hex.EncodeToString(h.Sum(nil)))
	if f.Paths != nil {
		f.Paths = []recipe.Path{digest}
	}
	if f.Pairs != nil {
		f.Pairs = []Pair{{Path: digest}}
	}
	return &f
}

// Check implements [recipe.Args]. The schema is nil before the metadata are read.
func (f *Files) Check(sample.Schema) (sample.Schema, error) {
	s := sample.Schema{{Name: "bytes", Type: sample.BytesType}}
	if !f.Reads() {
		s = sample.Schema{{Name: "path", Type: sample.TextType}}
	}
	if f.Label != "" || f.Pairs != nil {
		s = s.With("label", sample.TensorType(tensor.Int64))
	}
	errs := []error{f.checkGiven(), f.checkPaths(), f.checkRest(), f.checkMetadata()}
	if f.Columns != nil && f.Paths == nil {
		errs = append(errs, recipe.Wrong("columns", "is for a list of paths"))
	} else {
		errs = append(errs, f.Columns.Check(len(f.Paths), s.With("key", sample.TextType))...)
	}
	for i := range f.Columns {
		s = s.With(f.Columns[i].Name, f.Columns[i].Type())
	}
	s = s.With("key", sample.TextType)
	if f.Metadata == "" {
		return s, errors.Join(errs...)
	}
	for _, g := range f.Gives.Schema {
		if s.Find(g.Name) >= 0 {
			errs = append(errs, recipe.Wrong("metadata", "has a field %q, which files already have: "+
				"name those that are read, as fields={\"other\": %q}", g.Name, g.Name))
		}
		s = s.With(g.Name, g.Type)
	}
	if err := errors.Join(errs...); err != nil || f.Gives.Schema == nil {
		return nil, err
	}
	return s, nil
}

func (f *Files) checkGiven() error {
	given := 0
	for _, is := range []bool{f.Pattern != "", f.Paths != nil, f.Pairs != nil} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return errors.New("has nothing to read: give pattern, paths or pairs")
	case given > 1:
		return errors.New("has more than one of pattern, paths and pairs: give one")
	case f.Paths != nil && len(f.Paths) == 0:
		return recipe.Wrong("paths", "is empty: there is nothing to read")
	case f.Pairs != nil && len(f.Pairs) == 0:
		return recipe.Wrong("pairs", "is empty: there is nothing to read")
	}
	return nil
}

func (f *Files) checkPaths() error {
	if f.Pattern != "" {
		if err := f.Pattern.Check(); err != nil {
			return recipe.Wrong("pattern", "%w", err)
		}
	}
	for i, p := range f.Paths {
		if err := p.Check(); err != nil {
			return recipe.Wrong(fmt.Sprintf("paths[%d]", i), "%w", err)
		}
	}
	for i, p := range f.Pairs {
		if err := p.Path.Check(); err != nil {
			return recipe.Wrong(fmt.Sprintf("pairs[%d]", i), "has a path that %w", err)
		}
	}
	return nil
}

func (f *Files) checkRest() error {
	var errs []error
	if f.Root != "" && (f.Root[0] != '/' || f.Root.Check() != nil) {
		errs = append(errs, recipe.Wrong("root", "is %q: must be the absolute path of a folder", string(f.Root)))
	}
	switch {
	case f.Label != "" && f.Label != "parent":
		errs = append(errs, recipe.Wrong("label",
			`is %q: it must be "parent", which labels each file with the name of its folder, or left out`, f.Label))
	case f.Label != "" && f.Pairs != nil:
		errs = append(errs, recipe.Wrong("label", "is %q, but pairs bring labels of their own", f.Label))
	}
	if f.MaxBytes < 0 {
		errs = append(errs, recipe.Wrong("max_bytes", "is %d: must be at least 1", f.MaxBytes))
	}
	return errors.Join(errs...)
}

func (f *Files) checkMetadata() error {
	switch {
	case f.Metadata == "" && f.Fields != nil:
		return recipe.Wrong("fields", "names columns of metadata, and there is none: give metadata, the name of a table")
	case f.Metadata == "" && recipe.NotStrict(f.Errors) != "":
		return recipe.Wrong("errors", "is %q for the text of metadata, and there is none: give metadata, the name of a table", f.Errors)
	case f.Metadata == "":
		return nil
	case f.Pattern == "":
		return recipe.Wrong("metadata", "is for files of a pattern or a folder: give pattern")
	}
	if err := f.Metadata.Check(); err != nil {
		return recipe.Wrong("metadata", "%w", err)
	}
	return errors.Join(f.Fields.Check(), f.Gives.Check(nil), recipe.CheckTextErrors(f.Errors))
}

// Takes implements [recipe.Taker].
func (p *Pair) Takes() string { return "a [path, label] pair" }

// JSONSchema implements [recipe.Schemer].
func (Pair) JSONSchema() map[string]any {
	return map[string]any{"type": "array", "prefixItems": []any{jsonschema.Of(reflect.TypeFor[recipe.Path]()),
		jsonschema.OrVariable(jsonschema.Scalar("integer"))}, "minItems": 2, "maxItems": 2}
}

// MarshalJSON writes [path, label].
func (p Pair) MarshalJSON() ([]byte, error) {
	b := rawjson.AppendQuote([]byte{'['}, string(p.Path))
	return append(strconv.AppendInt(append(b, ','), p.Label, 10), ']'), nil
}

var errPair = errors.New("recipe: must be a [path, label] pair")

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Pair) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.List {
		return errPair
	}
	n := 0
	for i, e := range v.Elements() {
		var err error
		switch n++; i {
		case 0:
			err = p.Path.UnmarshalJSON(e)
		case 1:
			p.Label, err = strconv.ParseInt(string(e), 10, 64)
		}
		if err != nil || e.Kind() == rawjson.Null {
			return errPair
		}
	}
	if n != 2 {
		return errPair
	}
	return nil
}

// From implements [recipe.Opened].
func (f *Files) From() (root string, most int64) { return string(f.Root), f.MaxBytes }
