package export

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// column is a field of a batch.
type column struct {
	data     []byte        // of a tensor, row after row
	rowBytes int           // of data
	shape    tensor.Shape  // of a row
	text     *sample.Texts // of a text field; of lists of text, JSON; nil: it is a tensor
}

func (c column) row(i int) []byte { return c.data[i*c.rowBytes:][:c.rowBytes] }

// textAt returns the text of a row.
func (c column) textAt(row int) string { return string(c.text.At(row)) }

// columns are the fields of a batch, in their order.
func columns(b *headrace.Batch, fields []headrace.Field) []column {
	all := make([]column, len(fields))
	texts := textsOf(b)
	for i, f := range fields {
		if f.Kind == sample.Text {
			if all[i].text, texts = texts[0], texts[1:]; isLists(f) {
				all[i].text = packed(ListsAsJSON(b, f.Name))
			}
			continue
		}
		t, _ := b.Tensor(f.Name)
		all[i].data, all[i].rowBytes, all[i].shape = t.Data, len(t.Data)/b.Rows(), t.Shape[1:]
	}
	return all
}

// textsOf returns the fields of text of a batch, in their order. Those of a table are
// packed already.
func textsOf(b *headrace.Batch) (all []*sample.Texts) {
	for rows, of := range b.Texts() {
		if of == nil {
			of = packed(rows)
		}
		of.Spell() // no row is asked for alone
		all = append(all, of)
	}
	return all
}

func packed(rows []string) *sample.Texts {
	t := &sample.Texts{Ends: make([]int, 0, len(rows))}
	for _, text := range rows {
		t.Bytes = append(t.Bytes, text...)
		t.End()
	}
	return t
}

// isLists tells fields of lists of text.
func isLists(f headrace.Field) bool { return f.Kind == sample.Text && len(f.Shape) > 0 }

// ListsAsJSON returns a field of lists of text as JSON, one a row.
func ListsAsJSON(b *headrace.Batch, name string) (all []string) {
	for _, list := range b.TextLists(name) {
		all = append(all, asJSON(paths(list)))
	}
	for _, lists := range b.DeepTextLists(name) {
		deep := [][]recipe.Path{}
		for _, list := range lists {
			deep = append(deep, paths(list))
		}
		all = append(all, asJSON(deep))
	}
	return all
}

// paths are texts that may not be UTF-8.
func paths(texts []string) []recipe.Path {
	all := []recipe.Path{}
	for _, text := range texts {
		all = append(all, recipe.Path(text))
	}
	return all
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null" // no list of strings
	}
	return string(text)
}

// noLists refuses a field that a form cannot hold.
func noLists(f headrace.Field, form string) error {
	if !isLists(f) {
		return nil
	}
	return fmt.Errorf("%w: --out %s: %s is lists of text, which jsonl, npy and tar can hold: "+
		"make one text of each, or have the last function leave it out", ErrOptions, form, f.Name)
}

var fieldName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkFields refuses what cannot become a file, or the name of one.
func checkFields(fields []headrace.Field) error {
	for _, f := range fields {
		if f.Kind == sample.Object {
			return fmt.Errorf("%w: the field %q holds Python objects, which neither form can store: "+
				"make arrays, numbers or text of it, or have the last function leave it out", ErrOptions, f.Name)
		}
		if f.Kind == sample.Ragged {
			return fmt.Errorf("%w: the field %q is ragged, and files have rows of one size or text: "+
				"end the recipe with bucket_batch, which pads it, or leave it out with drop", ErrOptions, f.Name)
		}
		if !fieldName.MatchString(f.Name) {
			return fmt.Errorf("%w: the field %q cannot be a part of a file's name: must be letters, digits, _ and -", ErrOptions, f.Name)
		}
	}
	return nil
}

// integer reads a scalar of a type of whole numbers as text.
func integer(d tensor.DType, b []byte) (text string, ok bool) {
	if d == tensor.Uint64 {
		return strconv.FormatUint(binary.LittleEndian.Uint64(b), 10), true
	}
	n, ok := numbers.Whole(d, b)
	return strconv.FormatInt(n, 10), ok
}

// isInteger reports whether a field is one whole number a sample.
func isInteger(f headrace.Field) bool {
	_, ok := integer(f.DType, make([]byte, 8))
	return ok && f.Kind == sample.Tensor && len(f.Shape) == 0
}
